#include "core/plan/encode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/sample_plans.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

TEST(Encode, RingAllGatherOfOneRank) {
  SampleOptions options;
  options.ranks = 3;
  const Program program = Encode(RingAllGather(options), Rank(1));
  EXPECT_EQ(program.rank, 1);
  EXPECT_EQ(program.rank_count, 3);
  EXPECT_EQ(program.root, -1);
  ASSERT_EQ(program.lanes.size(), 1U);
  EXPECT_EQ(program.lanes[0].instruction_count, 3);
  EXPECT_EQ(program.lanes[0].skew_max, 0);
  EXPECT_EQ(program.lanes[0].units_max, 1);
  // First use: the channel to the right is written by the first op, the one from the left is read by the second.
  ASSERT_EQ(program.channels.size(), 2U);
  EXPECT_TRUE(program.channels[0].sends);
  EXPECT_EQ(program.channels[0].peer, 2);
  EXPECT_FALSE(program.channels[1].sends);
  EXPECT_EQ(program.channels[1].peer, 0);
  EXPECT_EQ(ToText(program).substr(ToText(program).find('\n')),
            "\n"
            "channel 0: to rank 2 index 0\n"
            "channel 1: from rank 0 index 0\n"
            "lane 0: units_max 1\n"
            "  0. block 1 [0,1) skew 0: send[0] -> recv[1] channel[0]\n"
            "  1. block 0 [0,1) skew 0: channel[1] -> recv[0] channel[0]\n"
            "  2. block 2 [0,1) skew 0: channel[1] -> recv[2]\n");
}

TEST(Encode, WidestChunkIsTakenOverAllRanks) {
  SampleOptions options;
  options.ranks = 2;
  const Plan plan = DirectAllToAllV(options, {1, 9, 2, 3});
  EXPECT_EQ(Encode(plan, Rank(0)).lanes[0].units_max, 9);
  EXPECT_EQ(Encode(plan, Rank(1)).lanes[0].units_max, 9);
  EXPECT_EQ(Encode(plan, Rank(1)).block_units, plan.block_units);
}

TEST(Encode, ScratchBaseFinishAndWaits) {
  Plan plan;
  plan.collective = Collective::kReduce;
  plan.rank_count = 1;
  plan.root = Rank(0);
  plan.units_per_block = 4;
  plan.ranks.resize(1);
  PlanBuilder builder(&plan);
  const int32_t cell = builder.AddScratch(Rank(0), {0, 2, 4});
  builder.Add(Rank(0), LaneId(0), {0, 3, 4}, {{Operand::Kind::kSend, -1, -1}}, {{Operand::Kind::kScratch, cell, -1}},
              0);
  Op& op = builder.Add(Rank(0), LaneId(1), {0, 3, 4}, {{Operand::Kind::kScratch, cell, -1}},
                       {{Operand::Kind::kRecv, -1, -1}}, 2);
  op.finish = true;
  op.waits = 0;
  op.wait_count = 1;
  plan.waits.push_back({LaneId(0), 0});
  const Program program = Encode(plan, Rank(0));
  EXPECT_EQ(program.scratch.size(), 1U);
  EXPECT_EQ(program.operands[1].kind, OperandKind::kScratch);
  EXPECT_EQ(program.operands[1].base, 2);
  EXPECT_EQ(program.instructions[1].finish, 1);
  EXPECT_EQ(program.instructions[1].wait_count, 1);
  EXPECT_EQ(program.waits[0].lane, 0);
  EXPECT_THAT(ToText(program), HasSubstr("block 0 [3,4) skew 2: scratch[0]-2 -> recv[0] finish after 0.0"));
}

TEST(Encode, EveryOpOfEverySampleArrives) {
  for (int32_t lanes : {1, 3}) {
    SampleOptions options;
    options.ranks = 5;
    options.lanes = lanes;
    for (const SamplePlan& sample : AllSamplePlans(options)) {
      for (Rank rank : Ids<Rank>(options.ranks)) {
        const Program program = Encode(sample.plan, rank);
        const RankPlan& mine = sample.plan.ranks[rank.index()];
        ASSERT_EQ(program.lanes.size(), mine.lanes.size()) << sample.name;
        size_t ops = 0;
        for (const Lane& lane : mine.lanes) ops += lane.ops.size();
        EXPECT_EQ(program.instructions.size(), ops) << sample.name;
        EXPECT_EQ(program.plan_hash, HashOf(sample.plan));
        for (const ProgramChannel& channel : program.channels) EXPECT_NE(channel.peer, rank.value());
      }
    }
  }
}

}  // namespace
}  // namespace mycel
