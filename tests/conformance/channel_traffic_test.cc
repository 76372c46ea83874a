// Bytes that channels really carry against bytes that the plan puts on them, channel by channel and link by link: ranks
// as threads and as processes, planner forest, every protocol that moves more than one cache line.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/clock.h"
#include "core/plan/contract.h"
#include "core/plan/verify.h"
#include "core/runtime/communicator.h"
#include "core/topo/gallery.h"
#include "kernels/host/host_device.h"
#include "scheduler/forest/forest.h"
#include "scheduler/lower/lower.h"
#include "tests/conformance/rank_runner.h"
#include "transport/loopback/loopback_transport.h"
#include "transport/shm/shm_transport.h"

namespace mycel {
namespace {

constexpr int32_t kLanes = 2;
constexpr int32_t kChannelsPerPair = kLanes + 1;  // the last one carries point-to-point messages
constexpr int64_t kSliceBytes = 1024;
constexpr int64_t kPayloadBytes = 64 * 1024;
constexpr int64_t kManySlices = 40;  // of the longest chunk, at least
constexpr auto kType = DataType::kInt32;

struct Call {
  int64_t count = 0;
  bool in_place = false;
};

/// One channel in one call, seen from its two ends.
struct Carried {
  uint64_t sent_bytes = 0;
  uint64_t sent_messages = 0;
  uint64_t received_bytes = 0;
  uint64_t received_messages = 0;
};

/// Written by the ranks, which may be processes: by call, then channel of the plan.
class Counters {
 public:
  Counters(size_t calls, size_t channels) : channels_(channels), bytes_(calls * channels * sizeof(Carried)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    carried_ = static_cast<Carried*>(memory);
  }
  ~Counters() { munmap(carried_, bytes_); }
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  Carried& At(size_t call, size_t channel) { return carried_[call * channels_ + channel]; }

