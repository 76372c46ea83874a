// libFuzzer target: any bytes as a topology file of NCCL. What the reader accepts must become topologies.
//   cmake --preset fuzz && cmake --build --preset fuzz --target nccl_topology_fuzz && build-fuzz/bin/nccl_topology_fuzz
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bindings/interchange/nccl_topology.h"
#include "core/base/check.h"
#include "core/topo/topology_json.h"
#include "transport/discover/assemble.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const mycel::StatusOr<mycel::NcclTopology> read = mycel::ReadNcclTopology(text, "fuzz");
  if (!read.ok()) return 0;
  std::vector<const mycel::Machine*> servers;
  for (const mycel::Machine& machine : read->servers) servers.push_back(&machine);
  const mycel::StatusOr<mycel::Assembled> assembled = mycel::AssembleServers(servers, {"fuzz", "", 1});
  // Servers that nothing joins are the one thing that a right file may lack.
  if (!assembled.ok()) {
    MYCEL_CHECK(servers.size() > 1 && assembled.status().code() == mycel::StatusCode::kUnimplemented);
    return 0;
  }
  const mycel::Topology& topology = assembled->topology;
  MYCEL_CHECK(mycel::CheckConnected(topology).ok());
  const auto back = mycel::ReadTopologyText(mycel::WriteTopology(topology), "fuzz");
  MYCEL_CHECK(back.ok() && *back == topology);
  return 0;
}
