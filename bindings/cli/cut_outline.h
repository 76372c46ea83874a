// Lines round a set of nodes in a drawing, as few as can be without going round other nodes.
#pragma once

#include <vector>

#include "bindings/cli/fabric_layout.h"

namespace mycel::cli {

/// One polygon (corners to be rounded by `kOutlineRadius`) for each group of `nodes`.
struct Outline {
  std::vector<Point> corners;
  Box bounds;
};

std::vector<Outline> OutlinesOf(const FabricLayout& layout, const Topology& topology, const std::vector<NodeId>& nodes);

/// The `d` of a closed path with rounded corners.
std::string RoundedPath(const std::vector<Point>& corners, double radius);

}  // namespace mycel::cli
