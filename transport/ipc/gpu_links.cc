#include "transport/ipc/gpu_links.h"

#include <algorithm>
#include <vector>

#include "transport/discover/gpu_libraries.h"

namespace mycel {
namespace {

const std::vector<MachineGpu>& NvidiaGpus() {
  static const auto* gpus = [] {
    MachineAnswers answers;
    AskNvml(&answers);
    return new std::vector<MachineGpu>(std::move(answers.gpus));
  }();
  return *gpus;
}

const std::vector<MachineGpu>& AmdGpus() {
  static const auto* gpus = [] {
    MachineAnswers answers;
    AskRocmSmi(&answers);
    return new std::vector<MachineGpu>(std::move(answers.gpus));
  }();
  return *gpus;
}

const MachineGpu* GpuAt(const std::vector<MachineGpu>& gpus, const std::string& bus_id) {
  const auto found =
      std::find_if(gpus.begin(), gpus.end(), [&](const MachineGpu& gpu) { return gpu.pci.bus_id == bus_id; });
  return found == gpus.end() ? nullptr : &*found;
}

bool HasWireTo(const MachineGpu& gpu, const std::string& peer) {
  return std::any_of(gpu.wires.begin(), gpu.wires.end(),
                     [&](const GpuWire& wire) { return wire.end == WireEnd::kGpu && wire.peer == peer; });
}

bool ShareASwitch(const MachineGpu& a, const MachineGpu& b) {
  for (const GpuWire& wire : a.wires) {
    if (wire.end != WireEnd::kSwitch) continue;
    for (const GpuWire& other : b.wires) {
      if (other.end == WireEnd::kSwitch && other.peer == wire.peer) return true;
    }
  }
  return false;
}

}  // namespace

std::string GpuLinkText(std::string_view driver, const std::string& bus_id, const std::string& peer_bus_id) {
  const bool nvidia = driver == "cuda";
  const std::vector<MachineGpu>& gpus = nvidia ? NvidiaGpus() : AmdGpus();
  const MachineGpu* gpu = GpuAt(gpus, NormalBusId(bus_id));
  const MachineGpu* peer = GpuAt(gpus, NormalBusId(peer_bus_id));
  if (gpu != nullptr && HasWireTo(*gpu, NormalBusId(peer_bus_id))) return nvidia ? "NVLink" : "xGMI";
  if (gpu != nullptr && peer != nullptr && ShareASwitch(*gpu, *peer)) return "NVLink (NVSwitch)";
  return "PCIe";
}

}  // namespace mycel
