#include "bindings/cli/direct_layout.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>

namespace mycel::cli {
namespace {

constexpr double kGridPitch = 96;
constexpr double kCirclePitch = 62;
constexpr double kCircleRadiusMin = 120;
constexpr double kMargin = 44;
constexpr size_t kOrderedMax = 64;  // ranks up to which the circle's order is improved

using Pairs = std::set<std::pair<int32_t, int32_t>>;  // ranks joined by a link, the smaller first

Pairs PairsOf(const Topology& topology) {
  Pairs pairs;
  for (const Link& link : topology.links()) {
    const int32_t a = topology.node(link.source).rank.value();
    const int32_t b = topology.node(link.target).rank.value();
    pairs.emplace(std::min(a, b), std::max(a, b));
  }
  return pairs;
}

/// Whether `pairs` are exactly the neighbours of a grid of `shape` in row order; wrap-around of a dimension of more
/// than two is all or nothing.
bool IsGrid(const std::vector<int32_t>& shape, const Pairs& pairs) {
  const int32_t n = std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>());
  size_t expected = 0;
  int32_t stride = n;
  for (const int32_t length : shape) {
    stride /= length;
    size_t wraps = 0;
    for (int32_t i = 0; i < n; ++i) {
      const bool last = i / stride % length == length - 1;
      if (!last && !pairs.contains({i, i + stride})) return false;
      if (!last) ++expected;
      if (last && length > 2 && pairs.contains({i - (length - 1) * stride, i})) ++wraps;
    }
    if (wraps != 0 && wraps != static_cast<size_t>(n / length)) return false;
    expected += wraps;
  }
  return expected == pairs.size();
}

/// All ways to write `n` as a product of `dimensions` factors of at least two, the most even one first.
std::vector<std::vector<int32_t>> ShapesOf(int32_t n, int dimensions) {
  if (dimensions == 1) return n >= 2 ? std::vector<std::vector<int32_t>>{{n}} : std::vector<std::vector<int32_t>>{};
  std::vector<std::vector<int32_t>> shapes;
  for (int32_t first = 2; first * 2 <= n; ++first) {
    if (n % first != 0) continue;
    for (std::vector<int32_t>& rest : ShapesOf(n / first, dimensions - 1)) {
      rest.insert(rest.begin(), first);
      shapes.push_back(std::move(rest));
    }
  }
  std::stable_sort(shapes.begin(), shapes.end(), [](const auto& a, const auto& b) {
    return *std::max_element(a.begin(), a.end()) < *std::max_element(b.begin(), b.end());
  });
  return shapes;
}

/// The place of rank `i`; a third dimension recedes to the upper right.
Point GridPlace(const std::vector<int32_t>& shape, int32_t i) {
  const int32_t columns = shape.back();
  const int32_t rows = shape.size() > 1 ? shape[shape.size() - 2] : 1;
  const int32_t planes = shape.size() > 2 ? shape.front() : 1;
  const double pitch = planes > 1 ? kGridPitch * 1.5 : kGridPitch;
  const int32_t plane = i / (rows * columns);
  const double step = planes > 1 ? pitch * 0.84 / planes : 0;
  return {i % columns * pitch + plane * step, i / columns % rows * pitch - plane * step * 0.72};
}

/// How long the chords of `order` (place -> rank) are, all together.
class CircleOrder {
 public:
  CircleOrder(size_t n, const Pairs& pairs) : at_(n), neighbours_(n) {
    std::iota(at_.begin(), at_.end(), size_t{0});
    for (const auto& [a, b] : pairs) {
      neighbours_[static_cast<size_t>(a)].push_back(static_cast<size_t>(b));
      neighbours_[static_cast<size_t>(b)].push_back(static_cast<size_t>(a));
    }
  }

  /// Swaps places while that shortens the chords; rank 0 stays.
  void Improve() {
    bool better = true;
    for (int round = 0; better && round < 50; ++round) {
      better = false;
      for (size_t a = 1; a < at_.size(); ++a) {
        for (size_t b = a + 1; b < at_.size(); ++b) {
          const double before = LengthAt(a) + LengthAt(b);
          std::swap(at_[a], at_[b]);
          if (LengthAt(a) + LengthAt(b) < before - 1e-9) {
            better = true;
          } else {
            std::swap(at_[a], at_[b]);
          }
        }
      }
    }
  }

  /// Rank -> place.
  const std::vector<size_t>& places() const { return at_; }

 private:
  double LengthAt(size_t rank) const {
    double sum = 0;
    for (const size_t other : neighbours_[rank]) {
      const double turn = std::abs(static_cast<double>(at_[rank]) - static_cast<double>(at_[other]));
      sum += std::sin(std::numbers::pi * turn / static_cast<double>(at_.size()));
    }
    return sum;
  }

