#include "scheduler/sim/maxmin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/rng.h"

namespace mycel::sim {
namespace {

/// A way over links of weight 1, with one flow.
MaxMin::Way AddFlow(MaxMin* rates, const std::vector<int32_t>& links) {
  std::vector<LinkUse> uses;
  for (const int32_t link : links) uses.push_back({link, 1});
  const MaxMin::Way way = rates->AddWay(uses);
  rates->Add(way);
  return way;
}

TEST(MaxMin, OneLinkIsSharedEqually) {
  MaxMin rates({12});
  const auto a = AddFlow(&rates, {0});
  const auto b = AddFlow(&rates, {0});
  const auto c = AddFlow(&rates, {0});
  rates.Update();
  EXPECT_DOUBLE_EQ(rates.RateOf(a), 4);
  rates.Remove(b);
  rates.Update();
  EXPECT_DOUBLE_EQ(rates.RateOf(a), 6);
  EXPECT_DOUBLE_EQ(rates.RateOf(c), 6);
}

// The parking lot: a long flow over both links, one short flow on each.
//   link 0 (10): long, x      long = x = 5 when link 1 is wide
//   link 1 (8):  long, y      long = y = 4 because link 1 fills first; x takes the 6 that link 0 has left
TEST(MaxMin, ParkingLot) {
  MaxMin rates({10, 8});
  const auto both = AddFlow(&rates, {0, 1});
  const auto x = AddFlow(&rates, {0});
  const auto y = AddFlow(&rates, {1});
  rates.Update();
  EXPECT_DOUBLE_EQ(rates.RateOf(both), 4);
  EXPECT_DOUBLE_EQ(rates.RateOf(x), 6);
  EXPECT_DOUBLE_EQ(rates.RateOf(y), 4);
}

// Bertsekas and Gallager, section 6.5.2 in spirit: three levels of bottlenecks, found one after the other.
//   link 0 (1): a b c      first: a = b = c = 1/3
//   link 1 (1): c d        then:  d = 2/3
//   link 2 (2): d e        then:  e = 4/3
TEST(MaxMin, BottlenecksInTurn) {
  MaxMin rates({1, 1, 2});
  const auto a = AddFlow(&rates, {0});
  const auto b = AddFlow(&rates, {0});
  const auto c = AddFlow(&rates, {0, 1});
  const auto d = AddFlow(&rates, {1, 2});
  const auto e = AddFlow(&rates, {2});
  rates.Update();
  for (const auto flow : {a, b, c}) EXPECT_NEAR(rates.RateOf(flow), 1.0 / 3, 1e-12);
  EXPECT_NEAR(rates.RateOf(d), 2.0 / 3, 1e-12);
  EXPECT_NEAR(rates.RateOf(e), 4.0 / 3, 1e-12);
}

TEST(MaxMin, UpdateLeavesUnconnectedFlowsAlone) {
  MaxMin rates({5, 7});
  const auto a = AddFlow(&rates, {0});
  rates.Update();
  const auto b = AddFlow(&rates, {1});
  EXPECT_EQ(rates.Update(), std::vector<MaxMin::Way>{b});
  EXPECT_DOUBLE_EQ(rates.RateOf(a), 5);
  EXPECT_DOUBLE_EQ(rates.RateOf(b), 7);
}

// Two flows of one way on a link of 12 that each loads twice, and a third that loads it once: 5 r = 12.
TEST(MaxMin, WeightsCountFlowsOfAlikeLinks) {
  MaxMin rates({12, 100});
  const auto twice = rates.AddWay({{0, 2}, {1, 1}});
  const auto once = rates.AddWay({{0, 1}});
  rates.Add(twice);
  rates.Add(twice);
  rates.Add(once);
  rates.Update();
  EXPECT_DOUBLE_EQ(rates.RateOf(twice), 2.4);
  EXPECT_DOUBLE_EQ(rates.RateOf(once), 2.4);
  rates.Remove(twice);
  rates.Add(twice);
  EXPECT_TRUE(rates.Update().empty());  // as many came as went
  rates.Remove(once);
  rates.Update();
  EXPECT_DOUBLE_EQ(rates.RateOf(twice), 3);
  EXPECT_DOUBLE_EQ(rates.RateOf(once), 0);
}

/// Water rises in small steps; a flow stops when one of its links is full. Slow, and nothing like the solver.
std::vector<double> WaterFill(const std::vector<double>& capacities, const std::vector<std::vector<int32_t>>& flows) {
  const double step = 1e-3;
  std::vector<double> rates(flows.size(), 0), used(capacities.size(), 0);
  std::vector<bool> stopped(flows.size(), false);
  while (std::find(stopped.begin(), stopped.end(), false) != stopped.end()) {
    for (size_t f = 0; f < flows.size(); ++f) {
      if (stopped[f]) continue;
      rates[f] += step;
      for (const int32_t link : flows[f]) used[static_cast<size_t>(link)] += step;
    }
    for (size_t f = 0; f < flows.size(); ++f) {
      for (const int32_t link : flows[f]) {
        const auto at = static_cast<size_t>(link);
        if (used[at] >= capacities[at] - 1e-9) stopped[f] = true;
      }
    }
  }
  return rates;
}

TEST(MaxMin, AgreesWithWaterFillingAsFlowsComeAndGo) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<double> capacities;
    const int64_t links = rng.Between(1, 6);
    for (int64_t i = 0; i < links; ++i) capacities.push_back(static_cast<double>(rng.Between(1, 8)));
    MaxMin rates(capacities);
    std::vector<std::pair<MaxMin::Way, std::vector<int32_t>>> alive;
    for (int event = 0; event < 12; ++event) {
      if (!alive.empty() && rng.OneIn(3)) {
        const size_t victim = rng.Below(alive.size());
        rates.Remove(alive[victim].first);
        alive.erase(alive.begin() + static_cast<int64_t>(victim));
      } else {
        std::vector<int32_t> path;
        for (int32_t link = 0; link < links; ++link) {
          if (rng.OneIn(2)) path.push_back(link);
        }
        if (path.empty()) path.push_back(0);
        alive.emplace_back(AddFlow(&rates, path), path);
      }
      rates.Update();
      std::vector<std::vector<int32_t>> flows;
      for (const auto& [flow, path] : alive) flows.push_back(path);
      const std::vector<double> expected = WaterFill(capacities, flows);
      for (size_t i = 0; i < alive.size(); ++i) EXPECT_NEAR(rates.RateOf(alive[i].first), expected[i], 0.02);
    }
  }
}

}  // namespace
}  // namespace mycel::sim
