// 128-bit products of 64-bit integers.
#pragma once

namespace mycel {
__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;
}  // namespace mycel
