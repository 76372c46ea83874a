// Every planner of the table, on every collective, rank count, root, lane count and pipelining: the plan verifies after
// each pass, and running it gives what the contract says, on counts that divide by nothing.
#include "scheduler/select/planners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/plan/interpret.h"
#include "core/plan/run_check.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/lower/lower.h"

namespace mycel {
namespace {

constexpr int32_t kRanksMax = 9;

Topology Named(const std::string& name) {
  StatusOr<Topology> topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

std::vector<int64_t> SomeDemand(int32_t n) {
  std::vector<int64_t> demand;
  for (int32_t i = 0; i < n * n; ++i) demand.push_back(i % 5 == 0 ? 0 : (i * 37 + 11) % 301);
  return demand;
}

/// All requests of one rank count: collectives and roots.
std::vector<PlanRequest> AllRequests(int32_t n) {
  std::vector<PlanRequest> requests;
  for (const CollectiveInfo& info : AllCollectives()) {
    for (const Rank root : Ids<Rank>(info.rooted ? n : 1)) {
      PlanRequest request;
      request.collective = info.collective;
      request.root = info.rooted ? root : Rank();
      if (info.collective == Collective::kAllToAllV) request.demand = SomeDemand(n);
      requests.push_back(request);
    }
  }
  return requests;
}

/// Calls f(planner, request with its variant, schedule) for everything that the table serves on `topology`.
template <typename F>
void ForEachSchedule(const Topology& topology, F&& f) {
  for (const Planner* planner : AllPlanners()) {
    for (PlanRequest request : AllRequests(topology.rank_count())) {
      for (const std::string& variant : planner->VariantsFor(topology, request)) {
        request.variant = variant;
        SCOPED_TRACE(std::string(planner->name()) + "/" + variant + " " + std::string(NameOf(request.collective)) +
                     " root " + std::to_string(request.root.value()) + " on " + topology.name());
        const Status serves = planner->Serves(topology, request);
        const StatusOr<Schedule> schedule = planner->MakeSchedule(topology, request);
        EXPECT_EQ(serves.ok(), schedule.ok()) << serves << schedule.status();
        if (schedule.ok()) f(request, *schedule);
      }
    }
  }
}

/// Runs the plan on odd counts, with slices small enough that there are several.
void ExpectContract(const Plan& plan, bool in_place) {
  for (const int64_t count : {1, 7, 101}) {
    InterpretRequest request;
    request.type = DataType::kInt64;
    request.count = count;
    request.in_place = in_place;
    request.seed = static_cast<uint64_t>(count);
    const Status met = CheckByRunning(plan, request);
    EXPECT_TRUE(met.ok()) << "count " << count << (in_place ? " in place: " : ": ") << met;
  }
}

TEST(Planners, EveryPlanIsRight) {
  int plans = 0;
  for (int32_t n = 1; n <= kRanksMax; ++n) {
    const Topology mesh = Named("fullmesh-" + std::to_string(n));
    ForEachSchedule(mesh, [&](const PlanRequest& request, const Schedule& schedule) {
      for (const int32_t lanes : {1, 2}) {
        for (const Pipelining pipelined : {Pipelining::kOff, Pipelining::kOn}) {
          LowerOptions options;
          options.lanes = lanes;
          options.pipelined = pipelined;
          options.slice_bytes = 128;
          const StatusOr<Plan> plan = Lower(schedule, mesh, options);
          ASSERT_TRUE(plan.ok()) << plan.status();
          const bool in_place = request.collective != Collective::kAllToAllV;
          const Status verified = Verify(*plan, {in_place});
          ASSERT_TRUE(verified.ok()) << "lanes " << lanes << (pipelined == Pipelining::kOn ? " pipelined: " : ": ")
                                     << verified;
          ExpectContract(*plan, false);
          if (in_place) ExpectContract(*plan, true);
          ++plans;
        }
      }
    });
  }
  EXPECT_GT(plans, 2900);
}

TEST(Planners, EveryPassKeepsThePlanRight) {
  for (const char* name : {"fullmesh-2", "fullmesh-4", "ring5", "dgx-a100"}) {
    const Topology topology = Named(name);
    ForEachSchedule(topology, [&](const PlanRequest& request, const Schedule& schedule) {
      if (request.root.value() > 1 || request.collective == Collective::kAllToAllV) return;
      LowerOptions options;
      options.lanes = 2;
      options.verify_each = true;
      const StatusOr<Plan> plan = Lower(schedule, topology, options);
      EXPECT_TRUE(plan.ok()) << plan.status();
    });
  }
}

TEST(Planners, DirectReadingPlansAreRightWhereAllowed) {
  int plans = 0;
  for (const char* name : {"fullmesh-2", "fullmesh-5"}) {
    const Topology topology = Named(name);
    ForEachSchedule(topology, [&](const PlanRequest& request, const Schedule& schedule) {
      if (!AllowsDirect(schedule)) return;
      LowerOptions options;
      options.protocol = Protocol::kDirect;
      options.slice_bytes = 128;
      const StatusOr<Plan> plan = Lower(schedule, topology, options);
      ASSERT_TRUE(plan.ok()) << plan.status();
      const bool in_place = request.collective != Collective::kAllToAllV;
      const Status verified = Verify(*plan, {in_place});
      EXPECT_TRUE(verified.ok()) << verified;
      ExpectContract(*plan, false);
      ++plans;
    });
  }
  EXPECT_GT(plans, 40);
}

// Store-and-forward all-to-all sends n - 1 messages at once over each edge of the ring: phases must spread them.
TEST(Planners, LargeRingsFindEnoughSlots) {
  const Topology ring = Named("ring40");
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllToAll}) {
    PlanRequest request;
    request.collective = collective;
    request.variant = "one-way";
    const StatusOr<const Planner*> planner = FindPlanner("ring");
    ASSERT_TRUE(planner.ok());
    const StatusOr<Schedule> schedule = (*planner)->MakeSchedule(ring, request);
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    const StatusOr<Plan> plan = Lower(*schedule, ring);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(plan->slot_count, kSlotCountMax);
    const Status verified = Verify(*plan);
    EXPECT_TRUE(verified.ok()) << verified;
  }
}

TEST(Planners, TheTableIsSound) {
  std::vector<std::string_view> names;
  for (const Planner* planner : AllPlanners()) {
    names.push_back(planner->name());
    EXPECT_FALSE(planner->summary().empty());
    EXPECT_EQ(*FindPlanner(planner->name()), planner);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_THAT(StatusMessage(FindPlanner("fastest").status()), testing::HasSubstr("use auto or one of: ring direct"));
}

}  // namespace
}  // namespace mycel
