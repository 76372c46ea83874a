#include "scheduler/bound/bound.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/bound/partition.h"
#include "scheduler/bound/tree_rates.h"
#include "scheduler/graph/on_topology.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel {
namespace bound {
namespace {

std::vector<NodeId> NodesOfGroup(const Partition& partition, size_t group) {
  std::vector<NodeId> nodes;
  for (size_t node = 0; node < partition.group_of.size(); ++node) {
    if (partition.group_of[node] == static_cast<int32_t>(group)) nodes.emplace_back(static_cast<int64_t>(node));
  }
  return nodes;
}

/// Keeps the tightest of the bounds it is shown. `thing`: what moves, in the plural.
class Tightest {
 public:
  Tightest(const Topology& topology, const ScaledGraph& graph, std::string thing)
      : topology_(topology), graph_(graph), thing_(std::move(thing)) {}

  void Start(Optimum known) { best_ = std::move(known); }

  /// `amount` has to leave (or, if `inwards`, enter) one group over links of `capacity`.
  Status ShowBorder(int128 amount, int64_t capacity, bool inwards, const Partition& partition, size_t group) {
    MYCEL_ASSIGN_OR_RETURN(const bool tighter, Improve(amount, capacity));
    if (!tighter) return OkStatus();
    best_.cut = NodesOfGroup(partition, group);
    best_.proof =
        AmountText() + " must " + (inwards ? "enter " : "leave ") + NodeSetText(topology_, best_.cut) + OverText();
    return OkStatus();
  }

  /// `amount` has to enter (and leave) groups, all together; `capacity`: of the thinner direction.
  Status ShowBorders(int128 amount, const Partition& partition, const Borders& borders) {
    const bool inwards = borders.in_sum <= borders.out_sum;
    MYCEL_ASSIGN_OR_RETURN(const bool tighter, Improve(amount, std::min(borders.in_sum, borders.out_sum)));
    if (!tighter) return OkStatus();
    const std::vector<int64_t>& thin = inwards ? borders.in : borders.out;
    best_.cut = NodesOfGroup(partition, static_cast<size_t>(std::min_element(thin.begin(), thin.end()) - thin.begin()));
    const bool single = partition.groups == topology_.rank_count();
    best_.proof = "counted at every border, " + AmountText() + " must " + (inwards ? "enter" : "leave") + " the " +
                  std::to_string(partition.groups) + (single ? " ranks" : " groups") + " such as " +
                  NodeSetText(topology_, best_.cut) + OverText();
    return OkStatus();
  }

  Optimum Take() { return std::move(best_); }

 private:
  /// Takes over the numbers when they are better than what is known.
  StatusOr<bool> Improve(int128 amount, int64_t capacity) {
    if (amount == 0) return false;
    if (amount > std::numeric_limits<int64_t>::max()) {
      return InvalidArgument("what has to cross topology " + topology_.name() +
                             " passes 2^63 bytes; use smaller byte counts");
    }
    const auto demand = static_cast<int64_t>(amount);
    MYCEL_ASSIGN_OR_RETURN(const Rational inv_x, graph_.NsPerByte(demand, capacity));
    if (inv_x <= best_.lower_bound) return false;
    MYCEL_ASSIGN_OR_RETURN(best_.cut_bandwidth, graph_.Bandwidth(capacity));
    best_.cut_demand = demand;
    best_.inv_x = best_.lower_bound = inv_x;
    best_.kind = BoundKind::kLowerBound;
    return true;
  }

  std::string AmountText() const { return std::to_string(best_.cut_demand) + " " + thing_; }
  std::string OverText() const { return " over " + best_.cut_bandwidth.ToString() + " GB/s: no schedule is faster"; }

