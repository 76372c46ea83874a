#include "scheduler/graph/throughput_bound.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "scheduler/graph/alltoall_bound.h"
#include "scheduler/graph/bottleneck.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel {
namespace {

std::vector<NodeId> Complement(const Topology& topology, const std::vector<NodeId>& nodes) {
  std::vector<NodeId> rest;
  size_t next = 0;
  for (const NodeId node : Ids<NodeId>(topology.node_count())) {
    if (next < nodes.size() && nodes[next] == node) {
      ++next;
    } else {
      rest.push_back(node);
    }
  }
  return rest;
}

// What an optimum is about, for its sentences.
struct Question {
  std::string_view unit;    // "shard"
  std::string_view units;   // "shards"
  std::string_view answer;  // "pipelined spanning trees"
  bool needs_balance;       // whether that answer asks for balanced switches
  bool mirrored = false;    // asked on the reversed topology: data flow against the links of the one at hand
};

std::string RankNames(const Topology& topology, const std::vector<NodeId>& nodes) {
  std::vector<NodeId> ranks;
  for (const NodeId node : nodes) {
    if (topology.node(node).type == NodeType::kRank) ranks.push_back(node);
  }
  return NodeSetText(topology, ranks);
}

// `cut`: the nodes that the data has to leave. Names the smaller side.
std::string CutSentence(const Topology& topology, const Optimum& optimum, const Question& question) {
  const std::vector<NodeId> outside = Complement(topology, optimum.cut);
  const bool inwards = outside.size() < optimum.cut.size();
  return std::to_string(optimum.cut_demand) + " " +
         std::string(optimum.cut_demand == 1 ? question.unit : question.units) + " must " +
         (inwards ? "enter " : "leave ") + NodeSetText(topology, inwards ? outside : optimum.cut) + " over " +
         optimum.cut_bandwidth.ToString() + " GB/s: no schedule needs less than " + optimum.lower_bound.ToString() +
         " ns a byte";
}

Status CutOff(const Topology& topology, const std::vector<NodeId>& cut) {
  return Impossible("in topology " + topology.name() + " nothing leads from ranks " + RankNames(topology, cut) +
                    " to ranks " + RankNames(topology, Complement(topology, cut)) + "; add a link between them");
}

// `asked` is the topology whose bottleneck is sought, `topology` the one to speak about: the same, or its reverse.
StatusOr<Optimum> Solve(const Topology& asked, const Topology& topology, const std::vector<int64_t>& rank_weights,
                        const std::vector<Rank>& sinks, const Question& question) {
  MYCEL_ASSIGN_OR_RETURN(const ScaledGraph graph, ScaleCapacities(asked));
  std::vector<int64_t> weights(static_cast<size_t>(graph.node_count));
  for (const Rank rank : Ids<Rank>(asked.rank_count())) {
    weights[asked.NodeOf(rank).index()] = rank_weights[rank.index()];
  }
  std::vector<int32_t> sink_nodes;
  for (const Rank rank : sinks) sink_nodes.push_back(asked.NodeOf(rank).value());
  const Bottleneck bottleneck = FindBottleneck(graph, weights, sink_nodes);

  Optimum optimum;
  if (bottleneck.weight == 0) {
    optimum.kind = BoundKind::kOptimum;
    optimum.proof = "nothing has to cross any link";
    return optimum;
  }
  for (const int32_t node : bottleneck.nodes) optimum.cut.emplace_back(node);
  // Links that leave S on the reversed topology enter it on this one, so data leave the other nodes.
  if (question.mirrored) optimum.cut = Complement(topology, optimum.cut);
  if (bottleneck.capacity == 0) return CutOff(topology, optimum.cut);
  optimum.cut_demand = bottleneck.weight;
  MYCEL_ASSIGN_OR_RETURN(optimum.cut_bandwidth, graph.Bandwidth(bottleneck.capacity));
  MYCEL_ASSIGN_OR_RETURN(optimum.inv_x, graph.NsPerByte(bottleneck.weight, bottleneck.capacity));
  optimum.lower_bound = optimum.inv_x;
  const bool reached = !question.needs_balance || graph.SwitchesBalanced();
  optimum.kind = reached ? BoundKind::kOptimum : BoundKind::kLowerBound;
  optimum.proof = CutSentence(topology, optimum, question) + ", and " + std::string(question.answer) +
                  (reached ? " reach that" : " may not reach that, since a switch has unequal ingress and egress");
  return optimum;
}

std::vector<Rank> AllRanks(const Topology& topology) {
  std::vector<Rank> ranks;
  for (const Rank rank : Ids<Rank>(topology.rank_count())) ranks.push_back(rank);
  return ranks;
}

std::vector<int64_t> Ones(const Topology& topology) {
  return std::vector<int64_t>(static_cast<size_t>(topology.rank_count()), 1);
}

Status CheckRoot(const Topology& topology, Rank root) {
  if (root.valid() && root.value() < topology.rank_count()) return OkStatus();
  return InvalidArgument("root " + std::to_string(root.value()) + " is not a rank of topology " + topology.name() +
                         "; give one of 0.." + std::to_string(topology.rank_count() - 1));
}

constexpr Question kAllGather{"shard", "shards", "pipelined spanning trees", true};
constexpr Question kReduceScatter{"reduced shard", "reduced shards", "pipelined reduction trees", true, true};
constexpr Question kBroadcast{"message", "messages", "pipelined broadcast trees", true};
constexpr Question kReduce{"reduced message", "reduced messages", "pipelined reduction trees", true, true};
constexpr Question kGather{"shard", "shards", "flows along paths", false};
constexpr Question kScatter{"shard", "shards", "flows along paths", false, true};

StatusOr<Optimum> SolveBroadcast(const Topology& asked, const Topology& topology, Rank root, const Question& question) {
  MYCEL_RETURN_IF_ERROR(CheckRoot(topology, root));
  std::vector<int64_t> weights(static_cast<size_t>(topology.rank_count()));
  weights[root.index()] = 1;
  return Solve(asked, topology, weights, AllRanks(topology), question);
}

StatusOr<Optimum> SolveGather(const Topology& asked, const Topology& topology, Rank root, const Question& question) {
  MYCEL_RETURN_IF_ERROR(CheckRoot(topology, root));
  std::vector<int64_t> weights = Ones(topology);
  weights[root.index()] = 0;
  return Solve(asked, topology, weights, {root}, question);
}

}  // namespace

