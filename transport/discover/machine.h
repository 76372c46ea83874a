// What one server has of what matters to collectives: CPUs, GPUs with the links between them, network devices, and
// where each sits on the PCI bus. Plain data; where it comes from is describe.h's and bindings/interchange's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/rational.h"
#include "transport/discover/gid.h"

namespace mycel {

struct PciPlace {
  std::string bus_id;             // "0000:1b:00.0", lower case; empty: not on the PCI bus, or not known
  std::vector<std::string> path;  // from the host bridge down to the device itself; the bridges are bus ids
  int32_t numa_node = -1;         // -1: not known
  Rational gbps;                  // of the slot, in each direction; 0: not known
};

enum class GpuVendor : uint8_t { kNvidia, kAmd };

/// What is at a GPU link's other end.
enum class WireEnd : uint8_t { kGpu, kSwitch, kOther };

/// NVLinks or xGMI links of a GPU that lead to the same place.
struct GpuWire {
  std::string peer;  // bus id
  WireEnd end = WireEnd::kGpu;
  int32_t count = 1;
  Rational gbps;  // of one link in each direction, nominal; 0: not known
};

struct MachineGpu {
  GpuVendor vendor = GpuVendor::kNvidia;
  std::string name;
  PciPlace pci;
  std::vector<GpuWire> wires;
};

enum class SpeedSource : uint8_t {
  kTold,     // by the device
  kVirtual,  // a number that the driver of a virtual device makes up; nothing is that fast or slow
  kUnknown,  // nobody says
};

struct MachineNic {
  std::string name;        // as UCX names it: "mlx5_0:1" or "eth0"
  bool rdma = false;       // an RDMA port; else a network interface
  bool usable = false;     // its link is up
  std::string state;       // "ACTIVE", "DOWN", "up"
  std::string link_layer;  // "InfiniBand", "Ethernet"
  int64_t mbps = 0;        // in each direction; 0 where source is kUnknown
  SpeedSource source = SpeedSource::kUnknown;
  std::string told;              // the speed in the system's words: "400 Gb/sec (4X NDR)"
  std::string port_of;           // an interface that is the Ethernet side of an RDMA port
  std::optional<GidChoice> gid;  // RDMA only
  int32_t mtu = 0;               // bytes, of an RDMA port that could be opened; 0: not known
  PciPlace pci;
};

struct NumaNode {
  int32_t index = 0;
  std::string cpus;  // "0-27,56-83"
  int64_t memory_bytes = 0;
};

struct MachineCpus {
  int32_t packages = 0;
  int32_t cores = 0;
  int32_t threads = 0;
  std::vector<NumaNode> numa_nodes;
};

struct Machine {
  std::string host;
  MachineCpus cpus;
  std::vector<MachineGpu> gpus;
  std::vector<MachineNic> nics;
  std::vector<std::string> notes;  // what could not be found out, and what was assumed; sentences
};

/// Nominal GB/s of one NVLink in each direction by its version (1..5); 0 for a version that is not in the table.
Rational NvlinkGBps(int32_t version);

/// "0000:1B:00.0" and "00000000:1B:00.0" -> "0000:1b:00.0"; other text in lower case.
std::string NormalBusId(std::string text);

/// What the outside calls something, as part of a topology's text: bytes that are no printable ASCII become '?', and at
/// most 64 are kept. Interfaces and hosts may be called anything.
std::string PlainName(std::string text);

/// GB/s in each direction of a PCI Express link, payload after line code: "16.0 GT/s PCIe" and "16" -> 32 * 64/65.
/// 0 where either is not a number.
Rational PcieGBps(const std::string& speed, const std::string& width);

/// How near two devices are: bridges that both sit behind (the host bridge counts as one). More is nearer.
int32_t SharedBridges(const PciPlace& a, const PciPlace& b);

/// By GPU: indices of the network devices it uses, nearest first by PCI bridge, then by NUMA node. Every GPU has one
/// (devices are shared where there are fewer); a device that is left over goes to a GPU that it is as near to as the
/// one that GPU has, else it is left out (storage and management devices sit elsewhere). RDMA ports whose link is up
/// count; where there are none, network interfaces that are up, hardware before virtual ones.
std::vector<std::vector<int32_t>> NicsOfGpus(const Machine& machine);

}  // namespace mycel
