#include "scheduler/graph/scaled_graph.h"

#include <numeric>
#include <string>

#include "core/base/check.h"

namespace mycel {
namespace {

Status NoCommonUnit(const Topology& topology, const Link& link) {
  return InvalidArgument("the bandwidths of topology " + topology.name() + " have no common unit in 62 bits: link " +
                         topology.node(link.source).id + " -> " + topology.node(link.target).id + " has " +
                         link.bandwidth.ToString() + " GB/s; use rounder numbers");
}

int128 GreatestCommonDivisor(int128 a, int128 b) {
  while (b != 0) {
    const int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

}  // namespace

StatusOr<Rational> ScaledGraph::Bandwidth(int64_t capacity) const {
  return Rational::TryMake(int128{capacity} * unit_numerator, unit_denominator);
}

StatusOr<Rational> ScaledGraph::NsPerByte(int64_t demand, int64_t capacity) const {
  MYCEL_CHECK_GT(capacity, 0);
  return Rational::TryMake(int128{demand} * unit_denominator, int128{capacity} * unit_numerator);
}

bool ScaledGraph::SwitchesBalanced() const {
  std::vector<int64_t> surplus(static_cast<size_t>(node_count));
  for (const Edge& edge : edges) {
    surplus[static_cast<size_t>(edge.source)] -= edge.capacity;
    surplus[static_cast<size_t>(edge.target)] += edge.capacity;
  }
  for (const int32_t rank : ranks) surplus[static_cast<size_t>(rank)] = 0;
  for (const int64_t one : surplus) {
    if (one != 0) return false;
  }
  return true;
}

StatusOr<ScaledGraph> ScaleCapacities(const Topology& topology) {
  ScaledGraph graph;
  graph.node_count = topology.node_count();
  for (const Rank rank : Ids<Rank>(topology.rank_count())) graph.ranks.push_back(topology.NodeOf(rank).value());

  int64_t denominator = 1;
  for (const Link& link : topology.links()) {
    const int64_t other = link.bandwidth.denominator();
    const int128 multiple = int128{denominator / std::gcd(denominator, other)} * other;
    if (multiple > kScaledSumMax) return NoCommonUnit(topology, link);
    denominator = static_cast<int64_t>(multiple);
  }
  int128 divisor = 0;
  for (const Link& link : topology.links()) {
    const int128 scaled = int128{link.bandwidth.numerator()} * (denominator / link.bandwidth.denominator());
    divisor = GreatestCommonDivisor(scaled, divisor);
  }
  if (divisor > kScaledSumMax) return NoCommonUnit(topology, topology.links().front());
  graph.unit_numerator = topology.links().empty() ? 1 : static_cast<int64_t>(divisor);
  graph.unit_denominator = denominator;

  int128 sum = 0;
  for (const Link& link : topology.links()) {
    const int128 scaled = int128{link.bandwidth.numerator()} * (denominator / link.bandwidth.denominator()) / divisor;
    sum += scaled;
    if (scaled > kScaledSumMax || sum > kScaledSumMax) return NoCommonUnit(topology, link);
    graph.edges.push_back({link.source.value(), link.target.value(), static_cast<int64_t>(scaled)});
  }
  graph.capacity_sum = static_cast<int64_t>(sum);
  return graph;
}

}  // namespace mycel
