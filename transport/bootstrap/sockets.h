// File descriptors that close themselves, and waiting on them until a deadline.
#pragma once

#include <poll.h>

#include <string>
#include <utility>

#include "core/base/clock.h"
#include "core/base/status.h"

namespace mycel {

/// Owner of one descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int value) : value_(value) {}
  Fd(Fd&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Fd() { Close(); }

  int get() const { return value_; }
  bool valid() const { return value_ >= 0; }
  void Close();

 private:
  int value_ = -1;
};

/// "Connection refused" for ECONNREFUSED.
std::string ErrnoText(int error);
/// SystemError "<what>: <text of error>", with limit and cure when the process or the system is out of descriptors.
Status DescriptorError(const std::string& what, int error);

/// poll() until `until`, whatever signals arrive: how many entries are ready, 0 when the time has come or this thread
/// is cancelled (core/base/cancel.h).
int PollUntil(pollfd* entries, size_t count, SteadyTime until);

}  // namespace mycel
