// Finds the status pages (status_page.h) of this machine's processes and reads them: what `mycel status` and the signal
// handler (status_signal.h) show. Allocates nothing and takes no lock, so that a signal handler may call it.
//
// Seen are the processes whose descriptors the caller may look at: its own user's, or all for root. Pages that a child
// inherited over fork are skipped.
#pragma once

#include <cstdint>

#include "core/runtime/status_page.h"

namespace mycel {

/// A process with a status page.
struct StatusProcess {
  int32_t pid = 0;
  char state = '?';       // of /proc/PID/stat: R, S, D, T (stopped), t (traced), Z
  char program[64] = {};  // the name the page has, or the kernel's where the page is foreign
  uint32_t version = 0;   // of the page
  bool readable = false;  // version and vocabulary are ours; else there are no entries to read
};

/// Called for each live entry of a readable page, and once with null for each page that is not.
using StatusVisitor = void (*)(void* context, const StatusProcess& process, const StatusEntry* entry);

struct StatusCounts {
  uint32_t processes = 0;  // with a page
  uint32_t closed = 0;     // processes that may not be looked into
};

StatusCounts ScanStatusPages(StatusVisitor visit, void* context);
/// One process only. False when it has no page, does not exist or may not be looked into.
bool ScanStatusPage(int32_t pid, StatusVisitor visit, void* context);

}  // namespace mycel
