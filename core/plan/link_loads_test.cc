#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/sample_plans.h"
#include "core/plan/verify.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

/// Three ranks round a switch, 10 GB/s each way, rank 2's uplink only 5/2; and a direct link 0 -> 1 of 40 GB/s.
class LinkLoadsTest : public ::testing::Test {
 protected:
  LinkLoadsTest() : topology_(Make()) {
    SampleOptions options;
    options.ranks = 3;
    options.lanes = 2;
    plan_ = RingAllGather(options);
    for (int32_t r = 0; r < 3; ++r) plan_.routes.push_back({NodeId(r), NodeId(3), NodeId((r + 1) % 3)});
    for (RankPlan& rank : plan_.ranks) {
      for (Lane& lane : rank.lanes) {
        for (Op& op : lane.ops) SetRoutes(op);
      }
    }
  }

  static Topology Make() {
    TopologyBuilder builder("star3");
    for (int32_t r = 0; r < 3; ++r) builder.AddRank("r" + std::to_string(r), Rank(r));
    builder.AddSwitch("sw");
    for (int32_t r = 0; r < 3; ++r) {
      builder.AddLink(NodeId(r), NodeId(3), r == 2 ? Rational(5, 2) : Rational(10));
      builder.AddLink(NodeId(3), NodeId(r), Rational(10));
    }
    builder.AddLink(NodeId(0), NodeId(1), Rational(40));
    return std::move(builder).Build().value();
  }

  /// Every channel r -> r + 1 takes route r.
  void SetRoutes(Op& op) {
    for (int32_t i = op.inputs; i < op.inputs + op.outputs; ++i) {
      Operand& operand = plan_.operands[static_cast<size_t>(op.operands + i)];
      if (operand.kind != Operand::Kind::kChannel) continue;
      operand.route = plan_.channels[static_cast<size_t>(operand.index)].source.value();
    }
  }

  Rational LoadOf(const LinkLoads& loads, int32_t source, int32_t target) const {
    return loads.blocks[topology_.FindLink(NodeId(source), NodeId(target)).index()];
  }
  std::string Fault() const { return StatusMessage(ComputeLinkLoads(plan_, topology_).status()); }

  Topology topology_;
  Plan plan_;
};

TEST_F(LinkLoadsTest, RingThroughASwitch) {
  ASSERT_EQ(Verify(plan_), OkStatus());
  const StatusOr<LinkLoads> loads = ComputeLinkLoads(plan_, topology_);
  ASSERT_TRUE(loads.ok()) << loads.status();
  // Each rank passes on two whole blocks, in two lanes of half a block.
  for (int32_t r = 0; r < 3; ++r) {
    EXPECT_EQ(LoadOf(*loads, r, 3), Rational(2));
    EXPECT_EQ(LoadOf(*loads, 3, r), Rational(2));
  }
  EXPECT_EQ(LoadOf(*loads, 0, 1), Rational(0));
  EXPECT_EQ(loads->inv_x, Rational(4, 5));  // 2 / (5/2)
  EXPECT_EQ(loads->bottleneck, topology_.FindLink(NodeId(2), NodeId(3)));
}

TEST_F(LinkLoadsTest, DirectLinkAndFractions) {
  // Lane 1's last message of rank 0 goes straight to rank 1.
  Op& op = plan_.ranks[0].lanes[1].ops[1];
  plan_.operands[static_cast<size_t>(op.operands + 2)].route = -1;
  const StatusOr<LinkLoads> loads = ComputeLinkLoads(plan_, topology_);
  ASSERT_TRUE(loads.ok()) << loads.status();
  EXPECT_EQ(LoadOf(*loads, 0, 1), Rational(1, 2));
  EXPECT_EQ(LoadOf(*loads, 0, 3), Rational(3, 2));
  EXPECT_EQ(LoadOf(*loads, 3, 1), Rational(3, 2));
}

TEST_F(LinkLoadsTest, UnequalBlocksCountUnits) {
  SampleOptions options;
  options.ranks = 3;
  Plan plan = DirectAllToAllV(options, {0, 5, 0, 0, 0, 0, 0, 0, 0});
  const StatusOr<LinkLoads> loads = ComputeLinkLoads(plan, topology_);
  ASSERT_TRUE(loads.ok()) << loads.status();
  EXPECT_EQ(LoadOf(*loads, 0, 1), Rational(5));
  EXPECT_EQ(loads->inv_x, Rational(1, 8));
}

TEST_F(LinkLoadsTest, BadRoutesAreNamed) {
  const Plan good = plan_;
  plan_.routes[1] = {NodeId(1), NodeId(9), NodeId(2)};
  EXPECT_THAT(Fault(), HasSubstr("route 1: topology star3 has no node number 9"));
  plan_.routes[1] = {NodeId(1), NodeId(0), NodeId(2)};
  EXPECT_THAT(Fault(), HasSubstr("route 1 passes through rank node 'r0'"));
  plan_.routes[1] = {NodeId(1), NodeId(3)};
  EXPECT_THAT(Fault(), HasSubstr("route 1 ends at switch 'sw'"));
  plan_.routes[1] = {NodeId(1), NodeId(2)};
  EXPECT_THAT(Fault(), HasSubstr("route 1: topology star3 has no link 'r1' -> 'r2'"));
  plan_.routes[1] = good.routes[0];
  EXPECT_THAT(Fault(), HasSubstr("route 1 joins 'r0' to 'r1', but is used for channel"));
  plan_ = good;
  for (Operand& operand : plan_.operands) operand.route = -1;
  EXPECT_THAT(Fault(), HasSubstr("has no route, and topology star3 has no direct link 'r1' -> 'r2'"));
  SampleOptions options;
  plan_ = RingAllGather(options);
  EXPECT_THAT(Fault(), HasSubstr("the plan has 4 ranks, topology star3 has 3"));
  plan_.slot_count = 0;
  EXPECT_THAT(Fault(), HasSubstr("slot_count"));
}

}  // namespace
}  // namespace mycel
