// Three gears, fastest first.
//
//  1. Short trees by breadth-first search (shallow_trees.h) without a question; when all of them fit, that is the
//  proof.
//  2. When the search is stuck: back to the last tree after which the missing ones still fit (bisection), and from
//  there
//     on one question after every batch of short trees (RootedCut), which may shrink it.
//  3. Where no short tree may be taken: one edge at a time. An edge may be added to a batch as long as the other,
//     unfinished batches can still be completed: for every set S of nodes the capacity entering S must cover the
//     batches that have no node in S yet. One maximum flow from the edge's tail to its head, with every other batch as
//     an extra source of its multiplicity at the nodes it has reached, tells how many of the batch's trees may take the
//     edge (Frank; Berczi and Frank). This always succeeds.
#include "scheduler/graph/arborescence_packing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "core/base/check.h"
#include "scheduler/graph/max_flow.h"
#include "scheduler/graph/rooted_cut.h"
#include "scheduler/graph/shallow_trees.h"

namespace mycel {
namespace {

/// A batch that is being grown, or waits to be.
struct Growing {
  ArborescenceBatch batch;
  std::vector<bool> reached;
  std::vector<int32_t> queue;  // reached nodes in order of depth
  size_t next = 0;             // node of `queue` whose edges are tried next
  int32_t flow_node = -1;      // while it waits: its node in the flow graph
  FlowEdge supply;             // hub -> flow_node
};

/// The third gear.
class ExactPacker {
 public:
  ExactPacker(const CapacityGraph& graph, const std::vector<int32_t>& nodes, const std::vector<int64_t>& root_trees)
      : graph_(graph), nodes_(nodes), flow_(graph.node_count() + 1), hub_(graph.node_count()) {
    for (int32_t node : nodes_) {
      for (const auto& [target, capacity] : graph_.Out(node)) {
        flow_edges_[{node, target}] = flow_.AddEdge(node, target, capacity);
        unbounded_ += capacity;
      }
    }
    flow_.MarkSource(hub_);
    for (int32_t node : nodes_) {
      const int64_t trees = root_trees[static_cast<size_t>(node)];
      if (trees == 0) continue;
      root_supply_.push_back({node, flow_.AddEdge(hub_, node, trees), trees});
      waiting_ += trees;
      unbounded_ += trees;
    }
  }

  /// All trees of one root.
  StatusOr<std::vector<ArborescenceBatch>> Complete(int32_t root) {
    const auto supply = std::find_if(root_supply_.begin(), root_supply_.end(),
                                     [root](const RootSupply& candidate) { return candidate.node == root; });
    MYCEL_CHECK(supply != root_supply_.end());
    // The root's own trees leave the pool while they grow.
    flow_.SetCapacity(supply->edge, 0);
    waiting_ -= supply->trees;
    stack_.push_back(Fresh(root, supply->trees));
    // Remainders are finished first: few batches are ever half grown.
    while (!stack_.empty()) {
      Growing growing = std::move(stack_.back());
      stack_.pop_back();
      Withdraw(&growing);
      MYCEL_RETURN_IF_ERROR(Grow(&growing));
      done_.push_back(std::move(growing.batch));
    }
    return std::move(done_);
  }

 private:
  struct RootSupply {
    int32_t node;
    FlowEdge edge;
    int64_t trees;
  };

  Growing Fresh(int32_t root, int64_t trees) const {
    Growing growing;
    growing.batch.root = root;
    growing.batch.multiplicity = trees;
    growing.reached.assign(static_cast<size_t>(graph_.node_count()), false);
    growing.reached[static_cast<size_t>(root)] = true;
    growing.queue.push_back(root);
    return growing;
  }

  /// Makes a half-grown batch a source for the questions about others.
  void Deposit(Growing* growing) {
    growing->flow_node = flow_.AddNode();
    growing->supply = flow_.AddEdge(hub_, growing->flow_node, growing->batch.multiplicity);
    for (int32_t node : growing->queue) flow_.AddEdge(growing->flow_node, node, unbounded_);
    waiting_ += growing->batch.multiplicity;
  }

