#include "transport/discover/describe.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace mycel {
namespace {

/// 100 Tbit/s: what is told beyond is no speed of a device.
constexpr int64_t kToldMbpsMax = 100'000'000;

/// "0000:1b:00.0".
bool IsBusId(const std::string& text) {
  constexpr std::string_view kForm = "xxxx:xx:xx.x";
  if (text.size() != kForm.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (kForm[i] == 'x' ? std::isxdigit(static_cast<unsigned char>(text[i])) == 0 : text[i] != kForm[i]) return false;
  }
  return true;
}

/// The place of a device from a path below it: "devices/pci0000:15/0000:15:01.0/0000:16:00.0/infiniband/mlx5_0".
PciPlace PlaceFromPath(const SystemFiles& files, const std::string& path) {
  PciPlace place;
  std::string folder;
  std::string walked;
  size_t begin = 0;
  while (begin < path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    walked += (walked.empty() ? "" : "/") + part;
    begin = end + 1;
    if (IsBusId(part)) {
      place.bus_id = part;
      folder = walked;
    } else if (!part.starts_with("pci")) {
      if (place.path.empty()) continue;
      break;
    }
    place.path.push_back(part);
  }
  if (place.bus_id.empty()) return {};
  if (const auto node = files.Line(folder + "/numa_node")) place.numa_node = std::atoi(node->c_str());
  // A sleeping device lowers its speed, never its width; a slot may have fewer lanes than the device.
  place.gbps = PcieGBps(files.Line(folder + "/max_link_speed").value_or(""),
                        files.Line(folder + "/current_link_width").value_or(""));
  return place;
}

MachineNic DescribePort(const SystemFiles& files, const std::string& device, const std::string& port,
                        const MachineAnswers& answers) {
  const std::string folder = "class/infiniband/" + device + "/ports/" + port;
  MachineNic nic;
  nic.name = device + ":" + port;
  nic.rdma = true;
  // "4: ACTIVE"
  const std::string state = files.Line(folder + "/state").value_or("?");
  nic.state = state.substr(state.find(' ') + 1);
  nic.usable = nic.state == "ACTIVE";
  nic.link_layer = files.Line(folder + "/link_layer").value_or("");
  const NicSpeed speed = ReadNicSpeed(files, nic.name);
  nic.mbps = speed.mbps;
  nic.source = speed.source;
  nic.told = speed.told;
  if (nic.usable) nic.gid = ChooseGid(ReadGids(files, folder), nic.link_layer);
  const auto mtu = answers.mtu_of_port.find(nic.name);
  if (mtu != answers.mtu_of_port.end()) nic.mtu = mtu->second;
  nic.pci = PlaceFromPath(files, files.RealPath("class/infiniband/" + device + "/device"));
  return nic;
}

MachineNic DescribeInterface(const SystemFiles& files, const std::string& name) {
  const std::string folder = "class/net/" + name;
  MachineNic nic;
  nic.name = name;
  nic.state = files.Line(folder + "/operstate").value_or("");
  nic.usable = nic.state == "up";
  nic.link_layer = files.Line(folder + "/type").value_or("") == "32" ? "InfiniBand" : "Ethernet";
  const NicSpeed speed = ReadNicSpeed(files, name);
  nic.mbps = speed.mbps;
  nic.source = speed.source;
  nic.told = speed.told;
  nic.pci = PlaceFromPath(files, files.RealPath(folder + "/device"));
  return nic;
}

void DescribeNics(const SystemFiles& files, const MachineAnswers& answers, Machine* machine) {
  for (const std::string& device : files.List("class/infiniband")) {
    for (const std::string& port : files.List("class/infiniband/" + device + "/ports"))
      machine->nics.push_back(DescribePort(files, device, port, answers));
  }
  const size_t ports = machine->nics.size();
  for (const std::string& name : files.List("class/net")) {
    // "bonding_masters" lies in the same folder and is none.
    if (name == "lo" || !files.Line("class/net/" + name + "/operstate")) continue;
    MachineNic nic = DescribeInterface(files, name);
    for (size_t i = 0; i < ports && !nic.pci.bus_id.empty(); ++i) {
      if (machine->nics[i].pci.bus_id == nic.pci.bus_id) nic.port_of = machine->nics[i].name;
    }
    machine->nics.push_back(std::move(nic));
  }
}

void NoteNics(const MachineAnswers& answers, Machine* machine) {
  for (const MachineNic& nic : machine->nics) {
    if (!nic.usable) continue;
    if (nic.source == SpeedSource::kUnknown) {
      machine->notes.push_back(nic.name + ": the system tells no speed; " + std::to_string(kAssumedMbps) +
                               " Mbit/s is assumed where one is needed");
    } else if (nic.source == SpeedSource::kVirtual) {
      machine->notes.push_back(nic.name + ": a virtual device, whose " + std::to_string(nic.mbps) +
                               " Mbit/s is no true speed; it passes what lies beneath it passes, or less where tc "
                               "shapes it");
    }
    if (!nic.rdma) continue;
    if (!nic.gid) machine->notes.push_back(nic.name + ": its GID table is empty; the port cannot be used");
    if (!answers.mtu_of_port.empty() && nic.mtu == 0) {
      machine->notes.push_back(nic.name + ": is active, but this process cannot open it (see /dev/infiniband)");
    }
  }
}

/// Links whose other end NVML did not name well are told by who sits there.
void NameWireEnds(const SystemFiles& files, Machine* machine) {
  for (MachineGpu& gpu : machine->gpus) {
    for (GpuWire& wire : gpu.wires) {
      if (wire.end != WireEnd::kOther) continue;
      const bool is_gpu = std::any_of(machine->gpus.begin(), machine->gpus.end(),
                                      [&](const MachineGpu& other) { return other.pci.bus_id == wire.peer; });
      const std::string pci_class = files.Line("bus/pci/devices/" + wire.peer + "/class").value_or("");
      if (is_gpu) {
        wire.end = WireEnd::kGpu;
      } else if (pci_class.starts_with("0x0680")) {  // a bridge of the kind "other": an NVSwitch
        wire.end = WireEnd::kSwitch;
      }
    }
  }
}

/// GPUs on the bus that no library spoke of.
void NoteSilentGpus(const SystemFiles& files, Machine* machine) {
  int32_t nvidia = 0;
  int32_t amd = 0;
  for (const std::string& bus_id : files.List("bus/pci/devices")) {
    const std::string folder = "bus/pci/devices/" + bus_id;
    const std::string pci_class = files.Line(folder + "/class").value_or("");
    const bool display = pci_class.starts_with("0x03") || pci_class.starts_with("0x12");
    if (!display) continue;
    const std::string vendor = files.Line(folder + "/vendor").value_or("");
    if (vendor == "0x10de") ++nvidia;
    if (vendor == "0x1002") ++amd;
  }
  for (const MachineGpu& gpu : machine->gpus) --(gpu.vendor == GpuVendor::kNvidia ? nvidia : amd);
  if (nvidia > 0) {
    machine->notes.push_back(
        std::to_string(nvidia) +
        " NVIDIA display device(s) on the PCI bus are not known to NVML: the driver is not loaded, "
        "or they are hidden from this container");
  }
  if (amd > 0) {
    machine->notes.push_back(
        std::to_string(amd) +
        " AMD display device(s) on the PCI bus are not known to ROCm SMI: the driver is not loaded, "
        "or they are no accelerators");
  }
}

}  // namespace

