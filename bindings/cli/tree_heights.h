// How high the trees of a schedule are: how many hops the data make one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/plan/schedule.h"

namespace mycel::cli {

/// Hops between `root` and its farthest rank. `down`: the edges lead away from the root. `depth`: scratch space of one
/// entry per rank.
int64_t HeightOf(Rank root, const std::vector<TreeEdge>& edges, bool down, std::vector<int64_t>* depth);

/// Trees of one height.
struct HeightRow {
  int64_t trees = 0;
  double share = 0;  // of the data of all trees, 0..1
};

struct TreeHeights {
  std::map<int64_t, HeightRow> rows;  // by hops
  int64_t max = 0;
  double mean = 0;  // by data
};

/// Of the trees that reduce (`down` false) or broadcast; no rows where there are none.
TreeHeights HeightsOf(const Schedule& schedule, bool down);
/// Of whole trees: up to the root and down again, one after the other.
TreeHeights HopsOf(const Schedule& schedule);

}  // namespace mycel::cli
