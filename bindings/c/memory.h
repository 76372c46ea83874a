// Memory from mycelMemAlloc: which of it may be mapped by peers, and who relies on it.
#pragma once

#include <cstddef>

#include "core/base/status.h"
#include "core/spi/window.h"

namespace mycel {

/// What peers need to map [buffer, buffer + bytes), or a part without descriptor (only address and size) when it does
/// not lie inside one allocation. In the first case the allocation cannot be freed until ReleaseMemory. Any thread.
WindowPart UseMemory(const void* buffer, size_t bytes);
void ReleaseMemory(const WindowPart& part);

}  // namespace mycel
