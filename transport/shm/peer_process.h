// The process behind a rank: who it is, whether it lives, and reading its memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "transport/bootstrap/sockets.h"

namespace mycel {

/// Facts by which ranks tell whether they may be on one machine and see each other's process ids. Hints: what they
/// suggest is proved by mapping and reading.
struct ProcessIdentity {
  uint64_t machine = 0;            // of the running kernel (its boot id)
  uint64_t network_namespace = 0;  // abstract sockets do not cross it
  uint64_t pid_namespace = 0;      // 0: unknown
  uint64_t process = 0;            // random, one per process
  int32_t pid = 0;

  static ProcessIdentity OfThisProcess();
};

/// Watches one process. Shared by all communicators of this process, so that descriptors do not grow with their number.
/// Any thread.
class PeerProcess {
 public:
  /// RemoteError (opened by `who`) when it is dead already; SystemError when descriptors have run out.
  static StatusOr<std::shared_ptr<PeerProcess>> Watch(pid_t pid, const std::string& who);

  PeerProcess(pid_t pid, Fd fd) : pid_(pid), fd_(std::move(fd)) {}
  /// False once it has ended, a zombie included. Never mistakes a later process with the same id for it.
  bool Alive() const;
  /// "pid 17 is alive", "... but stopped by a signal", "pid 17 has ended".
  std::string Condition() const;

 private:
  const pid_t pid_;
  const Fd fd_;  // pidfd; invalid where the kernel has none, then kill(pid, 0) must do
};

/// Copies from another process's memory, in as many system calls as it takes. 0, or the errno of the one that failed.
int ReadProcessMemory(pid_t pid, uint64_t address, void* target, size_t bytes);
/// Lets processes of the same user read this one's memory where the Yama module would refuse.
void AllowMemoryReads();

}  // namespace mycel
