#include "transport/discover/assemble.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "transport/discover/host_topology.h"
#include "transport/discover/network_devices.h"

namespace mycel {
namespace {

constexpr double kScaleUpLatencyUs = 0.7;
constexpr double kPcieLatencyUs = 1.5;
constexpr double kNetworkLatencyUs = 3;
constexpr int64_t kPcieGBps = 16;  // a slot of the third generation; where the system tells no speed

/// Numbers and sentences of one server while it is put together.
class ServerAssembly {
 public:
  ServerAssembly(const Machine& machine, size_t server, std::vector<NodeId> gpus, TopologyBuilder* builder,
                 std::vector<std::string>* notes)
      : machine_(machine),
        server_("s" + std::to_string(server)),
        number_(server),
        gpus_(std::move(gpus)),
        builder_(*builder),
        notes_(*notes),
        group_(gpus_.size()) {
    std::iota(group_.begin(), group_.end(), 0);
    for (size_t i = 0; i < machine.gpus.size(); ++i) of_bus_[machine.gpus[i].pci.bus_id] = i;
  }

  void AddScaleUp() {
    AddSwitchedWires();
    AddDirectWires();
    if (IsApart()) AddPcie();
  }

  Status AddNetwork(NodeId network);

 private:
  void Note(const std::string& text) { notes_.push_back(server_ + ": " + text); }
  const std::string& BusOf(size_t gpu) const { return machine_.gpus[gpu].pci.bus_id; }

  /// Of all the wires together, with what is usual where a speed is not known.
  Rational GBpsOf(size_t gpu, const GpuWire& wire) {
    if (wire.gbps > Rational(0)) return wire.gbps * Rational(wire.count);
    const int64_t assumed = machine_.gpus[gpu].vendor == GpuVendor::kNvidia ? 25 : 50;
    if (!told_assumed_) {
      Note("the speed of GPU links is not known; " + std::to_string(assumed) + " GB/s a link is assumed");
    }
    told_assumed_ = true;
    return Rational(assumed * wire.count);
  }

  void Join(size_t a, size_t b) {
    const size_t from = group_[a];
    const size_t to = group_[b];
    std::replace(group_.begin(), group_.end(), from, to);
  }
  bool IsApart() const {
    return std::any_of(group_.begin(), group_.end(), [&](size_t group) { return group != group_.front(); });
  }

  void AddSwitchedWires();
  void AddDirectWires();
  void AddPcie();

  const Machine& machine_;
  std::string server_;
  size_t number_;
  std::vector<NodeId> gpus_;
  TopologyBuilder& builder_;
  std::vector<std::string>& notes_;
  std::vector<size_t> group_;  // of GPUs that links join
  std::map<std::string, size_t> of_bus_;
  bool told_assumed_ = false;
};

void ServerAssembly::AddSwitchedWires() {
  NodeId nvswitch;
  size_t first = 0;
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    Rational sum(0);
    for (const GpuWire& wire : machine_.gpus[gpu].wires) {
      if (wire.end == WireEnd::kSwitch) sum += GBpsOf(gpu, wire);
      if (wire.end == WireEnd::kOther) {
        Note("GPU " + BusOf(gpu) + " has a link to " + wire.peer +
             ", which is neither a GPU nor a switch; it is left "
             "out");
      }
    }
    if (sum == Rational(0)) continue;
    if (!nvswitch.valid()) nvswitch = builder_.AddSwitch("nvsw" + std::to_string(number_), server_), first = gpu;
    builder_.AddDuplex(gpus_[gpu], nvswitch, sum, kScaleUpLatencyUs, LinkKind::kNvlink);
    Join(gpu, first);
  }
}

void ServerAssembly::AddDirectWires() {
  std::map<std::pair<size_t, size_t>, Rational> one_way;
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    for (const GpuWire& wire : machine_.gpus[gpu].wires) {
      if (wire.end != WireEnd::kGpu) continue;
      const auto peer = of_bus_.find(wire.peer);
      if (peer == of_bus_.end()) {
        Note("GPU " + BusOf(gpu) + " has a link to GPU " + wire.peer + ", which is hidden here; it is left out");
      } else if (peer->second != gpu) {
        one_way[{gpu, peer->second}] += GBpsOf(gpu, wire);
      }
    }
  }
  for (const auto& [ends, gbps] : one_way) {
    const auto back = one_way.find({ends.second, ends.first});
    const bool alone = back == one_way.end();
    if (!alone && ends.second < ends.first) continue;  // done with its other direction
    const Rational answer = alone ? gbps : back->second;
    if (alone || answer != gbps) {
      Note("GPUs " + BusOf(ends.first) + " and " + BusOf(ends.second) +
           " do not tell the same of the links between them; " +
           (alone ? "what the first says counts for both directions" : "each direction is as its sender says"));
    }
    const LinkKind kind = machine_.gpus[ends.first].vendor == GpuVendor::kNvidia ? LinkKind::kNvlink : LinkKind::kXgmi;
    builder_.AddLink(gpus_[ends.first], gpus_[ends.second], gbps, kScaleUpLatencyUs, kind);
    builder_.AddLink(gpus_[ends.second], gpus_[ends.first], answer, kScaleUpLatencyUs, kind);
    Join(ends.first, ends.second);
  }
}

