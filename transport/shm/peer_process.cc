#include "transport/shm/peer_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <sstream>

#include "core/base/check.h"
#include "core/base/mutex.h"
#include "core/base/system_text.h"
#include "core/base/text_hash.h"

namespace mycel {
namespace {

// process_vm_readv never moves more than this at once; asking for less keeps the arithmetic plain.
constexpr size_t kReadBytesMax = size_t{1} << 30;

uint64_t InodeOf(const char* path) {
  struct stat facts {};
  return stat(path, &facts) == 0 ? static_cast<uint64_t>(facts.st_ino) : 0;
}

uint64_t MachineId() { return HashOfText(SystemText("/proc/sys/kernel/random/boot_id")); }

uint64_t ProcessToken(pid_t pid) {
  static Mutex mutex;
  static pid_t owner = 0;
  static uint64_t token = 0;
  const MutexLock lock(mutex);
  // A child of fork is another process with a copy of these variables.
  if (owner != pid) {
    MYCEL_CHECK_EQ(getrandom(&token, sizeof(token), 0), static_cast<ssize_t>(sizeof(token)));
    owner = pid;
  }
  return token;
}

int OpenPidFd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

ProcessIdentity ProcessIdentity::OfThisProcess() {
  ProcessIdentity identity;
  identity.pid = getpid();
  identity.machine = MachineId();
  identity.network_namespace = InodeOf("/proc/self/ns/net");
  identity.pid_namespace = InodeOf("/proc/self/ns/pid");
  identity.process = ProcessToken(identity.pid);
  return identity;
}

StatusOr<std::shared_ptr<PeerProcess>> PeerProcess::Watch(pid_t pid, const std::string& who) {
  static Mutex mutex;
  static std::map<pid_t, std::weak_ptr<PeerProcess>> watched;
  const MutexLock lock(mutex);
  std::erase_if(watched, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<PeerProcess>& entry = watched[pid];
  // A dead entry is an earlier process of the same id.
  if (std::shared_ptr<PeerProcess> known = entry.lock(); known != nullptr && known->Alive()) return known;
  Fd fd(OpenPidFd(pid));
  if (!fd.valid()) {
    if (errno == ESRCH) return RemoteError(who + " died before the communicator was made: see its own output");
    if (errno == EMFILE || errno == ENFILE) return DescriptorError("cannot watch " + who, errno);
  }
  auto made = std::make_shared<PeerProcess>(pid, std::move(fd));
  entry = made;
  return made;
}

bool PeerProcess::Alive() const {
  if (!fd_.valid()) return kill(pid_, 0) == 0 || errno != ESRCH;
  pollfd entry{fd_.get(), POLLIN, 0};
  return poll(&entry, 1, 0) <= 0;
}

std::string PeerProcess::Condition() const {
  const std::string who = "pid " + std::to_string(pid_);
  if (!Alive()) return who + " has ended";
  const std::string stat = SystemText("/proc/" + std::to_string(pid_) + "/stat");
  // The state is the letter after the program's name, which is in parentheses and may hold any character.
  const size_t close = stat.rfind(')');
  const char state = close == std::string::npos || close + 2 >= stat.size() ? '?' : stat[close + 2];
  if (state == 'T') return who + " is alive but stopped by a signal";
  if (state == 't') return who + " is alive but stopped by a debugger";
  return who + " is alive";
}

int ReadProcessMemory(pid_t pid, uint64_t address, void* target, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const size_t piece = std::min(bytes - done, kReadBytesMax);
    const iovec local{static_cast<char*>(target) + done, piece};
    const iovec remote{reinterpret_cast<void*>(address + done), piece};
    const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (got < 0 && errno != EINTR) return errno;
    if (got == 0) return EFAULT;
    if (got > 0) done += static_cast<size_t>(got);
  }
  return 0;
}

void AllowMemoryReads() {
  std::istringstream file(SystemText("/proc/sys/kernel/yama/ptrace_scope"));
  int scope = 0;
  // 1: only descendants, unless the process to be read agrees. 0 needs nothing, 2 and 3 cannot be helped.
  if (file >> scope && scope == 1) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

}  // namespace mycel
