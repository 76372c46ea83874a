#include "core/topo/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "core/base/rng.h"
#include "core/topo/servers.h"
#include "core/topo/subset.h"

namespace mycel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string BuildError(TopologyBuilder builder) {
  const auto topology = std::move(builder).Build();
  EXPECT_EQ(topology.status().code(), StatusCode::kInvalidArgument);
  return StatusMessage(topology.status());
}

// Two ranks behind one switch each, joined by a slow direct link and a wide one through both switches.
TopologyBuilder TwoServers() {
  TopologyBuilder builder("two-servers", "a note");
  const NodeId a = builder.AddRank("a", Rank(0), "left");
  const NodeId b = builder.AddRank("b", Rank(1), "right");
  const NodeId s = builder.AddSwitch("s", "left", true);
  const NodeId t = builder.AddSwitch("t", "right", false, true);
  builder.AddDuplex(a, b, Rational(1), 5, LinkKind::kTcp);
  builder.AddDuplex(a, s, Rational(25, 2), 0.5, LinkKind::kNvlink);
  builder.AddDuplex(s, t, Rational(10), 3, LinkKind::kRdma);
  builder.AddDuplex(t, b, Rational(25, 2), 0.5, LinkKind::kNvlink);
  return builder;
}

TEST(TopologyTest, KeepsWhatTheBuilderWasTold) {
  const Topology topology = *TwoServers().Build();
  EXPECT_EQ(topology.name(), "two-servers");
  EXPECT_EQ(topology.note(), "a note");
  EXPECT_EQ(topology.rank_count(), 2);
  EXPECT_EQ(topology.node_count(), 4);
  EXPECT_EQ(topology.links().size(), 8u);
  EXPECT_EQ(topology.NodeOf(Rank(1)), NodeId(1));
  EXPECT_TRUE(topology.node(NodeId(2)).multicast);
  EXPECT_FALSE(topology.node(NodeId(2)).aggregate);
  EXPECT_TRUE(topology.node(NodeId(3)).aggregate);
  const LinkId link = topology.FindLink(NodeId(2), NodeId(3));
  ASSERT_TRUE(link.valid());
  EXPECT_EQ(topology.link(link).bandwidth, Rational(10));
  EXPECT_EQ(topology.link(link).kind, LinkKind::kRdma);
  EXPECT_EQ(topology.link(link).latency_us, 3);
  EXPECT_FALSE(topology.FindLink(NodeId(0), NodeId(3)).valid());
  EXPECT_FALSE(topology.FindLink(NodeId(3), NodeId(0)).valid());
}

TEST(TopologyTest, LinksAreSortedAndIndexedFromBothEnds) {
  const Topology topology = *TwoServers().Build();
  size_t out_count = 0;
  size_t in_count = 0;
  for (const NodeId node : Ids<NodeId>(topology.node_count())) {
    for (const LinkId id : topology.OutLinks(node)) EXPECT_EQ(topology.link(id).source, node);
    for (const LinkId id : topology.InLinks(node)) EXPECT_EQ(topology.link(id).target, node);
    EXPECT_TRUE(std::is_sorted(topology.OutLinks(node).begin(), topology.OutLinks(node).end()));
    EXPECT_TRUE(std::is_sorted(topology.InLinks(node).begin(), topology.InLinks(node).end()));
    out_count += topology.OutLinks(node).size();
    in_count += topology.InLinks(node).size();
  }
  EXPECT_EQ(out_count, topology.links().size());
  EXPECT_EQ(in_count, topology.links().size());
}

TEST(TopologyTest, ParallelLinksAddUp) {
  TopologyBuilder builder("parallel");
  const NodeId a = builder.AddRank("a", Rank(0));
  const NodeId b = builder.AddRank("b", Rank(1));
  builder.AddDuplex(a, b, Rational(1, 3), 2, LinkKind::kNvlink);
  builder.AddLink(a, b, Rational(1, 6), 0.7, LinkKind::kNvlink);
  builder.AddLink(b, a, Rational(1, 2), 4, LinkKind::kPcie);
  const Topology topology = *std::move(builder).Build();
  ASSERT_EQ(topology.links().size(), 2u);
  EXPECT_EQ(topology.links()[0], (Link{a, b, Rational(1, 2), 0.7, LinkKind::kNvlink}));
  EXPECT_EQ(topology.links()[1], (Link{b, a, Rational(5, 6), 2, LinkKind::kOther}));
}