void ServerAssembly::AddPcie() {
  const auto prefix = [&](size_t gpu, size_t length) {
    const std::vector<std::string>& path = machine_.gpus[gpu].pci.path;
    return std::vector<std::string>(path.begin(), path.begin() + static_cast<ptrdiff_t>(length));
  };
  const auto gbps_of = [&](size_t gpu) {
    const Rational told = machine_.gpus[gpu].pci.gbps;
    return told > Rational(0) ? told : Rational(kPcieGBps);
  };
  std::map<std::vector<std::string>, std::vector<size_t>> below;  // a bridge below a host bridge -> GPUs
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    for (size_t length = 2; length < machine_.gpus[gpu].pci.path.size(); ++length)
      below[prefix(gpu, length)].push_back(gpu);
    if (machine_.gpus[gpu].pci.gbps == Rational(0)) {
      Note("GPU " + BusOf(gpu) + ": its slot's speed is not known; " + std::to_string(kPcieGBps) + " GB/s is assumed");
    }
  }
  const NodeId host = builder_.AddSwitch("host" + std::to_string(number_), server_);
  std::map<std::vector<std::string>, NodeId> switches;
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    size_t length = machine_.gpus[gpu].pci.path.size();
    while (length > 0 && (length < 2 || below[prefix(gpu, length)].size() < 2)) --length;
    NodeId up = host;
    if (length > 0) {
      const auto bridge = prefix(gpu, length);
      auto known = switches.find(bridge);
      if (known == switches.end()) {
        const NodeId made = builder_.AddSwitch(server_ + ".pci-" + PlainName(bridge.back()), server_);
        known = switches.emplace(bridge, made).first;
        // The way up is as wide as the widest slot below.
        Rational widest(0);
        for (const size_t other : below[bridge]) widest = std::max(widest, gbps_of(other));
        builder_.AddDuplex(made, host, widest, kPcieLatencyUs, LinkKind::kPcie);
      }
      up = known->second;
    }
    builder_.AddDuplex(gpus_[gpu], up, gbps_of(gpu), kPcieLatencyUs, LinkKind::kPcie);
  }
  std::set<int32_t> nodes;
  for (const MachineGpu& gpu : machine_.gpus) nodes.insert(gpu.pci.numa_node);
  if (nodes.size() > 1) Note("what passes between sockets is not known; the host is one switch");
}

Status ServerAssembly::AddNetwork(NodeId network) {
  const std::vector<std::vector<int32_t>> nics_of = NicsOfGpus(machine_);
  std::map<int32_t, std::vector<size_t>> users;
  for (size_t gpu = 0; gpu < nics_of.size(); ++gpu) {
    for (const int32_t nic : nics_of[gpu]) users[nic].push_back(gpu);
  }
  if (users.empty()) {
    return Impossible("server " + server_ + (machine_.host.empty() ? "" : " (" + machine_.host + ")") +
                      " has no network device that is up: several servers cannot be joined");
  }
  for (const auto& [index, gpus] : users) {
    const MachineNic& nic = machine_.nics[static_cast<size_t>(index)];
    const LinkKind kind = nic.rdma ? LinkKind::kRdma : LinkKind::kTcp;
    if (nic.source == SpeedSource::kUnknown)
      Note(nic.name + ": speed not known; " + std::to_string(kAssumedMbps) + " Mbit/s is assumed");
    const Rational gbps(nic.source == SpeedSource::kUnknown ? kAssumedMbps : nic.mbps, 8000);
    if (gpus.size() == 1) {
      builder_.AddDuplex(gpus_[gpus.front()], network, gbps, kNetworkLatencyUs, kind);
      continue;
    }
    const NodeId shared = builder_.AddSwitch(server_ + "." + PlainName(nic.name), server_);
    for (const size_t gpu : gpus) {
      const Rational slot = machine_.gpus[gpu].pci.gbps;
      builder_.AddDuplex(gpus_[gpu], shared, slot > Rational(0) ? slot : gbps, kPcieLatencyUs, LinkKind::kPcie);
    }
    builder_.AddDuplex(shared, network, gbps, kNetworkLatencyUs, kind);
  }
  for (size_t i = 0; i < machine_.nics.size(); ++i) {
    const MachineNic& nic = machine_.nics[i];
    if (nic.rdma && nic.usable && users.count(static_cast<int32_t>(i)) == 0)
      Note(nic.name + " is farther from every GPU than the device that the GPU has; no plan uses it");
  }
  return OkStatus();
}

