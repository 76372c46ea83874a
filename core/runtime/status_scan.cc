#include "core/runtime/status_scan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "core/base/fixed_text.h"

namespace mycel {
namespace {

/// Closes at the end of its scope; Fd of transport/bootstrap is not core's.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  const int fd_;
};

/// What getdents64 writes; readdir would allocate.
struct DirectoryEntry {
  uint64_t inode;
  int64_t offset;
  uint16_t length;
  unsigned char type;
  char name[1];
};

/// Calls visit(number) for each name in the folder that is a number, until it returns false.
template <typename Visit>
void ForEachNumber(int folder, Visit&& visit) {
  alignas(8) char buffer[4096];
  while (true) {
    const long got = syscall(SYS_getdents64, folder, buffer, sizeof(buffer));
    if (got <= 0) return;
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
      at += entry->length;
      int32_t number = 0;
      const char* c = entry->name;
      while (*c >= '0' && *c <= '9' && number < 100'000'000) number = number * 10 + (*c++ - '0');
      if (c == entry->name || *c != '\0') continue;
      if (!visit(number)) return;
    }
  }
}

/// Opens /proc/PID/name, or /proc/PID/name/number.
int OpenProcFile(int32_t pid, std::string_view name, int32_t number, int flags) {
  char path[64];
  FixedText text(path, sizeof(path) - 1);
  text << "/proc/" << pid << '/' << name;
  if (number >= 0) text << '/' << number;
  path[text.size()] = '\0';
  return open(path, flags | O_CLOEXEC);
}

/// The beginning of a small file of /proc.
std::string_view ReadProcFile(int32_t pid, std::string_view name, char* buffer, size_t capacity) {
  const Descriptor file(OpenProcFile(pid, name, -1, O_RDONLY));
  const ssize_t got = file.ok() ? read(file.get(), buffer, capacity) : 0;
  return {buffer, static_cast<size_t>(std::max<ssize_t>(0, got))};
}

/// Whether the process calls itself `own` in its innermost pid namespace.
bool IsOwner(int32_t pid, int32_t own) {
  char buffer[4096];
  const std::string_view status = ReadProcFile(pid, "status", buffer, sizeof(buffer));
  constexpr std::string_view kKey = "\nNSpid:";
  const size_t at = status.find(kKey);
  if (at == std::string_view::npos) return pid == own;  // a kernel without pid namespaces
  int32_t last = 0;
  bool in_number = false;
  for (size_t i = at + kKey.size(); i < status.size() && status[i] != '\n'; ++i) {
    const char c = status[i];
    const bool digit = c >= '0' && c <= '9';
    if (digit) last = in_number ? last * 10 + (c - '0') : c - '0';
    in_number = digit;
  }
  return last == own;
}

/// The letter after the program's name, which is in parentheses and may itself hold any character.
void ReadState(StatusProcess* process) {
  char buffer[512];
  const std::string_view stat = ReadProcFile(process->pid, "stat", buffer, sizeof(buffer));
  const size_t open = stat.find('(');
  const size_t close = stat.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close + 2 >= stat.size()) return;
  process->state = stat[close + 2];
  SetField(process->program, stat.substr(open + 1, close - open - 1));
}

bool IsStatusFile(int folder, int32_t fd) {
  char name[16];
  FixedText text(name, sizeof(name) - 1);
  text << fd;
  name[text.size()] = '\0';
  char target[64];
  const ssize_t length = readlinkat(folder, name, target, sizeof(target));
  constexpr std::string_view kPrefix = "/memfd:";
  const std::string_view link(target, static_cast<size_t>(std::max<ssize_t>(0, length)));
  if (!link.starts_with(kPrefix)) return false;
  const std::string_view rest = link.substr(kPrefix.size());
  return rest == kStatusFileName || (rest.starts_with(kStatusFileName) && rest[sizeof(kStatusFileName) - 1] == ' ');
}

/// Whether the file is a page of that process; visits what it holds.
bool ReadPage(int file, StatusProcess process, StatusVisitor visit, void* context) {
  alignas(StatusHeader) unsigned char header_bytes[sizeof(StatusHeader)];
  if (pread(file, header_bytes, sizeof(header_bytes), 0) != static_cast<ssize_t>(sizeof(header_bytes))) return false;
  const auto& header = *reinterpret_cast<const StatusHeader*>(header_bytes);
  // acquire: pairs with the release in Page::Make, as far as a copy can.
  if (header.magic.load(std::memory_order_acquire) != kStatusMagic) return false;
  process.version = header.version;
  // The fields up to the version stand where they stand in every version; the others are read only if they are ours.
  process.readable = header.version == kStatusVersion && header.entry_bytes == kStatusEntryBytes &&
                     header.vocabulary == StatusVocabulary();
  if (!process.readable) {
    visit(context, process, nullptr);
    return true;
  }
  if (!IsOwner(process.pid, header.pid)) return false;
  std::memcpy(process.program, header.program, sizeof(process.program));
  const uint32_t used = std::min(header.entries_used.load(std::memory_order_relaxed), kStatusEntriesMax);
  for (uint32_t index = 0; index < used; ++index) {
    alignas(StatusEntry) unsigned char bytes[sizeof(StatusEntry)];
    const auto at = static_cast<off_t>(4096 + size_t{index} * kStatusEntryBytes);
    if (pread(file, bytes, sizeof(bytes), at) != static_cast<ssize_t>(sizeof(bytes))) break;
    const auto& entry = *reinterpret_cast<const StatusEntry*>(bytes);
    if (entry.state.load(std::memory_order_acquire) == static_cast<uint32_t>(EntryState::kFree)) continue;
    visit(context, process, &entry);
  }
  return true;
}

enum class Look : uint8_t { kNone, kFound, kClosed };

Look LookInto(int32_t pid, StatusVisitor visit, void* context) {
  const Descriptor folder(OpenProcFile(pid, "fd", -1, O_RDONLY | O_DIRECTORY));
  if (!folder.ok()) return errno == EACCES || errno == EPERM ? Look::kClosed : Look::kNone;
  Look result = Look::kNone;
  ForEachNumber(folder.get(), [&](int32_t fd) {
    if (!IsStatusFile(folder.get(), fd)) return true;
    const Descriptor file(OpenProcFile(pid, "fd", fd, O_RDONLY));
    if (!file.ok()) return true;
    StatusProcess process;
    process.pid = pid;
    ReadState(&process);
    if (ReadPage(file.get(), process, visit, context)) result = Look::kFound;
    return true;
  });
  return result;
}

}  // namespace

StatusCounts ScanStatusPages(StatusVisitor visit, void* context) {
  StatusCounts counts;
  const Descriptor proc(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!proc.ok()) return counts;
  ForEachNumber(proc.get(), [&](int32_t pid) {
    const Look look = LookInto(pid, visit, context);
    counts.processes += look == Look::kFound ? 1 : 0;
    counts.closed += look == Look::kClosed ? 1 : 0;
    return true;
  });
  return counts;
}

bool ScanStatusPage(int32_t pid, StatusVisitor visit, void* context) {
  return LookInto(pid, visit, context) == Look::kFound;
}

}  // namespace mycel
