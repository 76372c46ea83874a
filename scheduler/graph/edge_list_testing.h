// Small graphs for the tests of this folder: written as text, or random.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/rng.h"
#include "core/topo/topology.h"

namespace mycel {

/// "0-1:5 1>w:5/2 w-0:1": "a-b:c" is c GB/s in each direction, "a>b:c" one direction. Numbers are ranks, other words
/// switches; parallel links add up.
inline Topology EdgeList(const std::string& text) {
  struct Wire {
    std::string from, to;
    bool duplex;
    Rational bandwidth;
  };
  std::vector<Wire> wires;
  std::map<int, NodeId> ranks;
  std::map<std::string, NodeId> nodes;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t middle = word.find_first_of("->");
    const size_t colon = word.find(':');
    wires.push_back({word.substr(0, middle), word.substr(middle + 1, colon - middle - 1), word[middle] == '-',
                     *Rational::Parse(word.substr(colon + 1))});
    for (const std::string& id : {wires.back().from, wires.back().to}) {
      id.find_first_not_of("0123456789") == std::string::npos ? ranks.emplace(std::stoi(id), NodeId())
                                                              : ranks.emplace(-1, NodeId());
      nodes.emplace(id, NodeId());
    }
  }
  TopologyBuilder builder("edge list");
  ranks.erase(-1);
  for (const auto& [rank, unused] : ranks)
    nodes[std::to_string(rank)] = builder.AddRank(std::to_string(rank), Rank(rank));
  for (auto& [id, node] : nodes) {
    if (!node.valid()) node = builder.AddSwitch(id);
  }
  for (const Wire& wire : wires) {
    builder.AddLink(nodes[wire.from], nodes[wire.to], wire.bandwidth);
    if (wire.duplex) builder.AddLink(nodes[wire.to], nodes[wire.from], wire.bandwidth);
  }
  auto topology = std::move(builder).Build();
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

/// `leaves` switches of `ranks` ranks at `down`, each with `up` to every one of `spines`.
inline std::string Leaves(int leaves, int ranks, int down, int spines, int up) {
  std::string text;
  for (int leaf = 0; leaf < leaves; ++leaf) {
    const std::string name = "leaf" + std::to_string(leaf);
    for (int i = 0; i < ranks; ++i) {
      text += std::to_string(leaf * ranks + i) + "-" + name + ":" + std::to_string(down) + " ";
    }
    for (int spine = 0; spine < spines; ++spine) {
      text += name + "-spine" + std::to_string(spine) + ":" + std::to_string(up) + " ";
    }
  }
  return text;
}

/// What a random topology may hold.
struct RandomShape {
  int64_t node_count_max = 8;
  int64_t numerator_max = 10;
  int64_t denominator = 1;  // of all bandwidths, before reduction
  int64_t link_one_in = 2;  // a pair of nodes is joined once in so many
  int64_t one_way_one_in = 3;
};

inline Topology RandomTopology(Rng& random, const RandomShape& shape) {
  const int64_t node_count = random.Between(1, shape.node_count_max);
  const int64_t rank_count = random.Between(1, node_count);
  TopologyBuilder builder("random");
  for (int64_t i = 0; i < node_count; ++i) {
    if (i < rank_count) {
      builder.AddRank("r" + std::to_string(i), Rank(i), "s" + std::to_string(i / 2));
    } else {
      builder.AddSwitch("w" + std::to_string(i));
    }
  }
  const auto bandwidth = [&] { return Rational(random.Between(1, shape.numerator_max), shape.denominator); };
  for (int64_t a = 0; a < node_count; ++a) {
    for (int64_t b = a + 1; b < node_count; ++b) {
      if (!random.OneIn(static_cast<uint64_t>(shape.link_one_in))) continue;
      if (random.OneIn(static_cast<uint64_t>(shape.one_way_one_in))) {
        const bool turned = random.OneIn(2);
        builder.AddLink(NodeId(turned ? b : a), NodeId(turned ? a : b), bandwidth());
      } else {
        builder.AddDuplex(NodeId(a), NodeId(b), bandwidth());
      }
    }
  }
  auto topology = std::move(builder).Build();
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

/// Ranks that mostly meet through switches, most of which let more out than in, so that cuts often promise too much.
/// Need not be connected.
inline Topology UnbalancedTopology(Rng& random, int64_t rank_count_max, int64_t switch_count_max,
                                   int64_t bandwidth_max) {
  const int64_t rank_count = random.Between(2, rank_count_max);
  const int64_t node_count = rank_count + random.Between(1, switch_count_max);
  TopologyBuilder builder("unbalanced");
  for (int64_t i = 0; i < rank_count; ++i) builder.AddRank("r" + std::to_string(i), Rank(i));
  for (int64_t i = rank_count; i < node_count; ++i) builder.AddSwitch("w" + std::to_string(i));
  for (int64_t a = 0; a < node_count; ++a) {
    for (int64_t b = 0; b < node_count; ++b) {
      const bool from_switch = a >= rank_count;
      const bool to_switch = b >= rank_count;
      if (a == b || !random.OneIn(from_switch || to_switch ? 2 : 8)) continue;
      const int64_t wider = from_switch && !to_switch ? 3 : 1;
      builder.AddLink(NodeId(a), NodeId(b), Rational(random.Between(1, wider * bandwidth_max)));
    }
  }
  auto topology = std::move(builder).Build();
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

}  // namespace mycel