  std::vector<size_t> at_;
  std::vector<std::vector<size_t>> neighbours_;
};

std::vector<Point> CirclePlaces(const Topology& topology, const Pairs& pairs) {
  const auto n = static_cast<size_t>(topology.rank_count());
  CircleOrder order(n, pairs);
  if (n <= kOrderedMax) order.Improve();
  const double radius = std::max(kCircleRadiusMin, static_cast<double>(n) * kCirclePitch / (2 * std::numbers::pi));
  std::vector<Point> places(n);
  for (size_t rank = 0; rank < n; ++rank) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(order.places()[rank]) / static_cast<double>(n);
    places[rank] = {radius * std::sin(angle), -radius * std::cos(angle)};
  }
  return places;
}

double ClearanceOf(const Curve& curve, const std::vector<Point>& others) {
  double least = 1e9;
  for (int i = 1; i < 32; ++i) {
    const Point at = curve.At(i / 32.0);
    for (const Point other : others) {
      const bool own_end = Distance(other, curve.from) < 1 || Distance(other, curve.to) < 1;
      if (!own_end) least = std::min(least, Distance(at, other));
    }
  }
  return least;
}

Box BoundsOf(const std::vector<Point>& places) {
  Box bounds{places.front().x, places.front().y, 0, 0};
  for (const Point place : places) bounds = Union(bounds, {place.x, place.y, 0, 0});
  return bounds;
}

}  // namespace

bool IsDirect(const Topology& topology) {
  if (topology.rank_count() != topology.node_count()) return false;
  std::map<std::string, int> ranks_of;
  for (const Node& node : topology.nodes()) ++ranks_of[node.server];
  ranks_of.erase("");
  return std::count_if(ranks_of.begin(), ranks_of.end(), [](const auto& server) { return server.second > 1; }) <= 1;
}

std::vector<int32_t> GridShapeOf(const Topology& topology) {
  if (topology.rank_count() != topology.node_count() || topology.rank_count() < 4) return {};
  const Pairs pairs = PairsOf(topology);
  // More links than a three-dimensional torus has: no grid, and no need to try.
  if (pairs.size() > 3 * static_cast<size_t>(topology.rank_count())) return {};
  for (const int dimensions : {2, 3}) {
    for (const std::vector<int32_t>& shape : ShapesOf(topology.rank_count(), dimensions)) {
      if (IsGrid(shape, pairs)) return shape;
    }
  }
  return {};
}

Curve CurveAround(Point from, Point to, const std::vector<Point>& others, double pitch) {
  constexpr double kClear = kRankRadius + 4;
  const Curve straight = StraightCurve(from, to);
  const double length = Distance(from, to);
  if (length == 0 || ClearanceOf(straight, others) >= kClear) return straight;
  const Point along = (to - from) * (1 / length);
  const Point aside = {-along.y, along.x};
  Curve best = straight;
  double most = -1;
  for (const double bow : {0.15 * length, -0.15 * length, 0.75 * pitch, -0.75 * pitch, 0.3 * length, -0.3 * length}) {
    const bool flat = std::abs(bow) == 0.75 * pitch;  // rises at once: for long ways along a row
    const double ahead = flat ? 0 : 0.3 * length;
    const Curve bowed = {from, from + along * ahead + aside * bow, to - along * ahead + aside * bow, to};
    const double clearance = ClearanceOf(bowed, others);
    if (clearance >= kClear) return bowed;
    if (clearance > most) {
      most = clearance;
      best = bowed;
    }
  }
  return best;
}

FabricLayout LayOutDirect(const Topology& topology) {
  const std::vector<int32_t> shape = GridShapeOf(topology);
  const Pairs pairs = PairsOf(topology);
  std::vector<Point> places;
  if (shape.empty()) {
    places = CirclePlaces(topology, pairs);
  } else {
    for (int32_t i = 0; i < topology.rank_count(); ++i) places.push_back(GridPlace(shape, i));
  }
  FabricLayout layout;
  layout.nodes.resize(static_cast<size_t>(topology.node_count()));
  const Box bounds = BoundsOf(places);
  for (Point& place : places) place = place - Point{bounds.left, bounds.top} + Point{kMargin, kMargin};
  layout.width = bounds.width + 2 * kMargin;
  layout.height = bounds.height + 2 * kMargin;
  for (const Rank rank : Ids<Rank>(topology.rank_count())) {
    const Point place = places[rank.index()];
    layout.nodes[topology.NodeOf(rank).index()] = Box{place.x, place.y, 0, 0}.Grown(kRankRadius);
  }
  const std::string& server = topology.nodes().front().server;
  const bool one_server = topology.rank_count() > 1 && !server.empty() && server == topology.nodes().back().server;
  if (one_server) layout.servers.push_back({server, Box{0, 0, layout.width, layout.height}, true});
  // Chords of a circle have nothing in their way.
  const std::vector<Point> obstacles = shape.empty() ? std::vector<Point>() : places;
  for (const auto& [a, b] : pairs) {
    const NodeId from = topology.NodeOf(Rank(a));
    const NodeId to = topology.NodeOf(Rank(b));
    const Curve curve =
        CurveAround(places[static_cast<size_t>(a)], places[static_cast<size_t>(b)], obstacles, kGridPitch);
    layout.links[{std::min(from, to), std::max(from, to)}] = from < to ? curve : Reversed(curve);
  }
  return layout;
}

}  // namespace mycel::cli