  const Topology& topology_;
  const ScaledGraph& graph_;
  std::string thing_;
  Optimum best_;
};

/// The larger of the cut bound and of what groups prove. `in_turn`: the best of reduce-scatter, then allgather.
StatusOr<Optimum> GroupsBound(const Topology& topology, const ScaledGraph& graph, const Optimum& in_turn) {
  Tightest tightest(topology, graph, "shards");
  Optimum cut = in_turn;
  cut.inv_x = cut.lower_bound;
  cut.kind = BoundKind::kLowerBound;
  cut.proof = std::to_string(cut.cut_demand) + " shards must leave " + NodeSetText(topology, cut.cut) + " over " +
              cut.cut_bandwidth.ToString() + " GB/s: no schedule is faster";
  tightest.Start(std::move(cut));
  const int64_t n = topology.rank_count();
  for (const Partition& partition : PartitionsOf(topology)) {
    const int128 amount = int128{2} * n * (partition.groups - 1);
    MYCEL_RETURN_IF_ERROR(tightest.ShowBorders(amount, partition, BordersOf(partition, graph)));
  }
  return tightest.Take();
}

/// What `rates` say, added to a bound that is known without them.
Status AddRates(const Topology& topology, const ScaledGraph& graph, const AllReduceRates& rates, Optimum* optimum) {
  if (!rates.exact && rates.inv_x < optimum->inv_x) {
    optimum->proof +=
        "; whether one comes close is not known: bandwidths so fine or so far apart mislead a linear program in "
        "floating point";
    return OkStatus();
  }
  if (!rates.exact) {
    optimum->proof += "; a linear program over root shares, solved in floating point, reaches about " +
                      std::to_string(rates.inv_x.ToDouble()) + " ns a byte";
    return OkStatus();
  }
  MYCEL_CHECK(rates.inv_x >= optimum->inv_x);
  if (!rates.optimal) {
    optimum->proof += "; trees with alike root shares of a linear program reach " + rates.inv_x.ToString() +
                      " ns a byte, and on a topology of this size better ones are not sought";
    return OkStatus();
  }
  const bool met = rates.inv_x == optimum->inv_x;
  optimum->inv_x = optimum->lower_bound = rates.inv_x;
  optimum->kind = BoundKind::kOptimum;
  if (met) {
    optimum->proof += ", and trees with exactly the root shares of a linear program reach that";
    return OkStatus();
  }
  if (!rates.cut.empty()) {
    optimum->cut = rates.cut;
    optimum->cut_demand = topology.rank_count();
    std::vector<bool> inside(static_cast<size_t>(topology.node_count()), false);
    for (const NodeId node : rates.cut) inside[node.index()] = true;
    int64_t out = 0;
    for (const ScaledGraph::Edge& edge : graph.edges) {
      if (inside[static_cast<size_t>(edge.source)] && !inside[static_cast<size_t>(edge.target)]) out += edge.capacity;
    }
    MYCEL_ASSIGN_OR_RETURN(optimum->cut_bandwidth, graph.Bandwidth(out));
  }
  optimum->proof = "a linear program over root shares with " + std::to_string(rates.cuts) +
                   " cuts, its prices checked in fractions, proves that reducing every byte at a rank and spreading it "
                   "from there takes " +
                   rates.inv_x.ToString() + " ns a byte at least" +
                   (rates.cut.empty() ? "" : " (the dearest cut is " + NodeSetText(topology, rates.cut) + ")") +
                   ", and trees with exactly its root shares reach that";
  return OkStatus();
}

/// The optimum of collectives whose trees run one way. A cut does not see that a switch cannot pass on more than it
/// takes in; where that matters, a linear program over link rates knows better.
StatusOr<Optimum> TreesBound(const Topology& topology, const PlanRequest& request) {
  MYCEL_ASSIGN_OR_RETURN(Optimum optimum, OptimumOf(topology, request.collective, request.root));
  if (optimum.kind != BoundKind::kLowerBound) return optimum;
  const CollectiveInfo& info = InfoOf(request.collective);
  std::vector<int64_t> weights(static_cast<size_t>(topology.rank_count()), info.rooted ? 0 : 1);
  if (info.rooted) weights[request.root.index()] = 1;
  const StatusOr<TreeRates> rates = FindTreeRates(info.reduces ? Reversed(topology) : topology, weights, optimum.inv_x);
  const std::string cut_sentence = optimum.proof.substr(0, optimum.proof.find(", and "));
  const std::string inside = std::string(info.reduces ? "sums" : "copies") + " inside " + UnbalancedText(topology);
  if (!rates.ok()) {
    optimum.proof = cut_sentence + "; whether one comes close without " + inside +
                    " is not known: " + StatusMessage(rates.status());
    return optimum;
  }
  const std::string trees = info.reduces ? "pipelined reduction trees" : "pipelined spanning trees";
  if (rates->inv_x == optimum.inv_x) {
    optimum.kind = BoundKind::kOptimum;
    optimum.proof = cut_sentence + ", and " + trees + " reach that without the surplus of " + UnbalancedText(topology);
    return optimum;
  }
  if (!rates->optimal) {
    optimum.proof = cut_sentence + "; without " + inside + " " + trees +
                    " with alike link rates of a linear program reach " + rates->inv_x.ToString() +
                    " ns a byte, and on a topology of this size better ones are not sought";
    return optimum;
  }
  optimum.kind = BoundKind::kOptimum;
  optimum.inv_x = optimum.lower_bound = rates->inv_x;
  optimum.proof = cut_sentence + ", but that would take " + inside + ": a linear program over link rates with " +
                  std::to_string(rates->cuts) +
                  " cuts, its prices checked in fractions, proves that without them it takes " +
                  rates->inv_x.ToString() + " ns a byte at least, and " + trees + " reach that";
  return optimum;
}

/// What rank i has for rank j: one block, or bytes.
class PairDemand {
 public:
  PairDemand(const Topology& topology, const PlanRequest& request)
      : n_(static_cast<size_t>(topology.rank_count())),
        demand_(request.collective == Collective::kAllToAllV ? &request.demand : nullptr) {}

