// The composition root: where planners, transports and the device are introduced to each other. Turns a bootstrap into
// a communicator.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bindings/c/config.h"
#include "bindings/c/device_choice.h"
#include "bindings/c/plan_source.h"
#include "core/base/status.h"
#include "core/runtime/communicator.h"
#include "core/runtime/init_log.h"
#include "core/spi/bootstrap.h"
#include "core/topo/topology.h"

namespace mycel {

/// What a communicator was made from; its descendants take it.
struct Lineage {
  CommConfig config;
  std::shared_ptr<const Topology> topology;  // that somebody asked for; null: the default one of its size
  bool one_process = false;
  DeviceChoice device;
  // Not for descendants, which have their own: what the communicator's calls would take (group_time.h).
  TimeSource time;
  bool reproducible = false;
};

struct ComposeOptions {
  /// All ranks are threads of this process: channels in its heap instead of shared memory.
  bool one_process = false;
  Deadline deadline;
  CommConfig config;
  /// Of a communicator made from another: that one's, and who our ranks are there.
  std::shared_ptr<const Lineage> parent;
  std::vector<Rank> parent_ranks;
  /// Where given: what stands between the communicator and its transport, and the device instead of the host's (tests).
  std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)> wrap_transport;
  const Device* device = nullptr;
  /// Times the phases; one of its own where this is null.
  InitLog* log = nullptr;
};

struct Composed {
  std::unique_ptr<Communicator> communicator;
  std::shared_ptr<const Lineage> lineage;
};

/// Collective over the bootstrap's ranks. Reads what the config leaves open from the environment, connects, agrees on
/// what must be equal everywhere (InvalidUsage names the rank and the setting that differ), and builds the
/// communicator.
StatusOr<Composed> Compose(Bootstrap& bootstrap, const ComposeOptions& options);

/// now + the config's timeout, else MYCEL_TIMEOUT.
StatusOr<Deadline> InitDeadline(const CommConfig& config);

}  // namespace mycel
