// Checks of arguments that several functions of the C API have in common.
#pragma once

#include <cstdint>

#include "bindings/c/mycel.h"
#include "core/base/status.h"

namespace mycel {

/// InvalidArgument when `type` is none. `function` begins the text.
Status CheckType(mycelDataType_t type, const char* function);
/// A message's bytes must fit any arithmetic on them.
Status CheckCount(uint64_t count, mycelDataType_t type, const char* function);

}  // namespace mycel
