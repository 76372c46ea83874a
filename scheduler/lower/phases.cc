// Pass "phases": shifts each tree in time. Three reasons, in this order:
//
//  1. Stage s + 1 starts after the last phase of stage s. Where stages overlap, the hop of a path that belongs to its
//     stage is made in phase `stage` plus what the longest way to such a hop takes: while a stage's messages are sent,
//     those of the stage before are passed on.
//  2. At most kCrowdMax messages of a channel in one phase: ChooseSlots then always finds a slot count for a plan
//     without skew (a store-and-forward all-to-all sends n - 1 messages over a ring edge at once).
//  3. In place, a rank must read its send bytes before another tree overwrites them: the writer's tree is delayed.
//     These are difference constraints offset(writer) - offset(reader) >= c, relaxed to a fixed point.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "core/base/check.h"
#include "scheduler/lower/passes.h"

namespace mycel::lower {
namespace {

constexpr int32_t kCrowdMax = 16;

/// Messages of each (channel, phase); counts only when some channel can be crowded at all.
class Crowd {
 public:
  explicit Crowd(const Draft& draft) : rank_count_(draft.schedule.rank_count), lane_count_(draft.lane_count) {
    std::vector<int32_t> messages(static_cast<size_t>(rank_count_) * static_cast<size_t>(rank_count_) *
                                  static_cast<size_t>(lane_count_));
    for (size_t i = 0; i < draft.schedule.trees.size(); ++i) {
      const Tree& tree = draft.schedule.trees[i];
      for (const TreeEdge& edge : tree.up) ++messages[ChannelOf(edge, draft.lane_of_tree[i])];
      for (const TreeEdge& edge : tree.down) ++messages[ChannelOf(edge, draft.lane_of_tree[i])];
    }
    matters_ = std::any_of(messages.begin(), messages.end(), [](int32_t m) { return m > kCrowdMax; });
  }
  bool matters() const { return matters_; }

  /// Messages of `edge`'s channel in `phase`.
  int32_t& At(const TreeEdge& edge, int32_t lane, int32_t phase) {
    return counts_[static_cast<uint64_t>(ChannelOf(edge, lane)) << 24 | static_cast<uint64_t>(phase)];
  }

 private:
  size_t ChannelOf(const TreeEdge& edge, int32_t lane) const {
    const auto n = static_cast<size_t>(rank_count_);
    return (edge.source.index() * n + edge.target.index()) * static_cast<size_t>(lane_count_) +
           static_cast<size_t>(lane);
  }

  int32_t rank_count_;
  int32_t lane_count_;
  bool matters_ = false;
  std::unordered_map<uint64_t, int32_t> counts_;
};

/// Calls f(edge, phase of its message) for a tree whose first phase is 0.
template <typename F>
void ForEachMessage(const Tree& tree, const Depths& depths, F&& f) {
  for (const TreeEdge& edge : tree.up) f(edge, depths.height - depths.up[edge.source.index()]);
  for (const TreeEdge& edge : tree.down) f(edge, depths.height + depths.down[edge.source.index()]);
}

/// First offset >= `offset` at which the tree crowds no channel.
int32_t UncrowdedOffset(const Tree& tree, const Depths& depths, int32_t lane, int32_t offset, Crowd* crowd) {
  for (bool fits = false; !fits; offset += fits ? 0 : 1) {
    fits = true;
    ForEachMessage(tree, depths, [&](const TreeEdge& edge, int32_t phase) {
      fits = fits && crowd->At(edge, lane, offset + phase) < kCrowdMax;
    });
  }
  return offset;
}

/// Reasons 1 and 2. Fills the offsets.
Status PlaceStages(Draft* draft, Depths* depths) {
  const std::vector<Tree>& trees = draft->schedule.trees;
  std::vector<size_t> order(trees.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return trees[a].stage < trees[b].stage; });
  Crowd crowd(*draft);
  const bool overlap = draft->schedule.stages_overlap;
  const int32_t lead = StageLead(draft->schedule);
  int32_t base = 0, end = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    const size_t i = order[k];
    if (k > 0 && trees[i].stage != trees[order[k - 1]].stage) base = end;
    if (overlap) base = trees[i].stage + lead - trees[i].stage_hop;
    MYCEL_RETURN_IF_ERROR(MeasureTree(trees[i], draft->schedule.rank_count, depths));
    int32_t& offset = draft->offset_of_tree[i];
    offset = base;
    if (crowd.matters()) {
      const int32_t lane = draft->lane_of_tree[i];
      offset = UncrowdedOffset(trees[i], *depths, lane, base, &crowd);
      ForEachMessage(trees[i], *depths,
                     [&](const TreeEdge& edge, int32_t phase) { ++crowd.At(edge, lane, offset + phase); });
    }
    end = std::max(end, offset + depths->height + depths->reach + 1);
  }
  return OkStatus();
}

