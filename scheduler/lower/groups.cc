// Which trees touch the same bytes of a rank when it runs in place (recv over send)?
//
// Every (tree, rank) that reads the send buffer or writes the recv buffer is an interval of units at a place, counted
// in blocks from the start of the send buffer; Contract::InPlaceOffset moves recv places there. Overlapping intervals
// with a writer among them join their trees.
#include <algorithm>
#include <numeric>

#include "core/base/check.h"
#include "scheduler/lower/draft.h"

namespace mycel::lower {
namespace {

struct Touch {
  int32_t rank;
  int64_t place;
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

void AddTouches(const Draft& draft, int32_t index, std::vector<Touch>* touches) {
  const Tree& tree = draft.schedule.trees[static_cast<size_t>(index)];
  const int32_t block = tree.chunk.block;
  const auto touch = [&](Rank rank, bool may_read, bool may_write) {
    const int32_t send = may_read ? draft.contract.SendPlace(rank, block) : -1;
    const int32_t recv = may_write ? draft.contract.RecvPlace(rank, block) : -1;
    const int64_t moved = recv + draft.contract.InPlaceOffset(rank);
    if (send >= 0) {
      const bool writes = recv >= 0 && moved == send;
      touches->push_back({rank.value(), send, tree.chunk.begin, tree.chunk.end, index, writes});
      if (writes) return;
    }
    if (recv >= 0) touches->push_back({rank.value(), moved, tree.chunk.begin, tree.chunk.end, index, true});
  };
  touch(tree.root, true, true);
  for (const TreeEdge& edge : tree.up) touch(edge.source, true, false);
  for (const TreeEdge& edge : tree.down) touch(edge.target, false, true);
}

}  // namespace

std::vector<int32_t> InPlaceGroups(const Draft& draft) {
  const size_t tree_count = draft.schedule.trees.size();
  std::vector<Touch> touches;
  for (size_t i = 0; i < tree_count; ++i) AddTouches(draft, static_cast<int32_t>(i), &touches);
  std::sort(touches.begin(), touches.end(), [](const Touch& a, const Touch& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.place != b.place) return a.place < b.place;
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.tree < b.tree;
  });
  Partition groups(tree_count);
  for (size_t first = 0; first < touches.size();) {
    int64_t end = touches[first].end;
    bool writes = touches[first].writes;
    size_t last = first + 1;
    while (last < touches.size() && touches[last].rank == touches[first].rank &&
           touches[last].place == touches[first].place && touches[last].begin < end) {
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
