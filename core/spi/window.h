// WindowPart: one rank's memory of a window, as its peers need it to map it.
#pragma once

#include <cstdint>
#include <type_traits>

namespace mycel {

struct WindowPart {
  uint64_t address = 0;  // of the memory in its owner's address space
  uint64_t bytes = 0;    // 0: this rank has none
  int32_t fd = -1;       // its owner's descriptor of the shared memory that it lies in; -1: it lies in none
  int32_t reserved = 0;
  uint64_t offset = 0;         // in that memory
  uint64_t token[2] = {0, 0};  // which that memory begins with: who reads it has mapped the right one
};
static_assert(sizeof(WindowPart) == 48 && std::is_trivially_copyable_v<WindowPart>);

}  // namespace mycel
