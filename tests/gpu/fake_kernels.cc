#include "tests/gpu/fake_kernels.h"

#include <atomic>
#include <cstdint>

#include "kernels/device/run_on_host.h"

namespace mycel::fake {
namespace {

/// For tests of the driver alone: each block adds one to a word.
struct CountArguments {
  uint32_t* word;
};
void Count(const void* arguments, unsigned /*block*/, unsigned /*blocks*/) {
  std::atomic_ref<uint32_t>(*static_cast<const CountArguments*>(arguments)->word)
      .fetch_add(1, std::memory_order_relaxed);
}

void RunLaunch(const void* arguments, unsigned block, unsigned blocks) {
  RunDeviceBlockOnHost(*static_cast<const DeviceLaunch*>(arguments), static_cast<int32_t>(block),
                       static_cast<int32_t>(blocks));
}

void Scale(const void* arguments, unsigned block, unsigned /*blocks*/) {
  if (block == 0) RunDeviceScaleOnHost(*static_cast<const DeviceScale*>(arguments));
}

}  // namespace

FakeKernelFacts FindFakeKernel(const std::string& name) {
  if (name == "fake_count") return {&Count, sizeof(CountArguments)};
  if (name.starts_with("mycel_run_")) return {&RunLaunch, sizeof(DeviceLaunch)};
  if (name == "mycel_scale") return {&Scale, sizeof(DeviceScale)};
  return {};
}

}  // namespace mycel::fake
