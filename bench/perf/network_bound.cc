#include "bench/perf/network_bound.h"

#include <set>

#include "core/base/env.h"
#include "core/topo/gallery.h"
#include "scheduler/bound/bound.h"

namespace mycel::perf {

StatusOr<std::unique_ptr<NetworkBound>> NetworkBound::FromEnvironment(int ranks) {
  MYCEL_ASSIGN_OR_RETURN(const std::string name, EnvText(Env::kTopo));
  if (name.empty()) return std::unique_ptr<NetworkBound>();
  MYCEL_ASSIGN_OR_RETURN(Topology topology, LoadTopology(name));
  std::set<std::string> servers;
  for (const mycel::Rank rank : Ids<mycel::Rank>(topology.rank_count())) {
    servers.insert(topology.node(topology.NodeOf(rank)).server);
  }
  if (servers.size() < 2 || topology.rank_count() != ranks) return std::unique_ptr<NetworkBound>();
  return std::unique_ptr<NetworkBound>(new NetworkBound(std::move(topology), servers.size()));
}

StatusOr<double> NetworkBound::Us(const std::vector<size_t>& matrix, size_t element_bytes) const {
  PlanRequest request;
  request.collective = mycel::Collective::kAllToAllV;
  for (const size_t count : matrix) request.demand.push_back(static_cast<int64_t>(count * element_bytes));
  MYCEL_ASSIGN_OR_RETURN(const Optimum optimum, BoundOf(topology_, request));
  return optimum.inv_x.ToDouble() / 1e3;  // ns for the whole demand
}

std::string NetworkBound::Describe() const { return topology_.name() + ", " + std::to_string(servers_) + " servers"; }

}  // namespace mycel::perf
