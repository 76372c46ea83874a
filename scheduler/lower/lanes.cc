// Pass "lanes": spreads trees over lanes.
//
// Whole trees first, in overlapping stages from the widest to the narrowest: each group (trees that must share a lane)
// goes to the lane where its ranks have the least work. Trees in different lanes do not wait for each other. If the
// busiest lane then has more than its excess (LowerOptions::lane_excess), every tree is cut into 2, 4, ... parts, which
// are spread in the same way, and at last into one part per lane: then all lanes look alike, at the price of more and
// smaller messages. Cutting stops where blocks would have more units than a plan may have.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "core/plan/structure.h"
#include "scheduler/lower/passes.h"

namespace mycel::lower {
namespace {

/// Trees are not cut into parts with more edges in all: such a plan costs more to make than even lanes save.
constexpr int64_t kPartEdgesMax = 1 << 15;
/// In overlapping stages the hops that belong to a stage share the ways out, which are the scarcest: they count more
/// than hops within a server.
constexpr int64_t kStageHopWeight = 2;

/// Units each rank handles in each lane; in overlapping stages what it sends and what it receives apart. Where blocks
/// have so many that sums might pass 62 bits, 2^k units count as one.
class LaneLoads {
 public:
  LaneLoads(const Schedule& schedule, int32_t lanes)
      : staged_(schedule.stages_overlap),
        lanes_(static_cast<size_t>(lanes)),
        loads_(static_cast<size_t>(schedule.rank_count) * (staged_ ? 2 : 1) * lanes_),
        sums_(lanes_) {
    int128 ends = 0;
    int128 units = 0;  // no rank has more in a lane
    for (const Tree& tree : schedule.trees) {
      const int128 of_tree =
          (2 * (std::ssize(tree.up) + std::ssize(tree.down)) + 1) * (staged_ ? kStageHopWeight : int64_t{1});
      ends += of_tree;
      units += of_tree * tree.chunk.units();
    }
    constexpr int64_t kSumMax = int64_t{1} << 62;
    // Every end of a group's edges adds the load of one rank.
    while ((units >> shift_) > kSumMax / std::max<int128>(ends, 1)) ++shift_;
  }

  /// The lane where the ends of these trees' edges have least to do, each rank counted as often as it is an end.
  int32_t LightestFor(const std::vector<Tree>& trees, const std::vector<size_t>& group) {
    std::fill(sums_.begin(), sums_.end(), 0);
    for (const size_t i : group) {
      ForEachEnd(trees[i], [this](size_t end, int64_t weight) {
        const int64_t* row = loads_.data() + end * lanes_;
        for (size_t lane = 0; lane < lanes_; ++lane) sums_[lane] += row[lane] * weight;
      });
    }
    return static_cast<int32_t>(std::min_element(sums_.begin(), sums_.end()) - sums_.begin());
  }

  void Add(const Tree& tree, int32_t lane) {
    ForEachEnd(tree, [&](size_t end, int64_t weight) {
      loads_[end * lanes_ + static_cast<size_t>(lane)] += (tree.chunk.units() >> shift_) * weight;
    });
  }

  /// Of all lanes of all ranks.
  int64_t Busiest() const { return *std::max_element(loads_.begin(), loads_.end()); }

  /// True when the busiest lane has at most `excess` times what each lane of the busiest rank would have at best.
  bool Even(double excess) const {
    int64_t busiest_rank = 0, busiest_lane = 0;
    for (size_t first = 0; first < loads_.size(); first += lanes_) {
      int64_t total = 0;
      for (size_t lane = 0; lane < lanes_; ++lane) {
        total += loads_[first + lane];
        busiest_lane = std::max(busiest_lane, loads_[first + lane]);
      }
      busiest_rank = std::max(busiest_rank, total);
    }
    return static_cast<double>(busiest_lane) * static_cast<double>(lanes_) <=
           static_cast<double>(busiest_rank) * excess;
  }

