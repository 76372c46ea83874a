#include "tests/sim/sim_world.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/rng.h"
#include "core/plan/contract.h"
#include "core/plan/verify.h"
#include "core/runtime/communicator.h"
#include "core/topo/gallery.h"
#include "scheduler/lower/lower.h"
#include "scheduler/select/planners.h"
#include "tests/conformance/relay_schedule.h"
#include "tests/sim/fiber.h"
#include "tests/sim/sim_device.h"
#include "tests/sim/sim_transport.h"

namespace mycel::sim {
namespace {

// Resumptions without any rank making progress before the job counts as stuck; chaos delays are far shorter.
constexpr uint64_t kStuckTurns = 100'000;

/// One call of all ranks.
struct ScriptedCall {
  Collective collective;
  ReduceOp op;
  int32_t root;
  uint64_t count;
  bool in_place;
  std::vector<size_t> counts;  // alltoallv: row = sender
};

/// A small exact value, different for rank, block and index.
int32_t ValueOf(int32_t rank, int32_t block, uint64_t index) {
  return static_cast<int32_t>((static_cast<uint64_t>(rank * 31 + block * 17) + index * 7) % 1000) - 300;
}

int32_t ExpectedOf(const Contract& contract, ReduceOp op, int32_t block, uint64_t index) {
  const std::vector<Rank> ranks = contract.Contributors(block);
  int32_t result = ValueOf(ranks[0].value(), block, index);
  for (size_t i = 1; i < ranks.size(); ++i) {
    const int32_t value = ValueOf(ranks[i].value(), block, index);
    result = op == ReduceOp::kSum   ? result + value
             : op == ReduceOp::kMax ? std::max(result, value)
                                    : std::min(result, value);
  }
  return result;
}

/// Everything the seed decides before the ranks start.
class Script {
 public:
  explicit Script(uint64_t seed) : rng_(seed) {
    ranks = static_cast<int32_t>(2 + rng_.Below(5));
    topology = std::make_shared<const Topology>(GalleryTopology("host-" + std::to_string(ranks)).value());
    const uint64_t count = 2 + rng_.Below(4);
    for (uint64_t i = 0; i < count; ++i) calls.push_back(RandomCall());
  }

  /// The same plan for every rank that asks with the same request.
  StatusOr<Plan> PlanFor(const PlanRequest& wanted, uint64_t salt) const {
    Rng rng(salt * 1000003 + static_cast<uint64_t>(wanted.collective) * 97 + static_cast<uint64_t>(wanted.bytes) +
            static_cast<uint64_t>(wanted.root.value() + 1) * 7);
    if (wanted.collective == Collective::kAllToAllV && rng.OneIn(2)) {
      // Relays, whoever might have planned them.
      MYCEL_ASSIGN_OR_RETURN(const Schedule relays, RelaySchedule(*topology, wanted.demand, &rng));
      return Lowered(relays, &rng);
    }
    PlanRequest request = wanted;
    std::vector<const Planner*> able;
    for (const Planner* planner : AllPlanners()) {
      if (planner->Serves(*topology, request).ok()) able.push_back(planner);
    }
    const Planner& planner = *able.at(rng.Below(able.size()));
    const std::vector<std::string> variants = planner.VariantsFor(*topology, request);
    request.variant = variants[rng.Below(variants.size())];
    StatusOr<Schedule> schedule = planner.MakeSchedule(*topology, request);
    if (!schedule.ok()) return schedule.status();
    return Lowered(*schedule, &rng);
  }

  int32_t ranks = 0;
  std::shared_ptr<const Topology> topology;
  std::vector<ScriptedCall> calls;

 private:
  StatusOr<Plan> Lowered(const Schedule& schedule, Rng* rng) const {
    LowerOptions options;
    options.pipelined = rng->OneIn(2) ? Pipelining::kOn : Pipelining::kAuto;
    options.slice_bytes = int64_t{64} << rng->Below(5);
    options.slot_count = 0;
    options.channel_bytes = kSimPayloadBytes;
    MYCEL_ASSIGN_OR_RETURN(Plan plan, Lower(schedule, *topology, options));
    TightenSlots(&plan);
    MYCEL_RETURN_IF_ERROR(Verify(plan));
    return plan;
  }

  /// The fewest slots that the verifier allows: wraps and full rings all the time.
  static void TightenSlots(Plan* plan) {
    const int32_t generous = plan->slot_count;
    for (plan->slot_count = 1; plan->slot_count < generous; ++plan->slot_count) {
      if (Verify(*plan).ok()) return;
    }
  }

