#include "scheduler/graph/on_topology.h"

#include <string>

namespace mycel {

Status OnTopology(const Status& status, const Topology& topology, Collective collective) {
  const std::string message = StatusMessage(status);
  const std::string name(NameOf(collective));
  const bool named = message.find("topology " + topology.name()) != std::string::npos || message.starts_with(name);
  if (status.code() != StatusCode::kInvalidArgument || named) return status;
  return InvalidArgument(name + " on topology " + topology.name() + ": " + message);
}

}  // namespace mycel
