// Which trees touch the same bytes of a rank when it runs in place (recv over send)?
//
// Every (tree, rank) that reads the send buffer or writes the recv buffer is an interval of units at a place, counted
// in blocks from the start of the send buffer; Contract::InPlaceOffset moves recv places there. Overlapping intervals
// with a writer among them join their trees.
#include <algorithm>
#include <numeric>

#include "core/base/check.h"
#include "scheduler/lower/draft.h"
#include "scheduler/lower/radix_sort.h"

namespace mycel::lower {
namespace {

struct Touch {
  uint64_t key;  // rank and place
  int64_t begin;
  int64_t end;
  int32_t tree;
  bool writes;
};

/// Union-find whose representative is the smallest member.
class Partition {
 public:
  explicit Partition(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  int32_t Find(int32_t x) {
    while (parent_[static_cast<size_t>(x)] != x) {
      int32_t& parent = parent_[static_cast<size_t>(x)];
      x = parent = parent_[static_cast<size_t>(parent)];
    }
    return x;
  }
  void Join(int32_t a, int32_t b) {
    a = Find(a), b = Find(b);
    parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<int32_t> parent_;
};

/// In place, receive places may lie before the send buffer.
uint64_t KeyOf(Rank rank, int64_t place) {
  constexpr int64_t kPlacesMax = int64_t{1} << 30;
  MYCEL_CHECK(-kPlacesMax < place && place < kPlacesMax);
  return static_cast<uint64_t>(rank.value()) << 32 | static_cast<uint64_t>(place + kPlacesMax);
}

void AddTouches(const Draft& draft, int32_t index, std::vector<Touch>* touches) {
  const Tree& tree = draft.schedule.trees[static_cast<size_t>(index)];
  const int32_t block = tree.chunk.block;
  const auto touch = [&](Rank rank, bool may_read, bool may_write) {
    const int32_t send = may_read ? draft.contract.SendPlace(rank, block) : -1;
    const int32_t recv = may_write ? draft.contract.RecvPlace(rank, block) : -1;
    const int64_t moved = recv + draft.contract.InPlaceOffset(rank);
    if (send >= 0) {
      const bool writes = recv >= 0 && moved == send;
      touches->push_back({KeyOf(rank, send), tree.chunk.begin, tree.chunk.end, index, writes});
      if (writes) return;
    }
    if (recv >= 0) touches->push_back({KeyOf(rank, moved), tree.chunk.begin, tree.chunk.end, index, true});
  };
  touch(tree.root, true, true);
  for (const TreeEdge& edge : tree.up) touch(edge.source, true, false);
  for (const TreeEdge& edge : tree.down) touch(edge.target, false, true);
}

}  // namespace

std::vector<int32_t> InPlaceGroups(const Draft& draft) {
  const size_t tree_count = draft.schedule.trees.size();
  if (!draft.schedule.block_units.empty()) {  // v-collectives have no in-place form
    std::vector<int32_t> alone(tree_count);
    std::iota(alone.begin(), alone.end(), 0);
    return alone;
  }
  std::vector<Touch> touches;
  for (size_t i = 0; i < tree_count; ++i) AddTouches(draft, static_cast<int32_t>(i), &touches);
  RadixSort(&touches);
  for (size_t first = 0, last = 0; first < touches.size(); first = last) {
    const auto by_begin = [](const Touch& a, const Touch& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.tree < b.tree;
    };
    while (last < touches.size() && touches[last].key == touches[first].key) ++last;
    const auto begin = touches.begin() + static_cast<int64_t>(first);
    const auto end = touches.begin() + static_cast<int64_t>(last);
    if (!std::is_sorted(begin, end, by_begin)) std::sort(begin, end, by_begin);
  }
  Partition groups(tree_count);
  for (size_t first = 0; first < touches.size();) {
    int64_t end = touches[first].end;
    bool writes = touches[first].writes;
    size_t last = first + 1;
    while (last < touches.size() && touches[last].key == touches[first].key && touches[last].begin < end) {
      end = std::max(end, touches[last].end);
      writes = writes || touches[last].writes;
      ++last;
    }
    for (size_t i = first + 1; writes && i < last; ++i) groups.Join(touches[first].tree, touches[i].tree);
    first = last;
  }
  std::vector<int32_t> group_of_tree(tree_count, -1);
  int32_t count = 0;
  for (size_t i = 0; i < tree_count; ++i) {
    const auto leader = static_cast<size_t>(groups.Find(static_cast<int32_t>(i)));
    MYCEL_CHECK_LE(leader, i);
    group_of_tree[i] = leader == i ? count++ : group_of_tree[leader];
  }
  return group_of_tree;
}

}  // namespace mycel::lower
