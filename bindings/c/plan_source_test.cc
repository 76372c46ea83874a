// A kept plan is the plan that would be made anew: planners are pure functions of what the key says.
#include "bindings/c/plan_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/plan/plan_json.h"
#include "core/runtime/plan_store.h"
#include "core/topo/gallery.h"

namespace mycel {
namespace {

namespace fs = std::filesystem;

class PlanSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mycel-plan-source-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  PlanSourceParts Parts(const std::string& topology, bool kept) const {
    PlanSourceParts parts;
    parts.planner = "auto";
    parts.topology = std::make_shared<const Topology>(*GalleryTopology(topology));
    parts.cost = HostCostModel(parts.topology->rank_count(), 2);
    if (kept) parts.store_folder = folder_;
    parts.kept_from_ns = 0;
    return parts;
  }
  int64_t FileCount() const { return PlanStore(folder_).Measure().files; }

  std::string folder_;
};

TEST_F(PlanSourceTest, KeptPlansEqualThoseMadeAnew) {
  for (const std::string topology : {"host-4", "ring8", "dgx1-v100", "mesh-3x3", "random-1-6r2s"}) {
    for (const CollectiveInfo& info : AllCollectives()) {
      if (info.collective == Collective::kAllToAllV) continue;
      SCOPED_TRACE(topology + " " + std::string(info.name));
      PlanRequest request;
      request.collective = info.collective;
      request.bytes = 1 << 20;
      if (info.rooted) request.root = Rank(1);
      const StatusOr<Plan> anew = MakePlanSource(Parts(topology, false))(request);
      const int64_t before = FileCount();
      const StatusOr<Plan> first = MakePlanSource(Parts(topology, true))(request);
      ASSERT_EQ(first.ok(), anew.ok());
      if (!anew.ok()) continue;  // nobody serves it here
      EXPECT_EQ(FileCount(), before + 1);
      const StatusOr<Plan> kept = MakePlanSource(Parts(topology, true))(request);
      ASSERT_TRUE(kept.ok()) << kept.status();
      EXPECT_EQ(FileCount(), before + 1);
      EXPECT_EQ(HashOf(*kept), HashOf(*anew));
      EXPECT_EQ(WritePlan(*kept), WritePlan(*anew));
      EXPECT_EQ(WritePlan(*first), WritePlan(*anew));
    }
  }
}

TEST_F(PlanSourceTest, QuickPlansAreNotKept) {
  PlanSourceParts parts = Parts("host-2", true);
  parts.kept_from_ns = int64_t{3600} * 1'000'000'000;
  PlanRequest request;
  request.bytes = 1024;
  ASSERT_TRUE(MakePlanSource(parts)(request).ok());
  EXPECT_EQ(FileCount(), 0);
}

TEST_F(PlanSourceTest, EveryCostCounts) {
  const std::vector<void (*)(CostModel&)> changes = {
      [](CostModel&) {},
      [](CostModel& m) { m.device = CostModel::Device::kFabric; },
      [](CostModel& m) { m.channel_bytes += 64; },
      [](CostModel& m) { m.op_us += 1e-12; },
      [](CostModel& m) { m.allow_direct = !m.allow_direct; },
      [](CostModel& m) { m.rank_count += 1; },
      [](CostModel& m) { m.cores += 1; },
      [](CostModel& m) { m.alpha_us += 1e-12; },
      [](CostModel& m) { m.switch_us += 1e-12; },
      [](CostModel& m) { m.copy_cache_GBps += 1e-12; },
      [](CostModel& m) { m.reduce_cache_GBps += 1e-12; },
      [](CostModel& m) { m.copy_memory_GBps += 1e-12; },
      [](CostModel& m) { m.reduce_memory_GBps += 1e-12; },
      [](CostModel& m) { m.fan_out += 1e-12; },
      [](CostModel& m) { m.direct_us += 1e-12; },
      [](CostModel& m) { m.cache_bytes += 1; },
      [](CostModel& m) { m.slot_cache_bytes += 1; },
      [](CostModel& m) { m.slot_spill += 1e-12; },
      [](CostModel& m) { m.lane_GBps += 1e-12; },
  };
  std::set<std::string> texts;
  for (const auto change : changes) {
    CostModel model = HostCostModel(4, 2);
    change(model);
    texts.insert(Fingerprint(model));
  }
  EXPECT_EQ(texts.size(), changes.size());
  PlanRequest request;
  request.bytes = 1024;
  PlanSourceParts parts = Parts("host-2", true);
  ASSERT_TRUE(MakePlanSource(parts)(request).ok());
  parts.cost.slot_spill += 1e-12;
  ASSERT_TRUE(MakePlanSource(parts)(request).ok());
  parts.planner = "direct";
  ASSERT_TRUE(MakePlanSource(parts)(request).ok());
  EXPECT_EQ(FileCount(), 3);
}

TEST_F(PlanSourceTest, AKeptPlanIsReallyUsed) {
  PlanRequest request;
  request.bytes = 1 << 20;
  const PlanSourceParts parts = Parts("host-4", true);
  ASSERT_TRUE(MakePlanSource(parts)(request).ok());
  // Another right plan under the same key: no planner would give it, so whoever returns it has read it.
  PlanRequest keyed = request;
  keyed.planner = parts.planner;
  const std::string key = PlanStoreKey(PlanStoreContext(*parts.topology, Fingerprint(parts.cost)), keyed);
  const PlanStore store(folder_);
  std::optional<Plan> plan = store.Find(key, *parts.topology, keyed);
  ASSERT_TRUE(plan.has_value());
  plan->planner = "from disk";
  store.Keep(key, *plan);
  EXPECT_EQ(MakePlanSource(parts)(request)->planner, "from disk");
}

}  // namespace
}  // namespace mycel
