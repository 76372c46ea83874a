// Numbers of bytes as people write them: 65536, 64K, 64M, 2G (powers of 1024, as nccl-tests reads them).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace mycel {

/// "64M" -> 67108864. A whole number >= 0 and at most one of K, M, G, T (any case, optionally followed by B or iB).
/// InvalidArgument quotes the text.
StatusOr<int64_t> ParseBytes(std::string_view text);

/// 67108864 -> "64M", 1000 -> "1000": the shortest text that ParseBytes reads back exactly.
std::string FormatBytes(int64_t bytes);

}  // namespace mycel
