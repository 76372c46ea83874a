#include "bindings/interchange/nccl_topology.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "core/base/edit_distance.h"
#include "mycel_config.h"

#if MYCEL_HAVE_PUGIXML
#include <pugixml.hpp>

namespace mycel {
namespace {

constexpr int32_t kDepthMax = 32;
constexpr size_t kGpuCountMax = 4096;
constexpr size_t kNicCountMax = 4096;

/// GB/s of one link in each direction, nominal; 0 where the generation is not in the table.
Rational NvlinkOfGeneration(int32_t sm) {
  if (sm == 60) return NvlinkGBps(1);
  if (sm >= 70 && sm < 80) return NvlinkGBps(2);
  if (sm > 80 && sm < 90) return Rational(225, 16);  // four links of half the lanes
  if (sm == 80) return NvlinkGBps(3);
  if (sm >= 90 && sm < 100) return NvlinkGBps(4);
  if (sm >= 100 && sm < 120) return NvlinkGBps(5);
  return Rational(0);
}

Rational XgmiOfGeneration(const std::string& gcn) {
  const std::pair<const char*, Rational> kTable[] = {
      {"906", Rational(46)}, {"908", Rational(46)}, {"90a", Rational(50)}, {"910", Rational(50)},
      {"940", Rational(64)}, {"941", Rational(64)}, {"942", Rational(64)}, {"950", Rational(384, 5)}};
  for (const auto& [generation, gbps] : kTable) {
    if (gcn.find(generation) != std::string::npos) return gbps;
  }
  return Rational(0);
}

bool IsGpuClass(std::string_view pci_class) { return pci_class.starts_with("0x03") || pci_class.starts_with("0x12"); }

/// A GPU of the file before it has its place among its server's.
struct FoundGpu {
  MachineGpu gpu;
  int32_t dev = 0;
  int32_t rank = -1;
};

struct FoundServer {
  Machine machine;
  std::vector<FoundGpu> gpus;
  std::vector<MachineGpu> by_class;  // PCI devices that are GPUs by their class and have no <gpu>
  std::set<std::string> bus_ids;     // of <gpu>s
};

/// A link whose end depends on what else the file holds.
struct UntoldEnd {
  size_t server;
  size_t gpu;
  size_t wire;
  ptrdiff_t offset;  // of the element
};

class NcclReader {
 public:
  NcclReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  StatusOr<NcclTopology> Read();

 private:
  Status ReadCpu(pugi::xml_node node);
  Status ReadPci(pugi::xml_node node, PciPlace place, int32_t depth);
  Status ReadPciChild(pugi::xml_node child, const PciPlace& place, int32_t depth, bool* has_gpu);
  Status ReadGpu(pugi::xml_node node, const PciPlace& place);
  Status ReadWire(pugi::xml_node node, FoundGpu* found, size_t gpu_index);
  Status ReadNic(pugi::xml_node node, const PciPlace& place);
  Status ReadSlot(pugi::xml_node node, Rational* gbps) const;
  Status ResolveEnds();
  NcclTopology Finish();

  Status Text(pugi::xml_node node, const char* name, std::string* out) const;
  template <typename Int>
  Status Integer(pugi::xml_node node, const char* name, int64_t least, int64_t most, Int* out) const;
  void PassOver(pugi::xml_node node) {
    if (node.type() == pugi::node_element) passed_over_.insert(node.name());
  }

  int32_t LineAt(ptrdiff_t offset) const {
    const auto end = std::clamp<ptrdiff_t>(offset, 0, static_cast<ptrdiff_t>(text_.size()));
    return 1 + static_cast<int32_t>(std::count(text_.begin(), text_.begin() + end, '\n'));
  }
  Status WrongAt(int32_t line, const std::string& problem) const {
    return InvalidArgument(file_ + ":" + std::to_string(line) + ": " + problem);
  }
  Status Wrong(pugi::xml_node node, const std::string& problem) const {
    return WrongAt(LineAt(node.offset_debug()), "<" + Shown(node.name()) + ">: " + problem);
  }
  Status WrongAttribute(pugi::xml_node node, const char* name, const std::string& problem) const {
    return Wrong(node, std::string("attribute ") + name + " " + problem);
  }
  static std::string Shown(std::string text) { return PlainName(std::move(text)); }
  FoundServer& server() { return servers_[server_]; }

