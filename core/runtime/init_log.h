// How long the creation of a communicator takes, phase by phase: shown on the status page meanwhile, logged at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/runtime/status_page.h"

namespace mycel {

/// Owner: the thread that creates the communicator. A communicator whose creation fails leaves the page with this.
class InitLog {
 public:
  static constexpr uint64_t kSlowNs = 5'000'000'000;

  /// From `slow_ns` on the phases are a warning, which is shown by default; below they are information.
  InitLog(int32_t rank, int32_t rank_count, uint64_t slow_ns = kSlowNs);

  /// Ends the phase before. At most StatusEntry::kPhases; a name has at most 15 letters.
  void Begin(std::string_view phase);
  /// What all ranks call the communicator; an empty name becomes one made of the id, an id of 0 (a rank alone) any.
  void Identify(uint64_t communicator, std::string_view name, std::string_view transport, int64_t timeout_ns);
  /// Ends the last phase and logs, with what this rank had to send and receive to meet the others
  /// (Bootstrap::messages). The entry goes on in the communicator.
  StatusOwner Done(int64_t messages);

 private:
  void EndPhase();

  StatusOwner status_;
  uint64_t slow_ns_;
  uint64_t phase_start_ns_ = 0;
};

}  // namespace mycel
