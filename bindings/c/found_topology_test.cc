#include "bindings/c/found_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/topo/topology_json.h"

namespace mycel {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// GB/s from a rank to the network, through as many switches of its server as there are.
Rational RateToNetwork(const Topology& topology, int64_t rank, const std::string& device) {
  for (const LinkId id : topology.OutLinks(topology.NodeOf(Rank(rank)))) {
    const Link& link = topology.link(id);
    const std::string& to = topology.node(link.target).id;
    if (device.empty() && to == "network") return link.bandwidth;
    if (to.find("." + device) == std::string::npos || device.empty()) continue;
    for (const LinkId up : topology.OutLinks(link.target)) {
      if (topology.node(topology.link(up).target).id == "network") return topology.link(up).bandwidth;
    }
  }
  return Rational(0);
}

TEST(FoundTopologyTest, ARankWithADeviceOfItsOwnHasItsRate) {
  Connection connection;
  connection.server_of = {0, 0, 1};
  connection.rails_of = {{{"eth0", 10'000}}, {{"eth1", 25'000}}, {{"eth0", 10'000}, {"eth1", 25'000}}};
  const StatusOr<Topology> topology = FoundTopology(connection);
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_EQ(topology->rank_count(), 3);
  EXPECT_EQ(topology->name(), "found-2-servers-3-ranks");
  EXPECT_EQ(RateToNetwork(*topology, 0, ""), Rational(5, 4));
  EXPECT_EQ(RateToNetwork(*topology, 1, ""), Rational(25, 8));
  EXPECT_EQ(RateToNetwork(*topology, 2, "eth0"), Rational(5, 4)) << "nodes, so that plans can name one";
  EXPECT_EQ(RateToNetwork(*topology, 2, "eth1"), Rational(25, 8));
  EXPECT_EQ(topology->node(topology->NodeOf(Rank(1))).server, topology->node(topology->NodeOf(Rank(0))).server);
  EXPECT_NE(topology->node(topology->NodeOf(Rank(2))).server, topology->node(topology->NodeOf(Rank(0))).server);
  EXPECT_TRUE(CheckConnected(*topology).ok());
}

TEST(FoundTopologyTest, ADeviceThatRanksShareIsASwitch) {
  Connection connection;
  connection.server_of = {0, 0, 0, 1};
  connection.rails_of = {{{"mlx5_0:1", 400'000}}, {{"mlx5_1:1", 400'000}}, {{"mlx5_0:1", 400'000}}, {{"lo", 8'000}}};
  const StatusOr<Topology> topology = FoundTopology(connection);
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_EQ(RateToNetwork(*topology, 0, "mlx5_0:1"), Rational(50));
  EXPECT_EQ(RateToNetwork(*topology, 2, "mlx5_0:1"), Rational(50));
  EXPECT_EQ(RateToNetwork(*topology, 1, ""), Rational(50));
  EXPECT_EQ(RateToNetwork(*topology, 3, ""), Rational(1));
}

TEST(FoundTopologyTest, TheFoundOneIsAFileThatReadsBack) {
  Connection connection;
  connection.server_of = {0, 1};
  connection.rails_of = {{{"eth0", 10'000}}, {{"eth0", 9'999}}};
  const StatusOr<Topology> topology = FoundTopology(connection);
  ASSERT_TRUE(topology.ok()) << topology.status();
  const StatusOr<Topology> back = ReadTopologyText(WriteTopology(*topology), "found");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->hash(), topology->hash());
}

