// AMD's runtime as a GpuDriver, loaded at run time.
#pragma once

#include <memory>
#include <string>

#include "core/spi/gpu_driver.h"

namespace mycel {

inline constexpr const char* kHipLibrary = "libamdhip64.so";

/// Impossible, with the loader's or the runtime's reason: no library, no device, a runtime that is too old.
StatusOr<std::unique_ptr<GpuDriver>> LoadHipDriver(const std::string& library = kHipLibrary);

}  // namespace mycel
