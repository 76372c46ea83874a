// Machines without a rule: their links are tables.
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/topo/gallery_shapes.h"

namespace mycel::shapes {
namespace {

struct Wire {
  int32_t a, b;  // node numbers: ranks first, then switches
  int32_t bandwidth;
};

struct Crew {
  int64_t rank_count;
  std::string_view server;
};

// Ranks gpu0, gpu1, ..., as many of each server as its crew has.
std::vector<NodeId> AddCrews(TopologyBuilder& builder, const std::vector<Crew>& crews) {
  std::vector<NodeId> nodes;
  for (const Crew& crew : crews) {
    for (int64_t i = 0; i < crew.rank_count; ++i) {
      const int64_t rank = std::ssize(nodes);
      nodes.push_back(builder.AddRank("gpu" + std::to_string(rank), Rank(rank), std::string(crew.server)));
    }
  }
  return nodes;
}

Topology Wired(TopologyBuilder builder, const std::vector<NodeId>& nodes, const std::vector<Wire>& wires,
               double latency_us, LinkKind kind) {
  for (const Wire& wire : wires) {
    builder.AddDuplex(nodes[static_cast<size_t>(wire.a)], nodes[static_cast<size_t>(wire.b)], Rational(wire.bandwidth),
                      latency_us, kind);
  }
  auto topology = std::move(builder).Build();
  MYCEL_CHECK(topology.ok());
  return *std::move(topology);
}

}  // namespace

Topology Dgx1V100() {
  TopologyBuilder builder("dgx1-v100", "hybrid cube mesh, one 25 GB/s brick each");
  const std::vector<NodeId> nodes = AddCrews(builder, {{8, "s0"}});
  return Wired(std::move(builder), nodes,
               {{0, 1, 25},
                {0, 2, 25},
                {0, 3, 50},
                {0, 4, 50},
                {1, 2, 50},
                {1, 3, 25},
                {1, 5, 50},
                {2, 3, 50},
                {2, 6, 25},
                {3, 7, 25},
                {4, 5, 25},
                {4, 6, 25},
                {4, 7, 50},
                {5, 6, 50},
                {5, 7, 25},
                {6, 7, 50}},
               0.7, LinkKind::kNvlink);
}

// An NVSwitch server with full network, a server of four with two slow ports, and two PCIe cards behind a host's port.
Topology Mixed14() {
  TopologyBuilder builder("mixed-14", "three unlike servers; asymmetric");
  const std::vector<NodeId> gpu = AddCrews(builder, {{8, "s0"}, {4, "s1"}, {2, "s2"}});
  const NodeId nvswitch = builder.AddSwitch("nvsw0", "s0");
  const NodeId host = builder.AddSwitch("host2", "s2");
  const NodeId fabric = builder.AddSwitch("fabric");
  for (size_t i = 0; i < 8; ++i) {
    builder.AddDuplex(gpu[i], nvswitch, Rational(300), 0.7, LinkKind::kNvlink);
    builder.AddDuplex(gpu[i], fabric, Rational(25), 3, LinkKind::kRdma);
  }
  const Rational slow_port(25, 2);
  for (const size_t i : {8, 10}) builder.AddDuplex(gpu[i], fabric, slow_port, 3, LinkKind::kRdma);
  for (const size_t i : {12, 13}) builder.AddDuplex(gpu[i], host, Rational(16), 1.5, LinkKind::kPcie);
  builder.AddDuplex(host, fabric, slow_port, 3, LinkKind::kRdma);
  return Wired(std::move(builder), gpu, {{8, 9, 50}, {8, 10, 50}, {8, 11, 50}, {9, 10, 50}, {9, 11, 50}, {10, 11, 50}},
               0.7, LinkKind::kNvlink);
}

Topology Random1() {
  TopologyBuilder builder("random-1-6r2s");
  std::vector<NodeId> nodes = AddCrews(builder, {{4, "s0"}, {2, "s1"}});
  for (const char* id : {"sw0", "sw1"}) nodes.push_back(builder.AddSwitch(id));
  return Wired(std::move(builder), nodes,
               {{3, 6, 8},
                {6, 1, 7},
                {1, 5, 4},
                {5, 7, 2},
                {7, 0, 8},
                {0, 4, 1},
                {4, 2, 7},
                {2, 3, 7},
                {0, 5, 8},
                {4, 5, 4},
                {1, 2, 1},
                {0, 7, 9},
                {0, 3, 4},
                {6, 5, 1}},
               1, LinkKind::kOther);
}

Topology Random2() {
  TopologyBuilder builder("random-2-9r3s");
  std::vector<NodeId> nodes = AddCrews(builder, {{4, "s0"}, {4, "s1"}, {1, "s2"}});
  for (const char* id : {"sw0", "sw1", "sw2"}) nodes.push_back(builder.AddSwitch(id));
  return Wired(std::move(builder), nodes,
               {{9, 11, 20}, {11, 3, 2},  {3, 4, 19},  {4, 7, 6},   {7, 6, 14},  {6, 8, 13}, {8, 2, 17}, {2, 5, 12},
                {5, 10, 18}, {10, 1, 15}, {1, 0, 17},  {0, 9, 9},   {0, 11, 12}, {7, 5, 13}, {6, 8, 6},  {8, 2, 8},
                {3, 0, 6},   {5, 2, 5},   {8, 11, 12}, {8, 10, 18}, {2, 7, 14},  {11, 8, 12}},
               1, LinkKind::kOther);
}

}  // namespace mycel::shapes
