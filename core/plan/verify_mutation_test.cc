// Sabotage: every one-step change of a right plan must be rejected, or be harmless, which the interpreter then has to
// confirm by running it. What passes Verify passes every run, in place too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/random_plans.h"
#include "core/plan/run_check.h"
#include "core/plan/sample_plans.h"
#include "core/plan/verify.h"

namespace mycel {
namespace {

/// Where an op is.
struct Spot {
  size_t rank;
  size_t lane;
  size_t op;
};

std::vector<Op>& BodyAt(Plan& plan, const Spot& spot) { return plan.ranks[spot.rank].lanes[spot.lane].ops; }
Op& OpAt(Plan& plan, const Spot& spot) { return BodyAt(plan, spot)[spot.op]; }

std::vector<Spot> SpotsOf(const Plan& plan) {
  std::vector<Spot> spots;
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    for (size_t lane = 0; lane < plan.ranks[rank].lanes.size(); ++lane) {
      for (size_t op = 0; op < plan.ranks[rank].lanes[lane].ops.size(); ++op) spots.push_back({rank, lane, op});
    }
  }
  return spots;
}

/// Operand `i` of an op, inputs first.
Operand& OperandOf(Plan& plan, const Spot& spot, int32_t i) {
  return plan.operands[static_cast<size_t>(OpAt(plan, spot).operands + i)];
}

void DropOperand(Plan& plan, const Spot& spot, int32_t dropped) {
  Op& op = OpAt(plan, spot);
  const auto moved = static_cast<int32_t>(plan.operands.size());
  for (int32_t i = 0; i < op.inputs + op.outputs; ++i) {
    if (i == dropped) continue;
    plan.operands.push_back(plan.operands[static_cast<size_t>(op.operands + i)]);
  }
  op.operands = moved;
  (dropped < op.inputs ? op.inputs : op.outputs) -= 1;
}

using Report = std::function<void(const std::string& kind, const Plan& mutant)>;

void MutateChunk(const Plan& plan, const Spot& spot, const Report& report) {
  for (const int64_t by : {-1, 1}) {
    Plan mutant = plan;
    OpAt(mutant, spot).chunk.begin += by;
    report("chunk begin", mutant);
    mutant = plan;
    OpAt(mutant, spot).chunk.end += by;
    report("chunk end", mutant);
    mutant = plan;
    OpAt(mutant, spot).chunk.block += static_cast<int32_t>(by);
    report("chunk block", mutant);
  }
}

void MutateOperands(const Plan& plan, const Spot& spot, const Report& report) {
  const Op& op = plan.ranks[spot.rank].lanes[spot.lane].ops[spot.op];
  for (int32_t i = 0; i < op.inputs + op.outputs; ++i) {
    Plan mutant = plan;
    DropOperand(mutant, spot, i);
    report(i < op.inputs ? "drop an input" : "drop an output", mutant);
    for (const Operand::Kind kind : {Operand::Kind::kSend, Operand::Kind::kRecv, Operand::Kind::kScratch}) {
      mutant = plan;
      Operand& operand = OperandOf(mutant, spot, i);
      if (operand.kind == kind) continue;
      operand = {kind, kind == Operand::Kind::kScratch ? 0 : -1, -1};
      report("another kind of operand", mutant);
    }
    for (size_t channel = 0; channel < plan.channels.size(); ++channel) {
      mutant = plan;
      const Operand other{Operand::Kind::kChannel, static_cast<int32_t>(channel), -1};
      if (OperandOf(mutant, spot, i) == other) continue;
      OperandOf(mutant, spot, i) = other;
      report("another channel", mutant);
    }
    if (i == 0 || i == op.inputs) continue;
    mutant = plan;
    std::swap(OperandOf(mutant, spot, i - 1), OperandOf(mutant, spot, i));
    report("swap operands", mutant);
  }
}

void MutateOp(const Plan& plan, const Spot& spot, const Report& report) {
  const auto change = [&](const std::string& kind, const std::function<void(Plan&)>& edit) {
    Plan mutant = plan;
    edit(mutant);
    report(kind, mutant);
  };
  change("drop an op", [&](Plan& p) {
    std::vector<Op>& body = BodyAt(p, spot);
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(spot.op));
  });
  change("double an op", [&](Plan& p) {
    std::vector<Op>& body = BodyAt(p, spot);
    const Op copy = body[spot.op];
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(spot.op), copy);
  });
  change("toggle finish", [&](Plan& p) { OpAt(p, spot).finish = !OpAt(p, spot).finish; });
  for (const int32_t by : {-1, 1, 3}) {
    change("change a skew", [&](Plan& p) { OpAt(p, spot).skew += by; });
  }
  if (plan.ranks[spot.rank].lanes[spot.lane].ops[spot.op].wait_count > 0) {
    change("drop a wait", [&](Plan& p) { OpAt(p, spot).wait_count -= 1; });
  }
  for (size_t other = spot.op + 1; other < plan.ranks[spot.rank].lanes[spot.lane].ops.size(); ++other) {
    change("swap two ops", [&](Plan& p) { std::swap(BodyAt(p, spot)[spot.op], BodyAt(p, spot)[other]); });
  }
  for (size_t lane = 0; lane < plan.ranks[spot.rank].lanes.size(); ++lane) {
    if (lane == spot.lane) continue;
    change("another lane", [&](Plan& p) {
      p.ranks[spot.rank].lanes[lane].ops.push_back(OpAt(p, spot));
      std::vector<Op>& body = BodyAt(p, spot);
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(spot.op));
    });
  }
}