TEST(TopologyTest, HashSeesTheMachineAndNotItsNames) {
  const auto build = [](const std::string& name, const std::string& id, const std::string& server, Rational bandwidth,
                        double latency_us, LinkKind kind) {
    TopologyBuilder builder(name, name);
    const NodeId a = builder.AddRank(id, Rank(0), "x");
    const NodeId b = builder.AddRank("b", Rank(1), server);
    builder.AddDuplex(a, b, bandwidth, latency_us, kind);
    return std::move(builder).Build()->hash();
  };
  const uint64_t hash = build("n", "a", "x", Rational(1), 1, LinkKind::kTcp);
  EXPECT_EQ(build("other", "z", "x", Rational(1), 1, LinkKind::kTcp), hash);
  EXPECT_NE(build("n", "a", "y", Rational(1), 1, LinkKind::kTcp), hash);
  EXPECT_NE(build("n", "a", "", Rational(1), 1, LinkKind::kTcp), hash);
  EXPECT_NE(build("n", "a", "x", Rational(1, 2), 1, LinkKind::kTcp), hash);
  EXPECT_NE(build("n", "a", "x", Rational(1), 2, LinkKind::kTcp), hash);
  EXPECT_NE(build("n", "a", "x", Rational(1), 1, LinkKind::kShm), hash);
  EXPECT_EQ(build("n", "a", "x", Rational(1), 0.0, LinkKind::kTcp),
            build("n", "a", "x", Rational(1), -0.0, LinkKind::kTcp));
}

TEST(TopologyTest, BuilderRefusesWhatIsNoTopology) {
  EXPECT_THAT(BuildError(TopologyBuilder("empty")), HasSubstr("without ranks"));
  {
    TopologyBuilder builder("t");
    builder.AddRank("a", Rank(0));
    builder.AddSwitch("a");
    EXPECT_THAT(BuildError(std::move(builder)), HasSubstr("two nodes have the id 'a'"));
  }
  {
    TopologyBuilder builder("t");
    builder.AddRank("a", Rank(0));
    builder.AddRank("b", Rank(0));
    EXPECT_THAT(BuildError(std::move(builder)), HasSubstr("nodes a and b both have rank 0"));
  }
  for (const int rank : {-1, 2, 1 << 30}) {
    TopologyBuilder builder("t");
    builder.AddRank("a", Rank(0));
    builder.AddRank("b", Rank(rank));
    EXPECT_THAT(BuildError(std::move(builder)), HasSubstr("node b has rank " + std::to_string(rank)));
  }
  for (const std::string& id : {std::string(), std::string("a\nb"), std::string(129, 'x')}) {
    TopologyBuilder builder("t");
    builder.AddRank(id, Rank(0));
    EXPECT_THAT(BuildError(std::move(builder)), HasSubstr("node 0: a name"));
  }
  for (const Rational bandwidth : {Rational(0), Rational(-1, 2)}) {
    TopologyBuilder builder("t");
    builder.AddDuplex(builder.AddRank("a", Rank(0)), builder.AddRank("b", Rank(1)), bandwidth);
    EXPECT_THAT(BuildError(std::move(builder)), HasSubstr("give a positive number of GB/s"));
  }
  for (const double latency_us : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    TopologyBuilder builder("t");
    builder.AddDuplex(builder.AddRank("a", Rank(0)), builder.AddRank("b", Rank(1)), Rational(1), latency_us);
    EXPECT_THAT(BuildError(std::move(builder)), HasSubstr("give a finite number"));
  }
  {
    TopologyBuilder builder("t");
    const NodeId a = builder.AddRank("a", Rank(0));
    builder.AddLink(a, a, Rational(1));
    EXPECT_THAT(BuildError(std::move(builder)), HasSubstr("link a -> a leads to itself"));
  }
  {
    TopologyBuilder builder("t");
    const NodeId a = builder.AddRank("a", Rank(0));
    const NodeId b = builder.AddRank("b", Rank(1));
    builder.AddLink(a, b, Rational(1, int64_t{1} << 62));
    builder.AddLink(a, b, Rational(1, 3));
    EXPECT_THAT(BuildError(std::move(builder)), HasSubstr("do not add up in 64 bits"));
  }
}

TEST(TopologyTest, SaysWhichRanksAreCutOff) {
  TopologyBuilder builder("broken");
  const NodeId a = builder.AddRank("a", Rank(0));
  const NodeId b = builder.AddRank("b", Rank(1));
  const NodeId c = builder.AddRank("c", Rank(2));
  const NodeId s = builder.AddSwitch("s");
  builder.AddDuplex(a, s, Rational(1));
  builder.AddDuplex(b, s, Rational(1));
  TopologyBuilder one_way = builder;
  const Topology broken = *std::move(builder).Build();
  EXPECT_EQ(CheckConnected(broken).code(), StatusCode::kUnimplemented);
  EXPECT_THAT(StatusMessage(CheckConnected(broken)), HasSubstr("nothing leads from rank 0 (a) to rank 2 (c); add"));

  one_way.AddLink(s, c, Rational(1));
  TopologyBuilder whole = one_way;
  EXPECT_THAT(StatusMessage(CheckConnected(*std::move(one_way).Build())),
              HasSubstr("nothing leads from rank 2 (c) to rank 0 (a); add"));
  whole.AddLink(c, b, Rational(1));
  EXPECT_TRUE(CheckConnected(*std::move(whole).Build()).ok());

  TopologyBuilder alone("islands");
  for (int i = 0; i < 20; ++i) alone.AddRank("r" + std::to_string(i), Rank(i));
  EXPECT_THAT(StatusMessage(CheckConnected(*std::move(alone).Build())), HasSubstr("rank 8 (r8) and 11 more"));
}

