#include "scheduler/flow/path_peeling.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/check.h"

namespace mycel::flow {
namespace {

enum class State : uint8_t { kNew, kOnWalk, kDone };

class Peeler {
 public:
  explicit Peeler(const FlowGraph& graph) : graph_(graph), in_edges_(graph.nodes.size()) {
    for (size_t e = 0; e < graph.edges.size(); ++e) {
      in_edges_[static_cast<size_t>(graph.edges[e].target)].push_back(static_cast<int32_t>(e));
    }
  }

  /// Takes circles out of the flow, which delivers as much without them.
  void CancelCycles(std::vector<int64_t>* flow) {
    std::vector<State> states(graph_.nodes.size(), State::kNew);
    std::vector<int32_t> next(graph_.first_out.begin(), graph_.first_out.end() - 1);
    std::vector<int32_t> walk;  // edges
    for (int32_t start = 0; start < graph_.node_count(); ++start) {
      if (states[static_cast<size_t>(start)] != State::kNew) continue;
      int32_t here = start;
      states[static_cast<size_t>(here)] = State::kOnWalk;
      while (true) {
        const auto v = static_cast<size_t>(here);
        while (next[v] < graph_.first_out[v + 1] && Skip((*flow)[static_cast<size_t>(next[v])], states, next[v])) {
          ++next[v];
        }
        if (next[v] == graph_.first_out[v + 1]) {
          states[v] = State::kDone;
          if (walk.empty()) break;
          here = graph_.edges[static_cast<size_t>(walk.back())].source;
          walk.pop_back();
          continue;
        }
        const int32_t edge = next[v];
        const int32_t target = graph_.edges[static_cast<size_t>(edge)].target;
        walk.push_back(edge);
        if (states[static_cast<size_t>(target)] == State::kNew) {
          states[static_cast<size_t>(target)] = State::kOnWalk;
          here = target;
          continue;
        }
        here = CancelAt(target, &walk, &states, flow);
      }
    }
  }

  /// Paths to `target` that carry `wanted`, off `flow`, which has no circles.
  std::vector<WeightedPath> Paths(int32_t source, int32_t target, int64_t wanted, std::vector<int64_t>* flow) const {
    std::vector<WeightedPath> paths;
    while (wanted > 0) {
      WeightedPath path;
      path.weight = wanted;
      for (int32_t node = target; node != source;) {
        int32_t widest = -1;
        int64_t width = 0;
        for (const int32_t e : in_edges_[static_cast<size_t>(node)]) {
          if ((*flow)[static_cast<size_t>(e)] <= width) continue;
          widest = e;
          width = (*flow)[static_cast<size_t>(e)];
        }
        MYCEL_CHECK_GE(widest, 0);  // what leaves a node has entered it
        path.weight = std::min(path.weight, width);
        path.edges.push_back(widest);
        node = graph_.edges[static_cast<size_t>(widest)].source;
      }
      for (const int32_t e : path.edges) (*flow)[static_cast<size_t>(e)] -= path.weight;
      wanted -= path.weight;
      std::reverse(path.edges.begin(), path.edges.end());
      paths.push_back(std::move(path));
    }
    std::stable_sort(paths.begin(), paths.end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
    return paths;
  }

 private:
  bool Skip(int64_t flow, const std::vector<State>& states, int32_t edge) const {
    return flow == 0 || states[static_cast<size_t>(graph_.edges[static_cast<size_t>(edge)].target)] == State::kDone;
  }

  /// `walk` ends in a node that it has passed: cancels the circle and goes back to that node.
  int32_t CancelAt(int32_t node, std::vector<int32_t>* walk, std::vector<State>* states,
                   std::vector<int64_t>* flow) const {
    size_t first = walk->size();
    int64_t least = std::numeric_limits<int64_t>::max();
    do {
      --first;
      least = std::min(least, (*flow)[static_cast<size_t>((*walk)[first])]);
    } while (graph_.edges[static_cast<size_t>((*walk)[first])].source != node);
    for (size_t i = first; i < walk->size(); ++i) {
      (*flow)[static_cast<size_t>((*walk)[i])] -= least;
      const int32_t passed = graph_.edges[static_cast<size_t>((*walk)[i])].source;
      if (passed != node) (*states)[static_cast<size_t>(passed)] = State::kNew;
    }
    walk->resize(first);
    return node;
  }

  const FlowGraph& graph_;
  std::vector<std::vector<int32_t>> in_edges_;
};

}  // namespace

std::vector<PairPaths> PeelPaths(const FlowProblem& problem, const FlowSolution& solution) {
  Peeler peeler(problem.graph);
  std::vector<PairPaths> pairs;
  for (size_t s = 0; s < problem.sources.size(); ++s) {
    const int32_t source = problem.sources[s];
    std::vector<int64_t> flow = solution.flow[s];
    peeler.CancelCycles(&flow);
    for (int32_t target = 0; target < problem.graph.rank_count; ++target) {
      const int64_t wanted = problem.demand.Of(source, target) * solution.amount;
      if (wanted == 0) continue;
      pairs.push_back({source, target, peeler.Paths(source, target, wanted, &flow)});
    }
  }
  return pairs;
}

}  // namespace mycel::flow
