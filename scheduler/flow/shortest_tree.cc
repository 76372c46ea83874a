#include "scheduler/flow/shortest_tree.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "core/base/check.h"

namespace mycel::flow {
namespace {

constexpr int kNodeBits = 13;
constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
static_assert(kNodeCountMax == 1 << kNodeBits && kLengthMax <= (int64_t{1} << (62 - 2 * kNodeBits)));

}  // namespace

ShortestTree::ShortestTree(const FlowGraph& graph)
    : graph_(graph), distance_(graph.nodes.size()), in_edge_(graph.nodes.size()), below_(graph.nodes.size()) {}

void ShortestTree::Grow(int32_t source, const std::vector<int64_t>& lengths) {
  std::fill(distance_.begin(), distance_.end(), kFar);
  order_.clear();
  heap_.clear();
  distance_[static_cast<size_t>(source)] = 0;
  heap_.push_back(static_cast<uint64_t>(source));
  while (!heap_.empty()) {
    const uint64_t key = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    const auto node = static_cast<size_t>(key & (kNodeCountMax - 1));
    const auto distance = static_cast<int64_t>(key >> kNodeBits);
    if (distance != distance_[node]) continue;
    order_.push_back(static_cast<int32_t>(node));
    for (int32_t e = graph_.first_out[node]; e < graph_.first_out[node + 1]; ++e) {
      const auto target = static_cast<size_t>(graph_.edges[static_cast<size_t>(e)].target);
      const int64_t through = distance + lengths[static_cast<size_t>(e)];
      if (through >= distance_[target]) continue;
      distance_[target] = through;
      in_edge_[target] = e;
      heap_.push_back(static_cast<uint64_t>(through) << kNodeBits | target);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
  }
}

int128 ShortestTree::Cost(int32_t source, const Demand& demand) const {
  int128 cost = 0;
  for (int32_t target = 0; target < graph_.rank_count; ++target) {
    const int64_t amount = demand.Of(source, target);
    if (amount == 0) continue;
    MYCEL_CHECK_LT(distance_[static_cast<size_t>(target)], kFar);
    cost += int128{amount} * distance_[static_cast<size_t>(target)];
  }
  return cost;
}

}  // namespace mycel::flow
