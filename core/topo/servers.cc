#include "core/topo/servers.h"

#include <map>
#include <string>

namespace mycel {

std::vector<std::vector<Rank>> RanksByServer(const Topology& topology) {
  std::map<std::string, size_t> server_of_name;
  std::vector<std::vector<Rank>> servers;
  for (const Rank rank : Ids<Rank>(topology.rank_count())) {
    const std::string& name = topology.node(topology.NodeOf(rank)).server;
    const size_t next = servers.size();
    const size_t server = name.empty() ? next : server_of_name.emplace(name, next).first->second;
    if (server == next) servers.emplace_back();
    servers[server].push_back(rank);
  }
  return servers;
}

}  // namespace mycel
