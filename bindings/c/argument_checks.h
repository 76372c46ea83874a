// Checks of arguments that several functions of the C API have in common.
#pragma once

#include <cstdint>

#include "bindings/c/mycel.h"
#include "core/base/status.h"

namespace mycel {

/// InvalidArgument when `type` is none. `function` begins the text.
Status CheckType(mycelDataType_t type, const char* function);
/// InvalidArgument when `peer`, which the texts call `name`, is no rank of the communicator.
Status CheckPeer(int peer, const mycelComm& comm, const char* name, const char* function);

/// Addresses that a buffer covers.
struct Span {
  uintptr_t begin;
  uintptr_t end;
};
inline Span SpanOf(const void* buffer, uint64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(buffer);
  return {begin, begin + bytes};
}
/// False where one of them is empty.
inline bool Overlap(const Span& a, const Span& b) {
  return a.begin < b.end && b.begin < a.end && a.begin != a.end && b.begin != b.end;
}

/// A message's bytes must fit any arithmetic on them.
Status CheckCount(uint64_t count, mycelDataType_t type, const char* function);

}  // namespace mycel
