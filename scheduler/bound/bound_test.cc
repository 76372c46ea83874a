#include "scheduler/bound/bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/topo/gallery.h"
#include "core/topo/topology_json.h"
#include "scheduler/bound/partition.h"
#include "scheduler/graph/edge_list_testing.h"
#include "scheduler/lp/lp_solver.h"

namespace mycel {
namespace {

Topology Gallery(const std::string& name) {
  StatusOr<Topology> topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << name << ": " << topology.status();
  return *std::move(topology);
}

Optimum BoundFor(const Topology& topology, Collective collective, int32_t root = 0) {
  PlanRequest request;
  request.collective = collective;
  request.root = Rank(root);
  StatusOr<Optimum> bound = BoundOf(topology, request);
  EXPECT_TRUE(bound.ok()) << topology.name() << " " << NameOf(collective) << ": " << bound.status();
  return *std::move(bound);
}

std::string InvX(const std::string& name, Collective collective, int32_t root = 0) {
  return BoundFor(Gallery(name), collective, root).inv_x.ToString();
}

/// n / (1/x) GB/s.
Rational Algbw(const std::string& name, Collective collective) {
  const Topology topology = Gallery(name);
  return Rational(topology.rank_count()) / BoundFor(topology, collective).inv_x;
}

TEST(Bound, SingleCutsAreTheOptima) {
  EXPECT_EQ(InvX("ring8", Collective::kAllGather), "7/50");
  EXPECT_EQ(InvX("star-4-4-2-2", Collective::kGather, 3), "3/2");
  EXPECT_EQ(InvX("mesh-3x3", Collective::kBroadcast, 4), "1/2");
}

// Where the exact optimum is known (from a linear program), the bound meets it.
TEST(Bound, AllReduce) {
  EXPECT_EQ(Algbw("ring8", Collective::kAllReduce), Rational(200, 7));
  EXPECT_EQ(Algbw("mesh-3x3", Collective::kAllReduce), Rational(3, 2));
  EXPECT_EQ(Algbw("mesh-2x3", Collective::kAllReduce), Rational(7, 5));
  EXPECT_EQ(Algbw("star-4-4-2-2", Collective::kAllReduce), Rational(2));
  EXPECT_EQ(Algbw("star-10-10-1", Collective::kAllReduce), Rational(1));
  EXPECT_EQ(Algbw("dgx-a100", Collective::kAllReduce), Rational(1200, 7));
  EXPECT_EQ(Algbw("dgx-a100-x2", Collective::kAllReduce), Rational(520, 3));
  EXPECT_EQ(Algbw("dgx-a100-x4", Collective::kAllReduce), Rational(400, 3));
  EXPECT_EQ(Algbw("dgx-h100-x2", Collective::kAllReduce), Rational(800, 3));
  EXPECT_EQ(Algbw("mi250", Collective::kAllReduce), Rational(1200, 7));
  EXPECT_EQ(Algbw("mi250-x2", Collective::kAllReduce), Rational(2656, 15));
  EXPECT_EQ(Algbw("mi250-8plus8", Collective::kAllReduce), Rational(128));
  EXPECT_EQ(Algbw("torus-4x4", Collective::kAllReduce), Rational(25) * Rational(32, 15));
  EXPECT_EQ(Algbw("fullmesh-8", Collective::kAllReduce), Rational(100));
}

TEST(Bound, AllReduceIsNotSentToTheLinearProgramInVain) {
  for (const char* name : {"dgx-a100-x4", "dgx-h100-x2", "mi250", "mi250-x2", "ring8", "torus-4x4", "hypercube-4"}) {
    const StatusOr<AllReduceBound> known = AllReduceBoundOf(Gallery(name));
    ASSERT_TRUE(known.ok()) << known.status();
    EXPECT_EQ(known->optimum.kind, BoundKind::kOptimum) << name;
    EXPECT_FALSE(known->rates.has_value()) << name;
    EXPECT_EQ(known->in_turn, known->optimum.inv_x) << name;
  }
  // Where it is asked, it answers or is missing, and the proof says which.
  const StatusOr<AllReduceBound> mesh = AllReduceBoundOf(Gallery("mesh-3x3"));
  ASSERT_TRUE(mesh.ok()) << mesh.status();
  EXPECT_EQ(mesh->optimum.inv_x, Rational(6));
  EXPECT_EQ(mesh->unsolved.empty(), LpSolver::Available());
  EXPECT_EQ(mesh->rates.has_value(), LpSolver::Available());
  EXPECT_EQ(mesh->optimum.kind, LpSolver::Available() ? BoundKind::kOptimum : BoundKind::kLowerBound);
}

TEST(Bound, AllToAll) {
  EXPECT_EQ(InvX("ring8", Collective::kAllToAll), "8/25");        // 128 hops over 16 links of 25
  EXPECT_EQ(InvX("torus-4x4", Collective::kAllToAll), "8/25");    // 512 hops over 64 links
  EXPECT_EQ(InvX("hypercube-3", Collective::kAllToAll), "4/25");  // 96 hops over 24 links
  EXPECT_EQ(InvX("fullmesh-8", Collective::kAllToAll), "1/25");
  EXPECT_EQ(InvX("dgx-a100", Collective::kAllToAll), "7/300");
  EXPECT_EQ(InvX("dgx-a100-x2", Collective::kAllToAll), "8/25");           // 64 pairs over 8 NICs of 25
  EXPECT_EQ(InvX("fat-tree-2x4-oversub", Collective::kAllToAll), "8/25");  // 16 pairs over 50
}

TEST(Bound, AllToAllV) {
  const Topology topology = Gallery("servers-2x2");
  PlanRequest request;
  request.collective = Collective::kAllToAllV;
  request.demand = {5, 1000, 300, 0,   //
                    0, 5,    100, 0,   //
                    0, 0,    5,   50,  //
                    0, 70,   0,   5};
  StatusOr<Optimum> bound = BoundOf(topology, request);
  ASSERT_TRUE(bound.ok()) << bound.status();
  // 400 bytes leave server 0 over 2 NICs of 5 GB/s; inside, 1000 bytes cross a link of 50.
  EXPECT_EQ(bound->inv_x, Rational(40));
  EXPECT_EQ(bound->cut_demand, 400);
  EXPECT_EQ(bound->proof, "400 bytes must leave {gpu0, gpu1, sw0} over 10 GB/s: no schedule is faster");

  request.demand[1] = 5000;
  EXPECT_EQ(BoundOf(topology, request)->inv_x, Rational(5300, 55));  // rank 0 sends 5300 over 50 + 5

  request.demand.assign(16, 0);
  EXPECT_EQ(BoundOf(topology, request)->inv_x, Rational(0));
  request.demand.pop_back();
  EXPECT_EQ(BoundOf(topology, request).status().code(), StatusCode::kInvalidArgument);
  request.demand.push_back(-1);
  EXPECT_NE(StatusMessage(BoundOf(topology, request).status()).find("rank 3 to rank 3"), std::string::npos);
  request.demand.assign(16, int64_t{1} << 62);
  EXPECT_EQ(BoundOf(topology, request).status().code(), StatusCode::kInvalidArgument);
}

TEST(Bound, OneRankMovesNothing) {
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllToAll, Collective::kBroadcast}) {
    EXPECT_EQ(InvX("ring1", collective), "0") << NameOf(collective);
  }
}

