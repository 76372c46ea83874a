#include "core/plan/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "core/base/rng.h"
#include "core/plan/random_plans.h"
#include "core/plan/run_check.h"
#include "core/plan/sample_plans.h"

namespace mycel {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

Operand Send() { return {Operand::Kind::kSend, -1, -1}; }
Operand Recv() { return {Operand::Kind::kRecv, -1, -1}; }
Operand Scratch(int32_t cell) { return {Operand::Kind::kScratch, cell, -1}; }
Operand Via(int32_t channel) { return {Operand::Kind::kChannel, channel, -1}; }

TEST(Verify, SamplesAreRight) {
  for (Protocol protocol : {Protocol::kInline, Protocol::kSlot, Protocol::kDirect}) {
    for (int32_t ranks : {1, 2, 3, 4, 7, 16}) {
      for (int32_t lanes : {1, 3}) {
        SampleOptions options;
        options.ranks = ranks;
        options.lanes = lanes;
        options.protocol = protocol;
        options.root = Rank(ranks - 1);
        for (const SamplePlan& sample : AllSamplePlans(options)) {
          EXPECT_EQ(Verify(sample.plan, {sample.in_place}), OkStatus())
              << sample.name << ", " << ranks << " ranks, " << lanes << " lanes, " << NameOf(protocol);
        }
      }
    }
  }
}

TEST(Verify, SkewedSamplesAreRightWithSlotsEnough) {
  for (int32_t skew : {1, 2, 5}) {
    SampleOptions options;
    options.hop_skew = skew;
    options.slot_count = kSlotCountMax;
    for (const SamplePlan& sample : AllSamplePlans(options)) {
      EXPECT_EQ(Verify(sample.plan, {sample.in_place}), OkStatus()) << sample.name << ", skew " << skew;
    }
  }
}

TEST(RankOrder, OnlyPlansThatReduceEachElementAtOnceKeepIt) {
  for (int32_t ranks : {1, 2, 3, 5}) {
    for (int32_t lanes : {1, 3}) {
      SampleOptions options;
      options.ranks = ranks;
      options.lanes = lanes;
      EXPECT_EQ(CheckRankOrder(OneShotAllReduce(options)), OkStatus());
      EXPECT_EQ(CheckRankOrder(TwoShotAllReduce(options)), OkStatus());
      EXPECT_EQ(CheckRankOrder(RingAllGather(options)), OkStatus()) << "nothing is reduced";
      for (const Plan& plan : {RingAllReduce(options), RingReduceScatter(options)}) {
        if (ranks == 2) {
          // One op each, but the second rank's begins with what it receives last.
          EXPECT_EQ(CheckRankOrder(plan).code(), StatusCode::kUnimplemented) << ToText(plan);
        } else if (ranks > 2) {
          EXPECT_THAT(StatusMessage(CheckRankOrder(plan)), HasSubstr("combines 2 of " + std::to_string(ranks)));
        }
      }
    }
  }
}

TEST(RankOrder, InputsOutOfOrderAreNamed) {
  SampleOptions options;
  options.ranks = 3;
  Plan plan = OneShotAllReduce(options);
  ASSERT_EQ(Verify(plan), OkStatus());
  // The first op with three inputs, two of them swapped: as right a sum as before, with other bits.
  for (RankPlan& rank : plan.ranks) {
    for (Op& op : rank.lanes[0].ops) {
      if (op.inputs != 3) continue;
      std::swap(plan.operands[static_cast<size_t>(op.operands) + 1],
                plan.operands[static_cast<size_t>(op.operands) + 2]);
      EXPECT_EQ(Verify(plan), OkStatus());
      EXPECT_THAT(StatusMessage(CheckRankOrder(plan)), HasSubstr("is the data of rank 2, not that of rank 1"));
      return;
    }
  }
  FAIL() << "no op with three inputs";
}

TEST(Verify, ReadingAPeersBufferDirectlyForbidsReceivingIntoItInPlace) {
  SampleOptions options;
  options.protocol = Protocol::kDirect;
  for (const Plan& plan : {OneShotAllReduce(options), DirectAllToAll(options)}) {
    EXPECT_EQ(Verify(plan, {false}), OkStatus());
    EXPECT_THAT(StatusMessage(Verify(plan)), HasSubstr("nothing orders the two"));
    EXPECT_THAT(StatusMessage(Verify(plan)), HasSubstr("run in place"));
  }
}

/// Rejections are exact: what the verifier calls a deadlock is one when the interpreter has slices enough, and what it
/// passes never is.
TEST(Verify, DeadlockVerdictsAgreeWithRuns) {
  int deadlocks = 0;
  int passed = 0;
  for (int32_t ranks : {2, 3, 4}) {
    for (int32_t slots : {1, 2, 3, 5}) {
      for (int32_t skew : {0, 1, 2}) {
        SampleOptions options;
        options.ranks = ranks;
        options.slot_count = slots;
        options.hop_skew = skew;
        options.slice_bytes = 64;
        for (const SamplePlan& sample : AllSamplePlans(options)) {
          if (!sample.plan.block_units.empty()) continue;  // their size is fixed, and so are their slices
          const Status verdict = Verify(sample.plan, {false});
          bool stuck = false;
          for (int64_t slices : {1, 2, 3, 4, 6, 9, 14, 24}) {
            InterpretRequest request;
            request.type = DataType::kUint8;
            request.count = slices * options.slice_bytes * sample.plan.units_per_block;
            request.seed = static_cast<uint64_t>(slices);
            const Status run = CheckByRunning(sample.plan, request);
            if (!run.ok()) {
              ASSERT_THAT(StatusMessage(run), HasSubstr("deadlock"));
            }
            stuck |= !run.ok();
          }
          if (!verdict.ok()) {
            ASSERT_THAT(StatusMessage(verdict), HasSubstr("deadlock"));
          }
          ASSERT_EQ(verdict.ok(), !stuck)
              << sample.name << ", " << ranks << " ranks, " << slots << " slots, skew " << skew << ": " << verdict;
          (stuck ? deadlocks : passed) += 1;
        }
      }
    }
  }
  EXPECT_GT(deadlocks, 50);
  EXPECT_GT(passed, 150);
}

TEST(Verify, DeadlockVerdictsOnRandomPlansAgreeWithRuns) {
  const uint64_t seed = 31337;
  int deadlocks = 0;
  int passed = 0;
  for (uint64_t i = 0; i < 600; ++i) {
    Rng rng(seed + i);
    const Plan plan = i % 4 == 0 ? RandomTreePlan(rng, 5) : ShuffledTreePlan(rng, 4);
    const Status verdict = Verify(plan, {false});
    bool stuck = false;
    for (int64_t slices : {1, 3, 8, 20}) {
      InterpretRequest request;
      request.type = DataType::kUint8;
      request.count = slices * plan.slice_bytes * plan.units_per_block;
      stuck |= !CheckByRunning(plan, request).ok();
    }
    ASSERT_EQ(verdict.ok(), !stuck) << "seed " << seed + i << ": " << verdict << "\n" << ToText(plan);
    (stuck ? deadlocks : passed) += 1;
  }
  EXPECT_GT(deadlocks, 100);
  EXPECT_GT(passed, 100);
}

/// Three ranks in a chain, for planting faults.
class VerifyFault : public ::testing::Test {
 protected:
  VerifyFault() {
    SampleOptions options;
    options.ranks = 3;
    reduce_ = ChainReduce(options);
    gather_ = RingAllGather(options);
  }
  static std::string Fault(const Plan& plan) {
    const Status status = Verify(plan);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return StatusMessage(status);
  }
  static Op& OpAt(Plan& plan, int32_t rank, size_t op) {
    return plan.ranks[static_cast<size_t>(rank)].lanes[0].ops[op];
  }
  static Operand& InputOf(Plan& plan, const Op& op, int32_t i) {
    return plan.operands[static_cast<size_t>(op.operands + i)];
  }
  static Operand& OutputOf(Plan& plan, const Op& op, int32_t i) {
    return plan.operands[static_cast<size_t>(op.operands + op.inputs + i)];
  }