 private:
  /// Calls f(index, weight) once for each end of each edge, and for a lonely root.
  template <typename F>
  void ForEachEnd(const Tree& tree, F&& f) {
    if (tree.up.empty() && tree.down.empty()) f(tree.root.index() * (staged_ ? 2 : 1), 1);
    for (const TreeEdge& edge : tree.up) f(edge.source.index(), 1), f(edge.target.index(), 1);
    for (size_t i = 0; i < tree.down.size(); ++i) {
      const TreeEdge& edge = tree.down[i];
      if (!staged_) {
        f(edge.source.index(), 1), f(edge.target.index(), 1);
        continue;
      }
      const int64_t weight = static_cast<int32_t>(i) == tree.stage_hop ? kStageHopWeight : 1;
      f(edge.source.index() * 2, weight), f(edge.target.index() * 2 + 1, weight);
    }
  }

  bool staged_;
  size_t lanes_;
  int shift_ = 0;
  std::vector<int64_t> loads_;
  std::vector<int64_t> sums_;
};

/// Whether tree b is tree a with all ranks moved on by `shift`.
bool IsShifted(const Tree& a, const Tree& b, int32_t shift, int32_t n) {
  const auto moved = [&](Rank rank) { return Rank((rank.value() + shift) % n); };
  const auto same = [&](const std::vector<TreeEdge>& from, const std::vector<TreeEdge>& to) {
    if (from.size() != to.size()) return false;
    std::vector<std::pair<Rank, Rank>> x, y;
    for (const TreeEdge& edge : from) x.emplace_back(moved(edge.source), moved(edge.target));
    for (const TreeEdge& edge : to) y.emplace_back(edge.source, edge.target);
    std::sort(x.begin(), x.end());
    std::sort(y.begin(), y.end());
    return x == y;
  };
  return moved(a.root) == b.root && a.stage == b.stage && a.chunk.units() == b.chunk.units() && same(a.up, b.up) &&
         same(a.down, b.down);
}

/// The least shift of ranks that maps every tree to the one `shift` roots further; 0: there is none.
int32_t LeastShift(const Schedule& schedule) {
  const int32_t n = schedule.rank_count;
  const auto trees = static_cast<int32_t>(schedule.trees.size());
  if (trees % n != 0) return 0;
  for (int32_t shift = 1; shift < n; ++shift) {
    if (n % shift != 0) continue;
    const int32_t step = shift * (trees / n);
    bool fits = true;
    for (int32_t i = 0; fits && i < trees; ++i) {
      fits = IsShifted(schedule.trees[static_cast<size_t>(i)], schedule.trees[static_cast<size_t>((i + step) % trees)],
                       shift, n);
    }
    if (fits) return shift;
  }
  return 0;
}

/// Many ranks: where a shift of ranks maps the trees to each other, it shall map the lanes too, so that the ranks'
/// parts of the plan are alike, and one stands for all (sim/symmetry.h). Leaves the lanes as they are, given by
/// SpreadGroups, where those are more even.
void SpreadByShift(const LowerOptions& options, Draft* draft) {
  const std::vector<Tree>& trees = draft->schedule.trees;
  const int32_t n = draft->schedule.rank_count;
  if (n < kManyRanks || draft->schedule.stages_overlap) return;
  if (GroupsOf(draft).back() + 1 != std::ssize(trees)) return;  // trees that must share a lane
  const int32_t shift = LeastShift(draft->schedule);
  if (shift == 0) return;
  const int64_t step = int64_t{shift} * std::ssize(trees) / n;
  LaneLoads greedy(draft->schedule, options.lanes);
  for (size_t i = 0; i < trees.size(); ++i) greedy.Add(trees[i], draft->lane_of_tree[i]);
  int64_t least = greedy.Busiest();
  for (const int64_t stride : {step + 1, step, int64_t{1}}) {
    LaneLoads loads(draft->schedule, options.lanes);
    std::vector<int32_t> lanes;
    for (int64_t i = 0; i < std::ssize(trees); ++i) {
      lanes.push_back(static_cast<int32_t>((i / step * stride + i % step) % options.lanes));
      loads.Add(trees[static_cast<size_t>(i)], lanes.back());
    }
    if (loads.Busiest() > least) continue;
    least = loads.Busiest() - 1;
    draft->lane_of_tree = std::move(lanes);
  }
}

/// Gives groups to lanes; false when the result is uneven.
bool SpreadGroups(const LowerOptions& options, Draft* draft) {
  const std::vector<Tree>& trees = draft->schedule.trees;
  const std::vector<int32_t>& group_of_tree = GroupsOf(draft);
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < trees.size(); ++i) {
    const auto group = static_cast<size_t>(group_of_tree[i]);
    if (groups.size() <= group) groups.resize(group + 1);
    groups[group].push_back(i);
  }
  if (draft->schedule.stages_overlap) {
    // Chunks differ as widely as the demand: the widest first, and the narrow ones fill the gaps.
    std::stable_sort(groups.begin(), groups.end(), [&](const std::vector<size_t>& a, const std::vector<size_t>& b) {
      return trees[a.front()].chunk.units() > trees[b.front()].chunk.units();
    });
  }
  LaneLoads loads(draft->schedule, options.lanes);
  for (const std::vector<size_t>& group : groups) {
    const int32_t lane = loads.LightestFor(trees, group);
    for (const size_t i : group) {
      draft->lane_of_tree[i] = lane;
      loads.Add(trees[i], lane);
    }
  }
  return loads.Even(options.lane_excess);
}

int64_t EdgeCount(const Schedule& schedule) {
  int64_t edges = 0;
  for (const Tree& tree : schedule.trees) edges += static_cast<int64_t>(tree.up.size() + tree.down.size());
  return edges;
}

/// The trees that are to be cut, with what was known about them.
struct Whole {
  std::vector<Tree> trees;
  std::vector<int32_t> lane_of_tree;
  std::vector<int32_t> group_of_tree;
  int64_t units_per_block;
};

/// GroupsOf the parts of regular blocks' trees, without looking at their memory again: where the chunks of a group are
/// equal, as pass "align" leaves them, parts overlap exactly when they have the same number. Empty where they are not.
std::vector<int32_t> GroupsOfParts(const Whole& whole, int32_t parts) {
  std::vector<int32_t> group_of_part;
  std::vector<const Chunk*> chunk_of_group;
  for (size_t i = 0; i < whole.trees.size(); ++i) {
    const auto group = static_cast<size_t>(whole.group_of_tree[i]);
    const Chunk& chunk = whole.trees[i].chunk;
    if (chunk_of_group.size() <= group) chunk_of_group.resize(group + 1, &chunk);
    const Chunk& first = *chunk_of_group[group];
    if (first.begin != chunk.begin || first.end != chunk.end) return {};
    for (int32_t part = 0; part < parts; ++part) group_of_part.push_back(whole.group_of_tree[i] * parts + part);
  }
  return group_of_part;
}

/// Cuts every tree into `parts` parts. Regular blocks get finer units; the units of v-collectives are elements, whose
/// chunks are cut as evenly as they go. The parts of a tree follow each other, part i in lane i.
void CutTrees(const Whole& whole, int32_t parts, Draft* draft) {
  Schedule& schedule = draft->schedule;
  const bool regular = schedule.block_units.empty();
  schedule.trees.clear();
  schedule.trees.reserve(whole.trees.size() * static_cast<size_t>(parts));
  schedule.units_per_block = regular ? whole.units_per_block * parts : whole.units_per_block;
  draft->lane_of_tree.clear();
  for (const Tree& tree : whole.trees) {
    for (int32_t i = 0; i < parts; ++i) {
      Chunk part = tree.chunk;
      if (regular) {
        part.begin = tree.chunk.begin * parts + tree.chunk.units() * i;
        part.end = part.begin + tree.chunk.units();
      } else {
        part.begin = tree.chunk.begin + ElementOf(tree.chunk.units(), i, parts);
        part.end = tree.chunk.begin + ElementOf(tree.chunk.units(), i + 1, parts);
      }
      if (part.units() == 0) continue;
      schedule.trees.push_back(tree);
      schedule.trees.back().chunk = part;
      draft->lane_of_tree.push_back(i);
    }
  }
  draft->group_of_tree = regular ? GroupsOfParts(whole, parts) : std::vector<int32_t>();
}

/// Overlapping stages of a v-collective: cuts only the trees that are wide beside a fair lane of the busiest way out.
/// Demand is skewed, and halving everything would cut crumbs too, while every op costs its time in every slice.
void CutWideTrees(const LowerOptions& options, Draft* draft) {
  const int64_t most = StagedWidth(draft->schedule, options.lanes);
  const std::vector<Tree> whole = std::exchange(draft->schedule.trees, {});
  for (const Tree& tree : whole) {
    const int64_t parts = (tree.chunk.units() + most - 1) / most;
    for (int64_t i = 0; i < parts; ++i) {
      draft->schedule.trees.push_back(tree);
      Chunk& part = draft->schedule.trees.back().chunk;
      part.begin = tree.chunk.begin + ElementOf(tree.chunk.units(), i, parts);
      part.end = tree.chunk.begin + ElementOf(tree.chunk.units(), i + 1, parts);
    }
  }
  draft->lane_of_tree.assign(draft->schedule.trees.size(), 0);
  draft->group_of_tree.clear();
}

}  // namespace