TEST(Bound, CutOffRanksAreNamed) {
  TopologyBuilder builder("broken");
  const NodeId a = builder.AddRank("a", Rank(0));
  const NodeId b = builder.AddRank("b", Rank(1));
  builder.AddRank("c", Rank(2));
  builder.AddDuplex(a, b, Rational(1));
  const StatusOr<Topology> topology = std::move(builder).Build();
  ASSERT_TRUE(topology.ok());
  for (const CollectiveInfo& info : AllCollectives()) {
    PlanRequest request;
    request.collective = info.collective;
    request.root = Rank(0);
    request.demand.assign(9, 1);
    const Status status = BoundOf(*topology, request).status();
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << info.name << ": " << status;
  }
  PlanRequest request;  // what is not asked of c does not fail for c
  request.collective = Collective::kAllToAllV;
  request.demand = {0, 7, 0, 3, 0, 0, 0, 0, 0};
  EXPECT_EQ(BoundOf(*topology, request)->inv_x, Rational(7));
}

TEST(Bound, BadRoot) {
  PlanRequest request;
  request.collective = Collective::kBroadcast;
  request.root = Rank(8);
  EXPECT_EQ(BoundOf(Gallery("ring8"), request).status().code(), StatusCode::kInvalidArgument);
}

/// Busiest link when every pair's bytes take the path of fewest links, through ranks too.
Rational ByRelays(const Topology& topology, const std::vector<int64_t>& demand) {
  const auto n = static_cast<size_t>(topology.rank_count());
  std::vector<Rational> load(topology.links().size());
  for (size_t i = 0; i < n; ++i) {
    std::vector<LinkId> came_by(topology.nodes().size());
    std::vector<NodeId> queue = {topology.NodeOf(Rank(static_cast<int64_t>(i)))};
    for (size_t at = 0; at < queue.size(); ++at) {
      for (const LinkId id : topology.OutLinks(queue[at])) {
        const NodeId next = topology.link(id).target;
        if (next == queue.front() || came_by[next.index()].valid()) continue;
        came_by[next.index()] = id;
        queue.push_back(next);
      }
    }
    for (size_t j = 0; j < n; ++j) {
      for (NodeId at = topology.NodeOf(Rank(static_cast<int64_t>(j))); at != queue.front();) {
        load[came_by[at.index()].index()] += Rational(demand[i * n + j]);
        at = topology.link(came_by[at.index()]).source;
      }
    }
  }
  Rational most;
  for (size_t i = 0; i < load.size(); ++i) most = std::max(most, load[i] / topology.links()[i].bandwidth);
  return most;
}

