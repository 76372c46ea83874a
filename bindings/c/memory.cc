#include "bindings/c/memory.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "bindings/c/guard.h"
#include "bindings/c/mycel.h"
#include "bindings/c/status_map.h"
#include "core/base/mutex.h"
#include "transport/shm/shared_block.h"

namespace mycel {
namespace {

struct Allocation {
  std::unique_ptr<SharedBlock> block;
  int users = 0;  // registered windows
};

/// By the address that the user has. Leaked on purpose: blocks may be freed by static destructors.
struct Allocations {
  Mutex mutex;
  std::map<const std::byte*, Allocation> all ABSL_GUARDED_BY(mutex);
};

Allocations& OfProcess() {
  static auto* allocations = new Allocations();
  return *allocations;
}

/// The allocation that `address` lies in, or null.
Allocation* Containing(Allocations& allocations, const std::byte* address, size_t bytes)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(allocations.mutex) {
  auto after = allocations.all.upper_bound(address);
  if (after == allocations.all.begin()) return nullptr;
  Allocation& found = std::prev(after)->second;
  const auto at = static_cast<size_t>(address - found.block->data());
  return at <= found.block->bytes() && bytes <= found.block->bytes() - at ? &found : nullptr;
}

Status Free(void* pointer) {
  Allocations& allocations = OfProcess();
  const MutexLock lock(allocations.mutex);
  const auto found = allocations.all.find(static_cast<const std::byte*>(pointer));
  if (found == allocations.all.end()) {
    return InvalidArgument("mycelMemFree: the pointer is not one that mycelMemAlloc gave, or was freed before");
  }
  if (found->second.users > 0) {
    return InvalidUsage("mycelMemFree: " + std::to_string(found->second.users) +
                        " windows are registered in this memory, which peers read; deregister them first");
  }
  allocations.all.erase(found);
  return OkStatus();
}

}  // namespace

WindowPart UseMemory(const void* buffer, size_t bytes) {
  Allocations& allocations = OfProcess();
  const MutexLock lock(allocations.mutex);
  Allocation* allocation = Containing(allocations, static_cast<const std::byte*>(buffer), bytes);
  if (allocation != nullptr) {
    ++allocation->users;
    return allocation->block->PartAt(buffer, bytes);
  }
  WindowPart part;
  part.address = reinterpret_cast<uint64_t>(buffer);
  part.bytes = bytes;
  return part;
}

void ReleaseMemory(const WindowPart& part) {
  if (part.fd < 0) return;
  Allocations& allocations = OfProcess();
  const MutexLock lock(allocations.mutex);
  Allocation* allocation = Containing(allocations, reinterpret_cast<const std::byte*>(part.address), part.bytes);
  if (allocation != nullptr) --allocation->users;
}

}  // namespace mycel

extern "C" {

mycelResult_t mycelMemAlloc(void** ptr, size_t size) try {
  if (ptr == nullptr || size == 0) {
    return mycel::Report(mycel::InvalidArgument("mycelMemAlloc: ptr is NULL or size is 0"));
  }
  return mycel::Report(mycel::Guarded("mycelMemAlloc", [&]() -> mycel::Status {
    MYCEL_ASSIGN_OR_RETURN(std::unique_ptr<mycel::SharedBlock> block, mycel::SharedBlock::Make(size));
    std::byte* data = block->data();
    mycel::Allocations& allocations = mycel::OfProcess();
    const mycel::MutexLock lock(allocations.mutex);
    allocations.all[data].block = std::move(block);
    *ptr = data;
    return mycel::OkStatus();
  }));
} catch (...) {
  return mycel::Caught("mycelMemAlloc");
}

mycelResult_t mycelMemFree(void* ptr) try {
  if (ptr == nullptr) return mycelSuccess;
  return mycel::Report(mycel::Free(ptr));
} catch (...) {
  return mycel::Caught("mycelMemFree");
}

}  // extern "C"