 private:
  size_t channels_;
  size_t bytes_;
  Carried* carried_ = nullptr;
};

template <typename With>
void ForEachMessage(const Plan& plan, const With& with) {
  for (const RankPlan& rank : plan.ranks) {
    for (const Lane& lane : rank.lanes) {
      for (const Op& op : lane.ops) {
        for (int32_t i = 0; i < op.outputs; ++i) {
          const Operand& output = plan.OutputsOf(op)[i];
          if (output.kind == Operand::Kind::kChannel) with(op.chunk, output);
        }
      }
    }
  }
}

/// What the plan puts on each channel when a block has `count` elements: each message's chunk, to the byte.
std::vector<uint64_t> PlannedBytes(const Plan& plan, int64_t count) {
  std::vector<uint64_t> bytes(plan.channels.size(), 0);
  ForEachMessage(plan, [&](const Chunk& chunk, const Operand& output) {
    const int64_t elements =
        ElementOf(count, chunk.end, plan.units_per_block) - ElementOf(count, chunk.begin, plan.units_per_block);
    bytes[static_cast<size_t>(output.index)] += static_cast<uint64_t>(elements) * SizeOf(kType);
  });
  return bytes;
}

/// Messages of one slice.
std::vector<uint64_t> PlannedMessages(const Plan& plan) {
  std::vector<uint64_t> messages(plan.channels.size(), 0);
  ForEachMessage(plan, [&](const Chunk&, const Operand& output) { ++messages[static_cast<size_t>(output.index)]; });
  return messages;
}

/// What `plan`'s links carry when its channels carry `carried` bytes: a channel's bytes go over the routes of its
/// messages in proportion to their units.
std::vector<Rational> LinkBytes(const Plan& plan, const Topology& topology, const std::vector<uint64_t>& carried) {
  std::map<std::pair<int32_t, int32_t>, int64_t> units_of;  // by channel and route
  std::vector<int64_t> units(plan.channels.size(), 0);
  ForEachMessage(plan, [&](const Chunk& chunk, const Operand& output) {
    units_of[{output.index, output.route}] += chunk.units();
    units[static_cast<size_t>(output.index)] += chunk.units();
  });
  std::vector<Rational> bytes(topology.links().size(), Rational(0));
  for (const auto& [key, route_units] : units_of) {
    const auto& [id, route] = key;
    const Channel& channel = plan.channels[static_cast<size_t>(id)];
    const Route path = route >= 0 ? plan.routes[static_cast<size_t>(route)]
                                  : Route{topology.NodeOf(channel.source), topology.NodeOf(channel.target)};
    const Rational share = Rational(static_cast<int64_t>(carried[static_cast<size_t>(id)])) * Rational(route_units) /
                           Rational(units[static_cast<size_t>(id)]);
    for (size_t hop = 1; hop < path.size(); ++hop) bytes[topology.FindLink(path[hop - 1], path[hop]).index()] += share;
  }
  return bytes;
}

std::string NameOf(const Channel& channel) {
  return "channel " + std::to_string(channel.source.value()) + " -> " + std::to_string(channel.target.value()) + " # " +
         std::to_string(channel.index);
}

/// Every channel that carried something else than planned; empty when none did.
std::string Differences(const Plan& plan, int64_t count, const std::vector<Carried>& carried) {
  const std::vector<uint64_t> planned = PlannedBytes(plan, count);
  const std::vector<uint64_t> messages = PlannedMessages(plan);
  std::string text;
  for (size_t c = 0; c < planned.size(); ++c) {
    const Carried& at = carried[c];
    if (at.sent_bytes == planned[c] && at.received_bytes == planned[c] && at.sent_messages >= messages[c] &&
        at.received_messages == at.sent_messages) {
      continue;
    }
    text += NameOf(plan.channels[c]) + ": planned " + std::to_string(planned[c]) + " bytes in at least " +
            std::to_string(messages[c]) + " messages, sent " + std::to_string(at.sent_bytes) + " in " +
            std::to_string(at.sent_messages) + ", received " + std::to_string(at.received_bytes) + " in " +
            std::to_string(at.received_messages) + "\n";
  }
  return text;
}

/// One rank's buffers for a call; in place they lie over each other by the contract's rule.
class Buffers {
 public:
  Buffers(const Contract& contract, Rank rank, const Call& call) {
    const auto count = static_cast<size_t>(call.count);
    const size_t sends = contract.SendBlocks(rank).size();
    const size_t receives = contract.RecvBlocks(rank).size();
    const size_t larger = std::max(sends, receives) * count;
    memory_.assign(2 * larger + 1, rank.value());
    send_ = memory_.data();
    recv_ = memory_.data() + larger;
    if (call.in_place && sends > 0 && receives > 0) {
      const int64_t offset = contract.InPlaceOffset(rank) * call.count;
      send_ = memory_.data() + (offset < 0 ? -offset : 0);
      recv_ = send_ + offset;
    }
    if (sends == 0) send_ = nullptr;
    if (receives == 0) recv_ = nullptr;
  }
  const int32_t* send() const { return send_; }
  int32_t* recv() const { return recv_; }

