#include "scheduler/graph/max_flow.h"

#include <algorithm>

#include "core/base/check.h"

namespace mycel {

template <typename Capacity>
MaxFlow<Capacity>::MaxFlow(int32_t node_count) {
  MYCEL_CHECK_GE(node_count, 0);
  const size_t count = static_cast<size_t>(node_count);
  first_arc_.assign(count, kNone);
  is_source_.assign(count, false);
  seen_.assign(count, 0);
  level_.assign(count, kNone);
  next_arc_.assign(count, kNone);
}

template <typename Capacity>
int32_t MaxFlow<Capacity>::AddNode() {
  first_arc_.push_back(kNone);
  is_source_.push_back(false);
  seen_.push_back(0);
  level_.push_back(kNone);
  next_arc_.push_back(kNone);
  return node_count() - 1;
}

template <typename Capacity>
void MaxFlow<Capacity>::AddArc(int32_t source, int32_t target, Capacity residual) {
  int32_t& first = first_arc_[static_cast<size_t>(source)];
  arcs_.push_back({target, first, residual});
  first = static_cast<int32_t>(arcs_.size()) - 1;
}

template <typename Capacity>
FlowEdge MaxFlow<Capacity>::AddEdge(int32_t source, int32_t target, Capacity capacity) {
  MYCEL_CHECK(source >= 0 && source < node_count());
  MYCEL_CHECK(target >= 0 && target < node_count());
  MYCEL_CHECK(source != target);
  MYCEL_CHECK(capacity >= 0);
  AddArc(source, target, capacity);
  AddArc(target, source, 0);
  capacities_.push_back(capacity);
  is_touched_.push_back(false);
  return FlowEdge(std::ssize(capacities_) - 1);
}

template <typename Capacity>
void MaxFlow<Capacity>::SetCapacity(FlowEdge edge, Capacity capacity) {
  MYCEL_CHECK(capacity >= 0);
  MYCEL_CHECK(FlowOf(edge) == 0);
  capacities_[edge.index()] = capacity;
  arcs_[2 * edge.index()].residual = capacity;
}

template <typename Capacity>
void MaxFlow<Capacity>::MarkSource(int32_t node) {
  MYCEL_CHECK(touched_.empty());
  is_source_[static_cast<size_t>(node)] = true;
}

template <typename Capacity>
void MaxFlow<Capacity>::UnmarkSource(int32_t node) {
  MYCEL_CHECK(touched_.empty());
  is_source_[static_cast<size_t>(node)] = false;
}

template <typename Capacity>
void MaxFlow<Capacity>::ResetFlow() {
  for (const int32_t edge : touched_) {
    const size_t index = static_cast<size_t>(edge);
    arcs_[2 * index].residual = capacities_[index];
    arcs_[2 * index + 1].residual = 0;
    is_touched_[index] = false;
  }
  touched_.clear();
}

// Layers of nodes by hops to the sink, up to the first layer that can take flow from a marked node. False: none can.
template <typename Capacity>
bool MaxFlow<Capacity>::Search(int32_t sink) {
  if (++search_ == 0) {  // once in 2^32 searches, old stamps would look new
    std::fill(seen_.begin(), seen_.end(), 0);
    search_ = 1;
  }
  const auto add = [this](int32_t node, int32_t level) {
    const size_t index = static_cast<size_t>(node);
    seen_[index] = search_;
    level_[index] = level;
    next_arc_[index] = first_arc_[index];
    queue_.push_back(node);
  };
  queue_.clear();
  add(sink, 0);
  for (size_t head = 0; head < queue_.size(); ++head) {
    const int32_t node = queue_[head];
    const int32_t level = level_[static_cast<size_t>(node)];
    for (int32_t a = first_arc_[static_cast<size_t>(node)]; a != kNone; a = arcs_[static_cast<size_t>(a)].next) {
      if (arcs_[static_cast<size_t>(a ^ 1)].residual == 0) continue;
      const int32_t from = arcs_[static_cast<size_t>(a)].target;
      // Nodes of the next layer may be missing now, but a way to a marked node needs none of them.
      if (is_source_[static_cast<size_t>(from)]) return true;
      if (seen_[static_cast<size_t>(from)] != search_) add(from, level + 1);
    }
  }
  return false;
}

// The next arc into `node` that may lie on a shortest way from a marked node; kNone when there is no more.
template <typename Capacity>
int32_t MaxFlow<Capacity>::Advance(int32_t node) {
  int32_t& a = next_arc_[static_cast<size_t>(node)];
  for (; a != kNone; a = arcs_[static_cast<size_t>(a)].next) {
    if (arcs_[static_cast<size_t>(a ^ 1)].residual == 0) continue;
    const size_t from = static_cast<size_t>(arcs_[static_cast<size_t>(a)].target);
    if (is_source_[from]) break;
    if (seen_[from] == search_ && level_[from] == level_[static_cast<size_t>(node)] + 1) break;
  }
  return a == kNone ? kNone : a ^ 1;
}

// Pushes as much as fits along path_ and cuts the path back to its part before the first full arc, seen from the sink.
template <typename Capacity>
Capacity MaxFlow<Capacity>::Augment(Capacity limit) {
  Capacity amount = limit;
  for (const int32_t a : path_) amount = std::min(amount, arcs_[static_cast<size_t>(a)].residual);
  size_t kept = path_.size();
  for (size_t i = path_.size(); i-- > 0;) {
    const size_t arc = static_cast<size_t>(path_[i]);
    arcs_[arc].residual -= amount;
    arcs_[arc ^ 1].residual += amount;
    if (arcs_[arc].residual == 0) kept = i;
    if (!is_touched_[arc / 2]) {
      is_touched_[arc / 2] = true;
      touched_.push_back(static_cast<int32_t>(arc / 2));
    }
  }
  path_.resize(std::min(kept, path_.size() - 1));  // never stand on the marked node itself
  return amount;
}

// A blocking flow in the layers of the last search.
template <typename Capacity>
Capacity MaxFlow<Capacity>::PushLayered(int32_t sink, Capacity limit) {
  Capacity pushed = 0;
  path_.clear();
  int32_t node = sink;
  while (pushed < limit) {
    const int32_t arc = Advance(node);
    if (arc != kNone) {
      path_.push_back(arc);
      node = arcs_[static_cast<size_t>(arc ^ 1)].target;
      if (!is_source_[static_cast<size_t>(node)]) continue;
      pushed += Augment(limit - pushed);
    } else {
      if (path_.empty()) break;
      level_[static_cast<size_t>(node)] = kNone;
      path_.pop_back();
    }
    node = path_.empty() ? sink : arcs_[static_cast<size_t>(path_.back() ^ 1)].target;
  }
  return pushed;
}

template <typename Capacity>
Capacity MaxFlow<Capacity>::Run(int32_t sink, Capacity limit) {
  MYCEL_CHECK(!IsSource(sink));
  Capacity total = 0;
  while (total < limit && Search(sink)) {
    const Capacity pushed = PushLayered(sink, limit - total);
    MYCEL_CHECK(pushed > 0);
    total += pushed;
  }
  return total;
}

template class MaxFlow<int64_t>;
template class MaxFlow<int128>;

}  // namespace mycel