void MutatePlan(const Plan& plan, const Report& report) {
  for (int32_t slots = 1; slots < plan.slot_count; ++slots) {
    Plan mutant = plan;
    mutant.slot_count = slots;
    report("fewer slots", mutant);
  }
  for (size_t channel = 0; channel < plan.channels.size(); ++channel) {
    for (Rank rank : Ids<Rank>(plan.rank_count)) {
      Plan mutant = plan;
      mutant.channels[channel].target = rank;
      if (rank != plan.channels[channel].target) report("another target", mutant);
      mutant = plan;
      mutant.channels[channel].source = rank;
      if (rank != plan.channels[channel].source) report("another source", mutant);
    }
  }
}

void ForEachMutant(const Plan& plan, const Report& report) {
  MutatePlan(plan, report);
  for (const Spot& spot : SpotsOf(plan)) {
    MutateOp(plan, spot, report);
    MutateChunk(plan, spot, report);
    MutateOperands(plan, spot, report);
  }
}

/// Runs a plan with one and with several slices, in several orders.
Status RunManyWays(const Plan& plan, bool in_place) {
  const int64_t slice = plan.slice_bytes * plan.units_per_block;
  uint64_t seed = 0;
  for (const int64_t count : {int64_t{1}, int64_t{13}, slice, 3 * slice + 17, 7 * slice + 1}) {
    for (int round = 0; round < 3; ++round) {
      InterpretRequest request;
      request.type = DataType::kUint8;
      request.count = count;
      request.in_place = in_place;
      request.seed = ++seed;
      MYCEL_RETURN_IF_ERROR(CheckByRunning(plan, request));
    }
  }
  return OkStatus();
}

struct Tally {
  int rejected = 0;
  int harmless = 0;
};

/// Expects that Verify's word on `mutant` holds.
void ExpectVerdictHolds(const Plan& mutant, Tally& tally, const std::string& what) {
  if (!Verify(mutant, {false}).ok()) {
    ++tally.rejected;
    return;
  }
  ++tally.harmless;
  EXPECT_EQ(RunManyWays(mutant, false), OkStatus()) << what << "\n" << ToText(mutant);
  if (!mutant.block_units.empty() || !Verify(mutant).ok()) return;
  EXPECT_EQ(RunManyWays(mutant, true), OkStatus()) << what << ", in place\n" << ToText(mutant);
}

TEST(VerifyMutation, EveryStepOfEverySample) {
  std::map<std::string, Tally> tallies;
  for (Protocol protocol : {Protocol::kSlot, Protocol::kDirect}) {
    for (int32_t skew : {0, 1}) {
      SampleOptions options;
      options.ranks = 3;
      options.protocol = protocol;
      options.hop_skew = skew;
      options.lanes = skew + 1;
      options.slot_count = skew == 0 ? 2 : 8;
      options.slice_bytes = 64;
      for (const SamplePlan& sample : AllSamplePlans(options)) {
        ForEachMutant(sample.plan, [&](const std::string& kind, const Plan& mutant) {
          ExpectVerdictHolds(mutant, tallies[kind], sample.name + ": " + kind);
        });
      }
    }
  }
  int rejected = 0;
  int harmless = 0;
  for (const auto& [kind, tally] : tallies) {
    if (kind == "swap operands") continue;  // sums the same terms in another order: always harmless
    EXPECT_GT(tally.rejected, 0) << kind;
    std::printf("%-24s %5d rejected %5d harmless\n", kind.c_str(), tally.rejected, tally.harmless);
    rejected += tally.rejected;
    harmless += tally.harmless;
  }
  EXPECT_GT(rejected, 5 * harmless);
  // These change what is computed or who gets it: never harmless in plans without spare ops.
  for (const char* kind :
       {"drop an op", "toggle finish", "another target", "another source", "another channel", "another kind of operand",
        "drop an input", "drop an output", "chunk begin", "chunk end", "chunk block"}) {
    EXPECT_EQ(tallies[kind].harmless, 0) << kind;
  }
}

