// A digraph with integer capacities that change: what edge splitting and tree packing work on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace mycel {

/// At most one edge per ordered pair; an edge of capacity 0 does not exist. Neighbours come in ascending order.
class CapacityGraph {
 public:
  explicit CapacityGraph(int32_t node_count)
      : out_(static_cast<size_t>(node_count)), in_(static_cast<size_t>(node_count)) {}

  int32_t node_count() const { return static_cast<int32_t>(out_.size()); }
  int64_t Capacity(int32_t source, int32_t target) const {
    const auto& edges = out_[static_cast<size_t>(source)];
    const auto at = edges.find(target);
    return at == edges.end() ? 0 : at->second;
  }
  void Set(int32_t source, int32_t target, int64_t capacity) {
    if (capacity == 0) {
      out_[static_cast<size_t>(source)].erase(target);
      in_[static_cast<size_t>(target)].erase(source);
      return;
    }
    out_[static_cast<size_t>(source)][target] = capacity;
    in_[static_cast<size_t>(target)][source] = capacity;
  }
  void Add(int32_t source, int32_t target, int64_t amount) { Set(source, target, Capacity(source, target) + amount); }
  const std::map<int32_t, int64_t>& Out(int32_t node) const { return out_[static_cast<size_t>(node)]; }
  const std::map<int32_t, int64_t>& In(int32_t node) const { return in_[static_cast<size_t>(node)]; }
  int64_t OutSum(int32_t node) const { return Sum(Out(node)); }
  int64_t InSum(int32_t node) const { return Sum(In(node)); }

 private:
  static int64_t Sum(const std::map<int32_t, int64_t>& edges) {
    int64_t sum = 0;
    for (const auto& [node, capacity] : edges) sum += capacity;
    return sum;
  }
  std::vector<std::map<int32_t, int64_t>> out_;
  std::vector<std::map<int32_t, int64_t>> in_;
};

}  // namespace mycel
