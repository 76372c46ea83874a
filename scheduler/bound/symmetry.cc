#include "scheduler/bound/symmetry.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/base/check.h"

namespace mycel::bound {
namespace {

/// Numbers for keys, in the order in which they first appear.
template <typename Key>
int32_t Number(const std::vector<Key>& keys, std::vector<int32_t>* numbers) {
  std::map<Key, int32_t> known;
  numbers->clear();
  for (const Key& key : keys) {
    numbers->push_back(known.try_emplace(key, static_cast<int32_t>(known.size())).first->second);
  }
  return static_cast<int32_t>(known.size());
}

}  // namespace

Colours RefineColours(const ScaledGraph& graph, const std::vector<int32_t>& start) {
  MYCEL_CHECK_EQ(std::ssize(start), graph.node_count);
  // What a node sees of one link: whether it leaves, its capacity, the colour at the other end.
  using Sight = std::array<int64_t, 3>;
  Colours colours;
  colours.nodes = Number(start, &colours.node);
  for (int32_t before = 0; before != colours.nodes;) {
    before = colours.nodes;
    std::vector<std::pair<int32_t, std::vector<Sight>>> sights(static_cast<size_t>(graph.node_count));
    for (size_t node = 0; node < sights.size(); ++node) sights[node].first = colours.node[node];
    for (const auto& [source, target, capacity] : graph.edges) {
      const auto s = static_cast<size_t>(source);
      const auto t = static_cast<size_t>(target);
      sights[s].second.push_back({1, capacity, colours.node[t]});
      sights[t].second.push_back({0, capacity, colours.node[s]});
    }
    for (auto& [colour, seen] : sights) std::sort(seen.begin(), seen.end());
    colours.nodes = Number(sights, &colours.node);
  }
  std::vector<Sight> links;
  for (const auto& [source, target, capacity] : graph.edges) {
    links.push_back({colours.node[static_cast<size_t>(source)], colours.node[static_cast<size_t>(target)], capacity});
  }
  colours.links = Number(links, &colours.link);
  return colours;
}

}  // namespace mycel::bound
