#include "core/runtime/status_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/system_text.h"
#include "core/base/text_hash.h"
#include "core/plan/collective.h"
#include "core/plan/types.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace mycel {
namespace {

constexpr size_t kHeaderBytes = 4096;

size_t OffsetOf(uint32_t entry) { return kHeaderBytes + size_t{entry} * kStatusEntryBytes; }

std::string ProgramName() {
  const std::string name = SystemText("/proc/self/comm");
  return name.substr(0, name.find('\n'));
}

/// This process's page. It lives as long as there are communicators: afterwards no descriptor is left. A forked child
/// makes its own.
class Page {
 public:
  static Page& Of() {
    static auto* page = new Page();  // outlives static destructors that end communicators
    return *page;
  }

  StatusEntry* Take() {
    const MutexLock lock(mutex_);
    if (pid_ != getpid()) {
      CloseFile();  // the parent's page stays mapped: its communicators are there still, though of no use
      base_ = nullptr;
      warned_ = false;
      pid_ = getpid();
    }
    if (base_ == nullptr) Make();
    if (base_ == nullptr) return nullptr;
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    if (free == taken_.end()) {
      WarnOnce("all its " + std::to_string(taken_.size()) + " entries are taken");
      return nullptr;
    }
    const auto index = static_cast<uint32_t>(free - taken_.begin());
    const size_t offset = OffsetOf(index);
    if (fallocate(fd_, 0, static_cast<off_t>(offset), kStatusEntryBytes) != 0) {
      WarnOnce("the system refuses memory for it: " + std::string(strerror(errno)));
      return nullptr;
    }
    *free = true;
    // release: readers of the count find the entry's memory in place.
    if (header().entries_used.load(std::memory_order_relaxed) <= index) {
      header().entries_used.store(index + 1, std::memory_order_release);
    }
    return new (base_ + offset) StatusEntry();
  }

  void Return(StatusEntry* entry) {
    const MutexLock lock(mutex_);
    const auto* at = reinterpret_cast<const std::byte*>(entry);
    // The page of the process that forked us is not ours.
    if (pid_ != getpid() || base_ == nullptr || at < base_ ||
        at >= base_ + OffsetOf(static_cast<uint32_t>(taken_.size())))
      return;
    entry->state.store(static_cast<uint32_t>(EntryState::kFree), std::memory_order_release);
    taken_[(static_cast<size_t>(at - base_) - kHeaderBytes) / kStatusEntryBytes] = false;
    if (std::find(taken_.begin(), taken_.end(), true) != taken_.end()) return;
    munmap(base_, OffsetOf(static_cast<uint32_t>(taken_.size())));
    base_ = nullptr;
    CloseFile();
  }

  int fd() {
    const MutexLock lock(mutex_);
    return pid_ == getpid() ? fd_ : -1;
  }

 private:
  void WarnOnce(const std::string& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (std::exchange(warned_, true)) return;
    MYCEL_LOG(kWarn) << "`mycel status` will not show all communicators of this process: " << why;
  }

  void Make() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    uint32_t entries = kStatusEntriesMax;
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    // The limit binds memory files too, by a signal.
    while (entries > 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < OffsetOf(entries)) entries /= 2;
    taken_.assign(entries, false);
    fd_ = memfd_create(kStatusFileName, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd_ < 0 && errno == EINVAL) fd_ = memfd_create(kStatusFileName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd_ < 0) return WarnOnce("there is no descriptor for its status page: " + std::string(strerror(errno)));
    struct stat facts {};
    void* base = MAP_FAILED;
    if (ftruncate(fd_, static_cast<off_t>(OffsetOf(entries))) == 0 && fallocate(fd_, 0, 0, kHeaderBytes) == 0) {
      fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
      base = mmap(nullptr, OffsetOf(entries), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    }
    if (base == MAP_FAILED || fstat(fd_, &facts) != 0) {
      WarnOnce("its status page cannot be made: " + std::string(strerror(errno)));
      close(std::exchange(fd_, -1));
      return;
    }
    inode_ = facts.st_ino;
    base_ = static_cast<std::byte*>(base);
    auto* made = new (base_) StatusHeader();
    made->version = kStatusVersion;
    made->entry_bytes = kStatusEntryBytes;
    made->vocabulary = StatusVocabulary();
    made->pid = pid_;
    made->entry_count = entries;
    SetField(made->program, ProgramName());
    // release: publishes the header to readers in other processes.
    made->magic.store(kStatusMagic, std::memory_order_release);
  }

  /// The program may have closed the descriptor itself, and its number may be another file by now.
  void CloseFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    struct stat facts {};
    if (fd_ >= 0 && fstat(fd_, &facts) == 0 && facts.st_ino == inode_) close(fd_);
    fd_ = -1;
  }

  StatusHeader& header() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return *reinterpret_cast<StatusHeader*>(base_); }

  Mutex mutex_;
  pid_t pid_ ABSL_GUARDED_BY(mutex_) = 0;
  int fd_ ABSL_GUARDED_BY(mutex_) = -1;
  ino_t inode_ ABSL_GUARDED_BY(mutex_) = 0;
  std::byte* base_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::vector<bool> taken_ ABSL_GUARDED_BY(mutex_);
  bool warned_ ABSL_GUARDED_BY(mutex_) = false;
};

/// With an end mark: ("a", "b") is not ("ab", "").
uint64_t Mix(uint64_t hash, std::string_view text) { return HashOfText("\xff", HashOfText(text, hash)); }

}  // namespace

uint64_t StatusVocabulary() {
  uint64_t hash = kTextHashStart;
  for (const CollectiveInfo& info : AllCollectives()) hash = Mix(hash, info.name);
  for (const DataType type : AllDataTypes()) hash = Mix(hash, NameOf(type));
  for (const ReduceOp op : AllReduceOps()) hash = Mix(hash, NameOf(op));
  return hash;
}

StatusOwner StatusOwner::Take(int32_t rank, int32_t rank_count) {
  StatusEntry* entry = Page::Of().Take();
  return entry == nullptr ? Hidden(rank, rank_count) : Filled(entry, true, rank, rank_count);
}

StatusOwner StatusOwner::Hidden(int32_t rank, int32_t rank_count) {
  return Filled(new StatusEntry(), false, rank, rank_count);
}

StatusOwner StatusOwner::Filled(StatusEntry* entry, bool shown, int32_t rank, int32_t rank_count) {
  StatusOwner owner;
  owner.entry_ = entry;
  owner.shown_ = shown;
  owner.entry_->rank = rank;
  owner.entry_->rank_count = rank_count;
  owner.entry_->made_ns = static_cast<uint64_t>(NowNs());
  // release: publishes the entry.
  owner.entry_->state.store(static_cast<uint32_t>(EntryState::kInit), std::memory_order_release);
  return owner;
}

StatusOwner::StatusOwner(StatusOwner&& other) noexcept
    : entry_(std::exchange(other.entry_, nullptr)), shown_(other.shown_) {}

StatusOwner& StatusOwner::operator=(StatusOwner&& other) noexcept {
  if (this == &other) return *this;
  Release();
  entry_ = std::exchange(other.entry_, nullptr);
  shown_ = other.shown_;
  return *this;
}

void StatusOwner::Release() {
  if (entry_ == nullptr) return;
  if (shown_) {
    Page::Of().Return(entry_);
  } else {
    delete entry_;
  }
  entry_ = nullptr;
}

int StatusFileOfThisProcess() { return Page::Of().fd(); }

}  // namespace mycel
