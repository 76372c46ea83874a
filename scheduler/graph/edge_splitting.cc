#include "scheduler/graph/edge_splitting.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "scheduler/graph/rooted_cut.h"
#include "scheduler/graph/transit.h"

namespace mycel {
namespace {

std::vector<int32_t> Keys(const std::map<int32_t, int64_t>& edges) {
  std::vector<int32_t> keys;
  keys.reserve(edges.size());
  for (const auto& [node, capacity] : edges) keys.push_back(node);
  return keys;
}

/// Takes `amount` units off u -> w -> t and, unless that is a way there and back, puts them on u -> t.
void Bypass(const Transit& transit, int32_t w, CapacityGraph* graph) {
  const auto& [u, t, amount] = transit;
  graph->Add(u, w, -amount);
  graph->Add(w, t, -amount);
  if (u != t) graph->Add(u, t, amount);
}

/// Empties every switch by its fair transit, without asking whether the trees still fit. The transits by switch.
std::vector<std::vector<Transit>> SplitFairly(const std::vector<int32_t>& switches,
                                              const std::vector<int32_t>& group_of, CapacityGraph* graph) {
  std::vector<std::vector<Transit>> transits;
  for (const int32_t w : switches) {
    transits.push_back(FairTransit(*graph, w, group_of));
    for (const Transit& transit : transits.back()) Bypass(transit, w, graph);
  }
  return transits;
}

/// Splits pairs at one switch as far as the trees allow, keeping graph, cut oracle and routes in step.
class Splitter {
 public:
  Splitter(const std::vector<int32_t>& group_of, CapacityGraph* graph, RootedCut* cut, RouteTable* routes)
      : group_of_(group_of), graph_(*graph), cut_(*cut), routes_(*routes) {}

  /// The fair transit as far as it goes, the rest greedily.
  Status Empty(int32_t w) {
    const std::vector<Transit> fair = FairTransit(graph_, w, group_of_);
    for (const auto& [u, t, amount] : fair) {
      if (u != t) SplitUpTo(u, w, t, amount);
    }
    for (const int32_t u : Keys(graph_.In(w))) {
      for (const int32_t t : Keys(graph_.Out(w))) SplitUpTo(u, w, t, graph_.Capacity(u, w));
    }
    if (graph_.In(w).empty() && graph_.Out(w).empty()) return OkStatus();
    return InternalError("edge splitting left capacity at switch node " + std::to_string(w));
  }

 private:
  void Shift(int32_t u, int32_t w, int32_t t, int64_t amount) {
    Bypass({u, t, amount}, w, &graph_);
    cut_.Set(u, w, graph_.Capacity(u, w));
    cut_.Set(w, t, graph_.Capacity(w, t));
    if (u != t) cut_.Set(u, t, graph_.Capacity(u, t));
  }

  /// Splits as much of `wanted` as the trees allow. Splitting M lowers the cuts that it lowers at all by exactly M, so
  /// one look at the result tells how much was too much.
  void SplitUpTo(int32_t u, int32_t w, int32_t t, int64_t wanted) {
    const int64_t amount = std::min({wanted, graph_.Capacity(u, w), graph_.Capacity(w, t)});
    if (amount <= 0) return;
    Shift(u, w, t, amount);
    const int64_t too_much = cut_.total() - cut_.MinFlow(cut_.total() - amount, t, u);
    const int64_t kept = std::max<int64_t>(0, amount - too_much);
    if (kept < amount) Shift(u, w, t, kept - amount);
    if (kept > 0 && u != t) routes_.Add(u, t, w, kept);
  }

  const std::vector<int32_t>& group_of_;
  CapacityGraph& graph_;
  RootedCut& cut_;
  RouteTable& routes_;
};

/// Zips two lists of pieces that carry the same amount: paths joined at their common node.
std::vector<RouteTable::Piece> Join(const std::vector<RouteTable::Piece>& heads,
                                    const std::vector<RouteTable::Piece>& tails) {
  std::vector<RouteTable::Piece> joined;
  size_t h = 0;
  size_t t = 0;
  int64_t head_left = heads.empty() ? 0 : heads[0].amount;
  int64_t tail_left = tails.empty() ? 0 : tails[0].amount;
  while (h < heads.size() && t < tails.size()) {
    const int64_t amount = std::min(head_left, tail_left);
    RouteTable::Piece piece{heads[h].path, amount};
    piece.path.insert(piece.path.end(), tails[t].path.begin() + 1, tails[t].path.end());
    joined.push_back(std::move(piece));
    head_left -= amount;
    tail_left -= amount;
    if (head_left == 0 && ++h < heads.size()) head_left = heads[h].amount;
    if (tail_left == 0 && ++t < tails.size()) tail_left = tails[t].amount;
  }
  MYCEL_CHECK(h == heads.size() && t == tails.size());
  return joined;
}

}  // namespace

void RouteTable::Add(int32_t source, int32_t target, int32_t through, int64_t amount) {
  std::vector<Share>& shares = shares_[KeyOf(source, target)];
  if (!shares.empty() && shares.back().through == through) {
    shares.back().amount += amount;
  } else {
    shares.push_back({through, amount});
  }
}

std::vector<RouteTable::Piece> RouteTable::Take(int32_t source, int32_t target, int64_t amount) {
  std::vector<Piece> pieces;
  const auto at = shares_.find(KeyOf(source, target));
  while (amount > 0 && at != shares_.end() && !at->second.empty()) {
    Share& share = at->second.back();
    const int64_t taken = std::min(amount, share.amount);
    const int32_t through = share.through;
    share.amount -= taken;
    if (share.amount == 0) at->second.pop_back();
    amount -= taken;
    for (Piece& piece : Join(Take(source, through, taken), Take(through, target, taken))) {
      pieces.push_back(std::move(piece));
    }
  }
  if (amount > 0) pieces.push_back({{source, target}, amount});
  return pieces;
}

Status SplitOffSwitches(const std::vector<int32_t>& switches, const std::vector<int64_t>& root_trees,
                        const std::vector<int32_t>& sinks, const std::vector<int32_t>& group_of, CapacityGraph* graph,
                        RouteTable* routes) {
  // All at once first: one question instead of one for each pair, and on regular fabrics the answer is yes.
  CapacityGraph split = *graph;
  const std::vector<std::vector<Transit>> transits = SplitFairly(switches, group_of, &split);
  if (RootedCut(split, root_trees, sinks).Feasible()) {
    for (size_t i = 0; i < switches.size(); ++i) {
      for (const auto& [u, t, amount] : transits[i]) {
        if (u != t) routes->Add(u, t, switches[i], amount);
      }
    }
    *graph = std::move(split);
    return OkStatus();
  }
  RootedCut cut(*graph, root_trees, sinks);
  MYCEL_CHECK(cut.Feasible());
  Splitter splitter(group_of, graph, &cut, routes);
  for (const int32_t node : switches) MYCEL_RETURN_IF_ERROR(splitter.Empty(node));
  MYCEL_CHECK(cut.Feasible());
  return OkStatus();
}

}  // namespace mycel
