#include "scheduler/timeflow/time_problem.h"

#include <algorithm>

namespace mycel::timeflow {
namespace {

/// Nodes of a graph all of whose sets are tried.
constexpr int32_t kAllSetsNodesMax = 10;

std::vector<int32_t> Without(const std::vector<int32_t>& members, int32_t one) {
  std::vector<int32_t> others;
  std::copy_if(members.begin(), members.end(), std::back_inserter(others), [one](int32_t m) { return m != one; });
  return others;
}

class Bound {
 public:
  explicit Bound(const TimeProblem& problem)
      : problem_(problem), graph_(problem.graph), distances_(problem.graph.Distances()) {}

  int32_t Ways() const {
    int32_t longest = 0;
    for (const Item& item : problem_.items) {
      for (const int32_t target : item.targets) longest = std::max(longest, At(item.source, target));
    }
    return longest;
  }

  /// Epoch before which not all that must enter the set can have reached a rank of it that wants something.
  int32_t Entering(const std::vector<bool>& inside) {
    const auto in = [&](int32_t node) { return inside[static_cast<size_t>(node)]; };
    std::vector<bool> sources(inside.size()), targets(inside.size());
    int64_t wanted = 0;
    for (const Item& item : problem_.items) {
      if (in(item.source)) continue;
      bool enters = false;
      for (const int32_t target : item.targets) {
        if (!in(target)) continue;
        enters = true;
        targets[static_cast<size_t>(target)] = true;
      }
      wanted += enters ? 1 : 0;
      if (enters) sources[static_cast<size_t>(item.source)] = true;
    }
    if (wanted == 0) return 0;
    ways_.clear();
    for (const EpochGraph::Edge& edge : graph_.edges) {
      if (in(edge.source) || !in(edge.target)) continue;
      Way way{kFar, kFar, edge.burst, edge.window};
      for (int32_t v = 0; v < graph_.rank_count; ++v) {
        if (sources[static_cast<size_t>(v)]) way.start = std::min(way.start, At(v, edge.source));
        if (targets[static_cast<size_t>(v)]) way.rest = std::min(way.rest, edge.delay + At(edge.target, v));
      }
      if (way.start < kFar && way.rest < kFar) ways_.push_back(way);
    }
    if (ways_.empty()) return kFar;
    int32_t low = 0, high = 1;
    while (Entered(high) < wanted) {
      low = high;
      high *= 2;
    }
    while (high - low > 1) {
      const int32_t middle = low + (high - low) / 2;
      (Entered(middle) < wanted ? low : high) = middle;
    }
    return high;
  }

 private:
  struct Way {
    int32_t start;  // first epoch in which there is something to send
    int32_t rest;   // from sending to use
    int32_t burst, window;
  };

  int32_t At(int32_t from, int32_t to) const {
    return distances_[static_cast<size_t>(from) * static_cast<size_t>(graph_.node_count) + static_cast<size_t>(to)];
  }

  int64_t Entered(int32_t end) const {
    int64_t chunks = 0;
    for (const Way& way : ways_) {
      const int64_t epochs = int64_t{end} - way.rest - way.start + 1;
      if (epochs > 0) chunks += (epochs + way.window - 1) / way.window * way.burst;
    }
    return chunks;
  }

  const TimeProblem& problem_;
  const EpochGraph& graph_;
  std::vector<int32_t> distances_;
  std::vector<Way> ways_;
};

}  // namespace

void AddAllGather(const std::vector<int32_t>& members, int32_t chunks, int32_t tenant, std::vector<Item>* items) {
  for (const int32_t source : members) AddBroadcast(source, members, chunks, tenant, items);
}

void AddAllToAll(const std::vector<int32_t>& members, int32_t chunks, int32_t tenant, std::vector<Item>* items) {
  for (const int32_t source : members) AddScatter(source, members, chunks, tenant, items);
}

void AddBroadcast(int32_t root, const std::vector<int32_t>& members, int32_t chunks, int32_t tenant,
                  std::vector<Item>* items) {
  for (int32_t c = 0; c < chunks; ++c) items->push_back({root, Without(members, root), tenant});
}

void AddScatter(int32_t root, const std::vector<int32_t>& members, int32_t chunks, int32_t tenant,
                std::vector<Item>* items) {
  for (const int32_t target : Without(members, root)) {
    for (int32_t c = 0; c < chunks; ++c) items->push_back({root, {target}, tenant});
  }
}

void AddGather(int32_t root, const std::vector<int32_t>& members, int32_t chunks, int32_t tenant,
               std::vector<Item>* items) {
  for (const int32_t source : Without(members, root)) {
    for (int32_t c = 0; c < chunks; ++c) items->push_back({source, {root}, tenant});
  }
}

int32_t FinishBound(const TimeProblem& problem) {
  Bound bound(problem);
  int32_t best = bound.Ways();
  const auto n = static_cast<size_t>(problem.graph.node_count);
  std::vector<bool> inside(n);
  if (problem.graph.node_count <= kAllSetsNodesMax) {
    for (uint32_t set = 1; set + 1 < uint32_t{1} << n; ++set) {
      for (size_t v = 0; v < n; ++v) inside[v] = (set >> v & 1) != 0;
      best = std::max(best, bound.Entering(inside));
    }
    return best;
  }
  for (const bool member : {true, false}) {
    for (size_t v = 0; v < n; ++v) {
      inside.assign(n, !member);
      inside[v] = member;
      best = std::max(best, bound.Entering(inside));
    }
  }
  return best;
}

}  // namespace mycel::timeflow
