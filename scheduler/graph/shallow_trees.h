// Short spanning trees by breadth-first search, taken out of a graph of capacities one batch after another.
//
// A heuristic with no look-ahead but one: groups of nodes. All trees that are rooted outside a group have to enter it,
// so what its in-edges can carry beyond that is its spare; a tree that enters a group again, or enters its root's group
// at all, uses spare. Without that rule breadth-first trees waste the edges that every tree needs (the bottleneck).
// Whoever calls finds out whether the trees that are still missing fit what is left (RootedCut).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/graph/arborescence_packing.h"
#include "scheduler/graph/capacity_graph.h"

namespace mycel {

class ShallowTrees {
 public:
  /// Trees over exactly `nodes`. `group_of` node; negative: in no group.
  ShallowTrees(const CapacityGraph& graph, const std::vector<int32_t>& nodes, const std::vector<int64_t>& root_trees,
               const std::vector<int32_t>& group_of);

  /// Trees that `root` still misses.
  int64_t Missing(int32_t root) const { return missing_[Local(root)]; }
  /// A batch of short trees from `root`, of as many as are missing or fewer when that keeps them short; nothing when
  /// the search is stuck. It is not taken yet.
  std::optional<ArborescenceBatch> Find(int32_t root);
  /// Uses the batch's capacity; `times` -1 gives it back.
  void Take(const ArborescenceBatch& batch, int64_t times = 1);
  int64_t Residual(int32_t source, int32_t target) const;

 private:
  struct Edge {
    int32_t target;
    int64_t capacity;
    int64_t residual;
  };
  /// An edge that a node may be attached by.
  struct Offer {
    int32_t source = -1;
    int64_t edge = -1;
    double slack = 0;  // share of its capacity that is free
  };

  size_t Local(int32_t node) const { return static_cast<size_t>(local_of_[static_cast<size_t>(node)]); }
  int64_t EdgeIndex(size_t source, int32_t target) const;
  std::optional<ArborescenceBatch> Grow(int32_t root, int64_t multiplicity, int32_t depth_max);
  void ScanLevel(const std::vector<int32_t>& level, int64_t multiplicity);
  void Attach(int32_t node, const Offer& offer, ArborescenceBatch* batch);
  /// How many entries beyond the free first one `source` -> `target` makes.
  bool EntersAgain(int32_t source, int32_t target) const;
  bool HasSpare(int32_t target, int64_t multiplicity) const;

  const std::vector<int32_t>& nodes_;
  std::vector<int32_t> local_of_;  // node -> place in nodes_
  std::vector<int64_t> first_;     // of each place: its edges in edges_, by target
  std::vector<Edge> edges_;
  std::vector<int64_t> missing_;
  std::vector<int32_t> group_;  // of each place, -1: none
  std::vector<int64_t> spare_;  // of each group

  // The tree that grows.
  uint32_t search_ = 0;
  std::vector<uint32_t> reached_;  // == search_: in the tree
  std::vector<int32_t> depth_;
  std::vector<uint32_t> entered_;                     // by group, == search_: holds a node of the tree
  std::vector<int64_t> spare_used_;                   // by group, entries of this tree
  std::vector<uint32_t> offered_;                     // == scan_: best_ is set
  std::vector<Offer> best_;                           // by place
  std::vector<int32_t> offered_list_;                 // places
  std::vector<std::pair<int32_t, Offer>> reluctant_;  // would use spare
  uint32_t scan_ = 0;
};

}  // namespace mycel
