// Memory of one rank: pages of its own, faulted in by whoever calls Touch, with guards around what a call may write.
#pragma once

#include <cstddef>

#include "core/base/status.h"

namespace mycel::perf {

class Buffer {
 public:
  Buffer() = default;
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  /// `bytes` usable bytes that start `offset` bytes after a page boundary, kGuardBytes before and after them.
  static StatusOr<Buffer> Allocate(size_t bytes, size_t offset);

  /// Writes zeros to every page, so that they lie near the calling thread.
  void Touch();

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }

  static constexpr size_t kGuardBytes = 4096;

 private:
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  char* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace mycel::perf
