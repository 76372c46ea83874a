#include "bindings/c/found_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/topo/topology_json.h"

namespace mycel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
  EXPECT_EQ(RateToNetwork(*topology, 2, ""), Rational(35, 8)) << "two links add up";
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

}  // namespace
}  // namespace mycel
