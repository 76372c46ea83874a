// Pass "merge": fewer, larger messages. Planners with weighted trees often emit the same tree for neighbouring chunks.
#include <algorithm>
#include <numeric>

#include "scheduler/lower/passes.h"

namespace mycel::lower {
namespace {

bool SameEdges(const std::vector<TreeEdge>& a, const std::vector<TreeEdge>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const TreeEdge& x, const TreeEdge& y) {
    return x.source == y.source && x.target == y.target && x.route == y.route;
  });
}

bool SameShape(const Tree& a, const Tree& b) {
  return a.root == b.root && a.stage == b.stage && SameEdges(a.up, b.up) && SameEdges(a.down, b.down);
}

}  // namespace

Status MergeTrees(const LowerOptions&, Draft* draft) {
  std::vector<Tree>& trees = draft->schedule.trees;
  std::vector<size_t> order(trees.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t x, size_t y) {
    const Chunk& a = trees[x].chunk;
    const Chunk& b = trees[y].chunk;
    if (a.block != b.block) return a.block < b.block;
    return a.begin != b.begin ? a.begin < b.begin : x < y;
  });
  std::vector<bool> gone(trees.size(), false);
  bool merged = false;
  for (size_t i = 0, keeper = 0; i < order.size(); ++i) {
    Tree& kept = trees[order[keeper]];
    const Tree& next = trees[order[i]];
    if (i > 0 && kept.chunk.block == next.chunk.block && kept.chunk.end == next.chunk.begin && SameShape(kept, next)) {
      kept.chunk.end = next.chunk.end;
      gone[order[i]] = merged = true;
    } else {
      keeper = i;
    }
  }
  if (!merged) return OkStatus();
  size_t kept = 0;
  for (size_t i = 0; i < trees.size(); ++i) {
    if (gone[i]) continue;
    if (kept != i) trees[kept] = std::move(trees[i]);
    ++kept;
  }
  trees.resize(kept);
  draft->lane_of_tree.assign(kept, 0);
  draft->group_of_tree.clear();
  return OkStatus();
}

}  // namespace mycel::lower