Status AssignLanes(const LowerOptions& options, Draft* draft) {
  MYCEL_CHECK_GE(options.lanes, 1);
  draft->lane_count = options.lanes;
  draft->lane_of_tree.assign(draft->schedule.trees.size(), 0);
  if (options.lanes > 1 && draft->schedule.stages_overlap && !draft->schedule.block_units.empty()) {
    CutWideTrees(options, draft);
    SpreadGroups(options, draft);
    return OkStatus();
  }
  if (options.lanes == 1) return OkStatus();
  if (SpreadGroups(options, draft)) {
    SpreadByShift(options, draft);
    return OkStatus();
  }
  const int64_t edges = std::max<int64_t>(1, EdgeCount(draft->schedule));
  Whole whole{std::move(draft->schedule.trees), draft->lane_of_tree, draft->group_of_tree,
              draft->schedule.units_per_block};
  const bool regular = draft->schedule.block_units.empty();
  const auto may_cut = [&](int32_t parts) {
    return parts * edges <= kPartEdgesMax && (!regular || whole.units_per_block <= kBlockUnitsMax / parts);
  };
  int32_t parts = 2;
  for (; parts < options.lanes && may_cut(parts); parts *= 2) {
    CutTrees(whole, parts, draft);
    if (SpreadGroups(options, draft)) return OkStatus();
  }
  if (may_cut(options.lanes)) {
    CutTrees(whole, options.lanes, draft);
  } else if (parts == 2) {  // not even halves are within the limits
    draft->schedule.trees = std::move(whole.trees);
    draft->lane_of_tree = std::move(whole.lane_of_tree);
    draft->group_of_tree = std::move(whole.group_of_tree);
    SpreadByShift(options, draft);
  }  // else the last cut stays: as even as the limits allow
  return OkStatus();
}

}  // namespace mycel::lower

