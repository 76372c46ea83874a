#include "transport/ucx/ring_memory.h"

#include <sys/mman.h>

#include <string>

namespace mycel {

StatusOr<std::unique_ptr<RingMemory>> RingMemory::Make(size_t payload_bytes) {
  const size_t bytes = ChannelBytes(payload_bytes);
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    return SystemError("no memory for a channel to another server: " + std::to_string(bytes) +
                       " bytes needed; lower MYCEL_PAYLOAD_BYTES");
  }
  return std::unique_ptr<RingMemory>(new RingMemory(static_cast<std::byte*>(base), payload_bytes));
}

RingMemory::~RingMemory() { munmap(base_, bytes()); }

}  // namespace mycel