StatusOr<Topology> AssembleGpus(const std::vector<const Machine*>& servers, const AssembleOptions& options,
                                std::vector<std::string>* notes) {
  TopologyBuilder builder(options.name, options.note);
  std::vector<std::vector<NodeId>> gpus_of(servers.size());
  int64_t rank = 0;
  for (size_t server = 0; server < servers.size(); ++server) {
    for (size_t gpu = 0; gpu < servers[server]->gpus.size(); ++gpu, ++rank) {
      gpus_of[server].push_back(
          builder.AddRank("gpu" + std::to_string(rank), Rank(rank), "s" + std::to_string(server)));
    }
  }
  std::vector<ServerAssembly> assemblies;
  for (size_t server = 0; server < servers.size(); ++server) {
    assemblies.emplace_back(*servers[server], server, gpus_of[server], &builder, notes);
    assemblies.back().AddScaleUp();
  }
  if (servers.size() > 1) {
    const NodeId network = builder.AddSwitch("network");
    for (ServerAssembly& assembly : assemblies) MYCEL_RETURN_IF_ERROR(assembly.AddNetwork(network));
  }
  return std::move(builder).Build();
}

StatusOr<Topology> AssembleHosts(const std::vector<const Machine*>& servers, const AssembleOptions& options) {
  std::vector<int32_t> server_of;
  std::vector<RankRails> rails_of;
  for (size_t server = 0; server < servers.size(); ++server) {
    const Machine& machine = *servers[server];
    std::map<std::string, const MachineNic*> devices;
    std::vector<std::string> names;
    for (const bool rdma : {true, false}) {
      for (const MachineNic& nic : machine.nics) {
        if (nic.rdma != rdma || !nic.usable) continue;
        devices[nic.name] = &nic;
        names.push_back(nic.name);
      }
      if (!names.empty()) break;
    }
    if (names.empty() && servers.size() > 1) {
      return Impossible("server s" + std::to_string(server) + " (" + machine.host +
                        ") has no network device that is up: several servers cannot be joined");
    }
    for (int32_t local = 0; local < options.host_ranks; ++local) {
      server_of.push_back(static_cast<int32_t>(server));
      RankRails& rails = rails_of.emplace_back();
      if (names.empty()) continue;
      for (const std::string& name : ShareOfDevices(names, local, options.host_ranks)) {
        const MachineNic& nic = *devices[name];
        rails.push_back({name, nic.source == SpeedSource::kUnknown ? kAssumedMbps : nic.mbps, nic.source});
      }
    }
  }
  return HostTopology(options.name, options.note, server_of, rails_of);
}

/// Before anything of that size is made.
Status CheckRankCount(const std::vector<const Machine*>& servers, const AssembleOptions& options) {
  int64_t ranks = 0;
  for (const Machine* server : servers) {
    ranks += server->gpus.empty() ? int64_t{options.host_ranks} : static_cast<int64_t>(server->gpus.size());
  }
  if (ranks <= TopologyBuilder::kNodeCountMax) return OkStatus();
  return InvalidArgument(std::to_string(servers.size()) + " servers with " + std::to_string(ranks) +
                         " ranks in all; a topology is assembled of up to " +
                         std::to_string(TopologyBuilder::kNodeCountMax) +
                         ": take fewer servers, or fewer ranks of each");
}

}  // namespace

StatusOr<Assembled> AssembleServers(const std::vector<const Machine*>& servers, const AssembleOptions& options) {
  if (servers.empty()) return InvalidArgument("a topology needs a server");
  MYCEL_RETURN_IF_ERROR(CheckRankCount(servers, options));
  const auto has_gpus = [](const Machine* machine) { return !machine->gpus.empty(); };
  std::vector<std::string> notes;
  if (std::none_of(servers.begin(), servers.end(), has_gpus)) {
    MYCEL_ASSIGN_OR_RETURN(Topology topology, AssembleHosts(servers, options));
    return Assembled{std::move(topology), {}};
  }
  for (size_t server = 0; server < servers.size(); ++server) {
    if (has_gpus(servers[server])) continue;
    return InvalidArgument("server s" + std::to_string(server) +
                           " has no GPUs, others have; all ranks are GPUs or none");
  }
  MYCEL_ASSIGN_OR_RETURN(Topology topology, AssembleGpus(servers, options, &notes));
  std::sort(notes.begin(), notes.end());
  notes.erase(std::unique(notes.begin(), notes.end()), notes.end());
  return Assembled{std::move(topology), std::move(notes)};
}

}  // namespace mycel
