// Which nodes and links of a graph look alike: colour refinement (Weisfeiler and Leman). Two nodes keep one colour
// while for every colour and capacity they have as many links from and to nodes of that colour. Nodes that a symmetry
// of the graph exchanges always have one colour; the reverse need not hold, so what is built on colours is checked
// afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/graph/scaled_graph.h"

namespace mycel::bound {

struct Colours {
  std::vector<int32_t> node;  // by node, 0, 1, ... in the order in which they first appear
  std::vector<int32_t> link;  // by link: same colours at both ends, same capacity
  int32_t nodes = 0;          // how many there are
  int32_t links = 0;
};

/// `start`: nodes with different numbers are different to begin with.
Colours RefineColours(const ScaledGraph& graph, const std::vector<int32_t>& start);

}  // namespace mycel::bound
