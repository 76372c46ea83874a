// Golden plans: the text of schedules and plans, kept as files. A change of planner or lowering shows as a diff to be
// reviewed. MYCEL_UPDATE_GOLDEN=1 rewrites the files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/lower/lower.h"
#include "scheduler/select/planners.h"

namespace mycel {
namespace {

struct Golden {
  const char* file;
  const char* topology;
  const char* planner;
  const char* variant;
  Collective collective;
  int32_t root = -1;
  int32_t lanes = 1;
  Pipelining pipelined = Pipelining::kAuto;
};

const Golden kGoldens[] = {
    {"ring4_allreduce", "ring4", "ring", "one-way", Collective::kAllReduce},
    {"ring4_allreduce_two_way", "ring4", "ring", "two-way", Collective::kAllReduce},
    {"ring5_allgather", "ring5", "ring", "two-way", Collective::kAllGather},
    {"ring4_alltoall", "ring4", "ring", "one-way", Collective::kAllToAll},
    {"ring4_broadcast_two_lanes", "ring4", "ring", "two-way", Collective::kBroadcast, 2, 2},
    {"mesh2_allreduce_one_shot", "fullmesh-2", "direct", "one-shot", Collective::kAllReduce},
    {"mesh3_allreduce_two_shot", "fullmesh-3", "direct", "two-shot", Collective::kAllReduce},
    {"mesh3_allreduce_two_shot_plain", "fullmesh-3", "direct", "two-shot", Collective::kAllReduce, -1, 1,
     Pipelining::kOff},
    {"mesh3_allreduce_one_shot_two_lanes", "fullmesh-3", "direct", "one-shot", Collective::kAllReduce, -1, 2},
    {"mesh3_alltoall", "fullmesh-3", "direct", "", Collective::kAllToAll},
    {"mesh4_broadcast_shares", "fullmesh-4", "direct", "scatter-allgather", Collective::kBroadcast, 1},
    {"mesh4_reduce_shares", "fullmesh-4", "direct", "reduce-scatter-gather", Collective::kReduce, 1},
    {"mesh3_gather", "fullmesh-3", "direct", "", Collective::kGather, 2},
    {"a100_reduce_scatter", "dgx-a100", "direct", "", Collective::kReduceScatter},
    {"grid2x3_allgather_breadth_first", "mesh-2x3", "bfb", "", Collective::kAllGather},
    {"grid2x2_allreduce_breadth_first_whole", "mesh-2x2", "bfb", "whole", Collective::kAllReduce},
    {"grid2x3_allgather_timed", "mesh-2x3", "timeflow", "", Collective::kAllGather},
    {"grid2x2_alltoall_timed_whole", "mesh-2x2", "timeflow", "whole", Collective::kAllToAll},
};

StatusOr<std::string> TextOf(const Golden& golden) {
  MYCEL_ASSIGN_OR_RETURN(const Topology topology, GalleryTopology(golden.topology));
  MYCEL_ASSIGN_OR_RETURN(const Planner* planner, FindPlanner(golden.planner));
  PlanRequest request;
  request.collective = golden.collective;
  request.root = Rank(golden.root);
  request.variant = golden.variant;
  request.bytes = 1 << 20;
  MYCEL_ASSIGN_OR_RETURN(const Schedule schedule, planner->MakeSchedule(topology, request));
  LowerOptions options;
  options.lanes = golden.lanes;
  options.pipelined = golden.pipelined;
  options.verify_each = true;
  MYCEL_ASSIGN_OR_RETURN(const Plan plan, Lower(schedule, topology, options));
  return ToText(schedule) + "\n" + ToText(plan);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class GoldenPlan : public testing::TestWithParam<Golden> {};

TEST_P(GoldenPlan, IsUnchanged) {
  const std::string path = std::string("tests/golden/") + GetParam().file + ".plan";
  const StatusOr<std::string> text = TextOf(GetParam());
  ASSERT_TRUE(text.ok()) << text.status();
  if (std::getenv("MYCEL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << *text;
    return;
  }
  EXPECT_EQ(ReadFile(path), *text) << path << ": if the change is meant, run again with MYCEL_UPDATE_GOLDEN=1";
}

INSTANTIATE_TEST_SUITE_P(Plans, GoldenPlan, testing::ValuesIn(kGoldens),
                         [](const testing::TestParamInfo<Golden>& each) { return std::string(each.param.file); });

}  // namespace
}  // namespace mycel
