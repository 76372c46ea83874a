// Cancel: lets one thread end the waits of another. Creating a communicator waits in many places (sockets, shared
// memory, other ranks); an abort must end all of them within a blink, without handing a flag through every signature.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace mycel {

/// While it lives, waits of this thread end soon after `word` is no longer `running`. Scopes nest: the innermost
/// counts. `word` must outlive the scope.
class CancelScope {
 public:
  CancelScope(const std::atomic<uint64_t>* word, uint64_t running);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  const std::atomic<uint64_t>* const outer_word_;
  const uint64_t outer_running_;
};

/// Whether this thread's waits may be cancelled: then they look up every kCancelGlance.
bool Cancellable();
inline constexpr std::chrono::milliseconds kCancelGlance(20);
/// Whether this thread's work has been cancelled.
bool Cancelled();
/// Aborted when it has; `who` begins the text.
Status CheckCancelled(const std::string& who);

}  // namespace mycel
