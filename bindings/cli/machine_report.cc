#include "bindings/cli/machine_report.h"

#include <map>
#include <utility>

#include "bindings/cli/terminal.h"

namespace mycel::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string GpuName(size_t index) { return "gpu" + std::to_string(index); }

std::string Heading(const std::string& text) { return "\n" + Painted(Tone::kStrong, text) + "\n"; }

std::string NumaText(int32_t node) { return node < 0 ? "-" : std::to_string(node); }

std::string_view KindOf(const MachineGpu& gpu) { return gpu.vendor == GpuVendor::kNvidia ? "NVLink" : "xGMI"; }

/// What a wire leads to: "gpu3", "switches" or the bus id of what is not known.
std::string TargetOf(const Machine& machine, const GpuWire& wire) {
  if (wire.end == WireEnd::kSwitch) return "switches";
  for (size_t i = 0; i < machine.gpus.size(); ++i) {
    if (wire.end == WireEnd::kGpu && machine.gpus[i].pci.bus_id == wire.peer) return GpuName(i);
  }
  return wire.peer;
}

/// "18 NVLinks, 450 GB/s to switches" or "1 xGMI link, 64 GB/s each to gpu1..gpu7".
std::string WiresText(const Machine& machine, const MachineGpu& gpu) {
  std::map<std::string, std::pair<int32_t, Rational>> by_target;
  std::vector<std::string> order;
  for (const GpuWire& wire : gpu.wires) {
    const std::string target = TargetOf(machine, wire);
    auto [at, is_new] = by_target.emplace(target, std::pair(0, Rational(0)));
    if (is_new) order.push_back(target);
    at->second.first += wire.count;
    at->second.second += wire.gbps * Rational(wire.count);
  }
  std::string text;
  std::map<std::pair<int32_t, Rational>, std::vector<std::string>> alike;
  for (const std::string& target : order) alike[by_target[target]].push_back(target);
  for (const auto& [bundle, targets] : alike) {
    const auto& [count, gbps] = bundle;
    text += (text.empty() ? "" : "; ") + std::to_string(count) + " " + std::string(KindOf(gpu)) +
            (gpu.vendor == GpuVendor::kNvidia ? "" : " link") + (count == 1 ? "" : "s") + ", " +
            (gbps == Rational(0) ? std::string("speed not known") : Decimal(gbps.ToDouble()) + " GB/s") +
            (targets.size() > 1 ? " each to " : " to ") + JoinNames(targets);
  }
  return text.empty() ? "none" : text;
}

std::string NicNames(const Machine& machine, const std::vector<int32_t>& nics) {
  std::string text;
  for (const int32_t nic : nics) text += (text.empty() ? "" : " ") + machine.nics[static_cast<size_t>(nic)].name;
  return text.empty() ? "-" : text;
}

std::string CpusText(const MachineCpus& cpus) {
  if (cpus.threads == 0) return {};
  std::string text = Counted(cpus.packages, "package") + ", " + Counted(cpus.cores, "core") + ", " +
                     Counted(cpus.threads, "thread") + "\n";
  Table table({">NUMA node", "memory", "threads"}, "  ");
  for (const NumaNode& node : cpus.numa_nodes)
    table.Add({std::to_string(node.index), RoughSize(node.memory_bytes), node.cpus});
  return text + table.ToText();
}

std::string GpusText(const Machine& machine) {
  if (machine.gpus.empty()) return Heading("GPUs") + "  none that NVML or ROCm SMI knows of\n";
  Table table({"", "PCI", ">NUMA", ">PCIe GB/s", "links", "nearest network", "model"}, "  ");
  const std::vector<std::vector<int32_t>> nics = NicsOfGpus(machine);
  for (size_t i = 0; i < machine.gpus.size(); ++i) {
    const MachineGpu& gpu = machine.gpus[i];
    table.Add({GpuName(i), gpu.pci.bus_id, NumaText(gpu.pci.numa_node),
               gpu.pci.gbps == Rational(0) ? "?" : Decimal(gpu.pci.gbps.ToDouble()), WiresText(machine, gpu),
               Printable(NicNames(machine, nics[i])), Cell(Printable(gpu.name), Tone::kFaint)});
  }
  return Heading("GPUs") + table.ToText();
}

std::string SpeedText(const MachineNic& nic) {
  if (nic.source == SpeedSource::kUnknown) return "?";
  return Decimal(static_cast<double>(nic.mbps) / 1000) + (nic.source == SpeedSource::kVirtual ? "?" : "");
}

