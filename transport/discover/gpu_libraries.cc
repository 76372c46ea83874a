#include "transport/discover/gpu_libraries.h"

#include <dlfcn.h>

#include <cstdio>

#include "transport/discover/vendor_abi.h"

namespace mycel {
namespace {

/// A library loaded for as long as this lives.
class Library {
 public:
  explicit Library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  bool loaded() const { return handle_ != nullptr; }
  template <typename Function>
  Function Find(const char* name) const {
    return reinterpret_cast<Function>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

void AddWire(GpuWire wire, std::vector<GpuWire>* wires) {
  for (GpuWire& known : *wires) {
    if (known.peer != wire.peer || known.end != wire.end || known.gbps != wire.gbps) continue;
    known.count += wire.count;
    return;
  }
  wires->push_back(std::move(wire));
}

struct NvmlFunctions {
  explicit NvmlFunctions(const Library& library)
      : init(library.Find<nvml::Init>("nvmlInit_v2")),
        shutdown(library.Find<nvml::Shutdown>("nvmlShutdown")),
        count(library.Find<nvml::GetCount>("nvmlDeviceGetCount_v2")),
        handle(library.Find<nvml::GetHandle>("nvmlDeviceGetHandleByIndex_v2")),
        name(library.Find<nvml::GetName>("nvmlDeviceGetName")),
        pci(library.Find<nvml::GetPciInfo>("nvmlDeviceGetPciInfo_v3")),
        link_state(library.Find<nvml::GetLinkState>("nvmlDeviceGetNvLinkState")),
        link_version(library.Find<nvml::GetLinkVersion>("nvmlDeviceGetNvLinkVersion")),
        remote_pci(library.Find<nvml::GetRemotePci>("nvmlDeviceGetNvLinkRemotePciInfo_v2")),
        remote_type(library.Find<nvml::GetRemoteType>("nvmlDeviceGetNvLinkRemoteDeviceType")),
        error_string(library.Find<nvml::ErrorString>("nvmlErrorString")) {}
  /// remote_type came with driver 470: without it the other end's PCI class tells.
  bool complete() const {
    return init && shutdown && count && handle && name && pci && link_state && link_version && remote_pci &&
           error_string;
  }

  nvml::Init init;
  nvml::Shutdown shutdown;
  nvml::GetCount count;
  nvml::GetHandle handle;
  nvml::GetName name;
  nvml::GetPciInfo pci;
  nvml::GetLinkState link_state;
  nvml::GetLinkVersion link_version;
  nvml::GetRemotePci remote_pci;
  nvml::GetRemoteType remote_type;
  nvml::ErrorString error_string;
};

MachineGpu DescribeNvmlGpu(const NvmlFunctions& nvml, nvml::Device device, const nvml::PciInfo& pci,
                           MachineAnswers* answers) {
  MachineGpu gpu;
  gpu.vendor = GpuVendor::kNvidia;
  gpu.pci.bus_id = NormalBusId(pci.bus_id);
  char name[96] = "";
  if (nvml.name(device, name, sizeof name) == nvml::kSuccess) gpu.name = name;
  for (unsigned link = 0; link < nvml::kLinkCountMax; ++link) {
    int active = 0;
    const int result = nvml.link_state(device, link, &active);
    if (result == nvml::kInvalidArgument) break;  // past the last
    if (result != nvml::kSuccess || active == 0) continue;
    nvml::PciInfo remote = {};
    unsigned version = 0;
    int type = nvml::kRemoteUnknown;
    if (nvml.remote_pci(device, link, &remote) != nvml::kSuccess) continue;
    if (nvml.link_version(device, link, &version) != nvml::kSuccess) version = 0;
    if (nvml.remote_type == nullptr || nvml.remote_type(device, link, &type) != nvml::kSuccess) {
      type = nvml::kRemoteUnknown;
    }
    GpuWire wire;
    wire.peer = NormalBusId(remote.bus_id);
    wire.end = type == nvml::kRemoteGpu      ? WireEnd::kGpu
               : type == nvml::kRemoteSwitch ? WireEnd::kSwitch
                                             : WireEnd::kOther;
    wire.gbps = NvlinkGBps(static_cast<int32_t>(version));
    if (wire.gbps == Rational(0)) {
      answers->notes.push_back("GPU " + gpu.pci.bus_id + ", link " + std::to_string(link) + ": NVLink version " +
                               std::to_string(version) + " has no known speed here");
    }
    AddWire(std::move(wire), &gpu.wires);
  }
  return gpu;
}

struct RocmSmiFunctions {
  explicit RocmSmiFunctions(const Library& library)
      : init(library.Find<rocm_smi::Init>("rsmi_init")),
        shut_down(library.Find<rocm_smi::ShutDown>("rsmi_shut_down")),
        count(library.Find<rocm_smi::NumDevices>("rsmi_num_monitor_devices")),
        pci_id(library.Find<rocm_smi::PciId>("rsmi_dev_pci_id_get")),
        name(library.Find<rocm_smi::DeviceName>("rsmi_dev_name_get")),
        link_type(library.Find<rocm_smi::LinkType>("rsmi_topo_get_link_type")),
        link_weight(library.Find<rocm_smi::LinkWeight>("rsmi_topo_get_link_weight")),
        bandwidth(library.Find<rocm_smi::MinMaxBandwidth>("rsmi_minmax_bandwidth_get")) {}
  bool complete() const {
    return init && shut_down && count && pci_id && name && link_type && link_weight;  // bandwidth came with ROCm 5
  }

  rocm_smi::Init init;
  rocm_smi::ShutDown shut_down;
  rocm_smi::NumDevices count;
  rocm_smi::PciId pci_id;
  rocm_smi::DeviceName name;
  rocm_smi::LinkType link_type;
  rocm_smi::LinkWeight link_weight;
  rocm_smi::MinMaxBandwidth bandwidth;
};

std::string BusIdOf(uint64_t bdf) {
  char text[24];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", static_cast<unsigned>(bdf >> 32),
                static_cast<unsigned>(bdf >> 8 & 0xff), static_cast<unsigned>(bdf >> 3 & 0x1f),
                static_cast<unsigned>(bdf & 7));
  return text;
}

/// The xGMI links that lead from one GPU straight to another; none where they pass through a third.
std::vector<GpuWire> XgmiBetween(const RocmSmiFunctions& smi, uint32_t source, uint32_t target,
                                 const std::string& peer) {
  uint64_t hops = 0;
  int type = 0;
  if (smi.link_type(source, target, &hops, &type) != rocm_smi::kSuccess || type != rocm_smi::kLinkXgmi) return {};
  GpuWire wire;
  wire.peer = peer;
  uint64_t least = 0;
  uint64_t most = 0;
  const bool told = smi.bandwidth != nullptr && smi.bandwidth(source, target, &least, &most) == rocm_smi::kSuccess;
  if (told) {
    // Speeds are told of direct links only.
    if (most == 0 || least == 0 || least > most) return {};
    wire.count = static_cast<int32_t>(most / least);
    wire.gbps = Rational(static_cast<int64_t>(least), 1000);
    return {wire};
  }
  // The kernel's weights of one hop, by generation.
  uint64_t weight = 0;
  if (smi.link_weight(source, target, &weight) != rocm_smi::kSuccess) return {};
  if (weight != 13 && weight != 15 && weight != 41) return {};
  return {wire};
}

}  // namespace

void AskNvml(MachineAnswers* answers, const char* name) {
  const Library library(name);
  if (!library.loaded()) return;
  const NvmlFunctions nvml(library);
  if (!nvml.complete()) {
    answers->notes.push_back(std::string(name) + " lacks functions of driver 418: NVIDIA GPUs are not described");
    return;
  }
  const int started = nvml.init();
  if (started != nvml::kSuccess) {
    answers->notes.push_back(std::string("NVML does not start: ") + nvml.error_string(started) +
                             "; NVIDIA GPUs are not described");
    return;
  }
  unsigned count = 0;
  if (nvml.count(&count) != nvml::kSuccess) count = 0;
  for (unsigned index = 0; index < count; ++index) {
    nvml::Device device = nullptr;
    nvml::PciInfo pci = {};
    int result = nvml.handle(index, &device);
    if (result == nvml::kSuccess) result = nvml.pci(device, &pci);
    if (result == nvml::kSuccess) {
      answers->gpus.push_back(DescribeNvmlGpu(nvml, device, pci, answers));
    } else {
      answers->notes.push_back("NVML: GPU " + std::to_string(index) + " does not answer: " + nvml.error_string(result));
    }
  }
  nvml.shutdown();
}

void AskRocmSmi(MachineAnswers* answers, const char* name) {
  const Library library(name);
  if (!library.loaded()) return;
  const RocmSmiFunctions smi(library);
  if (!smi.complete()) {
    answers->notes.push_back(std::string(name) + " lacks functions of ROCm 4: AMD GPUs are not described");
    return;
  }
  if (const int started = smi.init(0); started != rocm_smi::kSuccess) {
    answers->notes.push_back("ROCm SMI does not start (status " + std::to_string(started) +
                             "); AMD GPUs are not described");
    return;
  }
  uint32_t count = 0;
  if (smi.count(&count) != rocm_smi::kSuccess) count = 0;
  std::vector<std::string> bus_ids;
  for (uint32_t index = 0; index < count; ++index) {
    uint64_t bdf = 0;
    bus_ids.push_back(smi.pci_id(index, &bdf) == rocm_smi::kSuccess ? BusIdOf(bdf) : std::string());
    if (bus_ids.back().empty())
      answers->notes.push_back("ROCm SMI: GPU " + std::to_string(index) + " does not tell its place and is left out");
  }
  for (uint32_t index = 0; index < count; ++index) {
    if (bus_ids[index].empty()) continue;
    MachineGpu gpu;
    gpu.vendor = GpuVendor::kAmd;
    gpu.pci.bus_id = bus_ids[index];
    char text[128] = "";
    if (smi.name(index, text, sizeof text) == rocm_smi::kSuccess) gpu.name = text;
    for (uint32_t peer = 0; peer < count; ++peer) {
      if (peer == index || bus_ids[peer].empty()) continue;
      for (GpuWire& wire : XgmiBetween(smi, index, peer, bus_ids[peer])) gpu.wires.push_back(std::move(wire));
    }
    answers->gpus.push_back(std::move(gpu));
  }
  smi.shut_down();
}

}  // namespace mycel
