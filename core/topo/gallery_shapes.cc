#include "core/topo/gallery_shapes.h"

#include <utility>

#include "core/base/check.h"

namespace mycel::shapes {
namespace {

constexpr double kScaleUpLatency = 0.7;  // us
constexpr double kScaleOutLatency = 3;
const Rational kGridBandwidth(25);  // GB/s: one NVLink 2 brick, one 200 Gbit/s port

using Nodes = std::vector<NodeId>;

Topology Built(TopologyBuilder builder) {
  auto topology = std::move(builder).Build();
  MYCEL_CHECK(topology.ok());
  return *std::move(topology);
}

std::string Numbered(std::string_view word, int64_t number) { return std::string(word) + std::to_string(number); }

// Ranks gpu0, gpu1, ... of servers s0, s1, ...
Nodes AddRanks(TopologyBuilder& builder, int64_t count, int64_t ranks_per_server) {
  Nodes ranks;
  for (int64_t i = 0; i < count; ++i) {
    ranks.push_back(builder.AddRank(Numbered("gpu", i), Rank(i), Numbered("s", i / ranks_per_server)));
  }
  return ranks;
}

// One switch a server, and a link from each of its ranks.
void AddServerSwitches(TopologyBuilder& builder, const Nodes& ranks, int64_t ranks_per_server, std::string_view word,
                       Rational bandwidth, LinkKind kind) {
  const int64_t server_count = std::ssize(ranks) / ranks_per_server;
  Nodes switches;
  for (int64_t s = 0; s < server_count; ++s) {
    switches.push_back(builder.AddSwitch(Numbered(word, s), Numbered("s", s)));
  }
  for (int64_t i = 0; i < std::ssize(ranks); ++i) {
    builder.AddDuplex(ranks[static_cast<size_t>(i)], switches[static_cast<size_t>(i / ranks_per_server)], bandwidth,
                      kScaleUpLatency, kind);
  }
}

// One switch that joins all ranks, when there is more than one server.
void AddFabric(TopologyBuilder& builder, const Nodes& ranks, int64_t server_count, const std::string& id,
               Rational bandwidth) {
  if (server_count < 2) return;
  const NodeId fabric = builder.AddSwitch(id);
  for (const NodeId rank : ranks) {
    builder.AddDuplex(rank, fabric, bandwidth, kScaleOutLatency, LinkKind::kRdma);
  }
}

}  // namespace

Topology Ring(const std::string& name, int64_t rank_count) { return Torus(name, {rank_count}); }

Topology Torus(const std::string& name, const std::vector<int64_t>& dimensions) {
  int64_t rank_count = 1;
  for (const int64_t length : dimensions) rank_count *= length;
  TopologyBuilder builder(name);
  const Nodes ranks = AddRanks(builder, rank_count, 1);
  int64_t stride = rank_count;
  for (const int64_t length : dimensions) {
    stride /= length;
    if (length == 1) continue;
    for (int64_t i = 0; i < rank_count; ++i) {
      const bool last = i / stride % length == length - 1;
      const int64_t next = last ? i - (length - 1) * stride : i + stride;
      builder.AddDuplex(ranks[static_cast<size_t>(i)], ranks[static_cast<size_t>(next)], kGridBandwidth);
    }
  }
  return Built(std::move(builder));
}

Topology Mesh(const std::string& name, int64_t rows, int64_t columns) {
  TopologyBuilder builder(name);
  const Nodes ranks = AddRanks(builder, rows * columns, 1);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const size_t here = static_cast<size_t>(row * columns + column);
      if (column + 1 < columns) builder.AddDuplex(ranks[here], ranks[here + 1], Rational(1));
      if (row + 1 < rows) builder.AddDuplex(ranks[here], ranks[here + static_cast<size_t>(columns)], Rational(1));
    }
  }
  return Built(std::move(builder));
}

Topology Hypercube(const std::string& name, int64_t dimension) {
  TopologyBuilder builder(name);
  const Nodes ranks = AddRanks(builder, int64_t{1} << dimension, 1);
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (int64_t bit = 0; bit < dimension; ++bit) {
      const size_t other = i ^ (size_t{1} << bit);
      if (other > i) builder.AddDuplex(ranks[i], ranks[other], kGridBandwidth);
    }
  }
  return Built(std::move(builder));
}

Topology FullMesh(const std::string& name, int64_t rank_count) {
  TopologyBuilder builder(name);
  const Nodes ranks = AddRanks(builder, rank_count, 1);
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (size_t j = i + 1; j < ranks.size(); ++j) builder.AddDuplex(ranks[i], ranks[j], kGridBandwidth);
  }
  return Built(std::move(builder));
}

Topology Star(const std::string& name, const std::vector<int64_t>& bandwidths) {
  TopologyBuilder builder(name);
  const Nodes ranks = AddRanks(builder, std::ssize(bandwidths), 1);
  const NodeId center = builder.AddSwitch("sw");
  for (size_t i = 0; i < ranks.size(); ++i) builder.AddDuplex(ranks[i], center, Rational(bandwidths[i]));
  return Built(std::move(builder));
}

