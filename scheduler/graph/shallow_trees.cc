#include "scheduler/graph/shallow_trees.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace mycel {
namespace {

/// A tree this deep is taken whatever its multiplicity: root, one node of every group, everybody.
constexpr int32_t kShallow = 2;
/// How much a batch may shrink in order to keep its trees short.
constexpr int64_t kShrinkMax = 4;
constexpr int32_t kDepthMax = std::numeric_limits<int32_t>::max();

}  // namespace

ShallowTrees::ShallowTrees(const CapacityGraph& graph, const std::vector<int32_t>& nodes,
                           const std::vector<int64_t>& root_trees, const std::vector<int32_t>& group_of)
    : nodes_(nodes), local_of_(static_cast<size_t>(graph.node_count()), -1) {
  const size_t n = nodes.size();
  for (size_t i = 0; i < n; ++i) local_of_[static_cast<size_t>(nodes[i])] = static_cast<int32_t>(i);
  std::vector<int32_t> place_of_group;
  for (const int32_t node : nodes) {
    missing_.push_back(root_trees[static_cast<size_t>(node)]);
    const int32_t group = group_of.empty() ? -1 : group_of[static_cast<size_t>(node)];
    group_.push_back(std::max(-1, group));
    if (group >= static_cast<int32_t>(spare_.size())) spare_.resize(static_cast<size_t>(group) + 1, 0);
  }
  first_.push_back(0);
  for (size_t i = 0; i < n; ++i) {
    for (const auto& [target, capacity] : graph.Out(nodes[i])) {
      const int32_t place = local_of_[static_cast<size_t>(target)];
      MYCEL_CHECK(place >= 0);
      edges_.push_back({place, capacity, capacity});
      const int32_t group = group_[static_cast<size_t>(place)];
      if (group >= 0 && group != group_[i]) spare_[static_cast<size_t>(group)] += capacity;
    }
    first_.push_back(static_cast<int64_t>(edges_.size()));
    std::sort(edges_.begin() + first_[i], edges_.end(),
              [](const Edge& a, const Edge& b) { return a.target < b.target; });
  }
  int64_t total = 0;
  std::vector<int64_t> inside(spare_.size(), 0);
  for (size_t i = 0; i < n; ++i) {
    total += missing_[i];
    if (group_[i] >= 0) inside[static_cast<size_t>(group_[i])] += missing_[i];
  }
  for (size_t g = 0; g < spare_.size(); ++g) spare_[g] -= total - inside[g];
  reached_.assign(n, 0);
  depth_.assign(n, 0);
  offered_.assign(n, 0);
  best_.resize(n);
  entered_.assign(spare_.size(), 0);
  spare_used_.assign(spare_.size(), 0);
}

int64_t ShallowTrees::EdgeIndex(size_t source, int32_t target) const {
  const auto begin = edges_.begin() + first_[source];
  const auto end = edges_.begin() + first_[source + 1];
  const auto at = std::lower_bound(begin, end, target, [](const Edge& edge, int32_t t) { return edge.target < t; });
  return at == end || at->target != target ? -1 : at - edges_.begin();
}

int64_t ShallowTrees::Residual(int32_t source, int32_t target) const {
  const int64_t edge = EdgeIndex(Local(source), static_cast<int32_t>(Local(target)));
  return edge < 0 ? 0 : edges_[static_cast<size_t>(edge)].residual;
}

bool ShallowTrees::EntersAgain(int32_t source, int32_t target) const {
  const int32_t group = group_[static_cast<size_t>(target)];
  return group >= 0 && group != group_[static_cast<size_t>(source)] && entered_[static_cast<size_t>(group)] == search_;
}

bool ShallowTrees::HasSpare(int32_t target, int64_t multiplicity) const {
  const auto group = static_cast<size_t>(group_[static_cast<size_t>(target)]);
  return (spare_used_[group] + 1) * multiplicity <= spare_[group];
}

void ShallowTrees::ScanLevel(const std::vector<int32_t>& level, int64_t multiplicity) {
  ++scan_;
  offered_list_.clear();
  for (const int32_t source : level) {
    const auto place = static_cast<size_t>(source);
    for (int64_t e = first_[place]; e < first_[place + 1]; ++e) {
      const Edge& edge = edges_[static_cast<size_t>(e)];
      const auto target = static_cast<size_t>(edge.target);
      if (edge.residual < multiplicity || reached_[target] == search_) continue;
      const Offer offer{source, e, static_cast<double>(edge.residual) / static_cast<double>(edge.capacity)};
      if (EntersAgain(source, edge.target)) {
        if (HasSpare(edge.target, multiplicity)) reluctant_.emplace_back(edge.target, offer);
        continue;
      }
      if (offered_[target] != scan_) {
        offered_[target] = scan_;
        best_[target] = offer;
        offered_list_.push_back(edge.target);
      } else if (offer.slack > best_[target].slack) {
        best_[target] = offer;
      }
    }
  }
}