  /// Amounts from the ranks `senders` to each group; `group_of_rank` says where the receivers are.
  std::vector<int128> From(const std::vector<size_t>& senders, const std::vector<int32_t>& group_of_rank,
                           int32_t groups) const {
    std::vector<int128> amounts(static_cast<size_t>(groups));
    for (const size_t i : senders) {
      for (size_t j = 0; j < n_; ++j) {
        amounts[static_cast<size_t>(group_of_rank[j])] += demand_ == nullptr ? 1 : (*demand_)[i * n_ + j];
      }
    }
    return amounts;
  }

 private:
  size_t n_;
  const std::vector<int64_t>* demand_;
};

Status CheckDemand(const Topology& topology, const PlanRequest& request) {
  const auto n = static_cast<size_t>(topology.rank_count());
  if (request.demand.size() != n * n) {
    return InvalidArgument("alltoallv on " + std::to_string(n) + " ranks needs " + std::to_string(n * n) +
                           " byte counts, got " + std::to_string(request.demand.size()));
  }
  const auto negative = std::find_if(request.demand.begin(), request.demand.end(), [](int64_t d) { return d < 0; });
  if (negative == request.demand.end()) return OkStatus();
  const auto at = static_cast<size_t>(negative - request.demand.begin());
  return InvalidArgument("alltoallv: the demand from rank " + std::to_string(at / n) + " to rank " +
                         std::to_string(at % n) + " is negative");
}

Status Unreached(const Topology& topology, const Partition& partition, size_t source, size_t target) {
  return Impossible("in topology " + topology.name() + " nothing leads from " +
                    NodeSetText(topology, NodesOfGroup(partition, source)) + " to " +
                    NodeSetText(topology, NodesOfGroup(partition, target)) +
                    "; add links between them or let them exchange nothing");
}

/// What one partition proves about pairs: each group's border, and all borders together.
Status ShowPairs(const Topology& topology, const ScaledGraph& graph, const Partition& partition,
                 const PairDemand& demand, Tightest* tightest) {
  const auto k = static_cast<size_t>(partition.groups);
  std::vector<int32_t> group_of_rank;
  std::vector<std::vector<size_t>> ranks_of(k);
  for (const Rank rank : Ids<Rank>(topology.rank_count())) {
    group_of_rank.push_back(partition.group_of[topology.NodeOf(rank).index()]);
    ranks_of[static_cast<size_t>(group_of_rank.back())].push_back(rank.index());
  }
  const Borders borders = BordersOf(partition, graph);
  const GroupHops hops(partition, topology);
  int128 entries = 0;
  std::vector<int128> entering(k);
  for (size_t g = 0; g < k; ++g) {
    const std::vector<int128> amounts = demand.From(ranks_of[g], group_of_rank, partition.groups);
    const std::vector<int32_t> far = hops.From(static_cast<int32_t>(g));
    int128 leaving = 0;
    for (size_t h = 0; h < k; ++h) {
      if (g == h || amounts[h] == 0) continue;
      if (far[h] == GroupHops::kUnreached) return Unreached(topology, partition, g, h);
      entries += amounts[h] * far[h];
      entering[h] += amounts[h];
      leaving += amounts[h];
    }
    MYCEL_RETURN_IF_ERROR(tightest->ShowBorder(leaving, borders.out[g], false, partition, g));
  }
  for (size_t h = 0; h < k; ++h) {
    MYCEL_RETURN_IF_ERROR(tightest->ShowBorder(entering[h], borders.in[h], true, partition, h));
  }
  return tightest->ShowBorders(entries, partition, borders);
}

StatusOr<Optimum> PairsBound(const Topology& topology, const PlanRequest& request) {
  const bool blocks = request.collective == Collective::kAllToAll;
  if (!blocks) MYCEL_RETURN_IF_ERROR(CheckDemand(topology, request));
  MYCEL_ASSIGN_OR_RETURN(const ScaledGraph graph, ScaleCapacities(topology));
  Tightest tightest(topology, graph, blocks ? "blocks" : "bytes");
  Optimum known;
  known.proof = "nothing has to cross any link";
  if (blocks) {
    MYCEL_ASSIGN_OR_RETURN(known, OptimumOf(topology, Collective::kAllToAll));
  }
  tightest.Start(std::move(known));
  const PairDemand demand(topology, request);
  for (const Partition& partition : PartitionsOf(topology)) {
    MYCEL_RETURN_IF_ERROR(ShowPairs(topology, graph, partition, demand, &tightest));
  }
  return tightest.Take();
}

}  // namespace
}  // namespace bound