Topology FatTree(const std::string& name, int64_t leaf_count, int64_t ranks_per_leaf, bool oversubscribed) {
  TopologyBuilder builder(name);
  const Nodes ranks = AddRanks(builder, leaf_count * ranks_per_leaf, 1);
  Nodes leaves;
  for (int64_t leaf = 0; leaf < leaf_count; ++leaf) leaves.push_back(builder.AddSwitch(Numbered("tor", leaf)));
  const NodeId core = builder.AddSwitch("core");
  for (int64_t i = 0; i < std::ssize(ranks); ++i) {
    builder.AddDuplex(ranks[static_cast<size_t>(i)], leaves[static_cast<size_t>(i / ranks_per_leaf)], kGridBandwidth);
  }
  const Rational uplink = kGridBandwidth * Rational(ranks_per_leaf, oversubscribed ? 2 : 1);
  for (const NodeId leaf : leaves) builder.AddDuplex(leaf, core, uplink);
  return Built(std::move(builder));
}

Topology Dgx(const std::string& name, int64_t server_count, Rational nvlink, Rational rdma, bool rails) {
  constexpr int64_t kGpus = 8;
  TopologyBuilder builder(name);
  const Nodes ranks = AddRanks(builder, server_count * kGpus, kGpus);
  AddServerSwitches(builder, ranks, kGpus, "nvsw", nvlink, LinkKind::kNvlink);
  if (!rails) {
    AddFabric(builder, ranks, server_count, "ib", rdma);
  } else if (server_count > 1) {
    Nodes rail_switches;
    for (int64_t rail = 0; rail < kGpus; ++rail) rail_switches.push_back(builder.AddSwitch(Numbered("rail", rail)));
    for (size_t i = 0; i < ranks.size(); ++i) {
      builder.AddDuplex(ranks[i], rail_switches[i % kGpus], rdma, kScaleOutLatency, LinkKind::kRdma);
    }
  }
  return Built(std::move(builder));
}

Topology Mi300x(const std::string& name, int64_t server_count) {
  constexpr int64_t kGpus = 8;
  TopologyBuilder builder(name);
  const Nodes ranks = AddRanks(builder, server_count * kGpus, kGpus);
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (size_t j = i + 1; j < ranks.size() && j / kGpus == i / kGpus; ++j) {
      builder.AddDuplex(ranks[i], ranks[j], Rational(64), kScaleUpLatency, LinkKind::kXgmi);
    }
  }
  AddFabric(builder, ranks, server_count, "fabric", Rational(50));
  return Built(std::move(builder));
}

Topology Mi250(const std::string& name, const std::string& note, int64_t server_count, int64_t gcds_used) {
  // xGMI links of 50 GB/s between the 16 dies (GCDs) of a server; every die has seven.
  struct Bundle {
    int8_t a, b, links;
  };
  constexpr Bundle kBundles[] = {{0, 1, 4},   {0, 4, 2},   {0, 8, 1},   {1, 5, 1},   {1, 9, 1},   {1, 10, 1},
                                 {2, 3, 4},   {2, 6, 1},   {2, 9, 1},   {2, 10, 1},  {3, 7, 2},   {3, 11, 1},
                                 {4, 5, 4},   {4, 6, 1},   {5, 6, 1},   {5, 7, 1},   {6, 7, 4},   {8, 9, 4},
                                 {8, 12, 2},  {9, 13, 1},  {10, 11, 4}, {10, 14, 1}, {11, 15, 2}, {12, 13, 4},
                                 {12, 14, 1}, {13, 14, 1}, {13, 15, 1}, {14, 15, 4}};
  TopologyBuilder builder(name, note);
  const Nodes ranks = AddRanks(builder, server_count * gcds_used, gcds_used);
  for (int64_t server = 0; server < server_count; ++server) {
    for (const Bundle& bundle : kBundles) {
      if (bundle.b >= gcds_used) continue;
      const size_t first = static_cast<size_t>(server * gcds_used);
      builder.AddDuplex(ranks[first + static_cast<size_t>(bundle.a)], ranks[first + static_cast<size_t>(bundle.b)],
                        Rational(50 * bundle.links), kScaleUpLatency, LinkKind::kXgmi);
    }
  }
  AddFabric(builder, ranks, server_count, "ib", Rational(16));
  return Built(std::move(builder));
}

Topology Servers(const std::string& name, int64_t server_count, int64_t ranks_per_server) {
  TopologyBuilder builder(name);
  const Nodes ranks = AddRanks(builder, server_count * ranks_per_server, ranks_per_server);
  AddServerSwitches(builder, ranks, ranks_per_server, "sw", Rational(50), LinkKind::kOther);
  AddFabric(builder, ranks, server_count, "fabric", Rational(5));
  return Built(std::move(builder));
}

Topology Host(const std::string& name, int64_t rank_count) {
  TopologyBuilder builder(name);
  Nodes ranks;
  for (int64_t i = 0; i < rank_count; ++i) ranks.push_back(builder.AddRank(Numbered("rank", i), Rank(i), "s0"));
  const NodeId memory = builder.AddSwitch("memory", "s0");
  for (const NodeId rank : ranks) builder.AddDuplex(rank, memory, Rational(8), 0.05, LinkKind::kShm);
  return Built(std::move(builder));
}

}  // namespace mycel::shapes