  Plan reduce_;
  Plan gather_;
};

TEST_F(VerifyFault, Structure) {
  const auto fault_of = [this](const std::function<void(Plan&)>& plant) {
    Plan plan = gather_;
    plant(plan);
    return Fault(plan);
  };
  EXPECT_THAT(fault_of([](Plan& p) { p.rank_count = 0; }), HasSubstr("rank_count is 0"));
  EXPECT_THAT(fault_of([](Plan& p) { p.ranks.pop_back(); }), HasSubstr("2 ranks have ops"));
  EXPECT_THAT(fault_of([](Plan& p) { p.root = Rank(0); }), HasSubstr("root is given"));
  EXPECT_THAT(fault_of([](Plan& p) { p.slot_count = 65; }), HasSubstr("slot_count is 65; it must be 1..64"));
  EXPECT_THAT(fault_of([](Plan& p) { p.slot_count = 0; }), HasSubstr("slot_count is 0"));
  EXPECT_THAT(fault_of([](Plan& p) { p.slice_bytes = 100; }), HasSubstr("multiple of 64"));
  EXPECT_THAT(fault_of([](Plan& p) { p.units_per_block = 0; }), HasSubstr("units_per_block is 0"));
  EXPECT_THAT(fault_of([](Plan& p) { p.block_units = {1}; }), HasSubstr("block_units is given"));
  EXPECT_THAT(fault_of([](Plan& p) { p.collective = Collective::kBroadcast; }), HasSubstr("needs a root in 0..2"));
  EXPECT_THAT(fault_of([](Plan& p) { p.collective = static_cast<Collective>(99); }), HasSubstr("collective number"));
  EXPECT_THAT(fault_of([](Plan& p) { p.protocol = static_cast<Protocol>(9); }), HasSubstr("protocol number"));
  EXPECT_THAT(fault_of([](Plan& p) { p.channels[0].target = Rank(9); }), HasSubstr("there is no rank 9"));
  EXPECT_THAT(fault_of([](Plan& p) { p.channels[0].target = Rank(0); }), HasSubstr("sends to itself"));
  EXPECT_THAT(fault_of([](Plan& p) { p.channels[1] = p.channels[0]; }), HasSubstr("is the same ring as channel"));
  EXPECT_THAT(fault_of([](Plan& p) { p.routes = {{NodeId(1)}}; }), HasSubstr("route 0"));
  EXPECT_THAT(fault_of([](Plan& p) { OpAt(p, 1, 0).chunk.block = 3; }), HasSubstr("there is no block 3"));
  EXPECT_THAT(fault_of([](Plan& p) { OpAt(p, 1, 0).chunk.end = 2; }), HasSubstr("not inside the block's 1 units"));
  EXPECT_THAT(fault_of([](Plan& p) { OpAt(p, 1, 0).chunk.begin = 1; }), HasSubstr("is empty"));
  EXPECT_THAT(fault_of([](Plan& p) { OpAt(p, 1, 0).skew = -1; }), HasSubstr("rank 1 lane 0 op 0: skew -1"));
  EXPECT_THAT(fault_of([](Plan& p) { OpAt(p, 1, 0).inputs = 0; }), HasSubstr("0 inputs"));
  EXPECT_THAT(fault_of([](Plan& p) { OpAt(p, 1, 0).operands = 1 << 30; }), HasSubstr("outside the plan's list"));
  EXPECT_THAT(fault_of([](Plan& p) { OpAt(p, 1, 0).wait_count = 1; }), HasSubstr("waits lie outside"));
  EXPECT_THAT(fault_of([](Plan& p) { OpAt(p, 1, 0).finish = true; }), HasSubstr("allgather reduces nothing"));
  EXPECT_THAT(fault_of([](Plan& p) { OpAt(p, 1, 0).chunk.block = 2; }), HasSubstr("send buffer does not hold block 2"));
  EXPECT_THAT(fault_of([](Plan& p) { OutputOf(p, OpAt(p, 1, 0), 0) = Send(); }), HasSubstr("writes the send buffer"));
  EXPECT_THAT(fault_of([](Plan& p) { OutputOf(p, OpAt(p, 1, 0), 1) = Recv(); }), HasSubstr("same channel or place"));
  EXPECT_THAT(fault_of([](Plan& p) { OutputOf(p, OpAt(p, 1, 0), 0) = Scratch(0); }), HasSubstr("no scratch 0"));
  EXPECT_THAT(fault_of([](Plan& p) { InputOf(p, OpAt(p, 1, 0), 0) = Via(99); }), HasSubstr("no channel 99"));
  EXPECT_THAT(fault_of([](Plan& p) { InputOf(p, OpAt(p, 1, 0), 0) = Via(1); }), HasSubstr("is not this rank's"));
  EXPECT_THAT(fault_of([](Plan& p) { InputOf(p, OpAt(p, 1, 0), 0).route = 0; }), HasSubstr("no route 0"));
  EXPECT_THAT(fault_of([](Plan& p) {
                p.ranks[1].scratch = {{{0, 0, 1}}};
                OutputOf(p, OpAt(p, 1, 0), 0) = Scratch(0);
              }),
              HasSubstr("block 1 [0,1) is not inside scratch 0, block 0 [0,1)"));
  EXPECT_THAT(fault_of([](Plan& p) {
                p.protocol = Protocol::kDirect;
                Op& op = OpAt(p, 1, 1);
                op.operands += 1;  // the channel is all that is left of its inputs and outputs
                op.outputs = 1;
                InputOf(p, op, 0) = Via(0);
                OutputOf(p, op, 0) = Via(1);
              }),
              AnyOf(HasSubstr("a direct message refers to memory"), HasSubstr("is not this rank's")));
}

TEST_F(VerifyFault, MissingContribution) {
  Op& middle = OpAt(reduce_, 1, 0);
  middle.operands += 1;  // leaves only the channel
  middle.inputs = 1;
  OpAt(reduce_, 0, 0).finish = false;
  EXPECT_THAT(Fault(reduce_), HasSubstr("rank 0 ends without block 0 [0,1): the contribution of rank 1 is missing"));
  OpAt(reduce_, 0, 0).finish = true;
  EXPECT_THAT(Fault(reduce_), HasSubstr("rank 0 lane 0 op 0 is marked finish, but its result lacks contributions"));
}

TEST_F(VerifyFault, DoubledContribution) {
  // Rank 1 keeps its sum and adds the message to it once more.
  Plan plan;
  plan.collective = Collective::kReduce;
  plan.rank_count = 2;
  plan.root = Rank(0);
  plan.ranks.resize(2);
  PlanBuilder builder(&plan);
  const int32_t channel = builder.ChannelFor(Rank(1), Rank(0), 0).value();
  const int32_t cell = builder.AddScratch(Rank(0), {0, 0, 1});
  builder.Add(Rank(1), LaneId(0), {0, 0, 1}, {Send()}, {Via(channel)}, 0);
  builder.Add(Rank(0), LaneId(0), {0, 0, 1}, {Via(channel)}, {Scratch(cell)}, 0);
  builder.Add(Rank(0), LaneId(0), {0, 0, 1}, {Scratch(cell), Send()}, {Scratch(cell), Recv()}, 0).finish = true;
  EXPECT_EQ(Verify(plan), OkStatus());
  builder.Add(Rank(0), LaneId(0), {0, 0, 1}, {Scratch(cell), Send()}, {Recv()}, 0);
  EXPECT_THAT(Fault(plan), HasSubstr("rank 0 lane 0 op 2 adds the contribution of rank 0 to block 0 [0,1) twice"));
}

TEST_F(VerifyFault, FinishMarksExactlyTheCompleteResults) {
  OpAt(reduce_, 0, 0).finish = false;
  EXPECT_THAT(Fault(reduce_), HasSubstr("rank 0 lane 0 op 0 completes block 0 [0,1); mark it finish"));
  OpAt(reduce_, 0, 0).finish = true;
  OpAt(reduce_, 1, 0).finish = true;
  EXPECT_THAT(Fault(reduce_), HasSubstr("rank 1 lane 0 op 0 is marked finish, but its result lacks contributions"));
  SampleOptions options;
  Plan plan = TwoShotAllReduce(options);
  plan.ranks[2].lanes[0].ops.back().finish = true;
  EXPECT_THAT(Fault(plan), HasSubstr("was finished before"));
}

TEST_F(VerifyFault, ReadsWhatNobodyWrote) {
  InputOf(gather_, OpAt(gather_, 0, 0), 0) = Recv();
  EXPECT_THAT(Fault(gather_), HasSubstr("rank 0 lane 0 op 0 reads block 0 [0,1) of recv, which nothing has written"));
}

TEST_F(VerifyFault, LeavesAPlaceEmpty) {
  gather_.ranks[1].lanes[0].ops.pop_back();
  EXPECT_THAT(Fault(gather_), HasSubstr("2 ops write it, 1 read it; rank 0 lane 0 op 1 has no partner"));
  Op& op = OpAt(gather_, 0, 1);
  op.outputs = 1;
  EXPECT_THAT(Fault(gather_), HasSubstr("rank 1 ends without block 2 [0,1): nothing was written there"));
}

TEST_F(VerifyFault, SidesOfAChannelDisagree) {
  SampleOptions options;
  options.ranks = 3;
  Plan scatter = StarScatter(options);
  OpAt(scatter, 0, 1).chunk.block = 2;
  EXPECT_THAT(Fault(scatter), HasSubstr("message 0: rank 0 lane 0 op 1 writes block 2 [0,1), rank 1 lane 0 op 0 reads "
                                        "block 1 [0,1)"));
  // The order of slices: op 1 of rank 1 runs one slice later than its partners expect.
  OpAt(gather_, 1, 2).skew = 1;
  EXPECT_THAT(Fault(gather_), HasSubstr("the sides would interleave slices differently"));
  // The same skew on both sides of every channel is fine.
  for (int32_t rank = 0; rank < 3; ++rank) OpAt(gather_, rank, 2).skew = 1;
  for (int32_t rank = 0; rank < 3; ++rank) OpAt(gather_, rank, 1).skew = 1;
  EXPECT_THAT(Fault(gather_), HasSubstr("the sides would interleave slices differently"));
}

TEST_F(VerifyFault, ChannelJoinsUnequalLanes) {
  SampleOptions options;
  options.ranks = 2;
  options.lanes = 2;
  Plan plan = StarScatter(options);
  std::swap(plan.ranks[1].lanes[0], plan.ranks[1].lanes[1]);
  EXPECT_THAT(Fault(plan), HasSubstr("joins lane 0 to lane 1"));
  plan = StarScatter(options);
  plan.ranks[1].lanes[0].ops.push_back(plan.ranks[1].lanes[1].ops[0]);
  EXPECT_THAT(Fault(plan), HasSubstr("one lane per side"));
}

/// Two lanes of one rank: lane 0 writes scratch, lane 1 reads it. One rank, so that order is all that matters.
Plan TwoLanes(bool with_wait, const Chunk& written, const Chunk& read) {
  Plan plan;
  plan.collective = Collective::kBroadcast;
  plan.rank_count = 1;
  plan.root = Rank(0);
  plan.units_per_block = 4;
  plan.ranks.resize(1);
  plan.slice_bytes = 64;
  PlanBuilder builder(&plan);
  const int32_t cell = builder.AddScratch(Rank(0), {0, 0, 4});
  builder.Add(Rank(0), LaneId(0), written, {Send()}, {Scratch(cell)}, 0);
  Op& reader = builder.Add(Rank(0), LaneId(1), read, {Scratch(cell)}, {Recv()}, 0);
  if (with_wait) {
    plan.waits.push_back({LaneId(0), 0});
    reader.wait_count = 1;
  }
  // What the pair does not cover is copied directly.
  if (read.begin > 0) builder.Add(Rank(0), LaneId(1), {0, 0, read.begin}, {Send()}, {Recv()}, 0);
  if (read.end < 4) builder.Add(Rank(0), LaneId(1), {0, read.end, 4}, {Send()}, {Recv()}, 0);
  return plan;
}

TEST_F(VerifyFault, LanesOfARankNeedAWait) {
  EXPECT_THAT(Fault(TwoLanes(false, {0, 0, 4}, {0, 0, 4})), HasSubstr("nothing orders the two"));
  EXPECT_EQ(Verify(TwoLanes(true, {0, 0, 4}, {0, 0, 4})), OkStatus());
}

TEST_F(VerifyFault, WaitsJoinLanesThatCutSlicesAlike) {
  EXPECT_THAT(Fault(TwoLanes(true, {0, 0, 4}, {0, 0, 3})), HasSubstr("whose slices are cut differently"));
}

TEST_F(VerifyFault, NarrowChunksLagBehindWideOnes) {
  // One lane: [0,2) is written slice by slice, and so is [2,4); a reader of [0,4) gets ahead of the first.
  Plan plan = TwoLanes(false, {0, 0, 4}, {0, 0, 4});
  auto& lanes = plan.ranks[0].lanes;
  Op first = lanes[0].ops[0];
  Op second = first;
  first.chunk = {0, 0, 2};
  second.chunk = {0, 2, 4};
  lanes[0].ops = {first, second, lanes[1].ops[0]};
  lanes.pop_back();
  plan.slice_bytes = 1024;
  EXPECT_THAT(Fault(plan), HasSubstr("run ahead of the other's"));
  InterpretRequest request;
  request.count = 4000;
  EXPECT_FALSE(CheckByRunning(plan, request).ok());
  request.count = 4;  // one slice hides the fault
  EXPECT_TRUE(CheckByRunning(plan, request).ok());
}

TEST_F(VerifyFault, SlicesMustLineUp) {
  // One lane: [0,4) is written slice by slice; [2,4) starts reading in its middle.
  Plan plan = TwoLanes(false, {0, 0, 4}, {0, 2, 4});
  auto& lanes = plan.ranks[0].lanes;
  for (const Op& op : lanes[1].ops) lanes[0].ops.push_back(op);
  lanes.pop_back();
  EXPECT_THAT(Fault(plan), HasSubstr("its slices begin later, so they run ahead of the other's"));
  InterpretRequest request;
  request.count = 400;
  EXPECT_FALSE(CheckByRunning(plan, request).ok());
  request.count = 4;  // one slice hides the fault
  EXPECT_TRUE(CheckByRunning(plan, request).ok());
}

TEST_F(VerifyFault, DeadlockTellsTheCircle) {
  SampleOptions options;
  options.ranks = 2;
  options.slot_count = 1;
  EXPECT_THAT(Fault(TwoShotAllReduce(options)),
              AllOf(HasSubstr("deadlock once there are enough slices: rank"), HasSubstr("waits for a free slot of"),
                    HasSubstr("use more slots")));
  // A message that comes after its own answer.
  Plan plan = DirectAllToAll(options);
  for (int32_t rank = 0; rank < 2; ++rank) std::swap(OpAt(plan, rank, 1), OpAt(plan, rank, 2));
  EXPECT_THAT(Fault(plan), HasSubstr("waits for a message on channel"));
}

TEST(Verify, LargePlansInTime) {
  using Clock = std::chrono::steady_clock;
  SampleOptions options;
  options.ranks = 64;
  options.slot_count = 8;
  for (const Plan& plan : {RingAllGather(options), RingAllReduce(options), TwoShotAllReduce(options)}) {
    const Clock::time_point start = Clock::now();
    ASSERT_EQ(Verify(plan), OkStatus());
    const auto took = Clock::now() - start;
    RecordProperty(plan.planner, static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
    // Some 20 ms in a release build; the bound leaves room for sanitizers and busy machines.
    EXPECT_LT(took, std::chrono::seconds(5)) << plan.planner;
  }
}

}  // namespace
}  // namespace mycel
