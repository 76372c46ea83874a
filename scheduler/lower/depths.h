// Depths of a tree: where each rank stands between the leaves of the up part and those of the down part. Phases of
// lowering and of cost estimates are counted with them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/plan/schedule.h"

namespace mycel::lower {

/// Distance of each rank from the tree's root: `up[r]` along up edges, `down[r]` along down edges; -1: not there.
struct Depths {
  std::vector<int32_t> up;
  std::vector<int32_t> down;
  int32_t height = 0;  // max of up
  int32_t reach = 0;   // max of down
};
/// Fills `depths`, reusing its memory. InvalidArgument when edges are out of order, repeated, or not rooted.
Status MeasureTree(const Tree& tree, int32_t rank_count, Depths* depths);

}  // namespace mycel::lower