  std::string_view text_;
  const std::string& file_;
  pugi::xml_document document_;
  std::vector<FoundServer> servers_;
  std::map<std::string, size_t> server_of_hash_;
  size_t server_ = 0;  // the one being read
  size_t gpu_count_ = 0;
  size_t nic_count_ = 0;
  std::vector<UntoldEnd> untold_;
  std::set<std::string> passed_over_;
  std::set<int32_t> ranks_;
};

Status NcclReader::Text(pugi::xml_node node, const char* name, std::string* out) const {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (attribute) {
    *out = attribute.value();
    return OkStatus();
  }
  std::vector<std::string_view> present;
  for (const pugi::xml_attribute other : node.attributes()) present.emplace_back(other.name());
  const std::string_view nearest = NearestName(name, present);
  return WrongAttribute(node, name,
                        "is missing; " + (nearest.empty() ? std::string("add it")
                                                          : "is " + Shown(std::string(nearest)) + " meant to be it?"));
}

template <typename Int>
Status NcclReader::Integer(pugi::xml_node node, const char* name, int64_t least, int64_t most, Int* out) const {
  std::string text;
  MYCEL_RETURN_IF_ERROR(Text(node, name, &text));
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return WrongAttribute(
        node, name,
        "is '" + Shown(text) + "'; write a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  *out = static_cast<Int>(value);
  return OkStatus();
}

Status NcclReader::ReadSlot(pugi::xml_node node, Rational* gbps) const {
  const std::string speed = node.attribute("link_speed").value();
  const std::string width = node.attribute("link_width").value();
  // NCCL writes an empty text, or the kernel's "Unknown", where it could not find out.
  const auto untold = [](const std::string& text) {
    return text.empty() || text.starts_with("Unknown") || text == "0" || text == "-1";
  };
  if (untold(speed) || untold(width)) return OkStatus();
  *gbps = PcieGBps(speed, width);
  if (*gbps > Rational(0)) return OkStatus();
  const char* wrong = PcieGBps("8 GT/s", width) > Rational(0) ? "link_speed" : "link_width";
  return WrongAttribute(node, wrong,
                        "is '" + Shown(node.attribute(wrong).value()) +
                            "'; write link_speed=\"16.0 GT/s PCIe\" link_width=\"16\", or leave both "
                            "empty");
}

Status NcclReader::ReadCpu(pugi::xml_node node) {
  PciPlace place;
  MYCEL_RETURN_IF_ERROR(Integer(node, "numaid", -1, 4096, &place.numa_node));
  const std::string hash = node.attribute("host_hash").value();
  const auto [known, is_new] = server_of_hash_.emplace(hash, servers_.size());
  if (is_new) {
    servers_.emplace_back();
    servers_.back().machine.host = Shown(hash);
  }
  server_ = known->second;
  // The host bridge: NCCL does not tell which of a socket's it is.
  place.path.push_back("cpu" + std::to_string(place.numa_node));
  for (const pugi::xml_node child : node) {
    const std::string_view name = child.name();
    if (name == "pci") {
      MYCEL_RETURN_IF_ERROR(ReadPci(child, place, 2));
    } else if (name == "nic") {
      MYCEL_RETURN_IF_ERROR(ReadNic(child, place));
    } else {
      PassOver(child);
    }
  }
  return OkStatus();
}

Status NcclReader::ReadPci(pugi::xml_node node, PciPlace place, int32_t depth) {
  if (depth > kDepthMax) return Wrong(node, "is nested deeper than " + std::to_string(kDepthMax) + " levels");
  MYCEL_RETURN_IF_ERROR(Text(node, "busid", &place.bus_id));
  if (place.bus_id.empty() || place.bus_id.size() > 32)
    return WrongAttribute(node, "busid", "is '" + Shown(place.bus_id) + "'; write it as 0000:1b:00.0");
  place.bus_id = NormalBusId(Shown(place.bus_id));
  place.path.push_back(place.bus_id);
  place.gbps = Rational(0);
  MYCEL_RETURN_IF_ERROR(ReadSlot(node, &place.gbps));
  bool has_gpu = false;
  for (const pugi::xml_node child : node) MYCEL_RETURN_IF_ERROR(ReadPciChild(child, place, depth, &has_gpu));
  if (!has_gpu && IsGpuClass(node.attribute("class").value())) {
    if (server().by_class.size() == kGpuCountMax)
      return Wrong(node, "there are more than " + std::to_string(kGpuCountMax) + " GPUs");
    MachineGpu gpu;
    gpu.vendor = std::string_view(node.attribute("vendor").value()) == "0x1002" ? GpuVendor::kAmd : GpuVendor::kNvidia;
    gpu.pci = place;
    server().by_class.push_back(std::move(gpu));
  }
  return OkStatus();
}

Status NcclReader::ReadPciChild(pugi::xml_node child, const PciPlace& place, int32_t depth, bool* has_gpu) {
  const std::string_view name = child.name();
  if (name == "pci") return ReadPci(child, place, depth + 1);
  if (name == "nic") return ReadNic(child, place);
  if (name == "gpu") {
    if (*has_gpu) return Wrong(child, "is the second of PCI device " + place.bus_id + "; a device holds one");
    *has_gpu = true;
    return ReadGpu(child, place);
  }
  PassOver(child);
  return OkStatus();
}

Status NcclReader::ReadGpu(pugi::xml_node node, const PciPlace& place) {
  if (++gpu_count_ > kGpuCountMax) return Wrong(node, "there are more than " + std::to_string(kGpuCountMax));
  if (!server().bus_ids.insert(place.bus_id).second)
    return Wrong(node, "a second one at " + place.bus_id + "; give every PCI device its own busid");
  FoundGpu found;
  found.gpu.pci = place;
  MYCEL_RETURN_IF_ERROR(Integer(node, "dev", 0, 1 << 20, &found.dev));
  if (node.attribute("rank")) {
    MYCEL_RETURN_IF_ERROR(Integer(node, "rank", 0, 1 << 20, &found.rank));
    if (!ranks_.insert(found.rank).second)
      return WrongAttribute(node, "rank",
                            "is " + std::to_string(found.rank) + " a second time; give every GPU its own");
  }
  const std::string gcn = node.attribute("gcn").value();
  int32_t sm = 0;
  if (gcn.empty()) {
    MYCEL_RETURN_IF_ERROR(Integer(node, "sm", 1, 1000, &sm));
    found.gpu.name = "sm " + std::to_string(sm);
  } else {
    found.gpu.vendor = GpuVendor::kAmd;
    found.gpu.name = "gfx " + Shown(gcn);
  }
  const size_t index = server().gpus.size();
  const Rational gbps = gcn.empty() ? NvlinkOfGeneration(sm) : XgmiOfGeneration(gcn);
  for (const pugi::xml_node child : node) {
    const std::string_view name = child.name();
    if (name != "nvlink" && name != "xgmi") {
      PassOver(child);
      continue;
    }
    MYCEL_RETURN_IF_ERROR(ReadWire(child, &found, index));
    found.gpu.wires.back().gbps = gbps;
  }
  server().gpus.push_back(std::move(found));
  return OkStatus();
}

Status NcclReader::ReadWire(pugi::xml_node node, FoundGpu* found, size_t gpu_index) {
  GpuWire wire;
  MYCEL_RETURN_IF_ERROR(Text(node, "target", &wire.peer));
  wire.peer = NormalBusId(Shown(wire.peer));
  MYCEL_RETURN_IF_ERROR(Integer(node, "count", 1, 64, &wire.count));
  const std::string_view target_class = node.attribute("tclass").value();
  if (target_class.empty()) {
    untold_.push_back({server_, gpu_index, found->gpu.wires.size(), node.offset_debug()});
  } else {
    wire.end = target_class.starts_with("0x0680") ? WireEnd::kSwitch
               : IsGpuClass(target_class)         ? WireEnd::kGpu
                                                  : WireEnd::kOther;
  }
  found->gpu.wires.push_back(std::move(wire));
  return OkStatus();
}

Status NcclReader::ReadNic(pugi::xml_node node, const PciPlace& place) {
  for (const pugi::xml_node child : node) {
    if (std::string_view(child.name()) != "net") {
      PassOver(child);
      continue;
    }
    if (++nic_count_ > kNicCountMax) return Wrong(child, "there are more than " + std::to_string(kNicCountMax));
    MachineNic nic;
    MYCEL_RETURN_IF_ERROR(Text(child, "name", &nic.name));
    if (nic.name.empty() || nic.name.size() > 64)
      return WrongAttribute(child, "name", "is '" + Shown(nic.name) + "'; write the device's name");
    nic.name = Shown(nic.name);
    MYCEL_RETURN_IF_ERROR(Integer(child, "speed", 0, 100'000'000, &nic.mbps));
    int32_t port = 0;
    if (child.attribute("port")) MYCEL_RETURN_IF_ERROR(Integer(child, "port", 0, 255, &port));
    // Ports are counted from 1; what NCCL reaches through sockets has none.
    nic.rdma = port > 0;
    if (nic.rdma) nic.name += ":" + std::to_string(port);
    nic.usable = true;
    nic.source = nic.mbps > 0 ? SpeedSource::kTold : SpeedSource::kUnknown;
    nic.pci = place;
    server().machine.nics.push_back(std::move(nic));
  }
  return OkStatus();
}

/// A link that does not say what it leads to leads to a GPU of the file, or the file is wrong.
Status NcclReader::ResolveEnds() {
  for (const UntoldEnd& end : untold_) {
    const FoundServer& server = servers_[end.server];
    const GpuWire& wire = server.gpus[end.gpu].gpu.wires[end.wire];
    if (server.bus_ids.count(wire.peer) != 0) continue;
    return WrongAt(LineAt(end.offset), "attribute tclass is missing, and no <gpu> of the file is at target " +
                                           wire.peer + "; add the target's PCI class (0x068000 is an NVSwitch)");
  }
  return OkStatus();
}

NcclTopology NcclReader::Finish() {
  NcclTopology topology;
  std::vector<std::pair<int32_t, size_t>> order;  // lowest rank, server
  bool guessed = false;
  for (size_t i = 0; i < servers_.size(); ++i) {
    FoundServer& server = servers_[i];
    std::stable_sort(server.gpus.begin(), server.gpus.end(), [](const FoundGpu& a, const FoundGpu& b) {
      return std::pair(a.rank, a.dev) < std::pair(b.rank, b.dev);
    });
    if (gpu_count_ == 0) {
      server.machine.gpus = std::move(server.by_class);
      guessed = guessed || !server.machine.gpus.empty();
    }
    order.emplace_back(server.gpus.empty() ? 0 : server.gpus.front().rank, i);
    for (FoundGpu& found : server.gpus) server.machine.gpus.push_back(std::move(found.gpu));
  }
  std::stable_sort(order.begin(), order.end());
  int32_t next = 0;
  bool renumbered = false;
  for (const auto& [lowest, index] : order) {
    for (const FoundGpu& found : servers_[index].gpus) renumbered = renumbered || found.rank != next++;
    topology.servers.push_back(std::move(servers_[index].machine));
  }
  if (guessed) {
    topology.notes.emplace_back(
        "the file has no <gpu>: its GPUs are the PCI devices of that class, and nothing is known of links between "
        "them; a dump (NCCL_TOPO_DUMP_FILE) says more");
  } else if (renumbered) {
    topology.notes.emplace_back(
        "the file's ranks are not 0, 1, 2, ... server by server; they are numbered anew in its "
        "order");
  }
  for (const std::string& name : passed_over_) topology.notes.push_back("<" + Shown(name) + "> is not used");
  return topology;
}

StatusOr<NcclTopology> NcclReader::Read() {
  const pugi::xml_parse_result parsed =
      document_.load_buffer(text_.data(), text_.size(), pugi::parse_default | pugi::parse_doctype, pugi::encoding_utf8);
  if (!parsed) {
    return WrongAt(LineAt(parsed.offset),
                   std::string("not well-formed XML: ") + parsed.description() + "; mend the markup there");
  }
  pugi::xml_node root;
  for (const pugi::xml_node node : document_) {
    if (node.type() == pugi::node_doctype) return Wrong(node, "a document type; leave it out");
    if (node.type() != pugi::node_element) continue;
    if (root) return Wrong(node, "a second top element; a file holds one <system>");
    root = node;
  }
  if (std::string_view(root.name()) != "system")
    return Wrong(root, "is the top element; a topology of NCCL starts with <system>");
  for (const pugi::xml_node child : root) {
    if (std::string_view(child.name()) == "cpu") {
      MYCEL_RETURN_IF_ERROR(ReadCpu(child));
    } else {
      PassOver(child);
    }
  }
  MYCEL_RETURN_IF_ERROR(ResolveEnds());
  NcclTopology topology = Finish();
  const auto has_gpus = [](const Machine& machine) { return !machine.gpus.empty(); };
  std::erase_if(topology.servers, [&](const Machine& machine) { return !has_gpus(machine); });
  if (topology.servers.empty())
    return Wrong(root, "holds no GPU; ranks are GPUs (<gpu> in a <pci>), so there is nothing to plan for");
  return topology;
}

}  // namespace

StatusOr<NcclTopology> ReadNcclTopology(std::string_view text, const std::string& file) {
  if (text.size() > static_cast<size_t>(kNcclTopologyBytesMax)) {
    return InvalidArgument(file + ": the file is larger than " + std::to_string(kNcclTopologyBytesMax) + " bytes");
  }
  return NcclReader(text, file).Read();
}

}  // namespace mycel

#else

namespace mycel {

StatusOr<NcclTopology> ReadNcclTopology(std::string_view, const std::string& file) {
  return InvalidUsage(file +
                      ": is XML, and this Mycel was built without pugixml; install libpugixml-dev and build again");
}

}  // namespace mycel

#endif
