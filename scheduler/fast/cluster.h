// Cluster: a topology as FAST sees it. Servers of ranks, each rank with its own way out (NIC), and pairs of ranks of
// two servers, legs, over which everything between the servers goes.
//
// Servers with equally many ranks are joined along rails: rank p of one talks to rank p of the other, at the slower
// one's rate. Others are joined in proportion: with the rates of both servers laid out on a line of equal length, ranks
// whose parts overlap form a leg; where rails do not join all of those, a maximum flow over the pairs of ranks that are
// joined finds the legs. In every case the legs of a pair share its bytes in proportion to their rates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/status.h"
#include "core/topo/topology.h"

namespace mycel::fast {

/// Rank `sender` of one server to rank `receiver` of another (places within their servers).
struct Leg {
  int32_t sender = 0;
  int32_t receiver = 0;
  int64_t share = 0;  // > 0, of Pair::shares
};

/// Everything between two servers, in one direction.
struct Pair {
  std::vector<Leg> legs;  // by sender, then receiver
  int64_t shares = 0;     // sum over legs
  int64_t rate = 0;       // of all legs together, in Cluster::unit_MBps
};

struct Server {
  std::vector<Rank> ranks;     // ascending
  std::vector<int64_t> rates;  // of each rank's way out, > 0, in Cluster::unit_MBps
};

struct Cluster {
  std::vector<Server> servers;
  std::vector<int32_t> server_of;  // by rank
  std::vector<int32_t> place_of;   // by rank: where it stands in its server
  // By source * rank_count + target, for servers with unequally many ranks: whether switches alone join the two. Empty:
  // they do wherever it matters.
  std::vector<bool> joined;
  double unit_MBps = 1;       // what a rate of 1 is
  int64_t scale_up_MBps = 1;  // slowest way from rank to rank within a server
  int64_t latency_ns = 0;     // longest way from server to server

  int32_t server_count() const { return static_cast<int32_t>(servers.size()); }
  int32_t rank_count() const { return static_cast<int32_t>(server_of.size()); }
  bool Joins(Rank source, Rank target) const {
    return joined.empty() || joined[source.index() * server_of.size() + target.index()];
  }
  const Server& at(int32_t server) const { return servers[static_cast<size_t>(server)]; }
};

/// Ranks without a server are servers of their own. Impossible, naming two ranks, when nothing but other ranks joins
/// ranks that must be joined.
StatusOr<Cluster> ClusterOf(const Topology& topology);

/// From server `a` to server `b`; reuses the memory of `pair`.
void JoinServers(const Cluster& cluster, int32_t a, int32_t b, Pair* pair);

}  // namespace mycel::fast
