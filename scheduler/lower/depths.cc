#include "scheduler/lower/depths.h"

#include <algorithm>
#include <string>

namespace mycel::lower {
namespace {

Status BadTree(const Tree& tree, const std::string& what) {
  return InvalidArgument("schedule: tree with root " + std::to_string(tree.root.value()) + " of block " +
                         std::to_string(tree.chunk.block) + ": " + what + "; the planner must be mended");
}

bool InRange(Rank rank, int32_t rank_count) { return rank.value() >= 0 && rank.value() < rank_count; }

std::string EdgeText(const TreeEdge& edge) {
  return "edge " + std::to_string(edge.source.value()) + "->" + std::to_string(edge.target.value());
}

}  // namespace

Status MeasureTree(const Tree& tree, int32_t rank_count, Depths* depths) {
  const auto n = static_cast<size_t>(rank_count);
  depths->up.assign(n, -1);
  depths->down.assign(n, -1);
  depths->height = depths->reach = 0;
  if (!InRange(tree.root, rank_count)) return BadTree(tree, "the root is not a rank");
  depths->up[tree.root.index()] = depths->down[tree.root.index()] = 0;
  // Up edges list children before parents, so the reverse order meets every parent first.
  for (auto edge = tree.up.rbegin(); edge != tree.up.rend(); ++edge) {
    if (!InRange(edge->source, rank_count) || !InRange(edge->target, rank_count)) {
      return BadTree(tree, EdgeText(*edge) + " leaves the ranks");
    }
    const int32_t parent = depths->up[edge->target.index()];
    int32_t& depth = depths->up[edge->source.index()];
    if (parent < 0 || depth >= 0) return BadTree(tree, "up " + EdgeText(*edge) + " is out of order or repeated");
    depth = parent + 1;
    depths->height = std::max(depths->height, depth);
  }
  for (const TreeEdge& edge : tree.down) {
    if (!InRange(edge.source, rank_count) || !InRange(edge.target, rank_count)) {
      return BadTree(tree, EdgeText(edge) + " leaves the ranks");
    }
    const int32_t parent = depths->down[edge.source.index()];
    int32_t& depth = depths->down[edge.target.index()];
    if (parent < 0 || depth >= 0) return BadTree(tree, "down " + EdgeText(edge) + " is out of order or repeated");
    depth = parent + 1;
    depths->reach = std::max(depths->reach, depth);
  }
  return OkStatus();
}

}  // namespace mycel::lower