StatusOr<Optimum> AllGatherOptimum(const Topology& topology) {
  return Solve(topology, topology, Ones(topology), AllRanks(topology), kAllGather);
}

StatusOr<Optimum> WeightedAllGatherOptimum(const Topology& topology, const std::vector<int64_t>& weights) {
  if (std::ssize(weights) != topology.rank_count()) {
    return InvalidArgument(std::to_string(weights.size()) + " weights for " + std::to_string(topology.rank_count()) +
                           " ranks; give one for each");
  }
  int64_t sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] < 0) {
      return InvalidArgument("rank " + std::to_string(i) + " has the weight " + std::to_string(weights[i]) +
                             "; give 0 or more");
    }
    if (weights[i] > kScaledSumMax - sum) return InvalidArgument("the weights exceed 2^62 together; give smaller ones");
    sum += weights[i];
  }
  return Solve(topology, topology, weights, AllRanks(topology), kAllGather);
}

StatusOr<Optimum> ReduceScatterOptimum(const Topology& topology) {
  return Solve(Reversed(topology), topology, Ones(topology), AllRanks(topology), kReduceScatter);
}

StatusOr<Optimum> BroadcastOptimum(const Topology& topology, Rank root) {
  return SolveBroadcast(topology, topology, root, kBroadcast);
}

StatusOr<Optimum> ReduceOptimum(const Topology& topology, Rank root) {
  return SolveBroadcast(Reversed(topology), topology, root, kReduce);
}

StatusOr<Optimum> GatherOptimum(const Topology& topology, Rank root) {
  return SolveGather(topology, topology, root, kGather);
}

StatusOr<Optimum> ScatterOptimum(const Topology& topology, Rank root) {
  return SolveGather(Reversed(topology), topology, root, kScatter);
}

