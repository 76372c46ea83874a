// What no schedule can beat on the topology that a run is planned for: each row of alltoallv is held against it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/topo/topology.h"

namespace mycel::perf {

/// Absent where the topology has one server: there the links are the machine's own memory, and the roofline says more.
class NetworkBound {
 public:
  /// Of the topology named by MYCEL_TOPO (--topo). Null without one, with one server, or with other ranks than `ranks`
  /// (which the library refuses in its own words).
  static StatusOr<std::unique_ptr<NetworkBound>> FromEnvironment(int ranks);

  /// Microseconds that the exchange of `matrix` (elements of `element_bytes`, row = sender) takes at least.
  StatusOr<double> Us(const std::vector<size_t>& matrix, size_t element_bytes) const;
  /// "servers-2x4, 2 servers".
  std::string Describe() const;

 private:
  NetworkBound(Topology topology, size_t servers) : topology_(std::move(topology)), servers_(servers) {}

  Topology topology_;
  size_t servers_;
};

}  // namespace mycel::perf
