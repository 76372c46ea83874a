#include "bindings/cli/tree_heights.h"

#include <algorithm>

namespace mycel::cli {

int64_t HeightOf(Rank root, const std::vector<TreeEdge>& edges, bool down, std::vector<int64_t>* depth) {
  int64_t deepest = 0;
  (*depth)[root.index()] = 0;
  const auto add = [&](const TreeEdge& edge) {
    const Rank parent = down ? edge.source : edge.target;
    const Rank child = down ? edge.target : edge.source;
    deepest = std::max(deepest, (*depth)[child.index()] = (*depth)[parent.index()] + 1);
  };
  // A parent's edge comes before its child's in `down`, after it in `up`.
  if (down) {
    std::for_each(edges.begin(), edges.end(), add);
  } else {
    std::for_each(edges.rbegin(), edges.rend(), add);
  }
  return deepest;
}

TreeHeights HeightsOf(const Schedule& schedule, bool down) {
  TreeHeights heights;
  std::vector<int64_t> depth(static_cast<size_t>(schedule.rank_count));
  double total = 0;
  for (const Tree& tree : schedule.trees) {
    const std::vector<TreeEdge>& edges = down ? tree.down : tree.up;
    if (edges.empty() || tree.chunk.units() == 0) continue;
    const int64_t hops = HeightOf(tree.root, edges, down, &depth);
    const auto units = static_cast<double>(tree.chunk.units());
    HeightRow& row = heights.rows[hops];
    ++row.trees;
    row.share += units;
    total += units;
    heights.max = std::max(heights.max, hops);
    heights.mean += units * static_cast<double>(hops);
  }
  if (total == 0) return heights;
  heights.mean /= total;
  for (auto& [hops, row] : heights.rows) row.share /= total;
  return heights;
}

}  // namespace mycel::cli
