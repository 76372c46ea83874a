// Pass "align": in-place safety is argued slice by slice, so trees that touch the same bytes must have equal chunks.
// Our planners already say so; a forest of another root's shares may not.
#include <algorithm>

#include "scheduler/lower/passes.h"

namespace mycel::lower {
namespace {

/// Sorted borders of the chunks of each group.
std::vector<std::vector<int64_t>> BordersOf(const Draft& draft, const std::vector<int32_t>& group_of_tree) {
  std::vector<std::vector<int64_t>> borders;
  for (size_t i = 0; i < group_of_tree.size(); ++i) {
    const auto group = static_cast<size_t>(group_of_tree[i]);
    if (borders.size() <= group) borders.resize(group + 1);
    borders[group].push_back(draft.schedule.trees[i].chunk.begin);
    borders[group].push_back(draft.schedule.trees[i].chunk.end);
  }
  for (std::vector<int64_t>& list : borders) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return borders;
}

}  // namespace

Status AlignChunks(const LowerOptions&, Draft* draft) {
  const std::vector<int32_t>& group_of_tree = GroupsOf(draft);
  const std::vector<std::vector<int64_t>> borders = BordersOf(*draft, group_of_tree);
  if (std::all_of(borders.begin(), borders.end(), [](const auto& list) { return list.size() <= 2; })) return OkStatus();
  std::vector<Tree> cut;
  for (size_t i = 0; i < group_of_tree.size(); ++i) {
    const Tree& tree = draft->schedule.trees[i];
    int64_t begin = tree.chunk.begin;
    for (const int64_t border : borders[static_cast<size_t>(group_of_tree[i])]) {
      if (border <= begin || border > tree.chunk.end) continue;
      cut.push_back(tree);
      cut.back().chunk = {tree.chunk.block, begin, border};
      begin = border;
    }
  }
  draft->schedule.trees = std::move(cut);
  draft->lane_of_tree.assign(draft->schedule.trees.size(), 0);
  draft->group_of_tree.clear();
  return OkStatus();
}

}  // namespace mycel::lower
