// Where a drawing puts the nodes of a topology and how its links run.
//
// Model. Ranks of one server stand in rows inside its box, its switches are bars above or below them, and links between
// ranks and bars are vertical. Switches of no server are bars of a spine above the servers, or between them when those
// fill several rows. Without servers, the ranks behind one switch stand together in the same way. A fabric without any
// switch is a grid when it is a mesh or a torus in row order, else a circle whose order keeps neighbours together.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bindings/cli/curve.h"
#include "core/topo/topology.h"

namespace mycel::cli {

inline constexpr double kRankRadius = 15;  // pixels

struct ServerBox {
  std::string name;
  Box box;
  bool label_above = false;
};

struct FabricLayout {
  double width = 0;
  double height = 0;
  std::vector<Box> nodes;  // by node: the square around a rank's circle, a switch's bar
  std::vector<ServerBox> servers;
  /// Links by their two nodes, the smaller id first; the curve runs from centre to centre in that order.
  std::map<std::pair<NodeId, NodeId>, Curve> links;

  /// From `source` to `target`. There is a link between them.
  Curve CurveOf(NodeId source, NodeId target) const;
};

/// `bar_height`: of switches, pixels.
FabricLayout LayOut(const Topology& topology, double bar_height);

/// "4x4" or "3x3x3" when the ranks of a topology without switches are a mesh or torus in row order; else empty.
std::vector<int32_t> GridShapeOf(const Topology& topology);

}  // namespace mycel::cli
