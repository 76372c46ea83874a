#include "transport/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "core/base/check.h"
#include "core/base/mutex.h"
#include "transport/shm/available_memory.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace mycel {
namespace {

// An allocation that a signal interrupts starts over; in pieces, so that a profiler's timer cannot stop it for ever.
constexpr size_t kAllocatePieceBytes = 8 * 1024 * 1024;

constexpr size_t RoundUp(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

std::string MiB(size_t bytes) { return std::to_string(RoundUp(bytes, 1 << 20) >> 20) + " MiB"; }

std::string Cure(const SegmentLayout& layout) {
  return ": lower MYCEL_PAYLOAD_BYTES (now " + std::to_string(layout.payload_bytes) + " for each of " +
         std::to_string(layout.members * (layout.members - 1) * layout.channels_per_pair) +
         " channels), run fewer ranks on this server, or allow more memory";
}

Status TooLittleMemory(const std::string& who, const SegmentLayout& layout, const std::string& available) {
  return SystemError(who + " needs " + MiB(layout.TotalBytes()) + " of shared memory for " +
                     std::to_string(layout.members) + " ranks on this server, " + available + Cure(layout));
}

/// Refuses what the kernel would answer with a signal.
Status CheckLimits(const std::string& who, const SegmentLayout& layout, bool from_pool) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < layout.TotalBytes()) {
    return TooLittleMemory(who, layout,
                           "but this process may write files of " + MiB(limit.rlim_cur) +
                               " only (RLIMIT_FSIZE binds memory files too; raise it with ulimit -f)");
  }
  const size_t available = AvailableMemoryBytes();
  if (!from_pool && available < layout.TotalBytes()) {
    return TooLittleMemory(who, layout, MiB(available) + " are available");
  }
  return OkStatus();
}

StatusOr<Fd> MemoryFile(const std::string& who, bool from_pool) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (from_pool ? MFD_HUGETLB : 0U);
  // Kernels before 6.3 do not know the seal; later ones may insist on it (vm.memfd_noexec).
  int fd = memfd_create("mycel", flags | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL) fd = memfd_create("mycel", flags);
  if (fd >= 0) return Fd(fd);
  if (from_pool) {
    return SystemError(who + " cannot get memory from the pool of huge pages (" + ErrnoText(errno) +
                       "): unset MYCEL_HUGE_PAGES, or give the pool pages with sysctl vm.nr_hugepages");
  }
  return DescriptorError(who + " cannot create shared memory", errno);
}

/// Takes the pages of [offset, offset + bytes).
int Allocate(int fd, size_t offset, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const size_t piece = std::min(bytes - done, kAllocatePieceBytes);
    if (fallocate(fd, 0, static_cast<off_t>(offset + done), static_cast<off_t>(piece)) == 0) {
      done += piece;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

/// The segments mapped in this process, by token: ranks that are threads share a mapping (and see the same addresses).
struct Registry {
  Mutex mutex;
  std::map<std::pair<uint64_t, uint64_t>, std::weak_ptr<Segment>> segments ABSL_GUARDED_BY(mutex);

  static Registry& Of() {
    static Registry registry;
    return registry;
  }
  std::weak_ptr<Segment>& Entry(const SegmentToken& token) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::erase_if(segments, [](const auto& entry) { return entry.second.expired(); });
    return segments[{token.words[0], token.words[1]}];
  }
};

}  // namespace

SegmentToken SegmentToken::Random() {
  SegmentToken token;
  const ssize_t got = getrandom(&token, sizeof(token), 0);
  MYCEL_CHECK_EQ(got, static_cast<ssize_t>(sizeof(token)));  // up to 256 bytes are never cut short
  return token;
}

size_t SegmentLayout::ControlBytes() const {
  const size_t count = static_cast<size_t>(members);
  return RoundUp(
      RoundUp(sizeof(SegmentHeader), alignof(MemberState)) + count * sizeof(MemberState) + count * sizeof(RankBoard),
      page_bytes);
}

size_t SegmentLayout::RegionBytes() const {
  const size_t inbound = static_cast<size_t>(members - 1) * static_cast<size_t>(channels_per_pair);
  return RoundUp(inbound * ChannelBytes(payload_bytes), page_bytes);
}

size_t SegmentLayout::RegionAt(int32_t member) const {
  return ControlBytes() + static_cast<size_t>(member) * RegionBytes();
}

