// The memory of the fake driver's devices: anonymous files of the host, so that forked ranks can open each other's, and
// a table of what lies where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "core/base/mutex.h"

namespace mycel::fake {

enum class FakeKind : uint8_t { kDevice, kPinned, kRegistered, kOpened };

struct FakeRange {
  size_t bytes = 0;
  int device = 0;
  FakeKind kind = FakeKind::kDevice;
  int fd = -1;
};

/// What travels in a handle of 64 bytes.
struct FakeHandle {
  uint64_t magic;
  uint64_t bytes;
  uint64_t token;  // which the file begins with, before the memory
  int32_t pid;
  int32_t fd;
  int32_t device;
};
static_assert(sizeof(FakeHandle) <= 64);

/// Thread-safe.
class FakeMemory {
 public:
  /// Null where the system refuses. Not cleared, as a device's memory is not: it begins with a pattern.
  void* Allocate(int device, size_t bytes);
  void* AllocatePinned(int device, size_t bytes);
  bool Free(void* memory, FakeKind kind);
  bool Register(void* memory, size_t bytes, int device);
  std::optional<FakeRange> Find(const void* address);
  bool Export(void* memory, FakeHandle* handle);
  void* Open(const FakeHandle& handle);
  /// Ranges of one kind, for tests: what is left.
  size_t CountOf(FakeKind kind);

 private:
  Mutex mutex_;
  std::map<const std::byte*, FakeRange> ranges_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mycel::fake
