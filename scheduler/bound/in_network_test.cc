// What switches that copy and reduce are worth, against known numbers, and that asking changes no plan.
#include "scheduler/bound/in_network.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/topo/gallery.h"
#include "scheduler/bound/allreduce_rates.h"
#include "scheduler/graph/edge_list_testing.h"
#include "scheduler/graph/throughput_bound.h"

namespace mycel {
namespace {

using Chosen = std::function<bool(const Node&)>;

bool All(const Node& node) { return node.type == NodeType::kSwitch; }
bool OfServers(const Node& node) { return All(node) && !node.server.empty(); }

/// `topology` with switches that copy and reduce.
Topology WithHelp(const Topology& topology, const Chosen& copies, const Chosen& reduces) {
  TopologyBuilder builder(topology.name());
  for (const Node& node : topology.nodes()) {
    if (node.type == NodeType::kRank) {
      builder.AddRank(node.id, node.rank, node.server);
    } else {
      builder.AddSwitch(node.id, node.server, copies(node), reduces(node));
    }
  }
  for (const Link& link : topology.links()) builder.AddLink(link.source, link.target, link.bandwidth);
  return std::move(builder).Build().value();
}

Topology Gallery(const std::string& name) { return GalleryTopology(name).value(); }

std::optional<InNetwork> Ask(const Topology& topology, Collective collective) {
  const StatusOr<std::optional<InNetwork>> answer = InNetworkOptimum(topology, collective);
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.ok() ? *answer : std::nullopt;
}

Rational AllReduceAlgbw(const Topology& plain, const Chosen& chosen) {
  const std::optional<InNetwork> answer = Ask(WithHelp(plain, chosen, chosen), Collective::kAllReduce);
  return answer ? Rational(plain.rank_count()) / answer->inv_x : Rational(0);
}

TEST(InNetwork, AllReduce) {
  EXPECT_EQ(AllReduceAlgbw(Gallery("dgx-h100"), OfServers), Rational(450));
  EXPECT_EQ(AllReduceAlgbw(Gallery("dgx-h100-x2"), OfServers), Rational(400));
  EXPECT_EQ(AllReduceAlgbw(Gallery("dgx-h100-x2"), All), Rational(400));
  EXPECT_EQ(AllReduceAlgbw(Gallery("dgx-h100-x4"), OfServers), Rational(800, 3));
  EXPECT_EQ(AllReduceAlgbw(Gallery("dgx-h100-x4"), All), Rational(400));
  EXPECT_EQ(AllReduceAlgbw(EdgeList("0-w:1 1-w:1 2-w:1 3-w:1"), All), Rational(1));
  EXPECT_EQ(AllReduceAlgbw(EdgeList("0-w:1 1-w:1 2-w:1 3-w:1 4-w:1 5-w:1 6-w:1 7-w:1"), All), Rational(1));
}

TEST(InNetwork, OnlyTheSwitchesThatHelpArePromoted) {
  // Everything through switch v, into which only 2 GB/s lead, would be slower than plain reduce-scatter and allgather;
  // w alone gives every rank its 4 GB/s.
  const Topology topology = WithHelp(EdgeList("0-w:4 1-w:4 2-w:4 3-w:4 0-v:1 1-v:1"), All, All);
  const std::optional<InNetwork> answer = Ask(topology, Collective::kAllReduce);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(Rational(4) / answer->inv_x, Rational(4));
  ASSERT_EQ(answer->copying.size(), 1U);
  EXPECT_EQ(topology.node(answer->copying.front()).id, "w");
  EXPECT_EQ(answer->reducing, answer->copying);
  const Topology narrow = WithHelp(EdgeList("0-1:4 1-2:4 2-0:4 0-v:1 1-v:1"), All, All);
  EXPECT_FALSE(Ask(narrow, Collective::kAllReduce).has_value());
}

TEST(InNetwork, AllGatherIsNoFasterButNamesWhoCanTakeInEverything) {
  const auto none = [](const Node&) { return false; };
  const Topology box = WithHelp(Gallery("dgx-h100"), All, none);
  const std::optional<InNetwork> gather = Ask(box, Collective::kAllGather);
  ASSERT_TRUE(gather.has_value());
  EXPECT_EQ(gather->inv_x, AllGatherOptimum(box)->inv_x);
  EXPECT_EQ(gather->copying.size(), 1U);
  EXPECT_TRUE(gather->reducing.empty());
  // A switch that copies does not reduce.
  EXPECT_FALSE(Ask(box, Collective::kReduceScatter).has_value());
  const std::optional<InNetwork> scatter = Ask(WithHelp(Gallery("dgx-h100"), none, All), Collective::kReduceScatter);
  ASSERT_TRUE(scatter.has_value());
  EXPECT_EQ(scatter->reducing.size(), 1U);
  EXPECT_TRUE(scatter->copying.empty());
  // At 12/3 = 4 GB/s in all, 4 GB/s would have to enter v, but only 2 lead there.
  const Topology narrow = WithHelp(EdgeList("0-w:3 1-w:3 2-w:3 3-w:3 0-v:1 1-v:1"), All, none);
  const std::optional<InNetwork> one = Ask(narrow, Collective::kAllGather);
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->inv_x, Rational(1));
  ASSERT_EQ(one->copying.size(), 1U);
  EXPECT_EQ(narrow.node(one->copying.front()).id, "w");
  // A copying switch may let more out than in; a plain one may not.
  const Topology uneven = EdgeList("0-w:4 1-w:4 2-w:4 w>0:1");
  EXPECT_TRUE(Ask(WithHelp(uneven, All, none), Collective::kAllGather).has_value());
  const auto only_v = [](const Node& node) { return node.id == "v"; };
  EXPECT_FALSE(Ask(WithHelp(EdgeList("0-w:4 1-w:4 2-w:4 w>0:1 0-v:9 1-v:9"), only_v, none), Collective::kAllGather));
}

TEST(InNetwork, NothingToSayWithoutSuchSwitchesOrForOtherCollectives) {
  EXPECT_FALSE(Ask(Gallery("dgx-h100"), Collective::kAllReduce).has_value());
  EXPECT_FALSE(Ask(WithHelp(Gallery("dgx-h100"), All, All), Collective::kBroadcast).has_value());
}

}  // namespace
}  // namespace mycel
