// NVML as a driver of two GPUs would answer, with an NVSwitch and a direct link between them; for gpu_libraries_test.
#include <cstdio>
#include <cstring>

#include "transport/discover/vendor_abi.h"

namespace {

using mycel::nvml::Device;
using mycel::nvml::PciInfo;

constexpr unsigned kLinks = 6;
int g_gpus[2] = {0, 1};

/// Links 0 and 1 lead to one switch, 2 to another, 3 to the other GPU, 4 is off, 5 leads to what has no name.
const char* RemoteOf(Device device, unsigned link) {
  const int self = *static_cast<int*>(device);
  constexpr const char* kSwitches[] = {"00000000:05:00.0", "00000000:05:00.0", "00000000:06:00.0"};
  if (link < 3) return kSwitches[link];
  if (link == 3) return self == 0 ? "00000000:BB:00.0" : "00000000:1B:00.0";
  return "00000000:07:00.0";
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int /*code*/) { return "GPU is lost"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;  // the third does not answer
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (index >= 2) return 15;
  *device = &g_gpus[index];
  return 0;
}
int nvmlDeviceGetName(Device /*device*/, char* name, unsigned length) {
  std::snprintf(name, length, "NVIDIA H100 80GB HBM3");
  return 0;
}
int nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  std::memset(info, 0x5a, sizeof *info);
  std::snprintf(info->bus_id, sizeof info->bus_id, "%s",
                *static_cast<int*>(device) == 0 ? "00000000:1B:00.0" : "00000000:BB:00.0");
  return 0;
}
int nvmlDeviceGetNvLinkState(Device /*device*/, unsigned link, int* active) {
  if (link >= kLinks) return mycel::nvml::kInvalidArgument;
  *active = link != 4;
  return 0;
}
int nvmlDeviceGetNvLinkVersion(Device /*device*/, unsigned link, unsigned* version) {
  *version = link == 5 ? 9 : 4;
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, PciInfo* info) {
  std::snprintf(info->bus_id, sizeof info->bus_id, "%s", RemoteOf(device, link));
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Device /*device*/, unsigned link, int* type) {
  *type = link < 3 ? mycel::nvml::kRemoteSwitch : link == 3 ? mycel::nvml::kRemoteGpu : mycel::nvml::kRemoteUnknown;
  return 0;
}

}  // extern "C"
#pragma GCC visibility pop