TEST(TopologyTest, ReversedTurnsLinksAndSwitchAbilities) {
  TopologyBuilder builder = TwoServers();
  builder.AddLink(NodeId(0), NodeId(3), Rational(7), 2, LinkKind::kPcie);
  const Topology topology = *std::move(builder).Build();
  const Topology reversed = Reversed(topology);
  ASSERT_EQ(reversed.links().size(), topology.links().size());
  for (const Link& link : topology.links()) {
    const LinkId back = reversed.FindLink(link.target, link.source);
    ASSERT_TRUE(back.valid());
    EXPECT_EQ(reversed.link(back).bandwidth, link.bandwidth);
    EXPECT_EQ(reversed.link(back).kind, link.kind);
  }
  EXPECT_TRUE(reversed.node(NodeId(2)).aggregate);
  EXPECT_FALSE(reversed.node(NodeId(2)).multicast);
  EXPECT_NE(reversed.hash(), topology.hash());
  EXPECT_EQ(Reversed(reversed), topology);
}

TEST(TopologyTest, RouteTakesFewestHopsThenWidestThenLowest) {
  TopologyBuilder builder("routes");
  const NodeId a = builder.AddRank("a", Rank(0));
  const NodeId b = builder.AddRank("b", Rank(1));
  const NodeId c = builder.AddRank("c", Rank(2));
  const NodeId s = builder.AddSwitch("s");
  const NodeId t = builder.AddSwitch("t");
  const NodeId u = builder.AddSwitch("u");
  for (const NodeId w : {s, t, u}) builder.AddDuplex(a, w, Rational(10));
  builder.AddDuplex(s, b, Rational(4));
  builder.AddDuplex(t, b, Rational(9));
  builder.AddDuplex(u, b, Rational(9));
  builder.AddDuplex(b, c, Rational(100));
  const Topology topology = *std::move(builder).Build();
  EXPECT_THAT(ShortestRoute(topology, Rank(0), Rank(1)), ElementsAre(a, t, b));
  EXPECT_THAT(ShortestRoute(topology, Rank(1), Rank(0)), ElementsAre(b, t, a));
  EXPECT_THAT(ShortestRoute(topology, Rank(1), Rank(2)), ElementsAre(b, c));
  EXPECT_THAT(ShortestRoute(topology, Rank(0), Rank(0)), ElementsAre(a));
  // Ranks do not pass traffic on.
  EXPECT_THAT(ShortestRoute(topology, Rank(0), Rank(2)), IsEmpty());
}

// All simple ways through switches, compared in the order the header promises.
std::vector<NodeId> BestRouteByEnumeration(const Topology& topology, Rank source, Rank target) {
  std::vector<NodeId> best;
  Rational best_width;
  std::vector<NodeId> route{topology.NodeOf(source)};
  const std::function<void(const Rational&)> extend = [&](const Rational& width) {
    for (const LinkId id : topology.OutLinks(route.back())) {
      const Link& link = topology.link(id);
      if (std::find(route.begin(), route.end(), link.target) != route.end()) continue;
      const Rational narrowed = std::min(width, link.bandwidth);
      route.push_back(link.target);
      if (link.target == topology.NodeOf(target)) {
        const bool better = best.empty() || route.size() < best.size() ||
                            (route.size() == best.size() && narrowed > best_width) ||
                            (route.size() == best.size() && narrowed == best_width && route < best);
        if (better) best = route, best_width = narrowed;
      } else if (topology.node(link.target).type == NodeType::kSwitch) {
        extend(narrowed);
      }
      route.pop_back();
    }
  };
  extend(Rational(1'000'000));
  return best;
}

