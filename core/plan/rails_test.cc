#include "core/plan/rails.h"

#include <gtest/gtest.h>

#include "core/plan/encode.h"
#include "core/plan/sample_plans.h"

namespace mycel {
namespace {

// Server a: rank 0 with devices a0 and a1; server b: rank 1 on b0, rank 2 on b1, and memory between them.
class RailsTest : public testing::Test {
 protected:
  RailsTest() : topology_(Make()) {}

  Topology Make() {
    TopologyBuilder builder("two servers");
    rank0_ = builder.AddRank("r0", Rank(0), "a");
    rank1_ = builder.AddRank("r1", Rank(1), "b");
    rank2_ = builder.AddRank("r2", Rank(2), "b");
    a0_ = builder.AddSwitch("a0", "a");
    a1_ = builder.AddSwitch("a1", "a");
    b0_ = builder.AddSwitch("b0", "b");
    b1_ = builder.AddSwitch("b1", "b");
    memory_ = builder.AddSwitch("memory", "b");
    fabric_ = builder.AddSwitch("fabric");
    for (const NodeId device : {a0_, a1_}) builder.AddDuplex(rank0_, device, Rational(4));
    builder.AddDuplex(rank1_, b0_, Rational(4));
    builder.AddDuplex(rank2_, b1_, Rational(4));
    for (const NodeId rank : {rank1_, rank2_}) builder.AddDuplex(rank, memory_, Rational(4));
    for (const NodeId device : {a0_, a1_, b0_, b1_}) builder.AddDuplex(device, fabric_, Rational(1));
    return std::move(builder).Build().value();
  }

  Rails Of(const Route& route) const {
    Plan plan;
    plan.topology_hash = topology_.hash();
    plan.routes = {route};
    NameRails(topology_, &plan);
    return plan.rails.at(0);
  }

  NodeId rank0_, rank1_, rank2_, a0_, a1_, b0_, b1_, memory_, fabric_;
  Topology topology_;
};

TEST_F(RailsTest, WaysOutAreARanksOwnDevices) {
  EXPECT_EQ(WaysOut(topology_, Rank(0)), (std::vector<NodeId>{a0_, a1_}));
  EXPECT_EQ(WaysOut(topology_, Rank(1)), (std::vector<NodeId>{b0_}));
  EXPECT_EQ(WaysOut(topology_, Rank(2)), (std::vector<NodeId>{b1_}));
}

TEST_F(RailsTest, ARouteNamesBothItsDevices) {
  EXPECT_EQ(Of({rank0_, a1_, fabric_, b0_, rank1_}), (Rails{2, 1}));
  EXPECT_EQ(Of({rank1_, b0_, fabric_, a1_, rank0_}), (Rails{1, 2}));
  EXPECT_EQ(Of({rank0_, a0_, fabric_, b1_, rank2_}), (Rails{1, 1}));
}

TEST_F(RailsTest, WithinAServerThereIsNothingToName) { EXPECT_EQ(Of({rank1_, memory_, rank2_}), Rails()); }

TEST_F(RailsTest, DevicesBehindSwitchesComeByDistance) {
  TopologyBuilder builder("pci");
  const NodeId rank = builder.AddRank("gpu", Rank(0), "a");
  const NodeId other = builder.AddRank("other", Rank(1), "b");
  const NodeId far = builder.AddSwitch("far", "a");  // behind a second switch
  const NodeId near = builder.AddSwitch("near", "a");
  const NodeId inner = builder.AddSwitch("inner", "a");
  const NodeId outer = builder.AddSwitch("outer", "a");
  builder.AddDuplex(rank, inner, Rational(1));
  builder.AddDuplex(inner, near, Rational(1));
  builder.AddDuplex(inner, outer, Rational(1));
  builder.AddDuplex(outer, far, Rational(1));
  for (const NodeId device : {near, far}) builder.AddDuplex(device, other, Rational(1));
  const Topology topology = std::move(builder).Build().value();
  EXPECT_EQ(WaysOut(topology, Rank(0)), (std::vector<NodeId>{near, far}));
  EXPECT_TRUE(WaysOut(topology, Rank(1)).empty());  // links of its own: nothing tells its devices apart
}

TEST_F(RailsTest, APlanForAnotherTopologyStaysSilent) {
  Plan plan;
  plan.topology_hash = topology_.hash() + 1;
  plan.routes = {{rank0_, a1_, fabric_, b0_, rank1_}};
  NameRails(topology_, &plan);
  EXPECT_TRUE(plan.rails.empty());
  plan.topology_hash = topology_.hash();  // claims it
  for (const Route& wrong : {Route{rank0_, NodeId(99), rank1_}, Route{rank0_, a1_, fabric_}}) {
    plan.routes[0] = wrong;
    NameRails(topology_, &plan);
    EXPECT_TRUE(plan.rails.empty());
  }
}

TEST_F(RailsTest, ProgramsTakeThemAlong) {
  SampleOptions options;
  options.ranks = 3;
  Plan plan = RingAllGather(options);
  plan.topology_hash = topology_.hash();
  plan.routes = {{rank0_, a1_, fabric_, b0_, rank1_}};
  for (Operand& operand : plan.operands) {
    const bool first_hop =
        operand.kind == Operand::Kind::kChannel && plan.channels[static_cast<size_t>(operand.index)].source == Rank(0);
    if (first_hop) operand.route = 0;
  }
  NameRails(topology_, &plan);
  size_t named = 0;
  const Program program = Encode(plan, Rank(0));
  for (const InstructionOperand& operand : program.operands) {
    if (operand.kind != OperandKind::kChannel || !program.channels[static_cast<size_t>(operand.index)].sends) continue;
    EXPECT_EQ(operand.rails, (Rails{2, 1}));
    ++named;
  }
  EXPECT_GT(named, 0U);
}

}  // namespace
}  // namespace mycel
