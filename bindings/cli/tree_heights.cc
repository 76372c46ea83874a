#include "bindings/cli/tree_heights.h"

#include <algorithm>

namespace mycel::cli {
namespace {

/// Trees by height; `height_of` gives 0 for those that do not count.
template <typename HeightOfTree>
TreeHeights Collect(const Schedule& schedule, const HeightOfTree& height_of) {
  TreeHeights heights;
  double total = 0;
  for (const Tree& tree : schedule.trees) {
    const int64_t hops = height_of(tree);
    if (hops == 0 || tree.chunk.units() == 0) continue;
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

}  // namespace

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
  std::vector<int64_t> depth(static_cast<size_t>(schedule.rank_count));
  return Collect(schedule,
                 [&](const Tree& tree) { return HeightOf(tree.root, down ? tree.down : tree.up, down, &depth); });
}

TreeHeights HopsOf(const Schedule& schedule) {
  std::vector<int64_t> depth(static_cast<size_t>(schedule.rank_count));
  return Collect(schedule, [&](const Tree& tree) {
    return HeightOf(tree.root, tree.up, false, &depth) + HeightOf(tree.root, tree.down, true, &depth);
  });
}

}  // namespace mycel::cli
