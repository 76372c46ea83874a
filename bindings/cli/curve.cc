#include "bindings/cli/curve.h"

#include <algorithm>
#include <cmath>

namespace mycel::cli {
namespace {

constexpr double kTiny = 1e-9;

Point Unit(Point vector) {
  const double length = std::hypot(vector.x, vector.y);
  return length < kTiny ? Point{0, 0} : vector * (1 / length);
}

/// To the right of travel on a screen whose y grows downwards.
Point RightOf(Point direction) { return {-direction.y, direction.x}; }

double Cross(Point a, Point b) { return a.x * b.y - a.y * b.x; }

Point Between(Point a, Point b, double t) { return a + (b - a) * t; }

/// The piece of `curve` from `t0` to `t1`, by de Casteljau.
Curve Piece(const Curve& curve, double t0, double t1) {
  const auto first = [](const Curve& c, double t) {
    const Point a = Between(c.from, c.control1, t);
    const Point m = Between(c.control1, c.control2, t);
    const Point b = Between(c.control2, c.to, t);
    return Curve{c.from, a, Between(a, m, t), Between(Between(a, m, t), Between(m, b, t), t)};
  };
  const Curve head = first(curve, t1);
  if (t1 <= 0) return head;
  return Reversed(first(Reversed(head), 1 - t0 / t1));
}

/// The first parameter at which `curve` is at least `radius` away from `center`; 0 when it never is.
double Leaves(const Curve& curve, Point center, double radius) {
  constexpr int kSteps = 64;
  for (int i = 1; i <= kSteps; ++i) {
    double outside = static_cast<double>(i) / kSteps;
    if (Distance(curve.At(outside), center) < radius) continue;
    double inside = static_cast<double>(i - 1) / kSteps;
    for (int halving = 0; halving < 20; ++halving) {
      const double middle = (inside + outside) / 2;
      (Distance(curve.At(middle), center) < radius ? inside : outside) = middle;
    }
    return outside;
  }
  return 0;
}

}  // namespace

double Distance(Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y); }

Box Union(const Box& a, const Box& b) {
  Box box;
  box.left = std::min(a.left, b.left);
  box.top = std::min(a.top, b.top);
  box.width = std::max(a.right(), b.right()) - box.left;
  box.height = std::max(a.bottom(), b.bottom()) - box.top;
  return box;
}

Point Curve::At(double t) const {
  const double s = 1 - t;
  return from * (s * s * s) + control1 * (3 * s * s * t) + control2 * (3 * s * t * t) + to * (t * t * t);
}

Point Curve::DirectionAt(double t) const {
  const double s = 1 - t;
  const Point slope = (control1 - from) * (s * s) + (control2 - control1) * (2 * s * t) + (to - control2) * (t * t);
  return Distance(slope, {}) < kTiny ? Unit(to - from) : Unit(slope);
}

Curve StraightCurve(Point from, Point to) { return {from, Between(from, to, 1.0 / 3), Between(from, to, 2.0 / 3), to}; }

Curve MovedAside(const Curve& curve, double by) {
  const Point start = curve.DirectionAt(0);
  const Point end = curve.DirectionAt(1);
  // A curve that turns round keeps its distance only if it also gets longer.
  const double turn = (1 - (start.x * end.x + start.y * end.y)) / 2;
  const double longer = by * turn * 4 / 3;
  Curve moved;
  moved.from = curve.from + RightOf(start) * by;
  moved.to = curve.to + RightOf(end) * by;
  moved.control1 = curve.control1 + RightOf(start) * by + start * longer;
  moved.control2 = curve.control2 + RightOf(end) * by - end * longer;
  return moved;
}

Curve Trimmed(const Curve& curve, Point from, double from_radius, Point to, double to_radius) {
  const double begin = from_radius > 0 ? Leaves(curve, from, from_radius) : 0;
  const double end = to_radius > 0 ? 1 - Leaves(Reversed(curve), to, to_radius) : 1;
  return begin < end ? Piece(curve, begin, end) : curve;
}

Curve Reversed(const Curve& curve) { return {curve.to, curve.control2, curve.control1, curve.from}; }

std::vector<Point> ConvexHull(std::vector<Point> points) {
  std::sort(points.begin(), points.end(), [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  if (points.size() < 3) return points;
  std::vector<Point> hull;
  const auto add = [&hull](Point point, size_t least) {
    while (hull.size() >= least + 2 && Cross(hull.back() - hull[hull.size() - 2], point - hull.back()) <= kTiny) {
      hull.pop_back();
    }
    hull.push_back(point);
  };
  for (const Point point : points) add(point, 0);
  const size_t lower = hull.size() - 1;
  for (size_t i = points.size() - 1; i-- > 0;) add(points[i], lower);
  hull.pop_back();
  return hull;
}

bool Contains(const std::vector<Point>& hull, Point point) {
  for (size_t i = 0; i < hull.size(); ++i) {
    const Point next = hull[(i + 1) % hull.size()];
    if (Cross(next - hull[i], point - hull[i]) < -kTiny) return false;
  }
  return !hull.empty();
}

}  // namespace mycel::cli
