// How long the table of forests may take to make; what stands in it is tested on the command's output.
#include "bindings/cli/tree_tradeoff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "bindings/cli/plan_making.h"
#include "core/topo/gallery.h"
#include "scheduler/bound/bound.h"

namespace mycel::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The table for an allgather on dgx1-v100 (6 trees per root) that took `plan_ms` to plan.
std::string TableAfter(double plan_ms) {
  const Topology topology = *GalleryTopology("dgx1-v100");
  PlanRequest request;
  request.collective = Collective::kAllGather;
  request.bytes = 64 << 20;
  request.planner = "forest";
  MadePlan made = *MakePlan(topology, request, 1);
  made.plan_ms = plan_ms;
  const Optimum optimum = *BoundOf(topology, request);
  const StatusOr<std::string> text = TreeTradeoffText({topology, request, made, optimum});
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

int64_t LinesOf(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(TreeTradeoff, TakesAboutASecondAtMost) {
  const std::string all = TableAfter(200);  // four forests besides the exact one
  EXPECT_EQ(LinesOf(all), 8) << all;        // an empty line, heading, column names
  const std::string coarse = TableAfter(300);
  EXPECT_EQ(LinesOf(coarse), 7) << coarse;
  EXPECT_THAT(coarse, Not(HasSubstr("4/75")));  // of three trees
  EXPECT_THAT(coarse, HasSubstr("6 (exact)"));
  const std::string none = TableAfter(400);
  EXPECT_EQ(LinesOf(none), 2) << none;
  EXPECT_THAT(none, HasSubstr("left out: planning 3 forests would take about 1.2 s"));
}

}  // namespace
}  // namespace mycel::cli