 private:
  std::vector<int32_t> memory_;
  int32_t* send_ = nullptr;
  int32_t* recv_ = nullptr;
};

std::unique_ptr<Communicator> Connected(const RankContext& context, RanksAre ranks_are, Protocol protocol,
                                        PlanSource plan_source, uint64_t communicator) {
  TransportOptions options;
  options.rank = context.rank;
  options.rank_count = context.rank_count;
  options.channels_per_pair = kChannelsPerPair;
  options.payload_bytes = kPayloadBytes;
  options.communicator = communicator;
  CommunicatorParts parts;
  if (ranks_are == RanksAre::kThreads) {
    parts.transport = std::make_unique<LoopbackTransport>();
  } else {
    parts.transport = std::make_unique<ShmTransport>();
  }
  const StatusOr<std::string> address = parts.transport->Prepare(options);
  EXPECT_TRUE(address.ok()) << address.status();
  if (!address.ok()) return nullptr;
  const auto addresses = context.bootstrap->AllGather(*address, InSeconds(60));
  EXPECT_TRUE(addresses.ok()) << addresses.status();
  if (!addresses.ok()) return nullptr;
  const Status connected = parts.transport->Connect(*addresses, InSeconds(60));
  EXPECT_TRUE(connected.ok()) << connected;
  if (!connected.ok()) return nullptr;
  EXPECT_TRUE(protocol != Protocol::kDirect || parts.transport->AllReadDirectly());
  parts.rank = context.rank;
  parts.rank_count = context.rank_count;
  parts.channels_per_pair = kChannelsPerPair;
  parts.device = &HostDevice();
  parts.plan_source = std::move(plan_source);
  parts.wait.oversubscribed = true;
  parts.timeout_ns = SecondsToNs(60);
  parts.cache_bytes = ~size_t{0};
  return std::make_unique<Communicator>(std::move(parts));
}

/// Adds what this rank's ends have carried since `*before` to the call's counters.
void Note(const Plan& plan, Rank rank, const std::vector<ChannelTraffic>& now, std::vector<ChannelTraffic>* before,
          size_t call, Counters* counters) {
  std::map<std::tuple<Rank, Rank, int32_t>, size_t> channels;
  for (size_t c = 0; c < plan.channels.size(); ++c) {
    channels[{plan.channels[c].source, plan.channels[c].target, plan.channels[c].index}] = c;
  }
  for (const ChannelTraffic& traffic : now) {
    const auto channel =
        channels.find({traffic.sends ? rank : traffic.peer, traffic.sends ? traffic.peer : rank, traffic.index});
    ChannelTraffic old;
    for (const ChannelTraffic& known : *before) {
      if (known.peer == traffic.peer && known.index == traffic.index && known.sends == traffic.sends) old = known;
    }
    if (channel == channels.end()) {
      // Ranks have agreed upon plans there.
      ASSERT_EQ(traffic.messages, old.messages)
          << "rank " << rank << " uses a channel that the plan lacks, to " << traffic.peer;
      continue;
    }
    Carried& carried = counters->At(call, channel->second);
    (traffic.sends ? carried.sent_bytes : carried.received_bytes) = traffic.bytes - old.bytes;
    (traffic.sends ? carried.sent_messages : carried.received_messages) = traffic.messages - old.messages;
  }
  *before = now;
}

void RunCalls(const Plan& plan, RanksAre ranks_are, const std::vector<Call>& calls, Counters* counters) {
  const uint64_t communicator = static_cast<uint64_t>(getpid()) << 32;
  const Contract contract{plan.collective, plan.rank_count, plan.root};
  RunRanks(ranks_are, plan.rank_count, [&](const RankContext& context) {
    const auto one_plan = [&plan](const PlanRequest&) -> StatusOr<Plan> { return plan; };
    const std::unique_ptr<Communicator> mine = Connected(context, ranks_are, plan.protocol, one_plan, communicator);
    ASSERT_NE(mine, nullptr);
    std::vector<ChannelTraffic> before;
    for (size_t i = 0; i < 2 * calls.size(); ++i) {
      // The first time round ranks agree upon plans, by messages that are not the plans'.
      const bool counts = i >= calls.size();
      const size_t at = i % calls.size();
      Buffers buffers(contract, context.rank, calls[at]);
      CollectiveCall call;
      call.collective = plan.collective;
      call.type = kType;
      call.root = plan.root.value();
      call.send = buffers.send();
      call.recv = buffers.recv();
      call.count = static_cast<uint64_t>(calls[at].count);
      const Status status = mine->Run(call);
      ASSERT_TRUE(status.ok()) << status;
      if (counts) {
        Note(plan, context.rank, mine->Traffic(), &before, at, counters);
      } else {
        before = mine->Traffic();
      }
    }
    uint64_t bytes = 0, messages = 0;
    for (const ChannelTraffic& traffic : before) {
      bytes += traffic.sends ? traffic.bytes : 0;
      messages += traffic.sends ? traffic.messages : 0;
    }
    EXPECT_EQ(mine->stats().message_bytes, bytes);
    EXPECT_EQ(mine->stats().messages, messages);
    context.Meet();  // nobody leaves before the others are done
  });
}

/// Nothing, one element, odd ones, many slices, and a whole number of elements a unit, for exact link loads.
std::vector<Call> CallsFor(const Plan& plan) {
  int64_t widest = 1;
  ForEachMessage(plan, [&](const Chunk& chunk, const Operand&) { widest = std::max(widest, chunk.units()); });
  const int64_t elements = kManySlices * plan.slice_bytes / static_cast<int64_t>(SizeOf(kType));
  const int64_t many = (elements / widest + 1) * plan.units_per_block;
  std::vector<Call> calls;
  for (const bool in_place : {false, true}) {
    for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{1009}, many + 1, many}) {
      calls.push_back({count, in_place});
    }
  }
  return calls;
}

