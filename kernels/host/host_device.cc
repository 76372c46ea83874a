#include "kernels/host/host_device.h"

#include "kernels/device/host.h"
#include "kernels/step/walk.h"

namespace mycel {
namespace {

class HostDeviceImpl final : public Device {
 public:
  std::string_view name() const override { return "host"; }
  const void* KernelFor(DataType type, ReduceOp op) const override {
    return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(ApplyFor(type, op)));
  }
  void Scale(DataType type, const void* factor, const void* input, void* output, size_t count) const noexcept override {
    ScaleElements(type, factor, input, output, count);
  }
  bool RunsUserFunctions() const override { return true; }
  StepEvent Step(Launch& launch, int polls) const noexcept override {
    if (launch.trace != nullptr) [[unlikely]]
      return step::RunLaunch<HostDevicePolicy, true>(launch, polls);
    return step::RunLaunch<HostDevicePolicy>(launch, polls);
  }
  int32_t BlockedOn(const Launch& launch, bool* receives) const override {
    return step::BlockedChannel<HostDevicePolicy>(launch, receives);
  }
};

}  // namespace

const Device& HostDevice() {
  static const HostDeviceImpl device;
  return device;
}

}  // namespace mycel
