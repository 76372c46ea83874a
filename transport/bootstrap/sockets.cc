#include "transport/bootstrap/sockets.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/base/cancel.h"
#include "core/base/check.h"

namespace mycel {

void Fd::Close() {
  // On Linux the descriptor is gone whatever close() returns.
  if (value_ >= 0) close(value_);
  value_ = -1;
}

std::string ErrnoText(int error) { return std::generic_category().message(error); }

Status DescriptorError(const std::string& what, int error) {
  std::string text = what + ": " + ErrnoText(error);
  if (error == EMFILE) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    text += "; this process may have " + std::to_string(limit.rlim_cur) +
            " descriptors (RLIMIT_NOFILE): close some, or raise the limit with ulimit -n (up to " +
            std::to_string(limit.rlim_max) + ")";
  } else if (error == ENFILE) {
    text += "; the system's table is full: raise fs.file-max";
  }
  return SystemError(text);
}

int PollUntil(pollfd* entries, size_t count, SteadyTime until) {
  using std::chrono::milliseconds;
  const milliseconds most = Cancellable() ? kCancelGlance : milliseconds(std::chrono::hours(1));
  while (true) {
    const SteadyTime now = std::chrono::steady_clock::now();
    // Rounded up, so that the last call does not spin; cut to an hour, so that a far deadline fits poll's int.
    const auto left = until <= now
                          ? milliseconds(0)
                          : std::chrono::ceil<milliseconds>(std::min<std::chrono::nanoseconds>(until - now, most));
    const int ready = poll(entries, static_cast<nfds_t>(count), static_cast<int>(left.count()));
    if (ready > 0) return ready;
    if (Cancelled()) return 0;
    if (ready < 0 && errno != EINTR) {
      // No memory, or more entries than a lowered RLIMIT_NOFILE allows: both may pass.
      MYCEL_CHECK(errno == ENOMEM || errno == EINVAL);
      poll(nullptr, 0, 1);
    }
    if (std::chrono::steady_clock::now() >= until) return 0;
  }
}

}  // namespace mycel
