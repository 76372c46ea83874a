// Recorded servers, put together: the same fabrics as the gallery's machines of their kind.
#include "transport/discover/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/topo/gallery.h"
#include "core/topo/topology_json.h"
#include "transport/discover/host_topology.h"
#include "transport/discover/sample_recording.h"

namespace mycel {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Assembled Assemble(const Machine& machine, size_t servers, int32_t host_ranks = 1) {
  StatusOr<Assembled> assembled =
      AssembleServers(std::vector<const Machine*>(servers, &machine), {"found", "", host_ranks});
  EXPECT_TRUE(assembled.ok()) << assembled.status();
  return *std::move(assembled);
}

/// The exact capacity, or 0 where there is no link.
Rational Between(const Topology& topology, const std::string& from, const std::string& to) {
  for (const Link& link : topology.links()) {
    if (topology.node(link.source).id == from && topology.node(link.target).id == to) return link.bandwidth;
  }
  return Rational(0);
}

TEST(AssembleTest, RecordedServersAreTheGallerysMachines) {
  const Machine dgx = SampleMachine("dgx-h100");
  const Machine mi = SampleMachine("mi300x");
  EXPECT_EQ(Assemble(dgx, 1).topology.hash(), GalleryTopology("dgx-h100")->hash());
  EXPECT_EQ(Assemble(dgx, 2).topology.hash(), GalleryTopology("dgx-h100-x2")->hash());
  EXPECT_EQ(Assemble(mi, 1).topology.hash(), GalleryTopology("mi300x")->hash());
  EXPECT_EQ(Assemble(mi, 3).topology.hash(), GalleryTopology("mi300x-x3")->hash());
  EXPECT_THAT(Assemble(dgx, 2).notes, ElementsAre(HasSubstr("s0: mlx5_8:1 is farther from every GPU"),
                                                  HasSubstr("s1: mlx5_8:1 is farther from every GPU")));
  EXPECT_THAT(Assemble(mi, 2).notes, IsEmpty());
}

TEST(AssembleTest, WhatIsFoundIsAFileThatReadsBack) {
  for (const char* name : {"dgx-h100", "mi300x"}) {
    const Machine machine = SampleMachine(name);
    const Topology topology = Assemble(machine, 2).topology;
    const StatusOr<Topology> back = ReadTopologyText(WriteTopology(topology), "found");
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, topology);
    EXPECT_TRUE(CheckConnected(*back).ok());
  }
}

TEST(AssembleTest, UnlikeServersGoTogether) {
  const Machine dgx = SampleMachine("dgx-h100");
  const Machine mi = SampleMachine("mi300x");
  const StatusOr<Assembled> both = AssembleServers({&dgx, &mi}, {"both", "", 1});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->topology.rank_count(), 16);
  EXPECT_EQ(Between(both->topology, "gpu7", "nvsw0"), Rational(450));
  EXPECT_EQ(Between(both->topology, "gpu8", "gpu15"), Rational(64));
  EXPECT_EQ(Between(both->topology, "gpu15", "network"), Rational(50));
  const Machine host;
  EXPECT_THAT(StatusMessage(AssembleServers({&dgx, &host}, {"", "", 1}).status()), HasSubstr("s1 has no GPUs"));
  EXPECT_FALSE(AssembleServers({}, {}).ok());
}

TEST(AssembleTest, WithoutGpuLinksThePciTreeCarries) {
  Machine machine = SampleMachine("dgx-h100");
  for (MachineGpu& gpu : machine.gpus) gpu.wires.clear();
  // Two of them below one bridge.
  machine.gpus[1].pci.path = machine.gpus[0].pci.path;
  machine.gpus[1].pci.path.back() = "0000:1c:00.0";
  const Assembled found = Assemble(machine, 1);
  EXPECT_TRUE(CheckConnected(found.topology).ok());
  const Rational slot = machine.gpus[0].pci.gbps;
  EXPECT_EQ(Between(found.topology, "gpu0", "s0.pci-0000:17:01.0"), slot);
  EXPECT_EQ(Between(found.topology, "gpu1", "s0.pci-0000:17:01.0"), slot);
  EXPECT_EQ(Between(found.topology, "s0.pci-0000:17:01.0", "host0"), slot);
  EXPECT_EQ(Between(found.topology, "gpu2", "host0"), slot);
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("between sockets is not known")));
}

TEST(AssembleTest, PcieJoinsWhatGpuLinksLeaveApart) {
  Machine machine = SampleMachine("mi300x");
  for (MachineGpu& gpu : machine.gpus) {
    const bool low = gpu.pci.numa_node == 0;
    std::erase_if(gpu.wires, [&](const GpuWire& wire) { return (wire.peer < "0000:80") != low; });
  }
  const Topology topology = Assemble(machine, 1).topology;
  EXPECT_TRUE(CheckConnected(topology).ok());
  EXPECT_EQ(Between(topology, "gpu0", "gpu3"), Rational(64));
  EXPECT_EQ(Between(topology, "gpu0", "gpu4"), Rational(0));
  EXPECT_GT(Between(topology, "gpu0", "host0"), Rational(63));
}