  void Withdraw(Growing* growing) {
    if (growing->flow_node < 0) return;
    flow_.SetCapacity(growing->supply, 0);
    waiting_ -= growing->batch.multiplicity;
    growing->flow_node = -1;
  }

  /// How many of the batch's trees may take x -> y.
  int64_t Allowed(int32_t x, int32_t y, int64_t multiplicity) {
    const int64_t wanted = std::min(graph_.Capacity(x, y), multiplicity);
    if (wanted == 0) return 0;
    flow_.MarkSource(x);
    const int64_t flow = flow_.Run(y, waiting_ + wanted);
    flow_.ResetFlow();
    flow_.UnmarkSource(x);
    return std::max<int64_t>(0, flow - waiting_);
  }

  Status Grow(Growing* growing) {
    ArborescenceBatch& batch = growing->batch;
    while (batch.edges.size() + 1 < nodes_.size()) {
      if (growing->next == growing->queue.size()) {
        return InternalError("tree packing is stuck at root node " + std::to_string(batch.root) + " with " +
                             std::to_string(batch.edges.size()) + " of " + std::to_string(nodes_.size() - 1) +
                             " edges");
      }
      const int32_t x = growing->queue[growing->next];
      // A refused edge stays refused while this batch grows, so one pass over x's edges is enough.
      const std::map<int32_t, int64_t> targets = graph_.Out(x);
      for (const auto& [y, capacity] : targets) {
        if (growing->reached[static_cast<size_t>(y)]) continue;
        const int64_t allowed = Allowed(x, y, batch.multiplicity);
        if (allowed > 0) Attach(growing, x, y, allowed);
      }
      ++growing->next;
    }
    return OkStatus();
  }

  void Attach(Growing* growing, int32_t x, int32_t y, int64_t allowed) {
    ArborescenceBatch& batch = growing->batch;
    if (allowed < batch.multiplicity) {
      Growing rest = *growing;
      rest.batch.multiplicity -= allowed;
      Deposit(&rest);
      stack_.push_back(std::move(rest));
      batch.multiplicity = allowed;
    }
    batch.edges.emplace_back(x, y);
    growing->reached[static_cast<size_t>(y)] = true;
    growing->queue.push_back(y);
    graph_.Add(x, y, -batch.multiplicity);
    flow_.SetCapacity(flow_edges_.at({x, y}), graph_.Capacity(x, y));
  }

  CapacityGraph graph_;  // what is left
  const std::vector<int32_t>& nodes_;
  MaxFlow<int64_t> flow_;
  const int32_t hub_;  // one more source: feeds every waiting batch
  std::map<std::pair<int32_t, int32_t>, FlowEdge> flow_edges_;
  std::vector<RootSupply> root_supply_;
  std::vector<Growing> stack_;
  std::vector<ArborescenceBatch> done_;
  int64_t waiting_ = 0;    // trees of all batches but the one that grows
  int64_t unbounded_ = 1;  // more than any flow
};

class Packing {
 public:
  Packing(const CapacityGraph& graph, const std::vector<int32_t>& nodes, const std::vector<int64_t>& root_trees,
          const std::vector<int32_t>& group_of)
      : graph_(graph), nodes_(nodes), root_trees_(root_trees), shallow_(graph, nodes, root_trees, group_of) {}

  StatusOr<std::vector<ArborescenceBatch>> Run() {
    if (PackUnasked()) return std::move(batches_);
    BackToFeasible();
    MYCEL_RETURN_IF_ERROR(PackAsking());
    return std::move(batches_);
  }

 private:
  /// First gear. False when stuck.
  bool PackUnasked() {
    for (const int32_t root : nodes_) {
      while (shallow_.Missing(root) > 0) {
        std::optional<ArborescenceBatch> batch = shallow_.Find(root);
        if (!batch) return false;
        shallow_.Take(*batch);
        batches_.push_back(*std::move(batch));
      }
    }
    return true;
  }

