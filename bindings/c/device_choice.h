// Which device a communicator is on: the host, or a GPU by its driver. Drivers are loaded when they are asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/spi/gpu_driver.h"

namespace mycel {

/// Host where `driver` is null.
struct DeviceChoice {
  GpuDriver* driver = nullptr;  // lives as long as the process
  int32_t device = 0;
  std::string name() const {
    return driver == nullptr ? "host" : std::string(driver->name()) + ":" + std::to_string(device);
  }
};

/// "host", "cuda", "cuda:1", "hip", "hip:0", or "auto" (MYCEL_DEVICE where `wanted` has nothing): the GPU that is
/// current in the calling thread, in a program that has loaded a driver; else the host. InvalidArgument: another text,
/// or no such device. Impossible: the driver is missing, with its loader's reason.
StatusOr<DeviceChoice> ChooseDevice(const std::optional<std::string>& wanted);

/// The driver, loaded once for each process; an error stays.
StatusOr<GpuDriver*> DriverOf(std::string_view name);

/// The image with kernel `entry` for the driver of this name, or null.
const void* CudaImageOf(std::string_view entry);
const void* HipImageOf(std::string_view entry);

/// OK, or InvalidArgument when `address` is not memory that `choice` works on. `what`: "mycelAllReduce: sendbuff".
Status CheckMemory(const DeviceChoice& choice, const void* address, const std::string& what);
/// OK, or InvalidArgument when `stream` is another device's.
Status CheckStreamOf(const DeviceChoice& choice, void* stream, const std::string& function);

}  // namespace mycel