TEST(AssembleTest, WhatIsNotKnownIsAssumedAndSaid) {
  Machine machine = SampleMachine("mi300x");
  machine.gpus.resize(2);
  machine.gpus[0].wires = {{machine.gpus[1].pci.bus_id, WireEnd::kGpu, 2, Rational(0)},
                           {"0000:77:00.0", WireEnd::kGpu, 1, Rational(64)},
                           {"0000:78:00.0", WireEnd::kOther, 1, Rational(64)}};
  machine.gpus[1].wires = {{machine.gpus[0].pci.bus_id, WireEnd::kGpu, 1, Rational(0)}};
  const Assembled found = Assemble(machine, 1);
  EXPECT_EQ(Between(found.topology, "gpu0", "gpu1"), Rational(100));
  EXPECT_EQ(Between(found.topology, "gpu1", "gpu0"), Rational(50));
  for (const char* said : {"50 GB/s a link is assumed", "0000:77:00.0, which is hidden here",
                           "0000:78:00.0, which is neither a GPU nor a switch", "do not tell the same"}) {
    EXPECT_THAT(found.notes, Contains(HasSubstr(said)));
  }
  machine.gpus[1].wires.clear();
  const Assembled one_tells = Assemble(machine, 1);
  EXPECT_EQ(Between(one_tells.topology, "gpu1", "gpu0"), Rational(100)) << "links go both ways";
  EXPECT_THAT(one_tells.notes, Contains(HasSubstr("what the first says")));
}

TEST(AssembleTest, ServersThatNothingJoinsAreImpossible) {
  Machine machine = SampleMachine("dgx-h100");
  machine.nics.clear();
  for (const bool gpus : {true, false}) {
    if (!gpus) machine.gpus.clear();
    const Status status = AssembleServers({&machine, &machine}, {"", "", 2}).status();
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
    EXPECT_THAT(StatusMessage(status), HasSubstr("dgx-one"));
    EXPECT_TRUE(AssembleServers({&machine}, {"", "", 2}).ok());
  }
}

TEST(AssembleTest, MoreRanksThanAnyMachineHasAreRefusedBeforeTheyAreMade) {
  const Machine host;
  const Machine dgx = SampleMachine("dgx-h100");
  const std::pair<const Machine*, int32_t> kinds[] = {{&host, TopologyBuilder::kNodeCountMax}, {&dgx, 1}};
  for (const auto& [machine, host_ranks] : kinds) {
    const std::vector<const Machine*> servers(TopologyBuilder::kNodeCountMax, machine);
    const StatusOr<Assembled> refused = AssembleServers(servers, {"found", "", host_ranks});
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.status().ToString(), HasSubstr("take fewer servers, or fewer ranks of each"));
  }
}

TEST(AssembleTest, SharedDevicesAreSwitches) {
  Machine machine = SampleMachine("dgx-h100");
  std::erase_if(machine.nics, [](const MachineNic& nic) { return nic.name != "mlx5_2:1" && nic.name != "mlx5_6:1"; });
  machine.nics[1].source = SpeedSource::kUnknown;
  const Assembled found = Assemble(machine, 2);
  EXPECT_EQ(Between(found.topology, "gpu3", "s0.mlx5_2:1"), machine.gpus[3].pci.gbps);
  EXPECT_EQ(Between(found.topology, "s1.mlx5_2:1", "network"), Rational(50));
  EXPECT_EQ(Between(found.topology, "s1.mlx5_6:1", "network"), Rational(5, 4));
  EXPECT_THAT(found.notes, Contains(HasSubstr("mlx5_6:1: speed not known; 10000 Mbit/s is assumed")));
}

TEST(AssembleTest, HostsShareTheirDevicesAsRanksDo) {
  Machine machine = SampleMachine("mi300x");
  machine.gpus.clear();
  const Topology topology = Assemble(machine, 2, 4).topology;
  EXPECT_EQ(topology.rank_count(), 8);
  EXPECT_EQ(Between(topology, "rank0", "s0.memory"), Rational(8));
  for (const char* device : {"s1.bnxt_re1:1", "s1.bnxt_re5:1"}) {
    EXPECT_GT(Between(topology, "rank5", device), Rational(0));
    EXPECT_EQ(Between(topology, device, "network"), Rational(50));
  }
  EXPECT_EQ(Assemble(machine, 1, 4).topology.node_count(), 5) << "no network inside one server";
}

RankRails On(const std::vector<std::string>& networks) {
  RankRails rails;
  for (const std::string& network : networks) {
    rails.push_back({"eth" + std::to_string(rails.size()), 400, SpeedSource::kTold, network});
  }
  return rails;
}

TEST(HostTopologyTest, DevicesOfDifferentNetworksAreJoinedByThem) {
  // Two servers; rank 0 has both networks, ranks 1 and 2 one each.
  RankRails second = On({"b"});
  second[0].device = "eth1";
  const Topology topology = HostTopology("t", "", {0, 1, 1}, {On({"a", "b"}), On({"a"}), second}).value();
  const auto route = [&](int64_t source, int64_t target) {
    return ShortestRoute(topology, Rank(source), Rank(target)).size();
  };
  EXPECT_EQ(route(0, 1), 4U);  // rank 0, its device, the network, rank 1, whose only device needs no node
  EXPECT_EQ(route(0, 2), 4U);
  const Topology apart = HostTopology("t", "", {0, 1}, {On({"a"}), On({"b"})}).value();
  EXPECT_EQ(ShortestRoute(apart, Rank(0), Rank(1)).size(), 3U) << "a router joins them";
}

TEST(HostTopologyTest, ListsOfUnlikeLengthAreRefused) {
  EXPECT_FALSE(HostTopology("t", "", {}, {}).ok());
  EXPECT_FALSE(HostTopology("t", "", {0, 1}, {{{"eth0", 100}}}).ok());
  EXPECT_FALSE(HostTopology("t", "", {0, 1}, {{{"eth0", 100}}, {{"eth0", 0}}}).ok());
  EXPECT_TRUE(HostTopology("t", "", {0, 0}, {}).ok());
}

}  // namespace
}  // namespace mycel