StatusOr<Plan> PlanFor(const Topology& topology, Collective collective, Protocol protocol) {
  PlanRequest request;
  request.collective = collective;
  if (InfoOf(collective).rooted) request.root = Rank(topology.rank_count() - 1);
  MYCEL_ASSIGN_OR_RETURN(const Schedule schedule, ForestPlanner().MakeSchedule(topology, request));
  if (protocol == Protocol::kDirect && !AllowsDirect(schedule)) return Impossible("not in direct reads");
  LowerOptions options;
  options.lanes = kLanes;
  options.slice_bytes = kSliceBytes;
  options.channel_bytes = kPayloadBytes;
  options.protocol = protocol;
  MYCEL_ASSIGN_OR_RETURN(Plan plan, Lower(schedule, topology, options));
  MYCEL_RETURN_IF_ERROR(Verify(plan));
  return plan;
}

class PlannedTraffic : public testing::TestWithParam<std::tuple<std::string, RanksAre>> {
 protected:
  /// Runs all calls of the plan and compares channels, and links where a unit is a whole number of elements.
  static void CheckPlan(const Plan& plan, const Topology& topology) {
    const std::vector<Call> calls = CallsFor(plan);
    Counters counters(calls.size(), plan.channels.size());
    RunCalls(plan, std::get<1>(GetParam()), calls, &counters);
    const StatusOr<LinkLoads> loads = ComputeLinkLoads(plan, topology);
    ASSERT_TRUE(loads.ok()) << loads.status();
    uint64_t most_messages = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
      SCOPED_TRACE("count " + std::to_string(calls[i].count) + (calls[i].in_place ? " in place" : ""));
      std::vector<Carried> carried;
      std::vector<uint64_t> sent;
      for (size_t c = 0; c < plan.channels.size(); ++c) {
        carried.push_back(counters.At(i, c));
        sent.push_back(carried.back().sent_bytes);
        most_messages = std::max(most_messages, carried.back().sent_messages);
      }
      EXPECT_EQ(Differences(plan, calls[i].count, carried), "");
      if (calls[i].count % plan.units_per_block != 0) continue;
      const Rational block_bytes(calls[i].count * static_cast<int64_t>(SizeOf(kType)));
      const std::vector<Rational> of_links = LinkBytes(plan, topology, sent);
      for (size_t link = 0; link < of_links.size(); ++link) {
        EXPECT_EQ(of_links[link], loads->blocks[link] * block_bytes) << "link " << link;
      }
    }
    EXPECT_GE(most_messages, static_cast<uint64_t>(kManySlices)) << "no call has many slices";
  }
};

TEST_P(PlannedTraffic, EqualsThePlannedLoadOfEveryChannelAndLink) {
  const StatusOr<Topology> topology = LoadTopology(std::get<0>(GetParam()));
  ASSERT_TRUE(topology.ok()) << topology.status();
  int32_t direct_plans = 0;
  for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllReduce,
                                      Collective::kBroadcast, Collective::kReduce}) {
    for (const Protocol protocol : {Protocol::kSlot, Protocol::kDirect}) {
      SCOPED_TRACE(std::string(NameOf(collective)) + " " + std::string(NameOf(protocol)));
      const StatusOr<Plan> plan = PlanFor(*topology, collective, protocol);
      if (protocol == Protocol::kDirect && plan.status().code() == StatusCode::kUnimplemented) continue;
      ASSERT_TRUE(plan.ok()) << plan.status();
      direct_plans += protocol == Protocol::kDirect ? 1 : 0;
      CheckPlan(*plan, *topology);
    }
  }
  EXPECT_GE(direct_plans, 3) << "direct reads are hardly tested";
}

INSTANTIATE_TEST_SUITE_P(Machines, PlannedTraffic,
                         testing::Combine(testing::Values("dgx1-v100", "mixed-14",
                                                          "tests/topologies/random-1-6r2s.json"),
                                          testing::Values(RanksAre::kThreads, RanksAre::kProcesses)),
                         [](const auto& machine) {
                           std::string name = std::get<0>(machine.param);
                           name = name.substr(name.rfind('/') + 1);
                           name.erase(std::min(name.find(".json"), name.size()));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + (std::get<1>(machine.param) == RanksAre::kThreads ? "_threads" : "_processes");
                         });

