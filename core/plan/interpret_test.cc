#include "core/plan/interpret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "core/plan/contract.h"
#include "core/plan/random_plans.h"
#include "core/plan/run_check.h"
#include "core/plan/sample_plans.h"
#include "core/plan/verify.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kCounts[] = {0, 1, 2, 3, 7, 13, 64, 97, 250, 1009};

TEST(Interpret, SamplesMeetTheContract) {
  uint64_t seed = 1;
  for (Protocol protocol : {Protocol::kInline, Protocol::kSlot, Protocol::kDirect}) {
    for (int32_t ranks : {1, 2, 3, 5}) {
      SampleOptions options;
      options.ranks = ranks;
      options.lanes = ranks % 2 + 1;
      options.protocol = protocol;
      options.root = Rank(ranks / 2);
      for (const SamplePlan& sample : AllSamplePlans(options)) {
        for (int64_t count : kCounts) {
          for (bool in_place : {false, true}) {
            if (in_place && !sample.in_place) continue;
            InterpretRequest request;
            request.count = count;
            request.in_place = in_place;
            request.seed = ++seed;
            const Status status = CheckByRunning(sample.plan, request);
            ASSERT_TRUE(status.ok()) << sample.name << " ranks " << ranks << " count " << count << " seed "
                                     << request.seed << ": " << status;
          }
        }
      }
    }
  }
}

TEST(Interpret, EveryTypeAndOperation) {
  SampleOptions options;
  options.ranks = 3;
  options.slice_bytes = 64;
  for (DataType type : AllDataTypes()) {
    for (ReduceOp op : ReduceOpsFor(type)) {
      for (const Plan& plan : {RingAllReduce(options), OneShotAllReduce(options), ChainReduce(options)}) {
        for (int64_t count : {1, 33, 130}) {
          InterpretRequest request;
          request.type = type;
          request.op = op;
          request.count = count;
          const Status status = CheckByRunning(plan, request);
          ASSERT_TRUE(status.ok()) << plan.planner << " " << NameOf(type) << " " << NameOf(op) << ": " << status;
        }
      }
    }
  }
}

TEST(Interpret, RandomPlansMeetTheContract) {
  const uint64_t seed = 5150;
  int ran = 0;
  for (uint64_t i = 0; i < 400; ++i) {
    Rng rng(seed + i);
    const Plan plan = RandomTreePlan(rng, 6);
    if (!Verify(plan, {false}).ok()) continue;
    const bool in_place_too = Verify(plan).ok();
    for (int round = 0; round < 4; ++round) {
      InterpretRequest request;
      request.type = AllDataTypes()[rng.Below(AllDataTypes().size())];
      const std::vector<ReduceOp> ops = ReduceOpsFor(request.type);
      request.op = ops[rng.Below(ops.size())];
      request.count = kCounts[rng.Below(std::size(kCounts))];
      request.in_place = in_place_too && round % 2 == 1;
      request.seed = rng.Next();
      const Status status = CheckByRunning(plan, request);
      ASSERT_TRUE(status.ok()) << "seed " << seed + i << " round " << round << ": " << status << "\n" << ToText(plan);
      ++ran;
    }
  }
  EXPECT_GT(ran, 1000);  // most random plans have slots enough
}

TEST(Interpret, DeadlockNamesWhoWaitsForWhom) {
  SampleOptions options;
  options.ranks = 2;
  options.slot_count = 1;
  options.slice_bytes = 64;
  InterpretRequest request;
  request.count = 100;
  const Status status = CheckByRunning(TwoShotAllReduce(options), request);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(StatusMessage(status), HasSubstr("deadlock; rank 0 lane 0 op 1 slice 0 waits for a free slot of channel "
                                               "0 (rank 0 -> rank 1, index 0); rank 1 lane 0 op 1"));
}

TEST(Interpret, UnexpectedMessageIsNamed) {
  SampleOptions options;
  options.ranks = 3;
  Plan plan = StarScatter(options);
  std::swap(plan.ranks[0].lanes[0].ops[1].chunk, plan.ranks[0].lanes[0].ops[2].chunk);
  InterpretRequest request;
  request.count = 1;
  EXPECT_THAT(StatusMessage(CheckByRunning(plan, request)),
              HasSubstr("[0,1), 4 bytes, but the channel brings slice 0 of block"));
}

TEST(Interpret, BuffersMustFitTheContract) {
  SampleOptions options;
  options.ranks = 2;
  const Plan plan = RingAllGather(options);
  InterpretRequest request;
  request.count = 3;
  std::vector<std::vector<std::byte>> send(2, std::vector<std::byte>(12));
  std::vector<std::vector<std::byte>> recv(2, std::vector<std::byte>(20));
  EXPECT_THAT(StatusMessage(Interpret(plan, request, send, recv)), HasSubstr("it needs 12 and 24"));
  recv.pop_back();
  EXPECT_THAT(StatusMessage(Interpret(plan, request, send, recv)), HasSubstr("2 of each"));
  request.count = -1;
  EXPECT_EQ(Interpret(plan, request, send, recv).code(), StatusCode::kInvalidArgument);
}

TEST(Interpret, InPlaceLeavesTheOtherVectorAlone) {
  SampleOptions options;
  options.ranks = 2;
  InterpretRequest request;
  request.type = DataType::kUint8;
  request.count = 1;
  request.in_place = true;
  const std::byte a{1};
  const std::byte b{2};
  const std::byte junk{9};
  std::vector<std::vector<std::byte>> send = {{junk}, {}};
  std::vector<std::vector<std::byte>> recv = {{a, junk}, {junk, b}};
  ASSERT_TRUE(Interpret(RingAllGather(options), request, send, recv).ok());
  EXPECT_EQ(recv, (std::vector<std::vector<std::byte>>{{a, b}, {a, b}}));
  EXPECT_EQ(send, (std::vector<std::vector<std::byte>>{{junk}, {}}));
}

}  // namespace
}  // namespace mycel
