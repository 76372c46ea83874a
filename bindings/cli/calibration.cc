#include "bindings/cli/calibration.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/topo/servers.h"

namespace mycel::cli {
namespace {

/// What a link carried in one measurement.
struct Carried {
  int64_t bytes = 0;
  double seconds = 0;
  bool bottleneck = false;
};

/// By link number.
using Loads = std::map<int32_t, Carried>;

StatusOr<std::vector<int32_t>> LinksOf(const Topology& topology, const MeasuredFlow& flow) {
  const std::string who = "the flow from rank " + std::to_string(flow.source) + " to " + std::to_string(flow.target);
  const std::vector<NodeId> route = ShortestRoute(topology, Rank(flow.source), Rank(flow.target));
  if (route.empty()) return InvalidArgument(who + " has no route in topology " + topology.name());
  if (!(flow.seconds > 0) || flow.bytes <= 0) return InvalidArgument(who + " took no time");
  std::vector<int32_t> links;
  for (size_t hop = 1; hop < route.size(); ++hop)
    links.push_back(static_cast<int32_t>(topology.FindLink(route[hop - 1], route[hop]).value()));
  return links;
}

StatusOr<Loads> LoadsOf(const Topology& topology, const Measurement& measurement) {
  Loads loads;
  std::vector<std::vector<int32_t>> links_of;
  for (const MeasuredFlow& flow : measurement) {
    MYCEL_ASSIGN_OR_RETURN(std::vector<int32_t> links, LinksOf(topology, flow));
    for (const int32_t link : links) {
      loads[link].bytes += flow.bytes;
      loads[link].seconds = std::max(loads[link].seconds, flow.seconds);
    }
    links_of.push_back(std::move(links));
  }
  const auto nominal_time = [&](int32_t link) {
    return static_cast<double>(loads[link].bytes) / topology.link(LinkId(link)).bandwidth.ToDouble();
  };
  for (const std::vector<int32_t>& links : links_of) {
    double longest = 0;
    for (const int32_t link : links) longest = std::max(longest, nominal_time(link));
    for (const int32_t link : links) loads[link].bottleneck |= nominal_time(link) >= 0.99 * longest;
  }
  return loads;
}

/// In thousandths, and never nothing: a link that carried something exists.
Rational Rounded(double gbps) { return {std::max<int64_t>(1, std::llround(gbps * 1000)), 1000}; }

}  // namespace

std::vector<SendPattern> PatternsFor(const Topology& topology, int32_t shifts_max) {
  const int32_t n = topology.rank_count();
  const std::vector<std::vector<Rank>> servers = RanksByServer(topology);
  std::vector<SendPattern> patterns;
  const auto add = [&](SendPattern pattern) {
    const bool rests = std::all_of(pattern.begin(), pattern.end(), [](int32_t to) { return to < 0; });
    if (!rests && std::find(patterns.begin(), patterns.end(), pattern) == patterns.end())
      patterns.push_back(std::move(pattern));
  };
  for (int32_t k = 1; k <= std::min(shifts_max, n - 1); ++k) {
    SendPattern inside(static_cast<size_t>(n), -1);
    SendPattern across(static_cast<size_t>(n), -1);
    SendPattern all(static_cast<size_t>(n), -1);
    for (size_t s = 0; s < servers.size(); ++s) {
      const std::vector<Rank>& mine = servers[s];
      const std::vector<Rank>& next = servers[(s + static_cast<size_t>(k)) % servers.size()];
      for (size_t i = 0; i < mine.size(); ++i) {
        const size_t rank = mine[i].index();
        const Rank neighbour = mine[(i + static_cast<size_t>(k)) % mine.size()];
        if (neighbour != mine[i]) inside[rank] = neighbour.value();
        if (static_cast<size_t>(k) < servers.size() && i < next.size()) across[rank] = next[i].value();
        all[rank] = (mine[i].value() + k) % n;
      }
    }
    add(std::move(inside));
    add(std::move(across));
    add(std::move(all));
  }
  return patterns;
}

StatusOr<Calibration> Calibrate(const Topology& topology, const std::vector<Measurement>& measurements) {
  std::vector<double> reached(topology.links().size(), 0);
  for (const Measurement& measurement : measurements) {
    MYCEL_ASSIGN_OR_RETURN(const Loads loads, LoadsOf(topology, measurement));
    for (const auto& [link, load] : loads) {
      if (!load.bottleneck) continue;
      double& most = reached[static_cast<size_t>(link)];
      most = std::max(most, static_cast<double>(load.bytes) / load.seconds / 1e9);
    }
  }
  TopologyBuilder builder(topology.name() + "-calibrated",
                          topology.note() + (topology.note().empty() ? "" : "; ") + std::string(kCalibratedNote));
  for (const Node& node : topology.nodes()) {
    if (node.type == NodeType::kRank) {
      builder.AddRank(node.id, node.rank, node.server);
    } else {
      builder.AddSwitch(node.id, node.server, node.multicast, node.aggregate);
    }
  }
  std::vector<LinkRate> rates;
  for (size_t i = 0; i < reached.size(); ++i) {
    const Link& link = topology.links()[i];
    const Rational capacity = reached[i] > 0 ? Rounded(reached[i]) : link.bandwidth;
    builder.AddLink(link.source, link.target, capacity, link.latency_us, link.kind);
    rates.push_back({LinkId(static_cast<int32_t>(i)), link.bandwidth.ToDouble(), reached[i]});
  }
  MYCEL_ASSIGN_OR_RETURN(Topology calibrated, std::move(builder).Build());
  return Calibration{std::move(calibrated), std::move(rates)};
}

}  // namespace mycel::cli
