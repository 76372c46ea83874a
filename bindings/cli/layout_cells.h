// Which nodes of a fabric stand together: cells of ranks with their own switches, and the spine of all other switches.
#pragma once

#include <string>
#include <vector>

#include "core/topo/topology.h"

namespace mycel::cli {

/// A server, or the ranks behind one switch where there are no servers.
struct Cell {
  std::string server;  // empty: no box is drawn
  std::vector<NodeId> ranks;
  std::vector<NodeId> bars_near;  // own switches towards the spine: those that lead out of the cell
  std::vector<NodeId> bars_far;   // own switches on the other side of the ranks
};

struct CellDivision {
  std::vector<Cell> cells;
  std::vector<NodeId> spine;
  std::vector<int32_t> cell_of;  // by node; -1: spine
};

CellDivision DivideIntoCells(const Topology& topology);

/// The nodes that have a link from or to each node, ascending.
std::vector<std::vector<NodeId>> NeighboursOf(const Topology& topology);

}  // namespace mycel::cli
