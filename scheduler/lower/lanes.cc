// Pass "lanes": spreads trees over lanes.
//
// Whole trees first: each group (trees that must share a lane) goes to the lane where its ranks have the least work.
// Trees in different lanes do not wait for each other. If the busiest lane then has more than 9/8 of a fair share,
// every tree is cut into one part per lane instead: all lanes look alike, at the price of more and smaller messages.
#include <algorithm>

#include "core/base/check.h"
#include "scheduler/lower/passes.h"

namespace mycel::lower {
namespace {

/// Units each rank handles in each lane.
class LaneLoads {
 public:
  LaneLoads(int32_t rank_count, int32_t lanes)
      : lanes_(static_cast<size_t>(lanes)), loads_(static_cast<size_t>(rank_count) * lanes_) {}

  int64_t& At(Rank rank, size_t lane) { return loads_[rank.index() * lanes_ + lane]; }

  /// Calls f(rank) once for each end of each edge, and for a lonely root.
  template <typename F>
  static void ForEachEnd(const Tree& tree, F&& f) {
    if (tree.up.empty() && tree.down.empty()) f(tree.root);
    for (const TreeEdge& edge : tree.up) f(edge.source), f(edge.target);
    for (const TreeEdge& edge : tree.down) f(edge.source), f(edge.target);
  }

  /// True when the busiest lane has at most 9/8 of what each lane of the busiest rank would have at best.
  bool Even() const {
    int64_t busiest_rank = 0, busiest_lane = 0;
    for (size_t first = 0; first < loads_.size(); first += lanes_) {
      int64_t total = 0;
      for (size_t lane = 0; lane < lanes_; ++lane) {
        total += loads_[first + lane];
        busiest_lane = std::max(busiest_lane, loads_[first + lane]);
      }
      busiest_rank = std::max(busiest_rank, total);
    }
    return busiest_lane * 8 * static_cast<int64_t>(lanes_) <= busiest_rank * 9;
  }

 private:
  size_t lanes_;
  std::vector<int64_t> loads_;
};

/// Gives whole groups to lanes; false when the result is uneven.
bool SpreadGroups(int32_t lanes, Draft* draft) {
  const std::vector<Tree>& trees = draft->schedule.trees;
  const std::vector<int32_t> group_of_tree = InPlaceGroups(*draft);
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < trees.size(); ++i) {
    const auto group = static_cast<size_t>(group_of_tree[i]);
    if (groups.size() <= group) groups.resize(group + 1);
    groups[group].push_back(i);
  }
  LaneLoads loads(draft->schedule.rank_count, lanes);
  for (const std::vector<size_t>& group : groups) {
    size_t best = 0;
    int64_t best_load = -1;
    for (size_t lane = 0; lane < static_cast<size_t>(lanes); ++lane) {
      int64_t load = 0;
      for (const size_t i : group) LaneLoads::ForEachEnd(trees[i], [&](Rank r) { load += loads.At(r, lane); });
      if (best_load < 0 || load < best_load) best = lane, best_load = load;
    }
    for (const size_t i : group) {
      draft->lane_of_tree[i] = static_cast<int32_t>(best);
      LaneLoads::ForEachEnd(trees[i], [&](Rank r) { loads.At(r, best) += trees[i].chunk.units(); });
    }
  }
  return loads.Even();
}

/// Cuts every tree into `lanes` parts. Regular blocks get finer units; the units of v-collectives are elements, whose
/// chunks are cut as evenly as they go.
void CutTrees(int32_t lanes, Draft* draft) {
  Schedule& schedule = draft->schedule;
  const bool regular = schedule.block_units.empty();
  std::vector<Tree> cut;
  std::vector<int32_t> lane_of_tree;
  cut.reserve(schedule.trees.size() * static_cast<size_t>(lanes));
  for (const Tree& tree : schedule.trees) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Chunk part = tree.chunk;
      if (regular) {
        part.begin = tree.chunk.begin * lanes + tree.chunk.units() * lane;
        part.end = part.begin + tree.chunk.units();
      } else {
        part.begin = tree.chunk.begin + ElementOf(tree.chunk.units(), lane, lanes);
        part.end = tree.chunk.begin + ElementOf(tree.chunk.units(), lane + 1, lanes);
      }
      if (part.units() == 0) continue;
      cut.push_back(tree);
      cut.back().chunk = part;
      lane_of_tree.push_back(static_cast<int32_t>(lane));
    }
  }
  if (regular) schedule.units_per_block *= lanes;
  schedule.trees = std::move(cut);
  draft->lane_of_tree = std::move(lane_of_tree);
}

}  // namespace

Status AssignLanes(const LowerOptions& options, Draft* draft) {
  MYCEL_CHECK_GE(options.lanes, 1);
  draft->lane_count = options.lanes;
  draft->lane_of_tree.assign(draft->schedule.trees.size(), 0);
  if (options.lanes > 1 && !SpreadGroups(options.lanes, draft)) CutTrees(options.lanes, draft);
  return OkStatus();
}

}  // namespace mycel::lower