size_t SegmentLayout::ChannelAt(int32_t source, int32_t target, int32_t index) const {
  MYCEL_CHECK(source != target && source >= 0 && source < members && target >= 0 && target < members);
  MYCEL_CHECK(index >= 0 && index < channels_per_pair);
  const int32_t place = (source < target ? source : source - 1) * channels_per_pair + index;
  return RegionAt(target) + static_cast<size_t>(place) * ChannelBytes(payload_bytes);
}

StatusOr<Segment::Made> Segment::Make(SegmentLayout layout, HugePages huge_pages, const std::string& who) {
  const bool from_pool = huge_pages == HugePages::kOn;
  Made made;
  MYCEL_ASSIGN_OR_RETURN(made.fd, MemoryFile(who, from_pool));
  struct stat facts {};
  MYCEL_CHECK_EQ(fstat(made.fd.get(), &facts), 0);
  const long page_bytes = from_pool ? static_cast<long>(facts.st_blksize) : sysconf(_SC_PAGESIZE);
  layout.page_bytes = std::max<size_t>(4096, static_cast<size_t>(page_bytes));
  MYCEL_RETURN_IF_ERROR(CheckLimits(who, layout, from_pool));
  if (ftruncate(made.fd.get(), static_cast<off_t>(layout.TotalBytes())) != 0) {
    return TooLittleMemory(who, layout, "the kernel says: " + ErrnoText(errno));
  }
  // Nobody may cut the file while others have it mapped: that would be SIGBUS.
  fcntl(made.fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  MYCEL_ASSIGN_OR_RETURN(made.segment, MapFd(made.fd.get(), layout, who));
  if (const int error = Allocate(made.fd.get(), 0, layout.ControlBytes()); error != 0) {
    return TooLittleMemory(who, layout, "the kernel says: " + ErrnoText(error));
  }
  made.token = made.segment->header().token = SegmentToken::Random();
  Registry& registry = Registry::Of();
  const MutexLock lock(registry.mutex);
  registry.Entry(made.token) = made.segment;
  return made;
}

StatusOr<std::shared_ptr<Segment>> Segment::MapFd(int fd, const SegmentLayout& layout, const std::string& who) {
  void* base = mmap(nullptr, layout.TotalBytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) {
    return TooLittleMemory(who, layout,
                           "but cannot map it (" + ErrnoText(errno) +
                               "; see ulimit -v, and the pool of huge pages where MYCEL_HUGE_PAGES is on)");
  }
  return std::shared_ptr<Segment>(new Segment(static_cast<std::byte*>(base), layout));
}

StatusOr<std::shared_ptr<Segment>> Segment::Map(int fd, const SegmentLayout& layout, const SegmentToken& token,
                                                const std::string& who) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0 || static_cast<size_t>(facts.st_size) != layout.TotalBytes()) {
    return InternalError(who + " got shared memory of " + std::to_string(facts.st_size) + " bytes instead of " +
                         std::to_string(layout.TotalBytes()) + ": do all ranks run the same Mycel?");
  }
  Registry& registry = Registry::Of();
  const MutexLock lock(registry.mutex);
  if (std::shared_ptr<Segment> known = registry.Entry(token).lock()) return known;
  MYCEL_ASSIGN_OR_RETURN(std::shared_ptr<Segment> segment, MapFd(fd, layout, who));
  if (segment->header().token != token) {
    return InternalError(who + " mapped memory that is not the leader's: its token is wrong");
  }
  registry.Entry(token) = segment;
  return segment;
}

Segment::~Segment() { munmap(base_, layout_.TotalBytes()); }

Status Segment::AllocateRegion(int fd, int32_t member, HugePages huge_pages, const std::string& who) {
  const size_t offset = layout_.RegionAt(member);
  const size_t bytes = layout_.RegionBytes();
  if (huge_pages == HugePages::kAuto) {
    // Hints: a region works with small pages too. Populating first gives the kernel the chance to use large ones.
    madvise(base_ + offset, bytes, MADV_HUGEPAGE);
    madvise(base_ + offset, bytes, MADV_POPULATE_WRITE);
  }
  if (const int error = Allocate(fd, offset, bytes); error != 0) {
    return TooLittleMemory(who, layout_, "the kernel says: " + ErrnoText(error));
  }
  return OkStatus();
}

MemberState& Segment::StateOf(int32_t member) {
  constexpr size_t kStatesAt = RoundUp(sizeof(SegmentHeader), alignof(MemberState));
  return reinterpret_cast<MemberState*>(base_ + kStatesAt)[member];
}

RankBoard& Segment::BoardOf(int32_t member) {
  MemberState* states_end = &StateOf(0) + layout_.members;
  return reinterpret_cast<RankBoard*>(states_end)[member];
}

}  // namespace mycel
