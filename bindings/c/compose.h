// The composition root: where planners, transports and the device are introduced to each other. Turns a bootstrap into
// a communicator.
#pragma once

#include <memory>

#include "core/base/status.h"
#include "core/runtime/communicator.h"
#include "core/runtime/init_log.h"
#include "core/spi/bootstrap.h"

namespace mycel {

struct ComposeOptions {
  /// All ranks are threads of this process: channels in its heap instead of shared memory.
  bool one_process = false;
  SteadyTime deadline;
  /// Times the phases; one of its own where this is null.
  InitLog* log = nullptr;
};

/// Collective over the bootstrap's ranks. Reads the environment, connects, agrees on what must be equal everywhere
/// (InvalidUsage names the rank and the variable that differ), and builds the communicator.
StatusOr<std::unique_ptr<Communicator>> Compose(Bootstrap& bootstrap, const ComposeOptions& options);

/// now + MYCEL_TIMEOUT.
StatusOr<SteadyTime> InitDeadline();

}  // namespace mycel
