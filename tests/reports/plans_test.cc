// I5: plans of every planner, sabotaged: refused before they run, or the interpreter's result is right. K1: what only
// many ranks show.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/plan/mutants.h"
#include "core/plan/verify.h"
#include "core/runtime/communicator.h"
#include "core/topo/gallery.h"
#include "kernels/host/host_device.h"
#include "scheduler/lower/lower.h"
#include "scheduler/select/planners.h"
#include "tests/conformance/rank_runner.h"
#include "transport/loopback/loopback_transport.h"

namespace mycel::reports {
namespace {

struct PlannersPlan {
  std::string planner;
  std::string name;
  Plan plan;
};

/// What each planner makes of each collective on a few machines, small enough to run thousands of times.
std::vector<PlannersPlan> PlansOfEveryPlanner() {
  std::vector<PlannersPlan> plans;
  for (const char* machine : {"host-2", "host-3", "ring4", "servers-2x2"}) {
    const Topology topology = *GalleryTopology(machine);
    const int32_t n = topology.rank_count();
    for (const Planner* planner : AllPlanners()) {
      for (const CollectiveInfo& info : AllCollectives()) {
        PlanRequest request;
        request.collective = info.collective;
        request.root = info.rooted ? Rank(n - 1) : Rank();
        if (info.collective == Collective::kAllToAllV) {
          for (int32_t i = 0; i < n * n; ++i) request.demand.push_back(i % 5 == 0 ? 0 : (i * 37 + 11) % 301);
        }
        for (const std::string& variant : planner->VariantsFor(topology, request)) {
          request.variant = variant;
          const StatusOr<Schedule> schedule = planner->MakeSchedule(topology, request);
          if (!schedule.ok()) continue;
          LowerOptions options;
          options.slice_bytes = 64;
          options.lanes = n % 2 + 1;
          options.pipelined = n == 3 ? Pipelining::kOn : Pipelining::kAuto;
          options.protocol = n == 2 && AllowsDirect(*schedule) ? Protocol::kDirect : Protocol::kSlot;
          StatusOr<Plan> plan = Lower(*schedule, topology, options);
          if (!plan.ok()) continue;
          plans.push_back(
              {std::string(planner->name()),
               std::string(planner->name()) + "/" + variant + " " + std::string(info.name) + " on " + machine,
               *std::move(plan)});
        }
      }
    }
  }
  return plans;
}

TEST(PlansOfPlanners, TenThousandMutationsAreRefusedOrRunRight) {
  const std::vector<PlannersPlan> plans = PlansOfEveryPlanner();
  constexpr uint64_t kSeed = 40;
  constexpr uint64_t kMutations = 10'000;
  struct Tally {
    int refused = 0;
    int harmless = 0;
  };
  std::map<std::string, Tally> tallies;
  for (uint64_t i = 0; i < kMutations; ++i) {
    const PlannersPlan& it = plans[i % plans.size()];
    Rng rng(kSeed + i);
    Plan mutant = it.plan;
    for (uint64_t steps = 1 + rng.Below(2); steps > 0; --steps) ScrambleOnce(mutant, rng);
    Tally& tally = tallies[it.planner];
    const bool vector = it.plan.collective == Collective::kAllToAllV;
    if (!Verify(mutant, {false}).ok()) {
      ++tally.refused;
      continue;
    }
    ++tally.harmless;
    if (!rng.OneIn(3)) continue;  // running all that pass would take long
    EXPECT_EQ(RunManyWays(mutant, false), OkStatus()) << it.name << ", seed " << kSeed + i << "\n" << ToText(mutant);
    if (vector || !Verify(mutant).ok()) continue;
    EXPECT_EQ(RunManyWays(mutant, true), OkStatus()) << it.name << ", in place, seed " << kSeed + i;
  }
  for (const Planner* planner : AllPlanners()) {
    const Tally& tally = tallies[std::string(planner->name())];
    std::printf("%-8s %5d refused %5d harmless\n", std::string(planner->name()).c_str(), tally.refused, tally.harmless);
    EXPECT_GT(tally.refused, 100) << planner->name();
    EXPECT_GT(tally.harmless, 10) << planner->name();
  }
}

// K1: three hundred ranks gather a few elements each, along one plan.
TEST(PlansOfManyRanks, ThreeHundredGatherTheRightElements) {
  constexpr int32_t kRanks = 300;
  constexpr size_t kCount = 3;
  const Topology topology = *GalleryTopology("ring" + std::to_string(kRanks));
  PlanRequest request;
  request.collective = Collective::kAllGather;
  request.variant = "one-way";
  const StatusOr<Schedule> schedule = (*FindPlanner("ring"))->MakeSchedule(topology, request);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  LowerOptions options;
  options.slice_bytes = 512;
  options.channel_bytes = 4096;
  const StatusOr<Plan> plan = Lower(*schedule, topology, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  RunRanks(RanksAre::kThreads, kRanks, [&](const RankContext& context) {
    TransportOptions transport_options;
    transport_options.rank = context.rank;
    transport_options.rank_count = kRanks;
    transport_options.payload_bytes = 4096;
    transport_options.communicator = 300;
    CommunicatorParts parts;
    parts.transport = std::make_unique<LoopbackTransport>();
    const StatusOr<std::string> address = parts.transport->Prepare(transport_options);
    ASSERT_TRUE(address.ok()) << address.status();
    ASSERT_TRUE(parts.transport->Connect(std::vector<std::string>(kRanks, *address), InSeconds(60)).ok());
    parts.rank = context.rank;
    parts.rank_count = kRanks;
    parts.device = &HostDevice();
    parts.plan_source = [&plan](const PlanRequest&) -> StatusOr<Plan> { return *plan; };
    parts.wait.oversubscribed = true;
    parts.timeout_ns = SecondsToNs(100);
    Communicator communicator(std::move(parts));
    std::vector<int32_t> send(kCount), recv(kCount * kRanks, -1), want;
    for (size_t i = 0; i < kCount; ++i) send[i] = context.rank.value() * 10 + static_cast<int32_t>(i);
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      for (size_t i = 0; i < kCount; ++i) want.push_back(rank * 10 + static_cast<int32_t>(i));
    }
    CollectiveCall call;
    call.collective = Collective::kAllGather;
    call.type = DataType::kInt32;
    call.count = kCount;
    call.send = send.data();
    call.recv = recv.data();
    const Status status = communicator.Run(call);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(recv, want);
    context.Meet();
  });
}

}  // namespace
}  // namespace mycel::reports
