// What the tests of this folder ask of a forest: that it is one, that it stays within the links, and how fast it is.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/int128.h"
#include "core/base/rational.h"
#include "core/topo/topology.h"
#include "scheduler/forest/spanning_forest.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel {

/// Trees on each link, by link.
inline std::vector<int64_t> TreesOnLinks(const Topology& topology, const SpanningForest& forest) {
  std::vector<int64_t> loads(topology.links().size(), 0);
  for (const ForestTree& tree : forest.trees) {
    for (const ForestEdge& edge : tree.edges) {
      for (size_t hop = 1; hop < edge.path.size(); ++hop) {
        const LinkId link = topology.FindLink(edge.path[hop - 1], edge.path[hop]);
        EXPECT_TRUE(link.valid()) << "a hop without a link";
        if (link.valid()) loads[link.index()] += tree.multiplicity;
      }
    }
  }
  return loads;
}

/// Every tree spans all ranks, parents first, along paths through switches; every root has its trees; no link carries
/// more than inv_x says, and one of them carries that.
inline void CheckForest(const Topology& topology, const std::vector<int64_t>& weights, const SpanningForest& forest,
                        bool reversed) {
  const auto n = static_cast<size_t>(topology.rank_count());
  std::vector<int64_t> trees_of(n, 0);
  for (const ForestTree& tree : forest.trees) {
    EXPECT_GT(tree.multiplicity, 0);
    trees_of[tree.root.index()] += tree.multiplicity;
    std::vector<bool> reached(n, false);
    reached[tree.root.index()] = true;
    EXPECT_EQ(tree.edges.size(), n - 1);
    for (const ForestEdge& edge : tree.edges) {
      const Rank parent = reversed ? edge.target : edge.source;
      const Rank child = reversed ? edge.source : edge.target;
      EXPECT_TRUE(reached[parent.index()]) << "a child before its parent";
      EXPECT_FALSE(reached[child.index()]) << "two ways to a rank";
      reached[child.index()] = true;
      ASSERT_GE(edge.path.size(), 2U);
      EXPECT_EQ(edge.path.front(), topology.NodeOf(edge.source));
      EXPECT_EQ(edge.path.back(), topology.NodeOf(edge.target));
      for (size_t hop = 1; hop + 1 < edge.path.size(); ++hop) {
        EXPECT_EQ(topology.node(edge.path[hop]).type, NodeType::kSwitch) << "a path through a rank";
      }
    }
    EXPECT_EQ(std::count(reached.begin(), reached.end(), true), static_cast<int64_t>(n));
  }
  for (size_t rank = 0; rank < n; ++rank) {
    EXPECT_EQ(trees_of[rank], forest.trees_per_weight * weights[rank]) << "trees of rank " << rank;
  }
  const std::vector<int64_t> loads = TreesOnLinks(topology, forest);
  Rational busiest;  // ns until the busiest link has carried its trees, for trees of one byte
  for (size_t link = 0; link < loads.size(); ++link) {
    busiest = std::max(busiest, Rational(loads[link]) / topology.links()[link].bandwidth);
  }
  EXPECT_EQ(
      Rational::TryMake(int128{busiest.numerator()}, int128{busiest.denominator()} * forest.trees_per_weight).value(),
      forest.inv_x);
  EXPECT_GE(forest.inv_x, forest.optimum);
}

/// The optimum 1/x* of out-trees by trying every node set that misses a rank: (weight inside) / (bandwidth leaving).
/// Zero when all weights are; nothing leads out of some set with weight: -1. At most 20 nodes, integer bandwidths.
inline Rational BestCutByBruteForce(const Topology& topology, const std::vector<int64_t>& weights) {
  const int32_t nodes = topology.node_count();
  EXPECT_LE(nodes, 20);
  uint32_t ranks = 0;
  for (const Rank rank : Ids<Rank>(topology.rank_count())) ranks |= uint32_t{1} << topology.NodeOf(rank).value();
  int64_t most_weight = 0;
  int64_t least_capacity = 1;
  for (uint32_t inside = 1; inside < uint32_t{1} << nodes; ++inside) {
    if ((inside & ranks) == ranks) continue;
    int64_t weight = 0;
    for (const Rank rank : Ids<Rank>(topology.rank_count())) {
      if ((inside >> topology.NodeOf(rank).value() & 1) != 0) weight += weights[rank.index()];
    }
    if (weight == 0) continue;
    int64_t capacity = 0;
    for (const Link& link : topology.links()) {
      const bool leaves = (inside >> link.source.value() & 1) != 0 && (inside >> link.target.value() & 1) == 0;
      EXPECT_EQ(link.bandwidth.denominator(), 1);
      if (leaves) capacity += link.bandwidth.numerator();
    }
    if (capacity == 0) return Rational(-1);
    if (int128{weight} * least_capacity > int128{most_weight} * capacity) {
      most_weight = weight;
      least_capacity = capacity;
    }
  }
  return Rational(most_weight, least_capacity);
}

}  // namespace mycel
