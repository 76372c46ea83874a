// One simulated job: n ranks' production communicators on fibers of one thread, plans, calls, order and delays drawn
// from one seed. See README.md.
#pragma once

#include <cstdint>
#include <string>

#include "core/spi/device.h"

namespace mycel::sim {

struct WorldOptions {
  uint64_t seed = 1;
  const Device* device = nullptr;  // SimDevice<...>
  bool drop_messages = false;      // the network loses one message in a while: the job must stall, not go wrong
};

struct WorldResult {
  std::string failure;      // empty: every result was exact; else what went wrong, first
  std::string description;  // ranks, plans and calls, to read beside the seed
  uint64_t switches = 0;    // equal for equal seeds
};

WorldResult RunWorld(const WorldOptions& options);

}  // namespace mycel::sim
