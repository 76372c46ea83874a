// Memory of a device, or of the host pinned for it, as an owner holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/spi/gpu_driver.h"

namespace mycel {

enum class GpuPlace : uint8_t { kDevice, kPinned };

/// Empty, or owned bytes. Freed with the device pushed by itself.
class GpuBytes {
 public:
  GpuBytes() = default;
  /// The device is pushed. Pinned memory is zeroed, a device's is not.
  static StatusOr<GpuBytes> Make(GpuDriver* driver, int32_t device, GpuPlace place, size_t bytes) {
    StatusOr<void*> memory = place == GpuPlace::kDevice ? driver->Allocate(bytes) : driver->AllocatePinned(bytes);
    MYCEL_RETURN_IF_ERROR(memory.status());
    GpuBytes made;
    made.driver_ = driver;
    made.device_ = device;
    made.place_ = place;
    made.data_ = static_cast<std::byte*>(*memory);
    made.bytes_ = bytes;
    return made;
  }
  ~GpuBytes() { Free(); }
  GpuBytes(GpuBytes&& other) noexcept { *this = std::move(other); }
  GpuBytes& operator=(GpuBytes&& other) noexcept {
    if (this == &other) return *this;
    Free();
    driver_ = std::exchange(other.driver_, nullptr);
    device_ = other.device_;
    place_ = other.place_;
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void Free() {
    if (data_ == nullptr) return;
    const GpuScope scope(driver_, device_);
    if (!scope.status().ok()) return;
    if (place_ == GpuPlace::kDevice) {
      driver_->Free(data_);
    } else {
      driver_->FreePinned(data_);
    }
    data_ = nullptr;
  }

  GpuDriver* driver_ = nullptr;
  int32_t device_ = -1;
  GpuPlace place_ = GpuPlace::kDevice;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace mycel
