// Blocks of unlike counts in a buffer, one for each rank, where displacements say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bindings/c/argument_checks.h"
#include "core/base/status.h"

namespace mycel {

inline constexpr uint64_t kBlockBytesMax = uint64_t{1} << 62;

/// "rdispls[3]".
inline std::string ListName(const char* name, int32_t index) {
  return std::string(name) + "[" + std::to_string(index) + "]";
}

/// The blocks of one buffer, each where its displacement says.
struct Blocks {
  const void* buffer;
  const size_t* counts;
  const size_t* displacements;
  int32_t n;
  size_t element_bytes;
  const char* buffer_name;
  const char* displacements_name;
  size_t count_bytes = 0;  // what a count counts, where that is not elements

  Span Of(int32_t rank) const {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(buffer) + displacements[rank] * element_bytes;
    return {begin, begin + counts[rank] * (count_bytes != 0 ? count_bytes : element_bytes)};
  }
};

/// Every block ends within the address space, and no two share a byte, else InvalidArgument names both. Blocks in rank
/// order are checked without allocating.
Status CheckPlaces(const Blocks& blocks, const char* function);

}  // namespace mycel
