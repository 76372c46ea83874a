#include "tests/gpu/fake_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

namespace mycel::fake {
namespace {

constexpr uint64_t kMagic = 0x65676e6172656b61U;
constexpr size_t kPage = 4096;  // before the memory: its token
constexpr size_t kPattern = size_t{64} << 10;

std::byte* Map(int fd, size_t bytes) {
  void* base = mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base) + kPage;
}

uint64_t RandomToken() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

void* FakeMemory::Allocate(int device, size_t bytes) {
  const int fd = memfd_create("fake-gpu", MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  std::byte* memory = ftruncate(fd, static_cast<off_t>(bytes + kPage)) == 0 ? Map(fd, bytes) : nullptr;
  if (memory == nullptr) {
    close(fd);
    return nullptr;
  }
  const uint64_t token = RandomToken();
  std::memcpy(memory - kPage, &token, sizeof(token));
  std::memset(memory, 0xa5, std::min(bytes, kPattern));
  const MutexLock lock(mutex_);
  ranges_[memory] = {bytes, device, FakeKind::kDevice, fd};
  return memory;
}

void* FakeMemory::AllocatePinned(int device, size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const MutexLock lock(mutex_);
  ranges_[static_cast<std::byte*>(memory)] = {bytes, device, FakeKind::kPinned, -1};
  return memory;
}

bool FakeMemory::Register(void* memory, size_t bytes, int device) {
  const auto* at = static_cast<const std::byte*>(memory);
  const MutexLock lock(mutex_);
  const auto after = ranges_.lower_bound(at);
  if (after != ranges_.end() && after->first < at + bytes) return false;
  ranges_[at] = {bytes, device, FakeKind::kRegistered, -1};
  return true;
}

bool FakeMemory::Free(void* memory, FakeKind kind) {
  const MutexLock lock(mutex_);
  const auto found = ranges_.find(static_cast<std::byte*>(memory));
  if (found == ranges_.end() || found->second.kind != kind) return false;
  const FakeRange range = found->second;
  ranges_.erase(found);
  if (kind == FakeKind::kPinned) munmap(memory, range.bytes);
  if (kind == FakeKind::kDevice || kind == FakeKind::kOpened) {
    munmap(static_cast<std::byte*>(memory) - kPage, range.bytes + kPage);
  }
  if (range.fd >= 0) close(range.fd);
  return true;
}

std::optional<FakeRange> FakeMemory::Find(const void* address) {
  const auto* at = static_cast<const std::byte*>(address);
  const MutexLock lock(mutex_);
  auto after = ranges_.upper_bound(at);
  if (after == ranges_.begin()) return std::nullopt;
  --after;
  if (at >= after->first + after->second.bytes) return std::nullopt;
  return after->second;
}

bool FakeMemory::Export(void* memory, FakeHandle* handle) {
  const MutexLock lock(mutex_);
  const auto found = ranges_.find(static_cast<std::byte*>(memory));
  if (found == ranges_.end() || found->second.kind != FakeKind::kDevice) return false;
  *handle = {kMagic, found->second.bytes, 0, getpid(), found->second.fd, found->second.device};
  std::memcpy(&handle->token, found->first - kPage, sizeof(handle->token));
  return true;
}

void* FakeMemory::Open(const FakeHandle& handle) {
  // As the real ones: a process does not open its own.
  if (handle.magic != kMagic || handle.pid == getpid()) return nullptr;
  const std::string path = "/proc/" + std::to_string(handle.pid) + "/fd/" + std::to_string(handle.fd);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  std::byte* memory = Map(fd, handle.bytes);
  close(fd);
  if (memory == nullptr) return nullptr;
  uint64_t token = 0;
  std::memcpy(&token, memory - kPage, sizeof(token));
  if (token != handle.token) {
    munmap(memory - kPage, handle.bytes + kPage);
    return nullptr;
  }
  const MutexLock lock(mutex_);
  ranges_[memory] = {handle.bytes, handle.device, FakeKind::kOpened, -1};
  return memory;
}

size_t FakeMemory::CountOf(FakeKind kind) {
  const MutexLock lock(mutex_);
  return static_cast<size_t>(
      std::count_if(ranges_.begin(), ranges_.end(), [kind](const auto& range) { return range.second.kind == kind; }));
}

}  // namespace mycel::fake
