// The kernels of this folder as bytes, to be given to hipModuleLoadData.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace mycel {

/// The image that holds kernel `entry` (DeviceEntryName, or "mycel_scale"); empty where the build had no compiler for
/// them, or for a name that is no kernel's. Lives as long as the program.
std::span<const std::byte> HipImage(std::string_view entry);

}  // namespace mycel
