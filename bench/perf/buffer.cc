#include "bench/perf/buffer.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace mycel::perf {

StatusOr<Buffer> Buffer::Allocate(size_t bytes, size_t offset) {
  Buffer buffer;
  buffer.mapped_bytes_ = bytes + offset + 2 * kGuardBytes;
  buffer.mapping_ = mmap(nullptr, buffer.mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer.mapping_ == MAP_FAILED) {
    buffer.mapping_ = nullptr;
    return SystemError("no memory for a buffer of " + std::to_string(bytes) + " bytes (" + std::strerror(errno) +
                       "): give a smaller -e");
  }
  buffer.data_ = static_cast<char*>(buffer.mapping_) + kGuardBytes + offset;
  buffer.bytes_ = bytes;
  return buffer;
}

Buffer::~Buffer() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void Buffer::Touch() { std::memset(mapping_, 0, mapped_bytes_); }

}  // namespace mycel::perf