void ShallowTrees::Attach(int32_t node, const Offer& offer, ArborescenceBatch* batch) {
  const auto place = static_cast<size_t>(node);
  if (EntersAgain(offer.source, node)) ++spare_used_[static_cast<size_t>(group_[place])];
  batch->edges.emplace_back(nodes_[static_cast<size_t>(offer.source)], nodes_[place]);
  reached_[place] = search_;
  depth_[place] = depth_[static_cast<size_t>(offer.source)] + 1;
  if (group_[place] >= 0) entered_[static_cast<size_t>(group_[place])] = search_;
}

std::optional<ArborescenceBatch> ShallowTrees::Grow(int32_t root, int64_t multiplicity, int32_t depth_max) {
  ++search_;
  std::fill(spare_used_.begin(), spare_used_.end(), 0);
  reluctant_.clear();
  ArborescenceBatch batch;
  batch.root = nodes_[static_cast<size_t>(root)];
  batch.multiplicity = multiplicity;
  batch.edges.reserve(nodes_.size() - 1);
  reached_[static_cast<size_t>(root)] = search_;
  depth_[static_cast<size_t>(root)] = 0;
  if (group_[static_cast<size_t>(root)] >= 0)
    entered_[static_cast<size_t>(group_[static_cast<size_t>(root)])] = search_;
  std::vector<int32_t> level = {root};
  std::vector<int32_t> next;
  while (batch.edges.size() + 1 < nodes_.size()) {
    ScanLevel(level, multiplicity);
    next.clear();
    // The edges with most room first: they become the entries of their groups.
    std::stable_sort(offered_list_.begin(), offered_list_.end(), [this](int32_t a, int32_t b) {
      return best_[static_cast<size_t>(a)].slack > best_[static_cast<size_t>(b)].slack;
    });
    for (const int32_t node : offered_list_) {
      const Offer& offer = best_[static_cast<size_t>(node)];
      if (EntersAgain(offer.source, node)) {  // a better entry of the same level came first
        if (HasSpare(node, multiplicity)) reluctant_.emplace_back(node, offer);
        continue;
      }
      Attach(node, offer, &batch);
      next.push_back(node);
    }
    if (next.empty()) {
      // Only with spare: the shallowest way on.
      auto chosen = reluctant_.end();
      for (auto at = reluctant_.begin(); at != reluctant_.end(); ++at) {
        if (reached_[static_cast<size_t>(at->first)] == search_ || !HasSpare(at->first, multiplicity)) continue;
        if (chosen == reluctant_.end() ||
            std::make_pair(depth_[static_cast<size_t>(at->second.source)], -at->second.slack) <
                std::make_pair(depth_[static_cast<size_t>(chosen->second.source)], -chosen->second.slack)) {
          chosen = at;
        }
      }
      if (chosen == reluctant_.end()) return std::nullopt;
      Attach(chosen->first, chosen->second, &batch);
      next.push_back(chosen->first);
    }
    for (const int32_t node : next) {
      if (depth_[static_cast<size_t>(node)] > depth_max) return std::nullopt;
    }
    std::swap(level, next);
  }
  return batch;
}

std::optional<ArborescenceBatch> ShallowTrees::Find(int32_t root) {
  const auto place = static_cast<int32_t>(Local(root));
  const int64_t missing = missing_[static_cast<size_t>(place)];
  MYCEL_CHECK(missing > 0);
  for (int32_t depth_max = kShallow;; ++depth_max) {
    const bool last = depth_max > kShallow + 2;
    for (int64_t m = missing; m >= 1; m /= 2) {
      if (!last && m * kShrinkMax < missing) break;
      std::optional<ArborescenceBatch> batch = Grow(place, m, last ? kDepthMax : depth_max);
      if (batch) return batch;
    }
    if (last) return std::nullopt;
  }
}

void ShallowTrees::Take(const ArborescenceBatch& batch, int64_t times) {
  const int64_t amount = batch.multiplicity * times;
  const int32_t root_group = group_[Local(batch.root)];
  for (const auto& [source, target] : batch.edges) {
    const size_t from = Local(source);
    const auto to = static_cast<int32_t>(Local(target));
    const int64_t edge = EdgeIndex(from, to);
    MYCEL_CHECK(edge >= 0);
    edges_[static_cast<size_t>(edge)].residual -= amount;
    MYCEL_CHECK(edges_[static_cast<size_t>(edge)].residual >= 0);
    const int32_t group = group_[static_cast<size_t>(to)];
    if (group >= 0 && group != group_[from]) spare_[static_cast<size_t>(group)] -= amount;
  }
  // The trees no longer have to enter the groups.
  for (size_t g = 0; g < spare_.size(); ++g) {
    if (static_cast<int32_t>(g) != root_group) spare_[g] += amount;
  }
  missing_[Local(batch.root)] -= amount;
}

}  // namespace mycel