// The comparison itself sees one byte too many, at either end, and a lost message.
TEST(ChannelTrafficDifferences, SeeOneByte) {
  const Topology topology = *LoadTopology("dgx1-v100");
  const Plan plan = *PlanFor(topology, Collective::kAllGather, Protocol::kSlot);
  const std::vector<uint64_t> bytes = PlannedBytes(plan, 1009);
  const std::vector<uint64_t> messages = PlannedMessages(plan);
  std::vector<Carried> carried;
  for (size_t c = 0; c < bytes.size(); ++c) carried.push_back({bytes[c], messages[c], bytes[c], messages[c]});
  ASSERT_EQ(Differences(plan, 1009, carried), "");
  for (uint64_t Carried::*counter : {&Carried::sent_bytes, &Carried::received_bytes, &Carried::received_messages}) {
    std::vector<Carried> wrong = carried;
    ++(wrong[3].*counter);
    EXPECT_NE(Differences(plan, 1009, wrong).find(NameOf(plan.channels[3])), std::string::npos);
  }
  EXPECT_NE(Differences(plan, 1010, carried), "");
}

/// An alltoallv on directly joined ranks, `bytes` from each to each.
StatusOr<Plan> ExchangePlan(const Topology& topology, int64_t bytes, int64_t slice_bytes) {
  Schedule schedule;
  schedule.collective = Collective::kAllToAllV;
  schedule.rank_count = topology.rank_count();
  schedule.planner = "by hand";
  const int32_t n = schedule.rank_count;
  schedule.block_units.assign(static_cast<size_t>(n) * static_cast<size_t>(n), bytes);
  for (int32_t block = 0; block < n * n; ++block) {
    Tree tree;
    tree.chunk = {block, 0, bytes};
    tree.root = Rank(block / n);
    if (block / n != block % n) tree.down.push_back({Rank(block / n), Rank(block % n), -1});
    schedule.trees.push_back(tree);
  }
  LowerOptions options;
  options.slice_bytes = slice_bytes;
  options.channel_bytes = kPayloadBytes;
  MYCEL_ASSIGN_OR_RETURN(Plan plan, Lower(schedule, topology, options));
  MYCEL_RETURN_IF_ERROR(Verify(plan));
  return plan;
}

// Ranks whose planners answer differently, for whatever reason, find out with the first message: the hash of the plan
// rides in it. Nobody moves bytes by two plans, and nobody hangs.
TEST(PlanHash, RanksWithDifferentPlansAreTold) {
  const StatusOr<Topology> topology = LoadTopology("fullmesh-2");
  ASSERT_TRUE(topology.ok()) << topology.status();
  for (const bool differ : {false, true}) {
    RunRanks(RanksAre::kThreads, 2, [&](const RankContext& context) {
      const auto source = [&](const PlanRequest& request) -> StatusOr<Plan> {
        const bool odd = differ && context.rank == Rank(1);
        if (request.collective == Collective::kAllToAllV) return ExchangePlan(*topology, 4000, odd ? 256 : 512);
        return PlanFor(*topology, request.collective, Protocol::kSlot);
      };
      const std::unique_ptr<Communicator> mine = Connected(context, RanksAre::kThreads, Protocol::kSlot, source,
                                                           (static_cast<uint64_t>(getpid()) << 32) + 77 + differ);
      ASSERT_NE(mine, nullptr);
      const std::vector<size_t> counts = {1000, 1000}, at = {0, 1000};
      std::vector<int32_t> send(2000, 7), recv(2000, -1);
      VectorArrays arrays;
      arrays.send_counts = arrays.recv_counts = counts.data();
      arrays.send_at = arrays.recv_at = at.data();
      CollectiveCall call;
      call.collective = Collective::kAllToAllV;
      call.type = kType;
      call.send = send.data();
      call.recv = recv.data();
      call.count = 2000;
      call.vector = &arrays;
      const Status status = mine->Run(call);
      if (differ) {
        EXPECT_EQ(status.code(), InvalidUsage("").code()) << status;
        EXPECT_NE(StatusMessage(status).find("rank 1 cannot run it: its plan is "), std::string::npos) << status;
        EXPECT_TRUE(mine->error().ok()) << "it stays";
      } else {
        EXPECT_TRUE(status.ok()) << status;
        EXPECT_EQ(recv, send);
      }
      context.Meet();  // nobody leaves before the others are done
    });
  }
}

}  // namespace
}  // namespace mycel
