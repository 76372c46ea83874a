// How much memory is left, asked before it is taken: taking too much ends in the kernel killing some process, which is
// a worse message than ours.
#pragma once

#include <cstddef>

namespace mycel {

/// Bytes that this process could still take: what the machine has available (swap included), cut by the memory limits
/// of the process's control groups (v2 or v1). SIZE_MAX where nothing can be read.
size_t AvailableMemoryBytes();

}  // namespace mycel