/// A tree reads or writes a place of a rank's memory at `phase` (within the tree).
struct Access {
  int32_t tree;
  int32_t rank;
  int64_t place;
  int32_t phase;
  bool writes;
};

void AddAccesses(const Draft& draft, int32_t index, const Depths& depths, std::vector<Access>* accesses) {
  const Tree& tree = draft.schedule.trees[static_cast<size_t>(index)];
  const int32_t block = tree.chunk.block;
  const auto read = [&](Rank rank, int32_t phase) {
    if (Contributes(draft, rank, block)) {
      accesses->push_back({index, rank.value(), draft.contract.SendPlace(rank, block), phase, false});
    }
  };
  const auto write = [&](Rank rank, int32_t phase) {
    if (!Wants(draft, rank, block)) return;
    const int64_t place = draft.contract.RecvPlace(rank, block) + draft.contract.InPlaceOffset(rank);
    accesses->push_back({index, rank.value(), place, phase, true});
  };
  read(tree.root, depths.height);
  write(tree.root, depths.height);
  for (const TreeEdge& edge : tree.up) read(edge.source, depths.height - depths.up[edge.source.index()]);
  for (const TreeEdge& edge : tree.down) write(edge.target, depths.height + depths.down[edge.target.index()]);
}

/// Reason 3 for the trees of one group: delays writers until they follow the readers of the same place.
void DelayWriters(const std::vector<Access>& accesses, size_t tree_count, std::vector<int32_t>* offset_of_tree) {
  const auto start = [&](const Access& access) {
    return (*offset_of_tree)[static_cast<size_t>(access.tree)] + access.phase;
  };
  bool moved = true;
  for (size_t round = 0; moved && round <= tree_count; ++round) {
    moved = false;
    for (size_t w = 0; w < accesses.size(); ++w) {
      if (!accesses[w].writes) continue;
      const auto same_place = [&](const Access& a) {
        return a.rank == accesses[w].rank && a.place == accesses[w].place;
      };
      // Sorted by (rank, place): the readers of the same place lie around the writer.
      size_t first = w;
      while (first > 0 && same_place(accesses[first - 1])) --first;
      for (size_t r = first; r < accesses.size() && same_place(accesses[r]); ++r) {
        if (accesses[r].writes || accesses[r].tree == accesses[w].tree) continue;
        const int32_t lag = start(accesses[r]) + 1 - start(accesses[w]);
        if (lag <= 0) continue;
        (*offset_of_tree)[static_cast<size_t>(accesses[w].tree)] += lag;
        moved = true;
      }
    }
  }
}

Status OrderInPlace(Draft* draft, Depths* depths) {
  const std::vector<int32_t>& group_of_tree = GroupsOf(draft);
  std::vector<std::vector<int32_t>> groups;
  for (size_t i = 0; i < group_of_tree.size(); ++i) {
    const auto group = static_cast<size_t>(group_of_tree[i]);
    if (groups.size() <= group) groups.resize(group + 1);
    groups[group].push_back(static_cast<int32_t>(i));
  }
  std::vector<Access> accesses;
  for (const std::vector<int32_t>& group : groups) {
    if (group.size() == 1) continue;  // a tree's own reads come before its writes
    accesses.clear();
    for (const int32_t i : group) {
      MYCEL_RETURN_IF_ERROR(
          MeasureTree(draft->schedule.trees[static_cast<size_t>(i)], draft->schedule.rank_count, depths));
      AddAccesses(*draft, i, *depths, &accesses);
    }
    std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) {
      if (a.rank != b.rank) return a.rank < b.rank;
      if (a.place != b.place) return a.place < b.place;
      return a.tree != b.tree ? a.tree < b.tree : a.writes < b.writes;
    });
    DelayWriters(accesses, group.size(), &draft->offset_of_tree);
  }
  return OkStatus();
}

}  // namespace

Status AssignPhases(const LowerOptions&, Draft* draft) {
  draft->offset_of_tree.assign(draft->schedule.trees.size(), 0);
  Depths depths;
  MYCEL_RETURN_IF_ERROR(PlaceStages(draft, &depths));
  return OrderInPlace(draft, &depths);
}

}  // namespace mycel::lower