TEST(FoundTopologyTest, SpeedsThatNobodyTellsAreNoted) {
  Connection connection;
  connection.server_of = {0, 1};
  connection.rails_of = {{{"eth0", 10'000, SpeedSource::kUnknown}},
                         {{"eth1", 9'999}, {"veth3", 10'000, SpeedSource::kVirtual}}};
  EXPECT_THAT(FoundTopology(connection)->note(), HasSubstr("no true speed is told of eth0, veth3"));
  connection.rails_of = {{{"eth0", 10'000}}, {{"eth1", 9'999}}};
  EXPECT_THAT(FoundTopology(connection)->note(), testing::Not(HasSubstr("speed")));
}

/// Two servers of two ranks, each joined to the network at `gbps` a rank.
Topology TwoByTwo(int64_t gbps, LinkKind kind) {
  TopologyBuilder builder("file");
  const NodeId network = builder.AddSwitch("network");
  for (int64_t rank = 0; rank < 4; ++rank) {
    const NodeId node = builder.AddRank("r" + std::to_string(rank), Rank(rank), rank < 2 ? "a" : "b");
    builder.AddDuplex(node, network, Rational(gbps), 1, kind);
  }
  return *std::move(builder).Build();
}

Connection Servers(const std::vector<int32_t>& server_of, int64_t mbps, SpeedSource source = SpeedSource::kTold) {
  Connection connection;
  connection.server_of = server_of;
  for (size_t rank = 0; rank < server_of.size(); ++rank)
    connection.rails_of.push_back({{"mlx5_" + std::to_string(rank) + ":1", mbps, source}});
  return connection;
}

TEST(DisagreementsTest, TheSameMachineHasNone) {
  const Topology file = TwoByTwo(25, LinkKind::kRdma);
  EXPECT_THAT(Disagreements(file, Servers({0, 0, 1, 1}, 200'000)), IsEmpty());
  EXPECT_THAT(Disagreements(file, Servers({0, 0, 1, 1}, 398'000)), IsEmpty()) << "half of what the devices say";
  EXPECT_THAT(Disagreements(*FoundTopology(Servers({0, 1, 0}, 10'000)), Servers({0, 1, 0}, 10'000)), IsEmpty());
}

TEST(DisagreementsTest, ServersAndTheirSizes) {
  const Topology file = TwoByTwo(25, LinkKind::kRdma);
  EXPECT_THAT(Disagreements(file, Servers({0, 1, 2, 2}, 200'000)),
              ElementsAre("has 2 servers (2 with 2 ranks), but the job runs on 3 (1 with 2, 2 with 1 rank)",
                          "has ranks 0 and 1 on one server (a), but they share no memory here"));
  EXPECT_THAT(Disagreements(file, Servers({0, 0, 0, 1}, 200'000)),
              ElementsAre(HasSubstr("servers of other sizes (2 with 2 ranks) than the job runs on (1 with 3, 1 with 1"),
                          "has ranks 0 and 2 on two servers (a, b), but they share memory here"));
  EXPECT_THAT(Disagreements(file, Servers({0, 1, 0, 1}, 200'000)),
              ElementsAre("has ranks 0 and 1 on one server (a), but they share no memory here"));
}

TEST(DisagreementsTest, NetworkRatesAndKinds) {
  const Topology file = TwoByTwo(25, LinkKind::kRdma);
  EXPECT_THAT(Disagreements(file, Servers({0, 0, 1, 1}, 100'000)),
              ElementsAre("joins server a to the others at 50 GB/s (2 links), but here it has 25 GB/s (2 network "
                          "devices: mlx5_0:1, mlx5_1:1)"));
  EXPECT_THAT(Disagreements(file, Servers({0, 0, 1, 1}, 800'000)), ElementsAre(HasSubstr("here it has 200 GB/s")));
  EXPECT_THAT(Disagreements(file, Servers({0, 0, 1, 1}, 100'000, SpeedSource::kVirtual)), IsEmpty());
  Connection tcp = Servers({0, 0, 1, 1}, 200'000);
  for (RankRails& rails : tcp.rails_of) rails.front().device = "eth0";
  EXPECT_THAT(Disagreements(file, tcp), ElementsAre(AllOf(HasSubstr("25 GB/s"), HasSubstr("1 network device: eth0")),
                                                    HasSubstr("by RDMA, but here it uses TCP (eth0)")));
}

TEST(DisagreementsTest, ATopologyWithoutServersSaysNothingOfThem) {
  TopologyBuilder builder("plain");
  const NodeId a = builder.AddRank("a", Rank(0));
  const NodeId b = builder.AddRank("b", Rank(1));
  builder.AddDuplex(a, b, Rational(1));
  EXPECT_THAT(Disagreements(*std::move(builder).Build(), Servers({0, 1}, 1000)), IsEmpty());
}

}  // namespace
}  // namespace mycel
