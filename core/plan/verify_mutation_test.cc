// Sabotage: every one-step change of a right plan must be rejected, or be harmless, which the interpreter then has to
// confirm by running it. What passes Verify passes every run, in place too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/mutants.h"
#include "core/plan/random_plans.h"
#include "core/plan/sample_plans.h"
#include "core/plan/verify.h"

namespace mycel {
namespace {

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
