#include "bindings/cli/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "bindings/cli/terminal.h"

namespace mycel::cli {

Progress::Progress(const std::string& what) : what_(Printable(what)) {
  if (isatty(STDERR_FILENO) == 1) ticker_ = std::thread([this] { Tick(); });
}

Progress::~Progress() {
  if (!ticker_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    done_ = true;
  }
  wake_.NotifyOne();
  ticker_.join();
}

void Progress::Tick() {
  const auto start = std::chrono::steady_clock::now();
  auto next = start + std::chrono::milliseconds(500);
  bool shown = false;
  const MutexLock lock(mutex_);
  while (!done_) {
    if (wake_.WaitUntil(mutex_, next)) continue;
    const double seconds = std::chrono::duration<double>(next - start).count();
    std::fprintf(stderr, "\r%s ... %.1f s ", what_.c_str(), seconds);
    std::fflush(stderr);
    shown = true;
    next += std::chrono::milliseconds(200);
  }
  if (shown) std::fprintf(stderr, "\r\033[K");
}

}  // namespace mycel::cli