  ScriptedCall RandomCall() {
    const std::vector<CollectiveInfo>& all = AllCollectives();
    ScriptedCall call;
    call.collective = all[rng_.Below(all.size())].collective;
    if (call.collective == Collective::kAllToAllV) return RandomExchange();
    const ReduceOp ops[] = {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin};
    call.op = InfoOf(call.collective).reduces ? ops[rng_.Below(3)] : ReduceOp::kSum;
    call.root = InfoOf(call.collective).rooted ? static_cast<int32_t>(rng_.Below(static_cast<uint64_t>(ranks))) : -1;
    call.count = rng_.OneIn(4) ? rng_.Below(8) : rng_.Below(900);
    call.in_place = rng_.OneIn(3);
    return call;
  }

  /// Often one that was there before: a look-up then, on every rank alike.
  ScriptedCall RandomExchange() {
    ScriptedCall call = {Collective::kAllToAllV, ReduceOp::kSum, -1, 0, false, {}};
    for (const ScriptedCall& before : calls) {
      if (before.collective == Collective::kAllToAllV && rng_.OneIn(2)) return before;
    }
    for (int32_t pair = 0; pair < ranks * ranks; ++pair) {
      call.counts.push_back(rng_.OneIn(3) ? 0 : rng_.Below(rng_.OneIn(3) ? 300 : 20));
    }
    return call;
  }

  Rng rng_;
};

/// One rank: its communicator and the fiber that makes its calls.
class RankActor {
 public:
  RankActor(const Script& script, Rank rank, std::unique_ptr<Communicator> communicator, std::string* failure)
      : script_(script), rank_(rank), communicator_(std::move(communicator)), failure_(*failure), fiber_([this] {
          Run();
        }) {}

  Fiber& fiber() { return fiber_; }
  uint64_t progress() const { return progress_; }
  void Stop() { stop_ = true; }

 private:
  void Run() {
    for (size_t i = 0; i < script_.calls.size() && !stop_; ++i) RunCall(i);
  }

  void RunCall(size_t index) {
    const ScriptedCall& it = script_.calls[index];
    if (it.collective == Collective::kAllToAllV) return RunExchange(index);
    const Contract contract{it.collective, script_.ranks, Rank(it.root)};
    const std::vector<int32_t> send_blocks = contract.SendBlocks(rank_);
    const std::vector<int32_t> recv_blocks = contract.RecvBlocks(rank_);
    const size_t larger = std::max(send_blocks.size(), recv_blocks.size()) * it.count;
    // Kept to the end of the world: a planted bug may still write there.
    std::vector<int32_t>& memory = memories_.emplace_back(2 * larger + 1, -777);
    int32_t* send = memory.data();
    int32_t* recv = memory.data() + larger;
    if (it.in_place && !send_blocks.empty() && !recv_blocks.empty()) {
      const int64_t offset = contract.InPlaceOffset(rank_) * static_cast<int64_t>(it.count);
      send = memory.data() + (offset < 0 ? -offset : 0);
      recv = send + offset;
    }
    for (size_t place = 0; place < send_blocks.size(); ++place) {
      for (uint64_t i = 0; i < it.count; ++i) {
        send[place * it.count + i] = ValueOf(rank_.value(), send_blocks[place], i);
      }
    }
    CollectiveCall call;
    call.collective = it.collective;
    call.type = DataType::kInt32;
    call.op = it.op;
    call.root = it.root;
    call.count = it.count;
    call.send = send_blocks.empty() ? nullptr : send;
    call.recv = recv_blocks.empty() ? nullptr : recv;
    if (!Drive(index, call)) return;
    for (size_t place = 0; place < recv_blocks.size(); ++place) {
      for (uint64_t i = 0; i < it.count; ++i) {
        const int32_t want = ExpectedOf(contract, it.op, recv_blocks[place], i);
        const int32_t got = recv[place * it.count + i];
        if (got != want) {
          return Blame(index, "block " + std::to_string(recv_blocks[place]) + " element " + std::to_string(i) +
                                  ": got " + std::to_string(got) + ", expected " + std::to_string(want));
        }
      }
    }
  }

  /// The call to its end; false when there is nothing to look at.
  bool Drive(size_t index, const CollectiveCall& call) {
    Status status = communicator_->Start(call);
    while (status.ok() && communicator_->running() && !stop_) {
      bool idle = false;
      status = communicator_->Advance(&idle);
      if (!idle) ++progress_;
      if (idle) Fiber::Yield();
    }
    if (!stop_ && !status.ok()) Blame(index, StatusMessage(status));
    return !stop_ && status.ok();
  }

