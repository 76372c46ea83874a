#include "scheduler/direct/direct.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/lower/lower.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

Topology Named(const std::string& name) {
  StatusOr<Topology> topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

PlanRequest Request(Collective collective, const std::string& variant = "") {
  PlanRequest request;
  request.collective = collective;
  if (InfoOf(collective).rooted) request.root = Rank(1);
  request.variant = variant;
  return request;
}

std::string InvX(const Topology& topology, const PlanRequest& request) {
  const StatusOr<Schedule> schedule = DirectPlanner().MakeSchedule(topology, request);
  if (!schedule.ok()) return StatusMessage(schedule.status());
  const StatusOr<Plan> plan = Lower(*schedule, topology);
  if (!plan.ok()) return StatusMessage(plan.status());
  const Status verified = Verify(*plan);
  if (!verified.ok()) return StatusMessage(verified);
  const StatusOr<LinkLoads> loads = ComputeLinkLoads(*plan, topology);
  return loads.ok() ? loads->inv_x.ToString() : StatusMessage(loads.status());
}

// dgx-a100: 300 GB/s from each rank to the switches and back.
TEST(Direct, IsOptimalBehindASwitch) {
  const Topology machine = Named("dgx-a100");
  EXPECT_EQ(InvX(machine, Request(Collective::kAllGather)), "7/300");
  EXPECT_EQ(InvX(machine, Request(Collective::kReduceScatter)), "7/300");
  EXPECT_EQ(InvX(machine, Request(Collective::kAllToAll)), "7/300");
  EXPECT_EQ(InvX(machine, Request(Collective::kAllReduce, "two-shot")), "7/1200");
  EXPECT_EQ(InvX(machine, Request(Collective::kAllReduce, "one-shot")), "7/300");
  // The root sends its own share to seven others and seven shares once: 14/8 of the message.
  EXPECT_EQ(InvX(machine, Request(Collective::kBroadcast, "scatter-allgather")), "7/1200");
  EXPECT_EQ(InvX(machine, Request(Collective::kReduce, "reduce-scatter-gather")), "7/1200");
  EXPECT_EQ(InvX(machine, Request(Collective::kBroadcast, "one-shot")), "7/300");
}

TEST(Direct, ChoosesBySizeWhenNotTold) {
  PlanRequest request = Request(Collective::kAllReduce);
  request.bytes = 8192;
  EXPECT_EQ(DirectPlanner().MakeSchedule(Named("fullmesh-2"), request)->planner, "direct/one-shot");
  request.bytes = 1 << 20;
  EXPECT_EQ(DirectPlanner().MakeSchedule(Named("fullmesh-2"), request)->planner, "direct/two-shot");
}

TEST(Direct, AllToAllVSkipsEmptyPairs) {
  PlanRequest request = Request(Collective::kAllToAllV);
  request.demand = {5, 0, 7, 1, 0, 0, 3, 9, 2};
  const Topology mesh = Named("fullmesh-3");
  const StatusOr<Schedule> schedule = DirectPlanner().MakeSchedule(mesh, request);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->trees.size(), 6u);
  EXPECT_EQ(schedule->block_units, request.demand);
  const StatusOr<Plan> plan = Lower(*schedule, mesh);
  ASSERT_TRUE(plan.ok()) << plan.status();
  VerifyOptions options;
  options.in_place = false;
  EXPECT_TRUE(Verify(*plan, options).ok()) << Verify(*plan, options);
}

TEST(Direct, NamesThePairThatHasNoRoute) {
  const Status refusal = DirectPlanner().Serves(Named("ring4"), Request(Collective::kAllGather));
  EXPECT_EQ(refusal.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(StatusMessage(refusal), HasSubstr("neither directly nor through switches"));
  EXPECT_TRUE(DirectPlanner().Serves(Named("ring3"), Request(Collective::kAllGather)).ok());
}

TEST(Direct, RefusesBadRequests) {
  const Topology mesh = Named("fullmesh-3");
  const auto refusal = [&](const PlanRequest& request) {
    return StatusMessage(DirectPlanner().MakeSchedule(mesh, request).status());
  };
  EXPECT_THAT(refusal(Request(Collective::kAllReduce, "three-shot")), HasSubstr("use one-shot or two-shot"));
  EXPECT_THAT(refusal(Request(Collective::kAllGather, "two-shot")), HasSubstr("of allgather; use one-shot"));
  PlanRequest request = Request(Collective::kAllToAllV);
  EXPECT_THAT(refusal(request), HasSubstr("needs 9 demands, got 0"));
  request.demand.assign(9, 1);
  request.demand[5] = -1;
  EXPECT_THAT(refusal(request), HasSubstr("from rank 1 to rank 2 is negative"));
  request = Request(Collective::kReduce);
  request.root = Rank();
  EXPECT_THAT(refusal(request), HasSubstr("needs a root in 0..2, not -1"));
}

}  // namespace
}  // namespace mycel
