// GpuDevice: a StreamDevice on a GPU of either vendor, above its driver.
//
// A launch is one kernel (core/spi/device_launch.h), passed by value, with an event before and one behind it. A program
// that is launched again has its arrays in the device's memory; one made for a single call (messages, blocks placed
// anew) lies in pinned memory of its launch. Channel ends are copied to the device at first use and live there.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/spi/device_launch.h"
#include "core/spi/gpu_driver.h"
#include "core/spi/stream_device.h"
#include "kernels/gpu/gpu_memory.h"

namespace mycel {

struct GpuDeviceOptions {
  GpuDriver* driver = nullptr;  // outlives the device
  int32_t device = 0;
  /// The image that holds a kernel, by its entry's name; null: this build has none.
  const void* (*image)(std::string_view entry) = nullptr;
  int32_t blocks_max = 1;  // of one launch
};

class GpuDevice final : public StreamDevice {
 public:
  /// Impossible: no kernels for this device in this build. SystemError: no memory.
  static StatusOr<std::unique_ptr<GpuDevice>> Make(const GpuDeviceOptions& options);
  ~GpuDevice() override;
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  std::string_view name() const override { return name_; }
  const void* KernelFor(DataType type, ReduceOp op) const override;
  StatusOr<std::byte*> Scratch(size_t bytes) override { return Grow(bytes, &scratch_); }
  StatusOr<std::byte*> Scaled(size_t bytes) override { return Grow(bytes, &scaled_); }
  StatusOr<uint64_t> Submit(const Launch& launch, bool kept, void* stream) override;
  Status Scale(DataType type, const void* factor, const void* factor_at, const void* input, void* output, size_t count,
               void* stream) override;
  StreamState Look(uint64_t number) override;
  uint64_t captured() const override { return captured_count_.load(std::memory_order_relaxed); }
  StreamFault Fault() override;
  void Abort() override;
  StatusOr<void*> Fork(void* stream) override;
  Status Join(void* stream) override;
  Status ReadCounts(ChannelEnd* end) override;
  size_t MemoryBytes() const override { return memory_bytes_; }

  static constexpr size_t kFlightsMax = 64;

 private:
  struct Flight {
    uint64_t number = 0;
    GpuEvent begin = nullptr;
    GpuEvent end = nullptr;
    GpuBytes arrays;             // pinned, of a program made for one call
    std::shared_ptr<void> kept;  // the image that it runs
  };
  struct Image;
  /// What both host and device look at.
  struct Words;

  explicit GpuDevice(const GpuDeviceOptions& options);
  Status Start();
  Status WaitForFlight(Flight* flight);
  StatusOr<std::byte*> Grow(size_t bytes, GpuBytes* memory);
  StatusOr<GpuBytes> Allocate(GpuPlace place, size_t bytes);
  StatusOr<ChannelEnd*> EndOnDevice(const ChannelEnd* end);
  StatusOr<std::vector<ChannelEnd*>> EndsOf(const BoundProgram& program);
  StatusOr<std::shared_ptr<Image>> ImageOf(const BoundProgram& program);
  Status WriteArrays(const BoundProgram& program, bool kept, GpuBytes* arrays, DeviceLaunch* launch);
  StatusOr<GpuFunction> FunctionFor(const char* name);
  Status CopyNow(void* target, const void* source, size_t bytes);

  GpuDriver& driver_;
  const int32_t device_;
  const void* (*const image_)(std::string_view entry);
  const int32_t blocks_max_;
  const std::string name_;
  std::map<std::string, GpuFunction, std::less<>> functions_;
  GpuStream own_ = nullptr;   // for copies
  GpuStream fork_ = nullptr;  // made at first use
  GpuEvent forked_ = nullptr;
  GpuBytes words_;    // Words, pinned
  GpuBytes claimed_;  // DeviceLaunch::claimed
  GpuBytes scratch_;
  GpuBytes scaled_;
  std::vector<GpuBytes> retired_;  // that launches or graphs may still use
  std::vector<GpuBytes> end_memory_;
  size_t ends_free_ = 0;  // in the last of them
  std::unordered_map<const ChannelEnd*, ChannelEnd*> ends_;
  std::vector<std::shared_ptr<void>> captured_images_;
  std::atomic<uint64_t> captured_count_{0};
  size_t memory_bytes_ = 0;
  GpuStream last_stream_ = nullptr;
  Mutex mutex_;
  uint64_t submitted_ ABSL_GUARDED_BY(mutex_) = 0;  // written by the thread inside alone
  std::array<Flight, kFlightsMax> flights_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mycel