std::string NicsText(const Machine& machine) {
  if (machine.nics.empty()) return Heading("network devices") + "  none\n";
  Table table({"", "state", "layer", ">Gbit/s", "GID: address, why", "PCI", ">NUMA"}, "  ");
  for (const MachineNic& nic : machine.nics) {
    std::string address = nic.port_of.empty() ? "-" : "(the Ethernet side of " + nic.port_of + ")";
    if (nic.gid) {
      address = std::to_string(nic.gid->entry.index) + ": " + nic.gid->address + ", " + nic.gid->reason;
      if (!nic.gid->entry.interface.empty()) address += " (" + nic.gid->entry.interface + ")";
    }
    table.Add({Cell(Printable(nic.name), nic.usable ? Tone::kPlain : Tone::kFaint), Printable(nic.state),
               nic.rdma ? nic.link_layer + " RDMA" : nic.link_layer, SpeedText(nic), Printable(address),
               nic.pci.bus_id.empty() ? "virtual" : nic.pci.bus_id, NumaText(nic.pci.numa_node)});
  }
  return Heading("network devices") + table.ToText();
}

Json NumberOrNull(bool known, int64_t value) { return known ? Json(value) : Json(); }
Json RateOrNull(const Rational& gbps) { return gbps == Rational(0) ? Json() : Json(gbps.ToDouble()); }
Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json GpuJson(const Machine& machine, size_t index, const std::vector<int32_t>& nics) {
  const MachineGpu& gpu = machine.gpus[index];
  Json links = Json::array();
  for (const GpuWire& wire : gpu.wires) {
    const char* end = wire.end == WireEnd::kGpu ? "gpu" : wire.end == WireEnd::kSwitch ? "switch" : "other";
    links.push_back({{"to", wire.peer},
                     {"end", end},
                     {"kind", gpu.vendor == GpuVendor::kNvidia ? "nvlink" : "xgmi"},
                     {"count", wire.count},
                     {"GBps_each", RateOrNull(wire.gbps)}});
  }
  Json near = Json::array();
  for (const int32_t nic : nics) near.push_back(machine.nics[static_cast<size_t>(nic)].name);
  return {{"name", GpuName(index)},
          {"model", gpu.name},
          {"vendor", gpu.vendor == GpuVendor::kNvidia ? "nvidia" : "amd"},
          {"pci", TextOrNull(gpu.pci.bus_id)},
          {"numa_node", NumberOrNull(gpu.pci.numa_node >= 0, gpu.pci.numa_node)},
          {"pcie_GBps", RateOrNull(gpu.pci.gbps)},
          {"links", links},
          {"nics", near}};
}

Json NicJson(const MachineNic& nic) {
  const char* source = nic.source == SpeedSource::kTold      ? "device"
                       : nic.source == SpeedSource::kVirtual ? "virtual"
                                                             : "unknown";
  Json gid;
  if (nic.gid) {
    gid = {{"index", nic.gid->entry.index},
           {"address", nic.gid->address},
           {"type", TextOrNull(nic.gid->entry.type)},
           {"interface", TextOrNull(nic.gid->entry.interface)},
           {"reason", nic.gid->reason}};
  }
  return {{"name", nic.name},
          {"rdma", nic.rdma},
          {"state", nic.state},
          {"usable", nic.usable},
          {"link_layer", TextOrNull(nic.link_layer)},
          {"mbps", NumberOrNull(nic.source != SpeedSource::kUnknown, nic.mbps)},
          {"speed_source", source},
          {"mtu", NumberOrNull(nic.mtu > 0, nic.mtu)},
          {"gid", gid},
          {"port_of", TextOrNull(nic.port_of)},
          {"pci", TextOrNull(nic.pci.bus_id)},
          {"numa_node", NumberOrNull(nic.pci.numa_node >= 0, nic.pci.numa_node)}};
}

}  // namespace

std::string DescribeText(const Machine& machine, const std::vector<std::string>& notes) {
  std::string text = Painted(Tone::kStrong, Printable(machine.host)) + "  " + CpusText(machine.cpus) +
                     GpusText(machine) + NicsText(machine);
  if (!notes.empty()) text += Heading("notes");
  for (const std::string& note : notes) text += "  " + Printable(note) + "\n";
  return text;
}

Json DescribeJson(const Machine& machine, const std::vector<std::string>& notes) {
  Json nodes = Json::array();
  for (const NumaNode& node : machine.cpus.numa_nodes)
    nodes.push_back({{"index", node.index}, {"threads", node.cpus}, {"memory_bytes", node.memory_bytes}});
  Json gpus = Json::array();
  const std::vector<std::vector<int32_t>> near = NicsOfGpus(machine);
  for (size_t i = 0; i < machine.gpus.size(); ++i) gpus.push_back(GpuJson(machine, i, near[i]));
  Json nics = Json::array();
  for (const MachineNic& nic : machine.nics) nics.push_back(NicJson(nic));
  return {{"host", machine.host},
          {"cpus",
           {{"packages", machine.cpus.packages},
            {"cores", machine.cpus.cores},
            {"threads", machine.cpus.threads},
            {"numa_nodes", nodes}}},
          {"gpus", gpus},
          {"nics", nics},
          {"notes", notes}};
}

}  // namespace mycel::cli
