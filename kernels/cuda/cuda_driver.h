// NVIDIA's driver as a GpuDriver, loaded at run time.
#pragma once

#include <memory>
#include <string>

#include "core/spi/gpu_driver.h"

namespace mycel {

inline constexpr const char* kCudaLibrary = "libcuda.so.1";

/// Impossible, with the loader's or the driver's reason: no library, no device, a driver that is too old.
StatusOr<std::unique_ptr<GpuDriver>> LoadCudaDriver(const std::string& library = kCudaLibrary);

}  // namespace mycel
