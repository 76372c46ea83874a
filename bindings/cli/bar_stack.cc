#include "bindings/cli/bar_stack.h"

#include <algorithm>
#include <limits>

namespace mycel::cli {
namespace {

constexpr double kLevelGap = 16;
constexpr double kEndPad = 30;        // beyond the outermost ports
constexpr double kLetterWidth = 6.4;  // of the name, which stands at the left end
constexpr size_t kLettersMax = 16;
constexpr double kNeighbourGap = 14;  // between bars of a level

}  // namespace

BarStack::BarStack(const Topology& topology, const std::vector<std::vector<NodeId>>& neighbours,
                   const std::vector<NodeId>& bars, const std::vector<NodeId>& above, PortMap* ports) {
  for (const NodeId bar : bars) bars_.push_back({bar, 0, 0, 0, 0});
  FindTiers(topology, neighbours);
  for (size_t i = 0; i < bars_.size(); ++i) {
    BarSpan& bar = bars_[i];
    FindSpan(topology, neighbours[bar.node.index()], *ports, &bar);
    FindLevel(i, neighbours[bar.node.index()]);
    std::vector<NodeId> up;
    for (const NodeId other : neighbours[bar.node.index()]) {
      const bool higher = std::any_of(bars_.begin(), bars_.end(), [&](const BarSpan& candidate) {
        return candidate.node == other && candidate.tier > bar.tier;
      });
      if (higher || std::find(above.begin(), above.end(), other) != above.end()) up.push_back(other);
    }
    for (size_t k = 0; k < up.size(); ++k) {
      const double share = static_cast<double>(k + 1) / static_cast<double>(up.size() + 1);
      (*ports)[PairOf(bar.node, up[k])] = {bar.left + share * (bar.right - bar.left), bar.node};
    }
  }
}

void BarStack::FindTiers(const Topology& topology, const std::vector<std::vector<NodeId>>& neighbours) {
  std::map<NodeId, BarSpan*> pending;
  for (BarSpan& bar : bars_) pending[bar.node] = &bar;
  for (int32_t tier = 1; !pending.empty(); ++tier) {
    std::vector<NodeId> reached;
    for (const auto& [node, bar] : pending) {
      const auto is_below = [&](NodeId other) {
        if (topology.node(other).type == NodeType::kRank) return true;
        const bool in_stack =
            std::any_of(bars_.begin(), bars_.end(), [&](const BarSpan& candidate) { return candidate.node == other; });
        return !in_stack || !pending.contains(other);
      };
      const std::vector<NodeId>& others = neighbours[node.index()];
      if (std::any_of(others.begin(), others.end(), is_below)) reached.push_back(node);
    }
    // What nothing leads to stands in the first tier that is left.
    if (reached.empty()) reached.push_back(pending.begin()->first);
    for (const NodeId node : reached) {
      pending.at(node)->tier = tier;
      pending.erase(node);
    }
  }
  std::stable_sort(bars_.begin(), bars_.end(), [](const BarSpan& a, const BarSpan& b) { return a.tier < b.tier; });
}

void BarStack::FindSpan(const Topology& topology, const std::vector<NodeId>& neighbours, const PortMap& ports,
                        BarSpan* bar) {
  double low = std::numeric_limits<double>::max();
  double high = std::numeric_limits<double>::lowest();
  for (const NodeId other : neighbours) {
    const auto port = ports.find(PairOf(bar->node, other));
    if (port == ports.end() || port->second.lower != other) continue;
    low = std::min(low, port->second.x);
    high = std::max(high, port->second.x);
  }
  if (low > high) low = high = 0;
  const size_t letters = std::min(kLettersMax, topology.node(bar->node).id.size());
  bar->left = low - kEndPad - kLetterWidth * static_cast<double>(letters);
  bar->right = high + kEndPad;
}

void BarStack::FindLevel(size_t index, const std::vector<NodeId>& neighbours) {
  BarSpan& bar = bars_[index];
  for (size_t i = 0; i < index; ++i) {
    const bool joined = std::binary_search(neighbours.begin(), neighbours.end(), bars_[i].node);
    if (joined && bars_[i].tier < bar.tier) bar.level = std::max(bar.level, bars_[i].level + 1);
  }
  const auto taken = [&] {
    return std::any_of(bars_.begin(), bars_.begin() + static_cast<int64_t>(index), [&](const BarSpan& other) {
      return other.level == bar.level && other.left < bar.right + kNeighbourGap &&
             bar.left < other.right + kNeighbourGap;
    });
  };
  while (taken()) ++bar.level;
  levels_ = std::max(levels_, bar.level + 1);
}

double BarStack::Height(double bar_height) const {
  return bars_.empty() ? 0 : levels_ * (bar_height + kLevelGap) - kLevelGap;
}

void BarStack::Place(double start, double bar_height, bool level0_last, std::vector<double>* places) const {
  for (const BarSpan& bar : bars_) {
    const int32_t line = level0_last ? levels_ - 1 - bar.level : bar.level;
    (*places)[bar.node.index()] = start + line * (bar_height + kLevelGap) + bar_height / 2;
  }
}

}  // namespace mycel::cli
