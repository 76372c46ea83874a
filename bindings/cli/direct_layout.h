// Fabrics without switches: a grid where they are one, else a circle.
#pragma once

#include "bindings/cli/fabric_layout.h"

namespace mycel::cli {

/// No switches, and at most one server of more than one rank.
bool IsDirect(const Topology& topology);
FabricLayout LayOutDirect(const Topology& topology);

/// A link between two ranks that stand anywhere: straight, or bowed round the `others` in its way.
Curve CurveAround(Point from, Point to, const std::vector<Point>& others, double pitch);

}  // namespace mycel::cli
