#include "scheduler/ring/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/lower/lower.h"
#include "scheduler/ring/cycle.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

Topology Named(const std::string& name) {
  StatusOr<Topology> topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

/// Ring whose links go one way only.
Topology OneWayRing(int32_t n) {
  TopologyBuilder builder("one-way");
  for (const Rank r : Ids<Rank>(n)) builder.AddRank("r" + std::to_string(r.value()), r);
  for (int32_t i = 0; i < n; ++i) builder.AddLink(NodeId(i), NodeId((i + 1) % n), 1);
  return *std::move(builder).Build();
}

/// What the plan of `request` takes per byte of a block, by the links it loads.
std::string InvX(const Topology& topology, Collective collective, const std::string& variant = "") {
  PlanRequest request;
  request.collective = collective;
  if (InfoOf(collective).rooted) request.root = Rank(0);
  request.variant = variant;
  const StatusOr<Schedule> schedule = RingPlanner().MakeSchedule(topology, request);
  if (!schedule.ok()) return StatusMessage(schedule.status());
  const StatusOr<Plan> plan = Lower(*schedule, topology);
  if (!plan.ok()) return StatusMessage(plan.status());
  const Status verified = Verify(*plan);
  if (!verified.ok()) return StatusMessage(verified);
  const StatusOr<LinkLoads> loads = ComputeLinkLoads(*plan, topology);
  return loads.ok() ? loads->inv_x.ToString() : StatusMessage(loads.status());
}

// ring8: 25 GB/s each way. The cut around one rank gives 7/50 for allgather, 1/50 for broadcast.
TEST(Ring, IsOptimalOnARing) {
  const Topology ring = Named("ring8");
  EXPECT_EQ(InvX(ring, Collective::kAllGather), "7/50");
  EXPECT_EQ(InvX(ring, Collective::kReduceScatter), "7/50");
  EXPECT_EQ(InvX(ring, Collective::kAllReduce), "7/200");  // of the whole vector: twice 7/50 over 8 shards
  EXPECT_EQ(InvX(ring, Collective::kBroadcast), "1/50");
  EXPECT_EQ(InvX(ring, Collective::kReduce), "1/50");
  EXPECT_EQ(InvX(ring, Collective::kGather), "7/50");
  EXPECT_EQ(InvX(ring, Collective::kScatter), "7/50");
  EXPECT_EQ(InvX(ring, Collective::kAllToAll), "8/25");  // n * n / 8 blocks over each directed link
}

TEST(Ring, OneWayHalvesTheBandwidth) {
  EXPECT_EQ(InvX(Named("ring8"), Collective::kAllGather, "one-way"), "7/25");
  EXPECT_EQ(InvX(Named("ring7"), Collective::kAllGather), "3/25");
  EXPECT_EQ(InvX(OneWayRing(4), Collective::kAllGather), "3");
}

TEST(Ring, OneWayBehindASwitch) {
  PlanRequest request;
  request.collective = Collective::kAllGather;
  const Topology machine = Named("dgx-a100");
  EXPECT_EQ(RingPlanner().MakeSchedule(machine, request)->planner, "ring/one-way");
  EXPECT_EQ(RingPlanner().MakeSchedule(Named("ring5"), request)->planner, "ring/two-way");
  EXPECT_EQ(InvX(machine, Collective::kAllGather), "7/300");
}

// A torus has no ring in rank order, but many others; each rank appears once and each hop exists.
TEST(Ring, FindsARingThroughATorus) {
  for (const char* name : {"torus-4x4", "hypercube-3", "mesh-4x4", "torus-3x3x3"}) {
    const Topology topology = Named(name);
    std::vector<Route> routes;
    RouteBook book(topology, &routes);
    const StatusOr<ring::Cycle> cycle = ring::FindCycle(topology, &book);
    ASSERT_TRUE(cycle.ok()) << name << cycle.status();
    EXPECT_TRUE(cycle->both_ways);
    std::vector<int> visits(static_cast<size_t>(topology.rank_count()));
    for (size_t i = 0; i < cycle->order.size(); ++i) {
      ++visits[cycle->order[i].index()];
      EXPECT_TRUE(book.Joins(cycle->order[i], cycle->order[(i + 1) % cycle->order.size()]));
    }
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1)) << name;
  }
}

TEST(Ring, SaysWhyThereIsNoRing) {
  PlanRequest request;
  request.collective = Collective::kAllGather;
  const Status refusal = RingPlanner().Serves(Named("mesh-3x3"), request);  // odd and bipartite: no Hamiltonian cycle
  EXPECT_EQ(refusal.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(StatusMessage(refusal), HasSubstr("no ring passes through all ranks once"));
}

TEST(Ring, RefusesWhatItCannotServe) {
  const Topology ring = Named("ring4");
  const auto refusal = [&](const PlanRequest& request, const Topology& topology) {
    return StatusMessage(RingPlanner().MakeSchedule(topology, request).status());
  };
  PlanRequest request;
  request.collective = Collective::kAllToAllV;
  EXPECT_THAT(refusal(request, ring), HasSubstr("does not serve alltoallv"));
  request.collective = Collective::kBroadcast;
  request.root = Rank(4);
  EXPECT_THAT(refusal(request, ring), HasSubstr("needs a root in 0..3, not 4"));
  request.root = Rank(3);
  request.variant = "three-way";
  EXPECT_THAT(refusal(request, ring), HasSubstr("use one-way or two-way"));
  request.variant = "two-way";
  EXPECT_THAT(refusal(request, OneWayRing(4)), HasSubstr("closes in one direction only"));
}

}  // namespace
}  // namespace mycel
