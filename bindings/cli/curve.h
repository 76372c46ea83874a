// Plane geometry of drawings: points, boxes and cubic Bezier curves. Units: pixels; y grows downwards.
#pragma once

#include <vector>

namespace mycel::cli {

struct Point {
  double x = 0;
  double y = 0;
  friend Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
  friend Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
  friend Point operator*(Point a, double factor) { return {a.x * factor, a.y * factor}; }
};

double Distance(Point a, Point b);

struct Box {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
  Point center() const { return {left + width / 2, top + height / 2}; }
  Box Grown(double by) const { return {left - by, top - by, width + 2 * by, height + 2 * by}; }
};

/// The smallest box around both.
Box Union(const Box& a, const Box& b);

/// A cubic Bezier curve.
struct Curve {
  Point from;
  Point control1;
  Point control2;
  Point to;
  Point At(double t) const;
  /// Unit vector of travel.
  Point DirectionAt(double t) const;
};

Curve StraightCurve(Point from, Point to);
/// Moved `by` to the right of travel; an arc grows with it, so that curves beside each other stay beside each other.
Curve MovedAside(const Curve& curve, double by);
/// The part of `curve` outside the circles of radius `from_radius` around `from` and `to_radius` around `to`.
Curve Trimmed(const Curve& curve, Point from, double from_radius, Point to, double to_radius);
Curve Reversed(const Curve& curve);

/// Convex hull, clockwise on the screen; no three points of it on a line.
std::vector<Point> ConvexHull(std::vector<Point> points);
/// Whether `point` lies inside or on the convex polygon `hull` (as ConvexHull gives it).
bool Contains(const std::vector<Point>& hull, Point point);

}  // namespace mycel::cli
