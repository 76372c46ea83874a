// What GPUs run, on the host: the launches of several ranks, a thread for each block, over channels in plain memory,
// against the sequential interpreter, byte for byte; and how a launch ends that cannot go on.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/encode.h"
#include "core/plan/interpret.h"
#include "core/plan/sample_plans.h"
#include "core/runtime/bind.h"
#include "core/spi/device_launch.h"
#include "core/spi/transport.h"
#include "kernels/device/run_on_host.h"

namespace mycel {
namespace {

constexpr uint64_t kSeed = 771;
constexpr uint64_t kPayloadBytes = 16384;

using Bytes = std::vector<std::byte>;

/// All channels of all ranks, in memory of this process.
class Wires {
 public:
  StatusOr<ChannelEnd> At(Rank source, Rank target, int32_t index) {
    Page*& pages = pages_[{source, target, index}];
    if (pages == nullptr) {
      owned_.push_back(std::make_unique<Page[]>(ChannelBytes(kPayloadBytes) / sizeof(Page)));
      pages = owned_.back().get();
    }
    return ChannelAt(pages->bytes, kPayloadBytes);
  }

 private:
  struct alignas(4096) Page {
    std::byte bytes[4096] = {};
  };
  std::map<std::tuple<Rank, Rank, int32_t>, Page*> pages_;
  std::vector<std::unique_ptr<Page[]>> owned_;
};

class WireTransport final : public Transport {
 public:
  WireTransport(Wires* wires, Rank rank) : wires_(wires), rank_(rank) {}
  std::string_view name() const override { return "wires"; }
  StatusOr<std::string> Prepare(const TransportOptions&) override { return std::string(); }
  Status Connect(const std::vector<std::string>&, Deadline) override { return OkStatus(); }
  bool Reaches(Rank) const override { return true; }
  StatusOr<ChannelEnd> OpenSend(Rank target, int32_t index) override { return wires_->At(rank_, target, index); }
  StatusOr<ChannelEnd> OpenRecv(Rank source, int32_t index) override { return wires_->At(source, rank_, index); }
  RankBoard* BoardOf(Rank) override { return nullptr; }
  Status CheckAlive(Rank) override { return OkStatus(); }
  size_t MemoryBytes() const override { return 0; }

 private:
  Wires* wires_;
  Rank rank_;
};

/// One rank: its ends of channels, which outlive its programs.
struct Member {
  Member(Wires* wires, Rank rank, int32_t ranks) : transport(wires, rank), channels(&transport, ranks, 8) {}
  WireTransport transport;
  ChannelTable channels;
};

class World {
 public:
  explicit World(int32_t ranks) {
    for (Rank rank : Ids<Rank>(ranks)) members_.push_back(std::make_unique<Member>(&wires_, rank, ranks));
  }
  Member& At(Rank rank) { return *members_[rank.index()]; }

 private:
  Wires wires_;
  std::vector<std::unique_ptr<Member>> members_;
};

/// One rank's program with all that a launch points to.
class DeviceProgram {
 public:
  DeviceProgram(const Plan& plan, Rank rank, const InterpretRequest& request, Member& member) {
    auto bound = Bind(Encode(plan, rank), request.type, request.count, member.channels);
    EXPECT_TRUE(bound.ok()) << bound.status();
    bound_ = *std::move(bound);
    states_.resize(bound_->lanes.size());
    finished_.resize(bound_->instructions.size());
    scratch_.resize(bound_->scratch_bytes);
    DeviceLaunch& launch = launch_;
    launch.lanes = bound_->lanes.data();
    launch.instructions = bound_->instructions.data();
    launch.operands = bound_->operands.data();
    launch.waits = bound_->waits.data();
    launch.channels = bound_->channels.data();
    launch.lane_states = states_.data();
    launch.finished = bound_->waits.empty() ? nullptr : finished_.data();
    launch.bases[2] = scratch_.data();
    launch.abort = &abort_;
    launch.report = &report_;
    launch.claimed = &claimed_;
    launch.slice_bytes = bound_->slice_bytes;
    launch.slot_count = bound_->slot_count;
    launch.geometry = GeometryOf(bound_->slice_bytes, bound_->slot_count);
    launch.lane_count = static_cast<int32_t>(bound_->lanes.size());
    launch.rank_count = plan.rank_count;
    launch.signature = 0x5EED;
    launch.element_bytes = static_cast<uint32_t>(SizeOf(request.type));
    launch.protocol = bound_->protocol;
    launch.type = request.type;
    launch.op = request.op;
    for (const BoundInstruction& in : bound_->instructions) {
      if (in.inputs > 1 || in.finish != 0) launch.combines = 1;
    }
  }