TEST(TopologyTest, RoutesAgreeWithEnumerationOnRandomGraphs) {
  const uint64_t seed = 11;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng random(seed);
  int found = 0;
  for (int round = 0; round < 500; ++round) {
    const int rank_count = static_cast<int>(random.Between(2, 4));
    const int node_count = rank_count + static_cast<int>(random.Between(0, 5));
    TopologyBuilder builder("random");
    for (int i = 0; i < node_count; ++i) {
      const std::string id = "n" + std::to_string(i);
      i < rank_count ? builder.AddRank(id, Rank(i)) : builder.AddSwitch(id);
    }
    for (int from = 0; from < node_count; ++from) {
      for (int to = 0; to < node_count; ++to) {
        if (from != to && random.OneIn(3)) builder.AddLink(NodeId(from), NodeId(to), Rational(random.Between(1, 3)));
      }
    }
    const Topology topology = *std::move(builder).Build();
    for (const Rank target : Ids<Rank>(rank_count)) {
      const auto routes = ShortestRoutesTo(topology, target);
      for (const Rank source : Ids<Rank>(rank_count)) {
        const std::vector<NodeId> route = ShortestRoute(topology, source, target);
        ASSERT_EQ(routes[source.index()], route);
        if (source == target) continue;
        ASSERT_EQ(route, BestRouteByEnumeration(topology, source, target)) << "round " << round;
        found += route.empty() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(found, 1000);
}

TEST(SubsetTest, KeepsRanksInTheGivenOrderWithAllSwitches) {
  TopologyBuilder builder("four");
  const NodeId hub = builder.AddSwitch("hub", "s", true);
  std::vector<NodeId> nodes;
  for (int64_t rank = 0; rank < 4; ++rank) {
    nodes.push_back(builder.AddRank("r" + std::to_string(rank), Rank(rank), "s"));
    builder.AddDuplex(nodes.back(), hub, Rational(10 + rank));
  }
  builder.AddDuplex(nodes[0], nodes[1], Rational(3));
  builder.AddDuplex(nodes[1], nodes[3], Rational(5), 2.5, LinkKind::kNvlink);
  const Topology whole = std::move(builder).Build().value();
  const std::vector<Rank> kept = {Rank(3), Rank(1)};
  const Topology left = SubsetOf(whole, kept).value();
  EXPECT_EQ(left.rank_count(), 2);
  EXPECT_EQ(left.node_count(), 3);
  EXPECT_EQ(left.node(left.NodeOf(Rank(0))).id, "r3");
  EXPECT_EQ(left.node(left.NodeOf(Rank(1))).id, "r1");
  ASSERT_EQ(left.links().size(), 6U);
  const LinkId direct = left.FindLink(left.NodeOf(Rank(1)), left.NodeOf(Rank(0)));
  ASSERT_TRUE(direct.valid());
  EXPECT_EQ(left.link(direct).bandwidth, Rational(5));
  EXPECT_EQ(left.link(direct).latency_us, 2.5);
  EXPECT_EQ(left.link(direct).kind, LinkKind::kNvlink);
  EXPECT_TRUE(CheckConnected(left).ok());
}

TEST(SubsetTest, RanksThatForwardedAreMissed) {
  TopologyBuilder builder("line");
  const NodeId a = builder.AddRank("a", Rank(0));
  const NodeId b = builder.AddRank("b", Rank(1));
  const NodeId c = builder.AddRank("c", Rank(2));
  builder.AddDuplex(a, b, Rational(1));
  builder.AddDuplex(b, c, Rational(1));
  const Topology whole = std::move(builder).Build().value();
  const std::vector<Rank> kept = {Rank(0), Rank(2)};
  EXPECT_FALSE(CheckConnected(SubsetOf(whole, kept).value()).ok());
}

TEST(LinkKindTest, NamesRoundTrip) {
  for (const LinkKind kind : {LinkKind::kNvlink, LinkKind::kXgmi, LinkKind::kPcie, LinkKind::kRdma, LinkKind::kTcp,
                              LinkKind::kShm, LinkKind::kOther}) {
    EXPECT_EQ(*ParseLinkKind(NameOf(kind)), kind);
  }
  EXPECT_THAT(StatusMessage(ParseLinkKind("ethernet").status()),
              HasSubstr("unknown link kind 'ethernet'; use one of nvlink xgmi pcie rdma tcp shm other"));
}

TEST(TopologyTest, RanksByServerKeepsNamelessRanksAlone) {
  TopologyBuilder builder("mixed", "");
  const char* const names[] = {"b", "", "a", "b", "", "a", "b"};
  for (int64_t r = 0; r < 7; ++r) builder.AddRank("r" + std::to_string(r), Rank(r), names[r]);
  EXPECT_THAT(RanksByServer(*std::move(builder).Build()),
              ElementsAre(ElementsAre(Rank(0), Rank(3), Rank(6)), ElementsAre(Rank(1)), ElementsAre(Rank(2), Rank(5)),
                          ElementsAre(Rank(4))));
}

}  // namespace
}  // namespace mycel
