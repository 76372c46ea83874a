// The few types and functions of NVML and ROCm SMI that discovery calls, as their makers document them: the libraries
// are loaded at run time, so that neither their headers nor they themselves are needed to build or to start.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mycel::nvml {

using Device = void*;
inline constexpr int kSuccess = 0;
inline constexpr int kInvalidArgument = 2;
inline constexpr unsigned kLinkCountMax = 64;  // 18 today; the library says where it ends

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];  // "00000000:1B:00.0"
};
static_assert(sizeof(PciInfo) == 68);

/// nvmlIntNvLinkDeviceType_t.
enum RemoteType : int { kRemoteGpu = 0, kRemoteIbmNpu = 1, kRemoteSwitch = 2, kRemoteUnknown = 255 };

using Init = int (*)();
using Shutdown = int (*)();
using GetCount = int (*)(unsigned*);
using GetHandle = int (*)(unsigned, Device*);
using GetName = int (*)(Device, char*, unsigned);
using GetPciInfo = int (*)(Device, PciInfo*);
using GetLinkState = int (*)(Device, unsigned link, int* active);
using GetLinkVersion = int (*)(Device, unsigned link, unsigned* version);
using GetRemotePci = int (*)(Device, unsigned link, PciInfo*);
using GetRemoteType = int (*)(Device, unsigned link, int* type);
using ErrorString = const char* (*)(int);

}  // namespace mycel::nvml

namespace mycel::rocm_smi {

inline constexpr int kSuccess = 0;
inline constexpr int kLinkXgmi = 2;  // RSMI_IOLINK_TYPE_XGMI

using Init = int (*)(uint64_t flags);
using ShutDown = int (*)();
using NumDevices = int (*)(uint32_t*);
/// Domain in bits 32-63, bus 8-15, device 3-7, function 0-2.
using PciId = int (*)(uint32_t device, uint64_t*);
using DeviceName = int (*)(uint32_t device, char*, size_t);
using LinkType = int (*)(uint32_t source, uint32_t target, uint64_t* hops, int* type);
using LinkWeight = int (*)(uint32_t source, uint32_t target, uint64_t*);
/// MB/s; the least is that of one link, the most that of all links between the two.
using MinMaxBandwidth = int (*)(uint32_t source, uint32_t target, uint64_t* least, uint64_t* most);

}  // namespace mycel::rocm_smi