  DeviceLaunch& launch() { return launch_; }
  const DeviceReport& report() const { return report_; }
  void Abort() { std::atomic_ref<uint32_t>(abort_).store(1, std::memory_order_relaxed); }
  void SetBuffers(Bytes& send, Bytes& recv) {
    launch_.bases[0] = send.data();
    launch_.bases[1] = recv.data();
  }

 private:
  std::unique_ptr<BoundProgram> bound_;
  std::vector<DeviceLaneState> states_;
  std::vector<uint64_t> finished_;
  Bytes scratch_;
  uint32_t abort_ = 0;
  uint32_t claimed_ = 0;
  DeviceReport report_ = {};
  DeviceLaunch launch_ = {};
};

using Programs = std::vector<std::unique_ptr<DeviceProgram>>;

Programs BindAll(const Plan& plan, const InterpretRequest& request, World& world) {
  Programs programs;
  for (Rank rank : Ids<Rank>(plan.rank_count)) {
    programs.push_back(std::make_unique<DeviceProgram>(plan, rank, request, world.At(rank)));
  }
  return programs;
}

/// Starts the blocks of a launch.
void Start(const DeviceLaunch& launch, int32_t blocks, std::vector<std::thread>* threads) {
  for (int32_t block = 0; block < blocks; ++block) {
    threads->emplace_back([&launch, block, blocks] { RunDeviceBlockOnHost(launch, block, blocks); });
  }
}

void Join(std::vector<std::thread>& threads) {
  for (std::thread& thread : threads) thread.join();
}

/// Random bytes to send, zeros to receive into. One bit is always zero, so that no floating type has infinities or NaN,
/// whose bits are the device's choice (kernels/README.md), not the interpreter's.
std::vector<Bytes> RandomBuffers(const Plan& plan, const InterpretRequest& request, Rng& rng, bool send) {
  std::vector<Bytes> buffers;
  for (Rank rank : Ids<Rank>(plan.rank_count)) {
    const InterpretBytes bytes = BytesFor(plan, request, rank);
    buffers.emplace_back(static_cast<size_t>(send ? bytes.send : bytes.recv));
    for (std::byte& byte : buffers.back()) byte = static_cast<std::byte>(send ? rng.Next() & 0xBF : 0);
  }
  return buffers;
}

/// Runs the programs once on new data and compares with the interpreter.
void RunOnce(const Plan& plan, const InterpretRequest& request, Programs& programs, int32_t blocks_max, Rng& rng) {
  std::vector<Bytes> send = RandomBuffers(plan, request, rng, true);
  std::vector<Bytes> recv = RandomBuffers(plan, request, rng, false);
  std::vector<Bytes> expected_send = send;
  std::vector<Bytes> expected = recv;
  const Status interpreted = Interpret(plan, request, expected_send, expected);
  ASSERT_TRUE(interpreted.ok()) << interpreted;
  std::vector<std::thread> threads;
  for (size_t r = 0; r < programs.size(); ++r) {
    programs[r]->SetBuffers(send[r], recv[r]);
    Start(programs[r]->launch(), std::min(blocks_max, programs[r]->launch().lane_count), &threads);
  }
  Join(threads);
  for (size_t r = 0; r < programs.size(); ++r) {
    ASSERT_EQ(programs[r]->report().code, 0U) << "rank " << r;
    ASSERT_TRUE(recv[r] == expected[r]) << "rank " << r << " received something else, seed " << kSeed;
  }
}

TEST(DeviceLaunchTest, GivesWhatTheInterpreterGives) {
  Rng rng(kSeed);
  for (const Protocol protocol : {Protocol::kSlot, Protocol::kDirect}) {
    SampleOptions options;
    options.ranks = 3;
    options.lanes = 3;
    options.protocol = protocol;
    World world(options.ranks);
    for (const SamplePlan& sample : AllSamplePlans(options)) {
      if (!sample.plan.block_units.empty()) continue;  // placed anew by each call
      for (const DataType type : {DataType::kInt32, DataType::kFloat8e4m3, DataType::kBfloat16}) {
        for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{509}}) {
          InterpretRequest request;
          request.type = type;
          request.op = rng.OneIn(2) ? ReduceOp::kSum : ReduceOp::kAvg;
          request.count = count;
          SCOPED_TRACE(sample.name + ", " + std::string(NameOf(protocol)) + ", " + std::string(NameOf(type)) + " x " +
                       std::to_string(count));
          Programs programs = BindAll(sample.plan, request, world);
          // Twice the same launch, as a captured graph replays it, then with lanes that share blocks.
          RunOnce(sample.plan, request, programs, 3, rng);
          RunOnce(sample.plan, request, programs, 3, rng);
          RunOnce(sample.plan, request, programs, static_cast<int32_t>(1 + rng.Below(2)), rng);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

/// Rings that change their geometry drain first; a launch that follows another waits for all its lanes.
TEST(DeviceLaunchTest, RunsAChainOfLaunches) {
  Rng rng(kSeed);
  SampleOptions options;
  options.ranks = 2;
  options.lanes = 2;
  World world(options.ranks);
  const Plan first = RingAllReduce(options);
  options.slice_bytes = 512;
  options.slot_count = 2;
  const Plan second = OneShotAllReduce(options);
  InterpretRequest request;
  request.type = DataType::kInt16;
  request.count = 2111;
  for (int round = 0; round < 3; ++round) {
    Programs programs = BindAll(first, request, world);
    Programs followers = BindAll(second, request, world);
    std::vector<Bytes> send = RandomBuffers(first, request, rng, true);
    std::vector<Bytes> recv = RandomBuffers(first, request, rng, false);
    std::vector<Bytes> last = recv;
    std::vector<Bytes> expected_send = send;
    std::vector<Bytes> expected = recv;
    std::vector<Bytes> expected_last = recv;
    ASSERT_TRUE(Interpret(first, request, expected_send, expected).ok());
    ASSERT_TRUE(Interpret(second, request, expected, expected_last).ok());
    std::vector<std::thread> threads;
    for (size_t r = 0; r < programs.size(); ++r) {
      programs[r]->SetBuffers(send[r], recv[r]);
      followers[r]->SetBuffers(recv[r], last[r]);
      programs[r]->launch().next = &followers[r]->launch();
      Start(programs[r]->launch(), 2, &threads);
    }
    Join(threads);
    EXPECT_TRUE(last == expected_last) << "round " << round << ", seed " << kSeed;
  }
}

struct Stuck {
  Stuck(Protocol protocol, int32_t lanes) {
    options.ranks = 2;
    options.lanes = lanes;
    options.protocol = protocol;
    world = std::make_unique<World>(2);
    request.type = DataType::kInt32;
    request.count = 400;
  }
  void Bind(const Plan& plan) {
    Rng rng(kSeed);
    programs = BindAll(plan, request, *world);
    send = RandomBuffers(plan, request, rng, true);
    recv = RandomBuffers(plan, request, rng, false);
    for (size_t r = 0; r < 2; ++r) programs[r]->SetBuffers(send[r], recv[r]);
  }
  SampleOptions options;
  std::unique_ptr<World> world;
  InterpretRequest request;
  Programs programs;
  std::vector<Bytes> send;
  std::vector<Bytes> recv;
};

TEST(DeviceLaunchTest, AnAbortEndsALaunchAndNamesWhatItWaitedFor) {
  for (const int32_t blocks : {1, 2}) {
    Stuck stuck(Protocol::kSlot, 2);
    stuck.Bind(RingAllReduce(stuck.options));
    std::vector<std::thread> threads;
    Start(stuck.programs[1]->launch(), blocks, &threads);  // rank 0 never comes
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stuck.programs[1]->Abort();
    Join(threads);
    const DeviceReport& report = stuck.programs[1]->report();
    EXPECT_EQ(report.code, static_cast<uint32_t>(DeviceFault::kAborted));
    EXPECT_EQ(report.peer, 0);
    EXPECT_EQ(report.receives, 1U);
    EXPECT_EQ(report.step, 0U);
    EXPECT_GE(report.lane, 0);
    EXPECT_GE(report.channel, 0);
  }
}

TEST(DeviceLaunchTest, AMessageOfAnotherOperationIsReported) {
  Stuck stuck(Protocol::kSlot, 1);
  stuck.Bind(OneShotAllReduce(stuck.options));
  stuck.programs[1]->launch().signature = 0xBAD;
  std::vector<std::thread> threads;
  for (const auto& program : stuck.programs) Start(program->launch(), 1, &threads);
  Join(threads);  // each finds the other's message wrong
  for (size_t r = 0; r < 2; ++r) {
    const DeviceReport& report = stuck.programs[r]->report();
    EXPECT_EQ(report.code, static_cast<uint32_t>(DeviceFault::kMismatch)) << "rank " << r;
    EXPECT_EQ(report.signature, r == 0 ? 0xBADU : 0x5EEDU);
    EXPECT_EQ(report.peer, r == 0 ? 1 : 0);
    EXPECT_EQ(report.step, 0U);
  }
}

/// kDirect across address spaces, played by a copy of the sender's buffer that lies elsewhere: the receiver must read
/// there, and says so where the range does not cover the message.
TEST(DeviceLaunchTest, DirectMessagesAreReadWhereThePeerIsMapped) {
  for (const bool covered : {true, false}) {
    Stuck stuck(Protocol::kDirect, 1);
    stuck.Bind(ChainBroadcast(stuck.options));
    // The root sends from its receive buffer or its send buffer, whichever the plan writes: map both.
    std::vector<PeerRange> ranges;
    std::vector<Bytes> mapped = {stuck.send[0], stuck.send[0]};
    for (std::byte& byte : mapped[0]) byte ^= std::byte{0xFF};
    mapped[1] = mapped[0];
    const Bytes* of_root[] = {&stuck.send[0], &stuck.recv[0]};
    for (size_t i = 0; i < 2; ++i) {
      const auto address = reinterpret_cast<uintptr_t>(of_root[i]->data());
      const auto there = reinterpret_cast<uintptr_t>(mapped[i].data());
      const uint64_t bytes = covered ? of_root[i]->size() : of_root[i]->size() / 4;
      ranges.push_back({address, bytes, static_cast<int64_t>(there - address)});
    }
    const int32_t first[] = {0, 2};
    stuck.programs[1]->launch().peer_ranges = ranges.data();
    stuck.programs[1]->launch().peer_ranges_first = first;
    std::vector<std::thread> threads;
    Start(stuck.programs[0]->launch(), 1, &threads);
    std::vector<std::thread> receiver;
    Start(stuck.programs[1]->launch(), 1, &receiver);
    Join(receiver);
    if (!covered) stuck.programs[0]->Abort();
    Join(threads);
    if (covered) {
      EXPECT_EQ(stuck.programs[1]->report().code, 0U);
      EXPECT_TRUE(stuck.recv[1] == mapped[0]) << "read somewhere else";
    } else {
      EXPECT_EQ(stuck.programs[1]->report().code, static_cast<uint32_t>(DeviceFault::kUnmapped));
      EXPECT_EQ(stuck.programs[1]->report().peer, 0);
    }
  }
}

TEST(DeviceLaunchTest, AKernelRefusesLaunchesOfOthers) {
  Stuck stuck(Protocol::kSlot, 1);
  stuck.Bind(RingAllReduce(stuck.options));
  const DeviceLaunch follower = stuck.programs[0]->launch();
  ASSERT_EQ(follower.combines, 1);
  // The kernel that only moves bytes is chosen by the first launch, which has nothing to do.
  const BoundLane empty = {0, 0, -1, 0, 0};
  DeviceLaneState state = {};
  DeviceLaunch first = follower;
  first.combines = 0;
  first.lanes = &empty;
  first.lane_states = &state;
  first.next = &follower;
  RunDeviceBlockOnHost(first, 0, 1);
  EXPECT_EQ(stuck.programs[0]->report().code, static_cast<uint32_t>(DeviceFault::kWrongKernel));
}

}  // namespace
}  // namespace mycel
