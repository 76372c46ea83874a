#include "bindings/cli/curve.h"

#include <gtest/gtest.h>

namespace mycel::cli {
namespace {

constexpr double kNear = 1e-3;

TEST(Curve, AsideIsToTheRightOfTravel) {
  const Curve right = MovedAside(StraightCurve({0, 0}, {10, 0}), 2);  // y grows downwards
  EXPECT_NEAR(right.from.y, 2, kNear);
  EXPECT_NEAR(right.to.y, 2, kNear);
  const Curve back = MovedAside(StraightCurve({10, 0}, {0, 0}), 2);
  EXPECT_NEAR(back.At(0.5).y, -2, kNear);
}

TEST(Curve, ArcsSideBySideStayApart) {
  const Curve arc = {{0, 0}, {0, 40}, {100, 40}, {100, 0}};
  const Curve outer = MovedAside(arc, 5);
  EXPECT_NEAR(outer.from.x, -5, kNear);
  EXPECT_NEAR(outer.to.x, 105, kNear);
  EXPECT_NEAR(outer.At(0.5).y - arc.At(0.5).y, 5, kNear);
}

TEST(Curve, TrimmedEndsAtTheCircles) {
  const Curve curve = MovedAside(StraightCurve({0, 0}, {100, 0}), 3);
  const Curve cut = Trimmed(curve, {0, 0}, 5, {100, 0}, 13);
  EXPECT_NEAR(Distance(cut.from, {0, 0}), 5, kNear);
  EXPECT_NEAR(Distance(cut.to, {100, 0}), 13, kNear);
  EXPECT_NEAR(cut.from.y, 3, kNear);
  EXPECT_NEAR(cut.from.x, 4, kNear);
  // Ends that overlap leave nothing to cut off.
  EXPECT_NEAR(Distance(Trimmed(curve, {0, 0}, 80, {100, 0}, 80).to, curve.to), 0, kNear);
}

TEST(Curve, HullsHoldTheirPoints) {
  const std::vector<Point> hull = ConvexHull({{0, 0}, {4, 0}, {2, 1}, {4, 4}, {0, 4}, {2, 0}});
  EXPECT_EQ(hull.size(), 4U);
  EXPECT_TRUE(Contains(hull, {2, 2}));
  EXPECT_TRUE(Contains(hull, {0, 0}));
  EXPECT_TRUE(Contains(hull, {2, 0}));
  EXPECT_FALSE(Contains(hull, {2, -0.1}));
  EXPECT_FALSE(Contains(hull, {4.1, 2}));
  EXPECT_FALSE(Contains({}, {0, 0}));
}

}  // namespace
}  // namespace mycel::cli