// Reduce-scatter followed by allgather is an allreduce, so no bound may exceed their sum; nor may a bound on pairs
// exceed what shortest paths need.
TEST(Bound, NeverAboveWhatSchedulesReach) {
  const uint64_t seed = 20240607;
  Rng rng(seed);
  for (int round = 0; round < 300; ++round) {
    const auto ranks = static_cast<int32_t>(2 + rng.Below(4));
    const auto switches = static_cast<int32_t>(rng.Below(3));
    TopologyBuilder builder("random");
    std::vector<NodeId> nodes;
    for (int32_t i = 0; i < ranks; ++i) nodes.push_back(builder.AddRank("r" + std::to_string(i), Rank(i)));
    for (int32_t i = 0; i < switches; ++i) nodes.push_back(builder.AddSwitch("s" + std::to_string(i)));
    for (size_t i = 0; i < nodes.size(); ++i) {  // a ring keeps it connected
      builder.AddLink(nodes[i], nodes[(i + 1) % nodes.size()], Rational(static_cast<int64_t>(1 + rng.Below(5)), 2));
    }
    for (uint64_t extra = rng.Below(8); extra > 0; --extra) {
      const size_t a = rng.Below(nodes.size());
      const size_t b = rng.Below(nodes.size());
      if (a != b) builder.AddLink(nodes[a], nodes[b], Rational(static_cast<int64_t>(1 + rng.Below(9)), 3));
    }
    const StatusOr<Topology> topology = std::move(builder).Build();
    ASSERT_TRUE(topology.ok()) << topology.status();
    const Optimum allreduce = BoundFor(*topology, Collective::kAllReduce);
    EXPECT_LE(allreduce.inv_x,
              BoundFor(*topology, Collective::kAllGather).inv_x + BoundFor(*topology, Collective::kReduceScatter).inv_x)
        << "round " << round << " seed " << seed << "\n"
        << WriteTopology(*topology);
    EXPECT_EQ(allreduce.inv_x, allreduce.lower_bound);
    PlanRequest request;
    request.collective = Collective::kAllToAllV;
    for (int32_t i = 0; i < ranks * ranks; ++i) request.demand.push_back(static_cast<int64_t>(rng.Below(100)));
    const StatusOr<Optimum> pairs = BoundOf(*topology, request);
    ASSERT_TRUE(pairs.ok()) << pairs.status();
    EXPECT_LE(pairs->inv_x, ByRelays(*topology, request.demand)) << "round " << round << " seed " << seed << "\n"
                                                                 << WriteTopology(*topology);
  }
}

TEST(Bound, NumbersThatLeave64BitsNameTopologyAndCollective) {
  // Seven shards over 1/1500000001 + 1/1500000007 GB/s.
  std::string wires = "5-7:1/1500000001 6-7:1/1500000007";
  for (int rank = 0; rank < 6; ++rank) {
    wires += " " + std::to_string(rank) + "-" + std::to_string(rank + 1) + ":3/1500000001";
  }
  const Topology narrow = EdgeList(wires);
  for (const Collective collective : {Collective::kAllGather, Collective::kAllReduce, Collective::kAllToAll}) {
    PlanRequest request;
    request.collective = collective;
    const Status refused = BoundOf(narrow, request).status();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(StatusMessage(refused), std::string(NameOf(collective)) + " on topology " + narrow.name() +
                                          ": a fraction leaves 64-bit integers; use rounder numbers");
  }
}

TEST(Partition, GroupsOfNamedMachines) {
  const auto groups = [](const std::string& name) {
    std::vector<int32_t> counts;
    for (const bound::Partition& partition : bound::PartitionsOf(Gallery(name))) counts.push_back(partition.groups);
    return counts;
  };
  EXPECT_EQ(groups("ring8"), std::vector<int32_t>({8}));
  EXPECT_EQ(groups("dgx-a100-x2"), std::vector<int32_t>({16, 2}));
  EXPECT_EQ(groups("mi250-x2"), std::vector<int32_t>({32, 16, 2, 8}));  // dies, packages, servers, quads
  EXPECT_TRUE(groups("ring1").empty());
}

TEST(Partition, HopsCountEnteredGroups) {
  const Topology ring = Gallery("ring8");
  const std::vector<bound::Partition> partitions = bound::PartitionsOf(ring);
  const bound::GroupHops hops(partitions.front(), ring);
  EXPECT_EQ(hops.From(0), std::vector<int32_t>({0, 1, 2, 3, 4, 3, 2, 1}));
}

}  // namespace
}  // namespace mycel
