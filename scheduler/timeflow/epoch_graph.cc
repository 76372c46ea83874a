#include "scheduler/timeflow/epoch_graph.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/int128.h"

namespace mycel::timeflow {
namespace {

/// Latencies below this part of an epoch count as none.
constexpr int64_t kNoLatency = 10;

int64_t CeilOf(const Rational& value) { return (value.numerator() + value.denominator() - 1) / value.denominator(); }

/// All ways from `source` through switches, breadth first: a rank's ways of the fewest links, at most kWaysMax.
void AddHopsFrom(int32_t source, const std::vector<std::vector<int32_t>>& out, EpochGraph* graph) {
  struct Way {
    int32_t node;
    std::vector<int32_t> edges;
  };
  const auto n = static_cast<size_t>(graph->node_count);
  std::vector<size_t> fewest(n, n + 1);
  std::vector<int32_t> ways(n);
  std::vector<Way> level = {{source, {}}};
  std::vector<EpochGraph::Hop> found;
  for (size_t length = 1; !level.empty() && length <= n; ++length) {
    std::vector<Way> next;
    for (const Way& way : level) {
      for (const int32_t e : out[static_cast<size_t>(way.node)]) {
        const EpochGraph::Edge& edge = graph->edges[static_cast<size_t>(e)];
        const auto target = static_cast<size_t>(edge.target);
        if (edge.target == source || fewest[target] < length || ways[target] == kWaysMax) continue;
        fewest[target] = length;
        ++ways[target];
        Way longer{edge.target, way.edges};
        longer.edges.push_back(e);
        if (edge.target < graph->rank_count) {
          EpochGraph::Hop hop{source, edge.target, std::move(longer.edges), 0};
          for (const int32_t passed : hop.edges) hop.delay += graph->edges[static_cast<size_t>(passed)].delay;
          found.push_back(std::move(hop));
        } else {
          next.push_back(std::move(longer));
        }
      }
    }
    level = std::move(next);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.target < b.target; });
  for (EpochGraph::Hop& hop : found) graph->hops.push_back(std::move(hop));
}

}  // namespace

bool EpochGraph::SwitchesCopy() const { return std::find(copies.begin(), copies.end(), true) != copies.end(); }

std::vector<int32_t> EpochGraph::Distances() const {
  const auto n = static_cast<size_t>(node_count);
  std::vector<std::vector<int32_t>> out(n);
  for (size_t e = 0; e < edges.size(); ++e)
    out[static_cast<size_t>(edges[e].source)].push_back(static_cast<int32_t>(e));
  std::vector<int32_t> distances(n * n, kFar);
  using Entry = std::pair<int32_t, int32_t>;
  for (size_t from = 0; from < n; ++from) {
    int32_t* row = &distances[from * n];
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap;
    row[from] = 0;
    heap.emplace(0, static_cast<int32_t>(from));
    while (!heap.empty()) {
      const auto [at, node] = heap.top();
      heap.pop();
      if (row[node] < at) continue;
      for (const int32_t e : out[static_cast<size_t>(node)]) {
        const Edge& edge = edges[static_cast<size_t>(e)];
        if (at + edge.delay >= row[edge.target]) continue;
        row[edge.target] = at + edge.delay;
        heap.emplace(row[edge.target], edge.target);
      }
    }
  }
  return distances;
}

void MakeHops(EpochGraph* graph) {
  std::vector<std::vector<int32_t>> out(static_cast<size_t>(graph->node_count));
  for (size_t e = 0; e < graph->edges.size(); ++e) {
    MYCEL_CHECK(graph->edges[e].burst == 1 || graph->edges[e].window == 1);
    out[static_cast<size_t>(graph->edges[e].source)].push_back(static_cast<int32_t>(e));
  }
  graph->copies.resize(static_cast<size_t>(graph->node_count));
  graph->hops.clear();
  graph->first_hop.assign(1, 0);
  for (int32_t rank = 0; rank < graph->rank_count; ++rank) {
    AddHopsFrom(rank, out, graph);
    graph->first_hop.push_back(static_cast<int32_t>(graph->hops.size()));
  }
}

StatusOr<EpochGraph> EpochGraphOf(const Topology& topology, int64_t chunk_bytes) {
  EpochGraph graph;
  graph.rank_count = topology.rank_count();
  graph.node_count = topology.node_count();
  std::vector<int32_t> number(static_cast<size_t>(graph.node_count));
  for (const Rank rank : Ids<Rank>(graph.rank_count)) graph.nodes.push_back(topology.NodeOf(rank));
  for (const NodeId node : Ids<NodeId>(graph.node_count)) {
    if (topology.node(node).type == NodeType::kSwitch) graph.nodes.push_back(node);
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) number[graph.nodes[i].index()] = static_cast<int32_t>(i);
  if (topology.links().empty()) {
    MakeHops(&graph);
    return graph;
  }
  Rational widest = topology.links().front().bandwidth, narrowest = widest;
  double latency_us = 0;
  for (const Link& link : topology.links()) {
    widest = std::max(widest, link.bandwidth);
    narrowest = std::min(narrowest, link.bandwidth);
    latency_us = std::max(latency_us, link.latency_us);
  }
  // Picoseconds: latencies are decimals of microseconds.
  const auto ps_of = [&](double us) { return chunk_bytes > 0 ? std::llround(us * 1e6) : 0; };
  const auto too_fine = [&] {
    return InvalidArgument("the bandwidths of topology '" + topology.name() +
                           "' are fractions too fine for epochs; round them in the topology file");
  };
  const StatusOr<Rational> chunk_ps =
      Rational::TryMake(int128{std::max<int64_t>(1, chunk_bytes)} * 1000 * widest.denominator(), widest.numerator());
  if (!chunk_ps.ok()) return too_fine();
  // The least multiple that keeps every delay small.
  const double slowest =
      std::max(static_cast<double>(ps_of(latency_us)) / chunk_ps->ToDouble(), widest.ToDouble() / narrowest.ToDouble());
  const int64_t multiple = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(slowest / kDelayMax)));
  const StatusOr<Rational> epoch_ps = Rational::TryMultiply(*chunk_ps, multiple);
  if (!epoch_ps.ok()) return too_fine();
  const StatusOr<Rational> epoch_ns = Rational::TryMultiply(*epoch_ps, Rational(1, 1000));
  if (!epoch_ns.ok()) return too_fine();
  graph.epoch_ns = *epoch_ns;
  for (const Link& link : topology.links()) {
    // Chunks an epoch: bandwidth / widest * multiple.
    const StatusOr<Rational> rate =
        Rational::TryMake(int128{link.bandwidth.numerator()} * widest.denominator() * multiple,
                          int128{link.bandwidth.denominator()} * widest.numerator());
    if (!rate.ok()) return too_fine();
    EpochGraph::Edge edge{number[link.source.index()], number[link.target.index()]};
    const int64_t latency = ps_of(link.latency_us);
    int64_t late = 0;
    if (Rational(latency) > Rational(epoch_ps->numerator(), epoch_ps->denominator()) / kNoLatency) {
      late = CeilOf(Rational(latency) / *epoch_ps);
    }
    if (*rate < Rational(1)) edge.window = static_cast<int32_t>(CeilOf(Rational(1) / *rate));
    edge.burst = edge.window > 1 ? 1 : static_cast<int32_t>(rate->numerator() / rate->denominator());
    edge.delay = static_cast<int32_t>(edge.window + late);
    graph.edges.push_back(edge);
  }
  MakeHops(&graph);
  return graph;
}

}  // namespace mycel::timeflow
