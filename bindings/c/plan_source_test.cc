// A kept plan is the plan that would be made anew: planners are pure functions of what the key says.
#include "bindings/c/plan_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/plan_json.h"
#include "core/plan/verify.h"
#include "core/runtime/plan_store.h"
#include "core/topo/gallery.h"

namespace mycel {
namespace {

namespace fs = std::filesystem;

/// What a communicator asks for whose call leaves planner and lanes to it.
PlanRequest Request() {
  PlanRequest request;
  request.planner.clear();
  request.lanes = 0;
  request.lanes_min = 0;
  return request;
}

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
      PlanRequest request = Request();
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

/// What each link carries, by its ends.
std::map<std::pair<NodeId, NodeId>, Rational> LoadsOf(const Plan& plan, const Topology& topology) {
  const StatusOr<LinkLoads> loads = ComputeLinkLoads(plan, topology);
  EXPECT_TRUE(loads.ok()) << loads.status();
  std::map<std::pair<NodeId, NodeId>, Rational> of_link;
  for (size_t i = 0; i < topology.links().size(); ++i) {
    of_link[{topology.links()[i].source, topology.links()[i].target}] = loads->blocks[i];
  }
  return of_link;
}

// Both ways of an exchange come from one schedule: every link carries back what its reverse carried there, which a plan
// made for the transposed matrix does not do.
TEST_F(PlanSourceTest, TheWayBackIsTheWayThereReversed) {
  Rng rng(31);
  for (const std::string name : {"servers-3x3", "dgx-h200-x2-rails", "fullmesh-4"}) {
    SCOPED_TRACE(name + ", seed 31");
    PlanSourceParts parts = Parts(name, false);
    parts.planner = name == "fullmesh-4" ? "direct" : "fast";
    const Topology& topology = *parts.topology;
    const auto n = static_cast<size_t>(topology.rank_count());
    PlanRequest request = Request(), transposed = Request();
    request.collective = transposed.collective = Collective::kAllToAllV;
    request.demand.resize(n * n);
    transposed.demand.resize(n * n);
    for (size_t i = 0; i < n * n; ++i) {
      request.demand[i] = rng.OneIn(3) ? 0 : rng.Between(0, 1 << 20);
      transposed.demand[i % n * n + i / n] = request.demand[i];
      request.bytes += request.demand[i] / static_cast<int64_t>(n);
    }
    transposed.bytes = request.bytes;
    const StatusOr<PlanPair> pair = MakePlanPairSource(parts)(request);
    ASSERT_TRUE(pair.ok()) << pair.status();
    EXPECT_EQ(HashOf(pair->there), HashOf(*MakePlanSource(parts)(request)));
    EXPECT_TRUE(Verify(pair->back).ok());
    EXPECT_EQ(pair->back.block_units, transposed.demand);
    const auto there = LoadsOf(pair->there, topology), back = LoadsOf(pair->back, topology);
    for (const auto& [ends, bytes] : there) EXPECT_EQ(bytes, back.at({ends.second, ends.first}));
    if (parts.planner == "fast") {
      EXPECT_NE(LoadsOf(*MakePlanSource(parts)(transposed), topology), back);
    }
  }
}

// Links of one direction have no way back: planned anew, and right.
TEST_F(PlanSourceTest, WithoutAWayBackItIsPlannedAnew) {
  TopologyBuilder builder("one-way");
  std::vector<NodeId> ranks;
  for (int64_t r = 0; r < 3; ++r) ranks.push_back(builder.AddRank("r" + std::to_string(r), Rank(r), ""));
  const NodeId in = builder.AddSwitch("in"), out = builder.AddSwitch("out");
  for (const NodeId rank : ranks) {
    builder.AddLink(rank, in, Rational(5), 1);
    builder.AddLink(out, rank, Rational(5), 1);
  }
  builder.AddLink(in, out, Rational(15), 1);
  PlanSourceParts parts = Parts("ring3", false);
  parts.planner = "direct";
  parts.topology = std::make_shared<const Topology>(*std::move(builder).Build());
  PlanRequest request = Request();
  request.collective = Collective::kAllToAllV;
  request.demand = {0, 10, 20, 30, 0, 40, 50, 60, 0};
  request.bytes = 70;
  const StatusOr<PlanPair> pair = MakePlanPairSource(parts)(request);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_TRUE(Verify(pair->back).ok());
  EXPECT_EQ(pair->back.block_units, (std::vector<int64_t>{0, 30, 50, 10, 0, 60, 20, 40, 0}));
}

TEST_F(PlanSourceTest, QuickPlansAreNotKept) {
  PlanSourceParts parts = Parts("host-2", true);
  parts.kept_from_ns = int64_t{3600} * 1'000'000'000;
  PlanRequest request = Request();
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
  PlanRequest request = Request();
  request.bytes = 1024;
  PlanSourceParts parts = Parts("host-2", true);
  ASSERT_TRUE(MakePlanSource(parts)(request).ok());
  parts.cost.slot_spill += 1e-12;
  ASSERT_TRUE(MakePlanSource(parts)(request).ok());
  parts.planner = "direct";
  ASSERT_TRUE(MakePlanSource(parts)(request).ok());
  EXPECT_EQ(FileCount(), 3);
}

TEST_F(PlanSourceTest, ARequestsOwnPlannerAndLanesGoFirst) {
  PlanSourceParts parts = Parts("host-4", false);
  parts.planner = "ring";
  parts.lanes_max = 2;
  PlanRequest request = Request();
  request.bytes = 1 << 20;
  EXPECT_EQ(MakePlanSource(parts)(request)->planner.substr(0, 4), "ring");
  request.planner = "direct";
  request.lanes = request.lanes_min = 4;
  const StatusOr<Plan> plan = MakePlanSource(parts)(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->planner.substr(0, 6), "direct");
  size_t lanes = 0;
  for (const RankPlan& rank : plan->ranks) lanes = std::max(lanes, rank.lanes.size());
  EXPECT_GT(lanes, 2U);
  // A plan file serves whoever does not name a planner.
  request = Request();
  request.bytes = 1 << 20;
  parts.from_file = std::make_shared<const Plan>(*plan);
  EXPECT_EQ(HashOf(*MakePlanSource(parts)(request)), HashOf(*plan));
  request.planner = "ring";
  EXPECT_EQ(MakePlanSource(parts)(request)->planner.substr(0, 4), "ring");
  // Nor whoever allows fewer lanes, or wants more.
  request.planner.clear();
  request.lanes = static_cast<int32_t>(lanes);
  EXPECT_EQ(HashOf(*MakePlanSource(parts)(request)), HashOf(*plan));
  request.lanes = 1;
  EXPECT_EQ(MakePlanSource(parts)(request)->planner.substr(0, 4), "ring");
  request.lanes = request.lanes_min = static_cast<int32_t>(lanes) + 1;
  EXPECT_EQ(MakePlanSource(parts)(request)->planner.substr(0, 4), "ring");
}

TEST_F(PlanSourceTest, AKeptPlanIsReallyUsed) {
  PlanRequest request = Request();
  request.bytes = 1 << 20;
  const PlanSourceParts parts = Parts("host-4", true);
  ASSERT_TRUE(MakePlanSource(parts)(request).ok());
  // Another right plan under the same key: no planner would give it, so whoever returns it has read it.
  PlanRequest keyed = request;
  keyed.planner = parts.planner;
  keyed.lanes = keyed.lanes_min = 1;
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
