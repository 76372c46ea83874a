#include "scheduler/design/digraph.h"

#include <algorithm>
#include <set>

#include "core/base/check.h"

namespace mycel::design {

bfb::RankGraph RankGraphOf(const Digraph& graph) {
  std::vector<bfb::RankGraph::Edge> edges;
  edges.reserve(graph.links.size());
  for (const auto& [source, target] : graph.links) edges.push_back({source, target, 1});
  return bfb::MakeRankGraph(graph.rank_count, std::move(edges));
}

StatusOr<Topology> ToTopology(const Digraph& graph, const std::string& name, const std::string& note,
                              const Rational& bandwidth, double latency_us) {
  TopologyBuilder builder(name, note);
  for (int32_t r = 0; r < graph.rank_count; ++r) {
    builder.AddRank("gpu" + std::to_string(r), Rank(r), "s" + std::to_string(r));
  }
  for (const auto& [source, target] : graph.links) {
    builder.AddLink(NodeId(source), NodeId(target), bandwidth, latency_us);
  }
  return std::move(builder).Build();
}

Digraph LineGraph(const Digraph& graph) {
  Digraph line{static_cast<int32_t>(graph.links.size()), graph.degree, {}};
  std::vector<std::vector<int32_t>> leaving(static_cast<size_t>(graph.rank_count));
  for (int32_t e = 0; e < line.rank_count; ++e) {
    leaving[static_cast<size_t>(graph.links[static_cast<size_t>(e)].first)].push_back(e);
  }
  for (int32_t e = 0; e < line.rank_count; ++e) {
    for (const int32_t next : leaving[static_cast<size_t>(graph.links[static_cast<size_t>(e)].second)]) {
      if (next != e) line.links.emplace_back(e, next);
    }
  }
  return line;
}

Digraph UndirectedLineGraph(const Digraph& graph) {
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (const auto& [a, b] : graph.links) {
    if (a < b) pairs.emplace_back(a, b);
  }
  Digraph line{static_cast<int32_t>(pairs.size()), 2 * (graph.degree - 1), {}};
  for (int32_t i = 0; i < line.rank_count; ++i) {
    for (int32_t j = 0; j < line.rank_count; ++j) {
      const auto [a, b] = pairs[static_cast<size_t>(i)];
      const auto [c, d] = pairs[static_cast<size_t>(j)];
      if (i != j && (a == c || a == d || b == c || b == d)) line.links.emplace_back(i, j);
    }
  }
  return line;
}

Digraph DegreeExpansion(const Digraph& graph, int32_t copies) {
  MYCEL_CHECK_GE(copies, 1);
  Digraph expanded{graph.rank_count * copies, graph.degree * copies, {}};
  for (const auto& [source, target] : graph.links) {
    for (int32_t i = 0; i < copies; ++i) {
      for (int32_t j = 0; j < copies; ++j) expanded.links.emplace_back(source * copies + i, target * copies + j);
    }
  }
  return expanded;
}

Digraph Product(const Digraph& a, const Digraph& b) {
  Digraph product{a.rank_count * b.rank_count, a.degree + b.degree, {}};
  for (const auto& [source, target] : a.links) {
    for (int32_t j = 0; j < b.rank_count; ++j) {
      product.links.emplace_back(source * b.rank_count + j, target * b.rank_count + j);
    }
  }
  for (int32_t i = 0; i < a.rank_count; ++i) {
    for (const auto& [source, target] : b.links) {
      product.links.emplace_back(i * b.rank_count + source, i * b.rank_count + target);
    }
  }
  return product;
}

}  // namespace mycel::design
