#include "bindings/cli/link_failure.h"

#include <algorithm>
#include <set>
#include <utility>

#include "bindings/cli/terminal.h"
#include "core/base/edit_distance.h"

namespace mycel::cli {
namespace {

constexpr size_t kNamesShown = 6;

std::string NameOfLink(const Topology& topology, const Link& link) {
  return topology.node(link.source).id + "-" + topology.node(link.target).id;
}

/// What somebody may have meant by `name`: links with the name nearest to it, and those of a node that it begins with.
std::string Suggestions(const Topology& topology, const std::string& name) {
  std::vector<std::string> near;
  size_t least = std::string::npos;
  std::set<std::string> seen;
  for (const Link& link : topology.links()) {
    std::string candidate = NameOfLink(topology, link);
    if (!seen.insert(candidate).second) continue;
    const std::string& node = topology.node(link.source).id;
    const bool of_node = name == node || name.starts_with(node + "-");
    const size_t distance = of_node ? 0 : EditDistance(name, candidate);
    if (distance < least) near.clear(), least = distance;
    if (distance == least) near.push_back(std::move(candidate));
  }
  std::string text;
  for (size_t i = 0; i < std::min(near.size(), kNamesShown); ++i) text += (i > 0 ? ", " : "") + Printable(near[i]);
  return text + (near.size() > kNamesShown ? ", ..." : "");
}

/// Node ids may hold dashes: every way to cut the name in two is tried.
std::vector<LinkId> LinksNamed(const Topology& topology, const std::string& name) {
  std::vector<LinkId> found;
  for (size_t i = 0; i < topology.links().size(); ++i) {
    const Link& link = topology.links()[i];
    const std::string& a = topology.node(link.source).id;
    const std::string& b = topology.node(link.target).id;
    if (name == a + "-" + b || name == b + "-" + a) found.emplace_back(static_cast<int32_t>(i));
  }
  return found;
}

}  // namespace

StatusOr<Topology> WithoutLinks(const Topology& topology, const std::vector<std::string>& names) {
  std::vector<bool> lost(topology.links().size(), false);
  std::string title = topology.name() + " without ";
  for (size_t i = 0; i < names.size(); ++i) {
    const std::vector<LinkId> links = LinksNamed(topology, names[i]);
    if (links.empty()) {
      return InvalidArgument("--fail " + Printable(names[i]) + ": topology " + Printable(topology.name()) +
                             " has no such link; name it after its two nodes, e.g. " + Suggestions(topology, names[i]));
    }
    for (const LinkId link : links) lost[link.index()] = true;
    title += (i > 0 ? ", " : "") + names[i];
  }
  TopologyBuilder builder(title, topology.note());
  for (const Node& node : topology.nodes()) {
    if (node.type == NodeType::kRank) {
      builder.AddRank(node.id, node.rank, node.server);
    } else {
      builder.AddSwitch(node.id, node.server, node.multicast, node.aggregate);
    }
  }
  for (size_t i = 0; i < lost.size(); ++i) {
    const Link& link = topology.links()[i];
    if (!lost[i]) builder.AddLink(link.source, link.target, link.bandwidth, link.latency_us, link.kind);
  }
  MYCEL_ASSIGN_OR_RETURN(Topology left, std::move(builder).Build());
  MYCEL_RETURN_IF_ERROR(CheckConnected(left));
  return left;
}

}  // namespace mycel::cli