// Every cut that splits the ranks must carry the whole reduced vector (n shards) in each direction. The narrowest such
// cut separates rank 0 from some rank, one way or the other, so the bounds of broadcast and reduce at rank 0 hold it.
StatusOr<Optimum> AllReduceOptimum(const Topology& topology) {
  MYCEL_ASSIGN_OR_RETURN(const Optimum scatter, ReduceScatterOptimum(topology));
  MYCEL_ASSIGN_OR_RETURN(const Optimum gather, AllGatherOptimum(topology));
  MYCEL_ASSIGN_OR_RETURN(const Optimum out, BroadcastOptimum(topology, Rank(0)));
  MYCEL_ASSIGN_OR_RETURN(const Optimum in, ReduceOptimum(topology, Rank(0)));
  const Optimum& narrowest = out.inv_x >= in.inv_x ? out : in;
  if (narrowest.cut.empty()) return narrowest;  // one rank

  Optimum optimum;
  optimum.cut = narrowest.cut;
  optimum.cut_demand = topology.rank_count();
  optimum.cut_bandwidth = narrowest.cut_bandwidth;
  MYCEL_ASSIGN_OR_RETURN(optimum.inv_x, Rational::TryAdd(scatter.inv_x, gather.inv_x));
  MYCEL_ASSIGN_OR_RETURN(optimum.lower_bound, Rational::TryMultiply(narrowest.inv_x, Rational(optimum.cut_demand)));
  const bool reached = scatter.kind == BoundKind::kOptimum && gather.kind == BoundKind::kOptimum;
  const bool tight = optimum.lower_bound == optimum.inv_x;
  optimum.kind = !tight ? BoundKind::kBestOfMethod : reached ? BoundKind::kOptimum : BoundKind::kLowerBound;
  optimum.proof = "reduce-scatter (" + scatter.inv_x.ToString() + ") and then allgather (" + gather.inv_x.ToString() +
                  ") take " + optimum.inv_x.ToString() + " ns a byte at their best; " +
                  CutSentence(topology, optimum, kReduceScatter) +
                  (tight ? ", so this is the optimum" : ", and schedules that overlap the two may lie between");
  if (!reached) optimum.proof += " (a switch has unequal ingress and egress, which may keep trees from it)";
  return optimum;
}

StatusOr<Optimum> OptimumOf(const Topology& topology, Collective collective, Rank root) {
  switch (collective) {
    case Collective::kAllGather:
      return AllGatherOptimum(topology);
    case Collective::kReduceScatter:
      return ReduceScatterOptimum(topology);
    case Collective::kAllReduce:
      return AllReduceOptimum(topology);
    case Collective::kBroadcast:
      return BroadcastOptimum(topology, root);
    case Collective::kReduce:
      return ReduceOptimum(topology, root);
    case Collective::kAllToAll:
      return AllToAllBound(topology);
    case Collective::kGather:
      return GatherOptimum(topology, root);
    case Collective::kScatter:
      return ScatterOptimum(topology, root);
    case Collective::kAllToAllV:
      return Impossible("the bound of alltoallv depends on its demand matrix; ask its planner, or for alltoall");
  }
  return InternalError("collective " + std::to_string(static_cast<int>(collective)) + " has no bound");
}

double AlgorithmBandwidthGBps(Collective collective, int32_t rank_count, const Rational& inv_x) {
  if (inv_x == Rational(0)) return std::numeric_limits<double>::infinity();
  const bool whole_message = collective == Collective::kBroadcast || collective == Collective::kReduce;
  const double bytes = whole_message ? 1 : rank_count;
  return bytes * static_cast<double>(inv_x.denominator()) / static_cast<double>(inv_x.numerator());
}

std::string NodeSetText(const Topology& topology, const std::vector<NodeId>& nodes) {
  constexpr size_t kNamed = 8;
  std::string text = "{";
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes.size() > kNamed && i == kNamed - 2) {
      text += ", ...";
      i = nodes.size() - 1;
    }
    text += (i == 0 ? "" : ", ") + topology.node(nodes[i]).id;
  }
  text += "}";
  if (nodes.size() > kNamed) text += " (" + std::to_string(nodes.size()) + " nodes)";
  return text;
}

}  // namespace mycel
