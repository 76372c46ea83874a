#include "scheduler/fast/cluster.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "core/base/rational.h"
#include "core/topo/servers.h"
#include "scheduler/graph/max_flow.h"
#include "scheduler/route/route_book.h"

namespace mycel::fast {
namespace {

/// Rates are kept exact up to this, and rounded beyond.
constexpr int64_t kRateMax = 1 << 16;

void GatherServers(const Topology& topology, Cluster* cluster) {
  cluster->server_of.resize(static_cast<size_t>(topology.rank_count()));
  cluster->place_of.resize(static_cast<size_t>(topology.rank_count()));
  for (std::vector<Rank>& ranks : RanksByServer(topology)) {
    for (size_t place = 0; place < ranks.size(); ++place) {
      cluster->server_of[ranks[place].index()] = cluster->server_count();
      cluster->place_of[ranks[place].index()] = static_cast<int32_t>(place);
    }
    cluster->servers.emplace_back().ranks = std::move(ranks);
  }
}

/// What a way of links carries, and how long it is.
struct Way {
  std::vector<LinkId> links;
  double latency_us = 0;
};

StatusOr<Way> WayOf(const Topology& topology, RouteBook* book, const std::vector<Route>& routes, Rank source,
                    Rank target) {
  MYCEL_ASSIGN_OR_RETURN(const TreeEdge edge, book->Edge(source, target));
  const Route direct = {topology.NodeOf(source), topology.NodeOf(target)};
  const Route& route = edge.route < 0 ? direct : routes[static_cast<size_t>(edge.route)];
  Way way;
  for (size_t i = 0; i + 1 < route.size(); ++i) {
    way.links.push_back(topology.FindLink(route[i], route[i + 1]));
    way.latency_us += topology.link(way.links.back()).latency_us;
  }
  return way;
}

/// Between servers with unequally many ranks legs are not given: which ranks could form one?
Status FindJoins(const Topology& topology, RouteBook* book, Cluster* cluster) {
  const size_t size = cluster->servers.front().ranks.size();
  const auto alike = [size](const Server& server) { return server.ranks.size() == size; };
  if (std::all_of(cluster->servers.begin(), cluster->servers.end(), alike)) return OkStatus();
  const auto n = static_cast<size_t>(topology.rank_count());
  std::vector<bool> joined(n * n, true);
  bool all = true;
  for (const Server& from : cluster->servers) {
    for (const Server& to : cluster->servers) {
      if (from.ranks.size() == to.ranks.size()) continue;
      bool any = false;
      for (const Rank source : from.ranks) {
        for (const Rank target : to.ranks) {
          const bool joins = book->Joins(source, target);
          joined[source.index() * n + target.index()] = joins;
          any = any || joins;
          all = all && joins;
        }
      }
      if (!any) return book->Edge(from.ranks.front(), to.ranks.front()).status();
    }
  }
  if (!all) cluster->joined = std::move(joined);
  return OkStatus();
}

/// The rank of server `b` that stands for it in the eyes of the rank at `place` of server `a`: in proportion, else any
/// that can be reached.
Rank PeerOf(const Cluster& cluster, int32_t a, size_t place, int32_t b) {
  const Server& here = cluster.at(a);
  const Server& there = cluster.at(b);
  const size_t fair = place * there.ranks.size() / here.ranks.size();
  if (here.ranks.size() == there.ranks.size()) return there.ranks[fair];
  for (size_t i = 0; i < there.ranks.size(); ++i) {
    const Rank peer = there.ranks[(fair + i) % there.ranks.size()];
    if (cluster.Joins(here.ranks[place], peer)) return peer;
  }
  return there.ranks[fair];
}

/// The rate of each rank of server `a`: its way to a rank of the next server, whose links it shares with the other
/// ranks of its own server that use them.
Status MeasureServer(const Topology& topology, int32_t a, RouteBook* book, const std::vector<Route>& routes,
                     Cluster* cluster, std::vector<Rational>* rates) {
  const Server& here = cluster->at(a);
  std::vector<Way> ways;
  std::map<int32_t, int64_t> users;  // by link
  for (size_t p = 0; p < here.ranks.size(); ++p) {
    const Rank peer = PeerOf(*cluster, a, p, (a + 1) % cluster->server_count());
    MYCEL_ASSIGN_OR_RETURN(Way way, WayOf(topology, book, routes, here.ranks[p], peer));
    for (const LinkId link : way.links) ++users[link.value()];
    cluster->latency_ns = std::max(cluster->latency_ns, static_cast<int64_t>(std::llround(way.latency_us * 1e3)));
    ways.push_back(std::move(way));
  }
  for (const Way& way : ways) {
    Rational rate;
    for (size_t i = 0; i < way.links.size(); ++i) {
      const Rational share = topology.link(way.links[i]).bandwidth / Rational(users[way.links[i].value()]);
      rate = i == 0 ? share : std::min(rate, share);
    }
    rates->push_back(rate);
  }
  return OkStatus();
}

/// Integers in proportion to `rates`: exact where they are small, else at least 1.
std::vector<int64_t> ScaledRates(const std::vector<Rational>& rates) {
  constexpr int128 kTooLarge = int128{1} << 62;
  int128 common = 1;
  for (const Rational& rate : rates) {
    if (common >= kTooLarge) break;
    common = common / std::gcd(static_cast<int64_t>(common), rate.denominator()) * rate.denominator();
  }
  std::vector<int64_t> scaled;
  bool exact = common < kTooLarge;
  int64_t divisor = 0;
  for (const Rational& rate : rates) {
    const int128 value = exact ? common / rate.denominator() * rate.numerator() : int128{0};
    exact = exact && value < kTooLarge;
    scaled.push_back(static_cast<int64_t>(exact ? value : 0));
    divisor = std::gcd(divisor, scaled.back());
  }
  if (exact) {
    for (int64_t& value : scaled) value /= divisor;
    exact = *std::max_element(scaled.begin(), scaled.end()) <= kRateMax;
  }
  if (exact) return scaled;
  const double most = std::max_element(rates.begin(), rates.end())->ToDouble();
  for (size_t i = 0; i < rates.size(); ++i) {
    scaled[i] = std::max<int64_t>(1, std::llround(rates[i].ToDouble() / most * kRateMax));
  }
  return scaled;
}

/// The slowest way within a server, asked of its first two ranks: an estimate, for the choice of stages only.
Status MeasureScaleUp(const Topology& topology, RouteBook* book, const std::vector<Route>& routes, Cluster* cluster) {
  double slowest = 0;
  for (const Server& server : cluster->servers) {
    if (server.ranks.size() < 2) continue;
    MYCEL_ASSIGN_OR_RETURN(const Way way, WayOf(topology, book, routes, server.ranks[0], server.ranks[1]));
    for (const LinkId link : way.links) {
      const double MBps = topology.link(link).bandwidth.ToDouble() * 1e3;
      slowest = slowest == 0 ? MBps : std::min(slowest, MBps);
    }
  }
  if (slowest > 0) cluster->scale_up_MBps = std::max<int64_t>(1, std::llround(slowest));
  return OkStatus();
}

/// Legs between two servers over the pairs of ranks that switches join. Where the rails of both sides do not meet in
/// proportion the flow carries less than both servers could.
void JoinByFlow(const Cluster& cluster, const Server& from, const Server& to, Pair* pair) {
  const int64_t out = std::accumulate(from.rates.begin(), from.rates.end(), int64_t{0});
  const int64_t in = std::accumulate(to.rates.begin(), to.rates.end(), int64_t{0});
  const auto senders = static_cast<int32_t>(from.ranks.size());
  const auto receivers = static_cast<int32_t>(to.ranks.size());
  const int32_t source = senders + receivers;
  const int32_t sink = source + 1;
  MaxFlow<int64_t> flow(sink + 1);
  flow.MarkSource(source);
  for (int32_t p = 0; p < senders; ++p) flow.AddEdge(source, p, from.rates[static_cast<size_t>(p)] * in);
  for (int32_t q = 0; q < receivers; ++q) flow.AddEdge(senders + q, sink, to.rates[static_cast<size_t>(q)] * out);
  std::vector<FlowEdge> edges;
  for (int32_t p = 0; p < senders; ++p) {
    for (int32_t q = 0; q < receivers; ++q) {
      if (!cluster.Joins(from.ranks[static_cast<size_t>(p)], to.ranks[static_cast<size_t>(q)])) continue;
      pair->legs.push_back({p, q, 0});
      edges.push_back(flow.AddEdge(p, senders + q, out * in));
    }
  }
  const int64_t carried = flow.Run(sink, out * in);
  int64_t divisor = 0;
  for (size_t i = 0; i < edges.size(); ++i) {
    pair->legs[i].share = flow.FlowOf(edges[i]);
    divisor = std::gcd(divisor, pair->legs[i].share);
  }
  std::erase_if(pair->legs, [](const Leg& leg) { return leg.share == 0; });
  for (Leg& leg : pair->legs) pair->shares += leg.share /= divisor;
  pair->rate = std::max<int64_t>(1, carried / std::max(out, in));
}

}  // namespace

StatusOr<Cluster> ClusterOf(const Topology& topology) {
  Cluster cluster;
  GatherServers(topology, &cluster);
  std::vector<Route> routes;
  RouteBook book(topology, &routes);
  MYCEL_RETURN_IF_ERROR(FindJoins(topology, &book, &cluster));
  MYCEL_RETURN_IF_ERROR(MeasureScaleUp(topology, &book, routes, &cluster));
  std::vector<Rational> rates(cluster.server_count() < 2 ? static_cast<size_t>(topology.rank_count()) : 0, Rational(1));
  for (int32_t a = 0; cluster.server_count() > 1 && a < cluster.server_count(); ++a) {
    MYCEL_RETURN_IF_ERROR(MeasureServer(topology, a, &book, routes, &cluster, &rates));
  }
  const std::vector<int64_t> scaled = ScaledRates(rates);
  size_t at = 0;
  for (Server& server : cluster.servers) {
    for (size_t p = 0; p < server.ranks.size(); ++p) server.rates.push_back(scaled[at++]);
  }
  cluster.unit_MBps = rates.front().ToDouble() * 1e3 / static_cast<double>(scaled.front());
  return cluster;
}

void JoinServers(const Cluster& cluster, int32_t a, int32_t b, Pair* pair) {
  const Server& from = cluster.at(a);
  const Server& to = cluster.at(b);
  pair->legs.clear();
  pair->shares = 0;
  if (from.ranks.size() == to.ranks.size()) {
    for (size_t p = 0; p < from.ranks.size(); ++p) {
      const auto place = static_cast<int32_t>(p);
      pair->legs.push_back({place, place, std::min(from.rates[p], to.rates[p])});
      pair->shares += pair->legs.back().share;
    }
    pair->rate = pair->shares;
    return;
  }
  if (!cluster.joined.empty()) return JoinByFlow(cluster, from, to, pair);
  // Both servers on a line of length (sum of from) * (sum of to), each rank as long as its share of its server.
  const int64_t out = std::accumulate(from.rates.begin(), from.rates.end(), int64_t{0});
  const int64_t in = std::accumulate(to.rates.begin(), to.rates.end(), int64_t{0});
  pair->rate = std::min(out, in);
  int64_t divisor = 0;
  int64_t p_left = 0, q_left = 0;
  for (size_t p = 0, q = 0; p < from.ranks.size() && q < to.ranks.size();) {
    if (p_left == 0) p_left = from.rates[p] * in;
    if (q_left == 0) q_left = to.rates[q] * out;
    const int64_t part = std::min(p_left, q_left);
    pair->legs.push_back({static_cast<int32_t>(p), static_cast<int32_t>(q), part});
    divisor = std::gcd(divisor, part);
    if ((p_left -= part) == 0) ++p;
    if ((q_left -= part) == 0) ++q;
  }
  for (Leg& leg : pair->legs) pair->shares += leg.share /= divisor;
}

}  // namespace mycel::fast