NicSpeed ReadNicSpeed(const SystemFiles& files, const std::string& name) {
  NicSpeed speed;
  const size_t colon = name.find(':');
  if (colon != std::string::npos) {
    // "400 Gb/sec (4X NDR)"
    speed.told = files.Line("class/infiniband/" + name.substr(0, colon) + "/ports/" + name.substr(colon + 1) + "/rate")
                     .value_or("");
    const double told_mbps = std::atof(speed.told.c_str()) * 1000;
    if (told_mbps >= 1 && told_mbps <= static_cast<double>(kToldMbpsMax))
      speed.mbps = static_cast<int64_t>(told_mbps), speed.source = SpeedSource::kTold;
    return speed;
  }
  const std::string told = files.Line("class/net/" + name + "/speed").value_or("");
  const int64_t mbps = std::atoll(told.c_str());
  if (mbps <= 0 || mbps > kToldMbpsMax) return speed;
  speed.told = told + " Mb/s";
  speed.mbps = mbps;
  const bool made_up = files.RealPath("class/net/" + name).find("devices/virtual/") != std::string::npos;
  speed.source = made_up ? SpeedSource::kVirtual : SpeedSource::kTold;
  return speed;
}

Machine DescribeMachine(const SystemFiles& files, const MachineAnswers& answers) {
  Machine machine;
  machine.host = answers.host;
  machine.cpus = answers.cpus;
  machine.notes = answers.notes;
  machine.gpus = answers.gpus;
  for (MachineGpu& gpu : machine.gpus) {
    const std::string bus_id = gpu.pci.bus_id;
    gpu.pci = PlaceFromPath(files, files.RealPath("bus/pci/devices/" + bus_id));
    gpu.pci.bus_id = bus_id;
  }
  DescribeNics(files, answers, &machine);
  NameWireEnds(files, &machine);
  NoteNics(answers, &machine);
  NoteSilentGpus(files, &machine);
  return machine;
}

}  // namespace mycel