StatusOr<AllReduceBound> AllReduceBoundOf(const Topology& topology) {
  AllReduceBound answer;
  MYCEL_ASSIGN_OR_RETURN(const Optimum in_turn, AllReduceOptimum(topology));
  answer.optimum = in_turn;
  answer.in_turn = in_turn.inv_x;
  if (in_turn.kind == BoundKind::kOptimum) return answer;
  MYCEL_ASSIGN_OR_RETURN(const ScaledGraph graph, ScaleCapacities(topology));
  answer.balanced = graph.SwitchesBalanced();
  MYCEL_ASSIGN_OR_RETURN(answer.optimum, bound::GroupsBound(topology, graph, in_turn));
  if (answer.optimum.inv_x == in_turn.inv_x && answer.balanced) {
    answer.optimum.kind = BoundKind::kOptimum;
    answer.optimum.proof += ", and reduce-scatter followed by allgather reaches that";
    return answer;
  }
  RateOptions options;
  options.inv_x_bound = answer.optimum.inv_x;
  StatusOr<AllReduceRates> rates = FindAllReduceRates(topology, options);
  if (!rates.ok()) {
    answer.unsolved = StatusMessage(rates.status());
    answer.optimum.proof += "; whether one comes close is not known: " + answer.unsolved;
    return answer;
  }
  MYCEL_RETURN_IF_ERROR(bound::AddRates(topology, graph, *rates, &answer.optimum));
  if (rates->inv_x < in_turn.inv_x || !answer.balanced) answer.rates = *std::move(rates);
  return answer;
}

namespace bound {
namespace {

StatusOr<Optimum> AnyBoundOf(const Topology& topology, const PlanRequest& request) {
  switch (request.collective) {
    case Collective::kAllReduce: {
      MYCEL_ASSIGN_OR_RETURN(AllReduceBound answer, AllReduceBoundOf(topology));
      return std::move(answer.optimum);
    }
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      return PairsBound(topology, request);
    default:
      return TreesBound(topology, request);
  }
}

}  // namespace
}  // namespace bound

StatusOr<Optimum> BoundOf(const Topology& topology, const PlanRequest& request) {
  StatusOr<Optimum> optimum = bound::AnyBoundOf(topology, request);
  if (!optimum.ok()) return OnTopology(optimum.status(), topology, request.collective);
  return optimum;
}

}  // namespace mycel