namespace mycel {

int64_t StagedWidth(const Schedule& schedule, int32_t lanes) {
  std::vector<int64_t> units(static_cast<size_t>(schedule.rank_count) * 2);  // sent and received by stage hops
  int64_t edges = 0, edge_units = 0, widest = 1;
  for (const Tree& tree : schedule.trees) {
    widest = std::max(widest, tree.chunk.units());
    edges += static_cast<int64_t>(tree.down.size());
    edge_units += static_cast<int64_t>(tree.down.size()) * tree.chunk.units();
    if (tree.stage_hop >= static_cast<int32_t>(tree.down.size())) continue;
    const TreeEdge& edge = tree.down[static_cast<size_t>(tree.stage_hop)];
    units[edge.source.index() * 2] += tree.chunk.units();
    units[edge.target.index() * 2 + 1] += tree.chunk.units();
  }
  const int64_t busiest = *std::max_element(units.begin(), units.end());
  if (lanes == 1 || busiest == 0) return widest;
  // Each tree has at most one part more than its units fill.
  const int64_t spare = std::max(lower::kPartEdgesMax / 2, lower::kPartEdgesMax - edges);
  return std::min(widest, std::max({int64_t{1}, busiest * 2 / lanes, edge_units / spare + 1}));
}

}  // namespace mycel