/// A plan whose lanes hand work over: lane 1 broadcasts what lane 0 received.
Plan LanesWithWaits() {
  Plan plan;
  plan.collective = Collective::kBroadcast;
  plan.rank_count = 3;
  plan.root = Rank(0);
  plan.units_per_block = 2;
  plan.slice_bytes = 64;
  plan.ranks.resize(3);
  PlanBuilder builder(&plan);
  const auto via = [&](int source, int target, int lane) -> Operand {
    return {Operand::Kind::kChannel, builder.ChannelFor(Rank(source), Rank(target), lane).value(), -1};
  };
  const Operand send{Operand::Kind::kSend, -1, -1};
  const Operand recv{Operand::Kind::kRecv, -1, -1};
  for (const Chunk& chunk : {Chunk{0, 0, 1}, Chunk{0, 1, 2}}) {
    builder.Add(Rank(0), LaneId(0), chunk, {send}, {recv, via(0, 1, 0)}, 0);
    builder.Add(Rank(1), LaneId(0), chunk, {via(0, 1, 0)}, {recv}, 0);
    Op& forward = builder.Add(Rank(1), LaneId(1), chunk, {recv}, {via(1, 2, 1)}, 0);
    forward.waits = static_cast<int32_t>(plan.waits.size());
    forward.wait_count = 1;
    plan.waits.push_back({LaneId(0), chunk.begin == 0 ? 0 : 1});
    builder.Add(Rank(2), LaneId(1), chunk, {via(1, 2, 1)}, {recv}, 0);
  }
  return plan;
}

TEST(VerifyMutation, EveryStepOfAPlanWithWaits) {
  const Plan plan = LanesWithWaits();
  ASSERT_EQ(Verify(plan), OkStatus());
  ASSERT_EQ(RunManyWays(plan, true), OkStatus());
  std::map<std::string, Tally> tallies;
  ForEachMutant(plan, [&](const std::string& kind, const Plan& mutant) {
    ExpectVerdictHolds(mutant, tallies[kind], "waits: " + kind);
  });
  EXPECT_EQ(tallies["drop a wait"].rejected, 2);
  EXPECT_EQ(tallies["drop a wait"].harmless, 0);
  // Waiting for the wrong chunk is no better than not waiting.
  Plan mutant = plan;
  mutant.waits[1].op = 0;
  EXPECT_FALSE(Verify(mutant).ok());
}

/// One random change, out of range as often as not.
void ScrambleOnce(Plan& plan, Rng& rng) {
  const auto value = [&rng]() -> int32_t {
    constexpr int32_t kEdges[] = {-1, 0, 1, 2, 3, 5, 64, 1 << 20, 2147483647, -2147483647 - 1};
    return rng.OneIn(3) ? kEdges[rng.Below(std::size(kEdges))] : static_cast<int32_t>(rng.Below(4));
  };
  const std::vector<Spot> spots = SpotsOf(plan);
  if (spots.empty()) return;
  const Spot spot = spots[rng.Below(spots.size())];
  Op& op = OpAt(plan, spot);
  Operand& operand = plan.operands[rng.Below(plan.operands.size())];
  switch (rng.Below(18)) {
    case 0:
      op.chunk.begin = value();
      break;
    case 1:
      op.chunk.end = value();
      break;
    case 2:
      op.chunk.block = value();
      break;
    case 3:
      op.operands = value();
      break;
    case 4:
      op.inputs = value();
      break;
    case 5:
      op.outputs = value();
      break;
    case 6:
      op.skew = value();
      break;
    case 7:
      plan.waits.push_back({LaneId(value()), value()});
      op.waits = static_cast<int32_t>(plan.waits.size()) - 1;
      op.wait_count = 1;
      break;
    case 8:
      op.wait_count = value();
      break;
    case 9:
      op.finish = !op.finish;
      break;
    case 10:
      operand.kind = static_cast<Operand::Kind>(rng.Below(5));
      break;
    case 11:
      operand.index = value();
      break;
    case 12:
      if (!plan.channels.empty()) plan.channels[rng.Below(plan.channels.size())].target = Rank(value());
      break;
    case 13:
      plan.slot_count = value();
      break;
    case 14:
      std::swap(op, BodyAt(plan, spot)[rng.Below(BodyAt(plan, spot).size())]);
      break;
    case 15:
      plan.protocol = static_cast<Protocol>(rng.Below(4));
      break;
    case 16:
      plan.ranks[spot.rank].scratch.push_back({{value(), value(), value()}});
      break;
    default:
      plan.units_per_block = value();
  }
}

TEST(VerifyMutation, RandomScramblesNeverCrashAndVerdictsHold) {
  const uint64_t seed = 90210;
  Tally tally;
  for (uint64_t i = 0; i < 10000; ++i) {
    Rng rng(seed + i);
    Plan plan = RandomTreePlan(rng, 4);
    plan.slice_bytes = 64;
    for (uint64_t steps = 1 + rng.Below(3); steps > 0; --steps) ScrambleOnce(plan, rng);
    if (Verify(plan, {false}).ok() && !rng.OneIn(4)) {  // running all that pass would take long
      ++tally.harmless;
      continue;
    }
    ExpectVerdictHolds(plan, tally, "seed " + std::to_string(seed + i));
  }
  EXPECT_GT(tally.rejected, 5000);
  EXPECT_GT(tally.harmless, 200);
}

}  // namespace
}  // namespace mycel