  /// What the first `count` batches leave.
  RootedCut CutAfter(size_t count) const {
    CapacityGraph left = graph_;
    std::vector<int64_t> missing = root_trees_;
    for (size_t i = 0; i < count; ++i) {
      for (const auto& [source, target] : batches_[i].edges) left.Add(source, target, -batches_[i].multiplicity);
      missing[static_cast<size_t>(batches_[i].root)] -= batches_[i].multiplicity;
    }
    return RootedCut(left, missing, nodes_);
  }

  /// Drops the batches from the first on that leaves too little for the missing trees.
  void BackToFeasible() {
    size_t good = 0;
    size_t bad = batches_.size() + 1;
    while (good + 1 < bad) {
      const size_t middle = (good + bad) / 2;
      (CutAfter(middle).Feasible() ? good : bad) = middle;
    }
    for (; batches_.size() > good; batches_.pop_back()) shallow_.Take(batches_.back(), -1);
  }

  /// Second gear, and the third where it fails.
  Status PackAsking() {
    RootedCut cut = CutAfter(batches_.size());
    for (const int32_t root : nodes_) {
      while (shallow_.Missing(root) > 0) {
        std::optional<ArborescenceBatch> batch = shallow_.Find(root);
        if (batch) batch->multiplicity = Allowed(*batch, &cut);
        if (batch && batch->multiplicity > 0) {
          shallow_.Take(*batch);
          Mirror(*batch, &cut);
          batches_.push_back(*std::move(batch));
          continue;
        }
        MYCEL_RETURN_IF_ERROR(CompleteExactly(root, &cut));
      }
    }
    return OkStatus();
  }

  /// How many trees of the batch leave enough for the others. One tree less leaves more, so bisection finds it.
  int64_t Allowed(const ArborescenceBatch& batch, RootedCut* cut) {
    ArborescenceBatch tried = batch;
    int64_t good = 0;
    int64_t bad = batch.multiplicity + 1;
    while (good + 1 < bad) {
      tried.multiplicity = bad == batch.multiplicity + 1 && good == 0 ? batch.multiplicity : (good + bad) / 2;
      shallow_.Take(tried);
      Mirror(tried, cut);
      (cut->Feasible() ? good : bad) = tried.multiplicity;
      shallow_.Take(tried, -1);
      Mirror(tried, cut);
    }
    return good;
  }

  void Mirror(const ArborescenceBatch& batch, RootedCut* cut) const {
    for (const auto& [source, target] : batch.edges) cut->Set(source, target, shallow_.Residual(source, target));
    cut->SetRoot(batch.root, shallow_.Missing(batch.root));
  }

  Status CompleteExactly(int32_t root, RootedCut* cut) {
    CapacityGraph left(graph_.node_count());
    std::vector<int64_t> missing(root_trees_.size(), 0);
    for (const int32_t node : nodes_) {
      missing[static_cast<size_t>(node)] = shallow_.Missing(node);
      for (const auto& [target, capacity] : graph_.Out(node)) left.Set(node, target, shallow_.Residual(node, target));
    }
    MYCEL_ASSIGN_OR_RETURN(std::vector<ArborescenceBatch> exact, ExactPacker(left, nodes_, missing).Complete(root));
    for (ArborescenceBatch& batch : exact) {
      shallow_.Take(batch);
      Mirror(batch, cut);
      batches_.push_back(std::move(batch));
    }
    return OkStatus();
  }

  const CapacityGraph& graph_;
  const std::vector<int32_t>& nodes_;
  const std::vector<int64_t>& root_trees_;
  ShallowTrees shallow_;
  std::vector<ArborescenceBatch> batches_;
};

}  // namespace

StatusOr<std::vector<ArborescenceBatch>> PackArborescences(const CapacityGraph& graph,
                                                           const std::vector<int32_t>& nodes,
                                                           const std::vector<int64_t>& root_trees,
                                                           const std::vector<int32_t>& group_of) {
  return Packing(graph, nodes, root_trees, group_of).Run();
}

}  // namespace mycel
