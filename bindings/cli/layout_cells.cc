#include "bindings/cli/layout_cells.h"

#include <algorithm>
#include <map>

namespace mycel::cli {
namespace {

using Neighbours = std::vector<std::vector<NodeId>>;

bool IsRank(const Topology& topology, NodeId node) { return topology.node(node).type == NodeType::kRank; }

/// What a node's cell is called: "s:" and its server, or "l:" and the switch it stands behind; empty: the spine.
using CellKeys = std::vector<std::string>;

/// Servers of more than one rank are cells; what has no server stands behind switches.
bool HasServers(const Topology& topology) {
  std::map<std::string, int> ranks_of;
  for (const Node& node : topology.nodes()) {
    if (node.type == NodeType::kRank && !node.server.empty() && ++ranks_of[node.server] > 1) return true;
  }
  return false;
}

CellKeys KeysOf(const Topology& topology, const Neighbours& neighbours) {
  const bool servers = HasServers(topology);
  CellKeys keys(neighbours.size());
  std::map<std::string, bool> with_ranks;
  for (const NodeId node : Ids<NodeId>(topology.node_count())) {
    std::string& key = keys[node.index()];
    if (servers && !topology.node(node).server.empty()) {
      key = "s:" + topology.node(node).server;
    } else if (IsRank(topology, node)) {
      const auto first = std::find_if(neighbours[node.index()].begin(), neighbours[node.index()].end(),
                                      [&](NodeId other) { return !IsRank(topology, other); });
      key = "l:" + (first == neighbours[node.index()].end() ? std::string() : std::to_string(first->value()));
    }
    if (IsRank(topology, node)) with_ranks[key] = true;
  }
  for (const NodeId node : Ids<NodeId>(topology.node_count())) {
    std::string& key = keys[node.index()];
    if (IsRank(topology, node)) continue;
    // A server of switches alone is part of the spine.
    if (!key.empty() && !with_ranks.contains(key)) key.clear();
    if (!key.empty()) continue;
    // A switch whose ranks all stand behind it stands with them.
    const std::string own = "l:" + std::to_string(node.value());
    if (!with_ranks.contains(own)) continue;
    const bool shared =
        std::any_of(neighbours[node.index()].begin(), neighbours[node.index()].end(),
                    [&](NodeId other) { return IsRank(topology, other) && keys[other.index()] != own; });
    if (!shared) key = own;
  }
  return keys;
}

}  // namespace

std::vector<std::vector<NodeId>> NeighboursOf(const Topology& topology) {
  Neighbours neighbours(static_cast<size_t>(topology.node_count()));
  for (const Link& link : topology.links()) {
    neighbours[link.source.index()].push_back(link.target);
    neighbours[link.target.index()].push_back(link.source);
  }
  for (std::vector<NodeId>& list : neighbours) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return neighbours;
}

CellDivision DivideIntoCells(const Topology& topology) {
  const Neighbours neighbours = NeighboursOf(topology);
  const CellKeys keys = KeysOf(topology, neighbours);
  CellDivision division;
  division.cell_of.assign(keys.size(), -1);
  std::map<std::string, int32_t> known;
  // By rank, so that cells come in the order of their lowest ranks.
  for (const Rank rank : Ids<Rank>(topology.rank_count())) {
    const NodeId node = topology.NodeOf(rank);
    const std::string& key = keys[node.index()];
    const auto [at, fresh] = known.try_emplace(key, static_cast<int32_t>(division.cells.size()));
    if (fresh) division.cells.push_back({key.starts_with("s:") ? key.substr(2) : "", {}, {}, {}});
    division.cells[static_cast<size_t>(at->second)].ranks.push_back(node);
    division.cell_of[node.index()] = at->second;
  }
  for (const NodeId node : Ids<NodeId>(topology.node_count())) {
    if (IsRank(topology, node)) continue;
    const std::string& key = keys[node.index()];
    if (key.empty()) {
      division.spine.push_back(node);
      continue;
    }
    const int32_t index = known.at(key);
    division.cell_of[node.index()] = index;
    Cell& cell = division.cells[static_cast<size_t>(index)];
    const bool leads_out = std::any_of(neighbours[node.index()].begin(), neighbours[node.index()].end(),
                                       [&](NodeId other) { return keys[other.index()] != key; });
    (leads_out || cell.server.empty() ? cell.bars_near : cell.bars_far).push_back(node);
  }
  return division;
}

}  // namespace mycel::cli