  /// alltoallv by plan, blocks in descending order with a gap after each.
  void RunExchange(size_t index) {
    const std::vector<size_t>& counts = script_.calls[index].counts;
    const auto n = static_cast<size_t>(script_.ranks);
    std::vector<size_t> row, column;
    for (size_t peer = 0; peer < n; ++peer) {
      row.push_back(counts[rank_.index() * n + peer]);
      column.push_back(counts[peer * n + rank_.index()]);
    }
    const auto place = [n](const std::vector<size_t>& lengths, size_t* end) {
      std::vector<size_t> at(n);
      for (size_t peer = n; peer-- > 0;) {
        at[peer] = *end;
        *end += lengths[peer] + 1;
      }
      return at;
    };
    size_t sent = 0;
    size_t received = 0;
    const std::vector<size_t> send_at = place(row, &sent);
    const std::vector<size_t> recv_at = place(column, &received);
    std::vector<int32_t>& send = memories_.emplace_back(sent, -777);
    std::vector<int32_t>& recv = memories_.emplace_back(received, -777);
    std::vector<int32_t> expected(received, -777);
    for (size_t peer = 0; peer < n; ++peer) {
      const auto out = static_cast<int32_t>(rank_.index() * n + peer);
      const auto in = static_cast<int32_t>(peer * n + rank_.index());
      for (size_t i = 0; i < row[peer]; ++i) send[send_at[peer] + i] = ValueOf(rank_.value(), out, i);
      for (size_t i = 0; i < column[peer]; ++i) {
        expected[recv_at[peer] + i] = ValueOf(static_cast<int32_t>(peer), in, i);
      }
    }
    VectorArrays arrays;
    arrays.send_counts = row.data();
    arrays.send_at = send_at.data();
    arrays.recv_counts = column.data();
    arrays.recv_at = recv_at.data();
    CollectiveCall call;
    call.collective = Collective::kAllToAllV;
    call.type = DataType::kInt32;
    call.send = send.data();
    call.recv = recv.data();
    call.vector = &arrays;
    if (!Drive(index, call) || recv == expected) return;
    const auto wrong = std::mismatch(recv.begin(), recv.end(), expected.begin());
    Blame(index, "element " + std::to_string(wrong.first - recv.begin()) + " of the receive buffer: got " +
                     std::to_string(*wrong.first) + ", expected " + std::to_string(*wrong.second));
  }

  void Blame(size_t index, const std::string& what) {
    if (failure_.empty()) {
      failure_ = "rank " + std::to_string(rank_.value()) + " call " + std::to_string(index) + ": " + what;
    }
  }

  const Script& script_;
  Rank rank_;
  std::unique_ptr<Communicator> communicator_;
  std::string& failure_;
  uint64_t progress_ = 0;
  bool stop_ = false;
  std::deque<std::vector<int32_t>> memories_;
  Fiber fiber_;
};

std::string DescribeScript(const Script& script) {
  std::ostringstream text;
  text << script.ranks << " ranks:";
  for (const ScriptedCall& call : script.calls) {
    text << " " << NameOf(call.collective) << "(" << call.count << (call.in_place ? " in place" : "") << ")";
  }
  return text.str();
}

std::unique_ptr<Communicator> MakeCommunicator(const Script& script, const WorldOptions& options, Rank rank,
                                               std::unique_ptr<Transport> transport) {
  CommunicatorParts parts;
  parts.rank = rank;
  parts.rank_count = script.ranks;
  parts.transport = std::move(transport);
  parts.device = options.device;
  parts.plan_source = [&script, seed = options.seed](const PlanRequest& request) {
    return script.PlanFor(request, seed);
  };
  parts.cache_bytes = ~size_t{0};
  return std::make_unique<Communicator>(std::move(parts));
}

}  // namespace

WorldResult RunWorld(const WorldOptions& options) {
  WorldResult result;
  const Script script(options.seed);
  result.description = DescribeScript(script);
  Rng rng(options.seed ^ 0x5eed);
  SimNetwork network(script.ranks, options.seed, options.drop_messages);
  std::vector<std::unique_ptr<RankActor>> actors;
  for (Rank rank : Ids<Rank>(script.ranks)) {
    actors.push_back(std::make_unique<RankActor>(
        script, rank, MakeCommunicator(script, options, rank, network.TakeTransport(rank)), &result.failure));
  }
  Switcher::Current().Start(options.seed, 1 + rng.Below(6));
  uint64_t idle_turns = 0;
  uint64_t last_progress = 0;
  while (true) {
    std::vector<RankActor*> alive;
    uint64_t progress = 0;
    for (const auto& actor : actors) {
      progress += actor->progress();
      if (!actor->fiber().done()) alive.push_back(actor.get());
    }
    if (alive.empty()) break;
    idle_turns = progress == last_progress ? idle_turns + 1 : 0;
    last_progress = progress;
    if (idle_turns > kStuckTurns || !result.failure.empty()) {
      if (result.failure.empty()) result.failure = "stuck: no rank and no message moved any more";
      for (RankActor* actor : alive) actor->Stop();
    }
    network.Tick();
    alive[rng.Below(alive.size())]->fiber().Resume();
  }
  result.switches = Switcher::Current().switches();
  return result;
}

}  // namespace mycel::sim
