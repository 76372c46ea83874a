#include "core/runtime/status_signal.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <span>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/runtime/status_rows.h"
#include "core/runtime/status_scan.h"

namespace mycel {
namespace {

constexpr size_t kRowsMax = 1024;

/// The handler's memory: one handler at a time.
struct Picture {
  StatusRow rows[kRowsMax];
  size_t row_count = 0;
  uint64_t own[kStatusEntriesMax];  // communicators of this process
  size_t own_count = 0;
  bool only_own = false;
};
Picture g_picture;
std::atomic<bool> g_busy{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void KeepRow(void* context, const StatusProcess& process, const StatusEntry* entry) {
  auto& picture = *static_cast<Picture*>(context);
  if (entry == nullptr || picture.row_count == kRowsMax) return;
  const std::span<const uint64_t> own(picture.own, picture.own_count);
  if (picture.only_own &&
      (entry->communicator == 0 || std::find(own.begin(), own.end(), entry->communicator) == own.end()))
    return;
  picture.rows[picture.row_count++] = RowOf(process, *entry);
}

void WriteError(void* /*context*/, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

/// Only what POSIX lets a handler do: open, read, readlink, write, and arithmetic on memory of its own.
void OnSignal(int /*signal*/) {
  const int saved_errno = errno;
  // acquire, release: two handlers that follow each other see each other's memory; at once only one prints.
  if (!g_busy.exchange(true, std::memory_order_acquire)) {
    Picture& picture = g_picture;
    picture.row_count = 0;
    picture.own_count = 0;
    picture.only_own = false;
    ScanStatusPage(getpid(), &KeepRow, &picture);
    // Ranks that still meet have no number in common yet; they stay, the others come again with their peers.
    size_t kept = 0;
    for (size_t i = 0; i < picture.row_count; ++i) {
      if (picture.rows[i].communicator == 0) {
        picture.rows[kept++] = picture.rows[i];
      } else {
        picture.own[picture.own_count++] = picture.rows[i].communicator;
      }
    }
    picture.row_count = kept;
    picture.only_own = true;
    ScanStatusPages(&KeepRow, &picture);
    const std::span<StatusRow> rows(picture.rows, picture.row_count);
    SortRows(rows);
    WriteStatusTable(rows, static_cast<uint64_t>(NowNs()), &WriteError, nullptr);
    g_busy.store(false, std::memory_order_release);
  }
  errno = saved_errno;
}

void Install() {
  const StatusOr<std::string> wanted = EnvChoice(Env::kSignal);
  if (!wanted.ok() || *wanted == "off") return;
  struct sigaction now = {};
  if (sigaction(SIGUSR2, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) {
    MYCEL_LOG(kInfo) << "SIGUSR2 is the program's own: it does not show the status; `mycel status` does";
    return;
  }
  (void)StatusVocabulary();  // the tables that the handler reads are made now
  struct sigaction ours = {};
  ours.sa_handler = &OnSignal;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGUSR2, &ours, nullptr);
}

}  // namespace

void InstallStatusSignal() {
  static std::once_flag once;
  std::call_once(once, &Install);
}

}  // namespace mycel
