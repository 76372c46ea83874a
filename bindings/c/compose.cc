#include "bindings/c/compose.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bindings/c/connect.h"
#include "bindings/c/found_topology.h"
#include "bindings/c/plan_source.h"
#include "bindings/interchange/fold.h"
#include "bindings/interchange/plan_file.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/host_name.h"
#include "core/base/log.h"
#include "core/base/text_hash.h"
#include "core/base/wait.h"
#include "core/plan/verify.h"
#include "core/runtime/plan_store.h"
#include "core/runtime/status_signal.h"
#include "core/topo/gallery.h"
#include "core/topo/subset.h"
#include "kernels/gpu/gpu_device.h"
#include "kernels/host/host_device.h"
#include "scheduler/select/cost_model.h"

namespace mycel {
namespace {

// Recently written user buffers beyond this are not worth keeping in cache: about a core's share of the last level.
constexpr size_t kCacheBytes = size_t{8} << 20;
// For allreduce (scheduler/select/README.md, "Estimate"); other collectives between servers do best on one.
constexpr int32_t kLanesBetweenServers = 4;
constexpr int32_t kLanesOfDevice = 8;  // blocks of a kernel

/// The environment's say, read once per communicator.
struct Settings {
  int64_t timeout_ns = 0;
  WaitPolicy wait;
  int64_t spin_us = -1;
  size_t payload_bytes = 0;
  TransportSettings transport;
  std::string planner;
  std::string reproducible;
  std::string topology;
  std::string plan_file;
  // Nobody's wish: as many as kLanesBetweenServers where there are several servers, else one.
  std::optional<int32_t> lanes_min;
  std::optional<int32_t> lanes_max;
  std::string trace_file;
  DeviceChoice device;
};

/// A field of the config goes before the variable.
void Override(const char* field, const std::optional<std::string>& wanted, Env variable, std::string* value) {
  if (!wanted || *wanted == *value) return;
  MYCEL_LOG(kInfo) << field << "=" << *wanted << " goes before " << EnvRow(variable).name << "=" << *value;
  *value = *wanted;
}

StatusOr<Settings> ReadSettings(const CommConfig& config) {
  Settings settings;
  MYCEL_ASSIGN_OR_RETURN(const double timeout, EnvReal(Env::kTimeout));
  settings.timeout_ns = config.timeout_ns.value_or(SecondsToNs(timeout));
  MYCEL_ASSIGN_OR_RETURN(const std::string wait, EnvChoice(Env::kWait));
  settings.wait.mode = wait == "spin"    ? WaitMode::kSpin
                       : wait == "yield" ? WaitMode::kYield
                       : wait == "sleep" ? WaitMode::kSleep
                                         : WaitMode::kAuto;
  if (config.wait) settings.wait.mode = *config.wait;
  MYCEL_ASSIGN_OR_RETURN(settings.spin_us, EnvInteger(Env::kSpinUs));
  if (settings.spin_us >= 0) settings.wait.spin_us = static_cast<int32_t>(settings.spin_us);
  MYCEL_ASSIGN_OR_RETURN(const int64_t payload, EnvInteger(Env::kPayloadBytes));
  settings.payload_bytes = static_cast<size_t>(payload);
  MYCEL_ASSIGN_OR_RETURN(settings.transport, ReadTransportSettings());
  MYCEL_ASSIGN_OR_RETURN(settings.planner, EnvText(Env::kPlanner));
  MYCEL_ASSIGN_OR_RETURN(settings.reproducible, EnvChoice(Env::kReproducible));
  MYCEL_ASSIGN_OR_RETURN(settings.topology, EnvText(Env::kTopo));
  MYCEL_ASSIGN_OR_RETURN(settings.plan_file, EnvText(Env::kPlanFile));
  Override("config.planner", config.planner, Env::kPlanner, &settings.planner);
  Override("config.topology", config.topology, Env::kTopo, &settings.topology);
  std::optional<std::string> reproducible;
  if (config.reproducible) reproducible = *config.reproducible ? "on" : "off";
  Override("config.reproducible", reproducible, Env::kReproducible, &settings.reproducible);
  settings.lanes_min = config.lanes_min;
  settings.lanes_max = config.lanes_max;
  if (!settings.lanes_max) settings.lanes_max = settings.lanes_min;
  MYCEL_ASSIGN_OR_RETURN(settings.trace_file, EnvText(Env::kTrace));
  MYCEL_ASSIGN_OR_RETURN(settings.device, ChooseDevice(config.device));
  WarnOfUnknownEnv();
  for (const EnvSetting& setting : DescribeEnv()) {
    if (setting.from_environment)
      MYCEL_LOG(kInfo) << EnvRow(setting.variable).name << "=" << setting.value << " (environment)";
  }
  return settings;
}

std::string LanesText(const std::optional<int32_t>& lanes) { return lanes ? std::to_string(*lanes) : "default"; }

/// What every rank must have set alike, as text: plans are made by each rank for itself and must come out equal.
std::string Agreement(const Settings& settings) {
  return "MYCEL_PLANNER=" + settings.planner + "\nMYCEL_TOPO=" + settings.topology +
         "\nMYCEL_PLAN_FILE=" + settings.plan_file + "\nMYCEL_PAYLOAD_BYTES=" + std::to_string(settings.payload_bytes) +
         "\nMYCEL_TRANSPORT=" + settings.transport.transport + "\nMYCEL_DIRECT=" + settings.transport.direct +
         "\nMYCEL_DEVICE=" +
         (settings.device.driver == nullptr ? "host" : std::string(settings.device.driver->name())) +
         "\nMYCEL_REPRODUCIBLE=" + settings.reproducible + "\nconfig.minLanes=" + LanesText(settings.lanes_min) +
         "\nconfig.maxLanes=" + LanesText(settings.lanes_max) + "\n";
}

/// A plan with more lanes than the communicator has channels for runs on one lane, where that works.
Status FitLanes(const std::string& name, int32_t lanes_max, Plan* plan) {
  if (ChannelLanesOf(*plan) <= lanes_max) return OkStatus();
  MYCEL_LOG(kInfo) << name << " has " << ChannelLanesOf(*plan) << " lanes, this communicator " << lanes_max
                   << ": its ops run on one";
  StatusOr<Plan> folded = FoldLanes(*plan);
  if (!folded.ok()) {
    return Impossible(name + " has " + std::to_string(ChannelLanesOf(*plan)) +
                      " lanes and does not fit this communicator's " + std::to_string(lanes_max) + ": " +
                      StatusMessage(folded.status()) + "; plan with fewer lanes (--lanes " + std::to_string(lanes_max) +
                      ")");
  }
  *plan = *std::move(folded);
  return OkStatus();
}

Status CheckAgreement(const std::vector<std::string>& of_ranks) {
  for (size_t rank = 1; rank < of_ranks.size(); ++rank) {
    if (of_ranks[rank] == of_ranks[0]) continue;
    // Find the line that differs.
    size_t begin = 0;
    while (true) {
      const std::string mine = of_ranks[0].substr(begin, of_ranks[0].find('\n', begin) - begin);
      const std::string theirs = begin < of_ranks[rank].size()
                                     ? of_ranks[rank].substr(begin, of_ranks[rank].find('\n', begin) - begin)
                                     : std::string();
      if (mine != theirs) {
        return InvalidUsage("rank 0 has '" + mine + "', rank " + std::to_string(rank) + " has '" + theirs +
                            "'; set it alike on every rank, by the variable or in mycelConfig_t");
      }
      begin += mine.size() + 1;
    }
  }
  return OkStatus();
}

/// What the ranks that are left of another communicator have of its topology; the default one where they are cut off
/// from each other, since they do reach each other.
StatusOr<Topology> TopologyLeft(const Topology& parent, const std::vector<Rank>& ranks) {
  MYCEL_ASSIGN_OR_RETURN(Topology left, SubsetOf(parent, ranks));
  const Status connected = CheckConnected(left);
  if (connected.ok()) return left;
  const std::string name = "host-" + std::to_string(ranks.size());
  MYCEL_LOG(kWarn) << "topology " << parent.name()
                   << " without the ranks that are not in the new communicator: " << StatusMessage(connected)
                   << "; planning for " << name << " instead (config.topology)";
  return LoadTopology(name);
}

/// The topology; `*named` tells whether somebody asked for it.
StatusOr<Topology> TopologyFor(const Settings& settings, const ComposeOptions& options, int32_t rank_count,
                               bool* named) {
  const Lineage* parent = options.parent.get();
  const bool inherits = parent != nullptr && !options.config.topology;
  *named = inherits ? parent->topology != nullptr : !settings.topology.empty();
  if (inherits && *named) return TopologyLeft(*parent->topology, options.parent_ranks);
  const std::string name = *named ? settings.topology : "host-" + std::to_string(rank_count);
  MYCEL_ASSIGN_OR_RETURN(Topology topology, LoadTopology(name));
  if (topology.rank_count() != rank_count) {
    return InvalidArgument("MYCEL_TOPO=" + name + " describes " + std::to_string(topology.rank_count()) +
                           " ranks, this communicator has " + std::to_string(rank_count));
  }
  return topology;
}

size_t PayloadBytes(const Settings& settings, int32_t rank_count) {
  return settings.payload_bytes != 0 ? settings.payload_bytes : PayloadBytesFor(rank_count);
}

/// Slices are at most slice_bytes long, so a plan may be run with shorter ones; every rank comes to the same.
void FitRings(const std::string& name, int64_t ring_bytes, Plan* plan) {
  if (plan->protocol == Protocol::kDirect || plan->slice_bytes * plan->slot_count <= ring_bytes) return;
  const int64_t fitting = ring_bytes / plan->slot_count / 64 * 64;
  if (fitting < 64) return;  // whoever binds the plan says what it needs
  MYCEL_LOG(kInfo) << name << " has " << plan->slot_count << " slots of " << plan->slice_bytes
                   << " bytes, the channels have rings of " << ring_bytes << ": its slices are at most " << fitting
                   << " bytes";
  plan->slice_bytes = fitting;
}

StatusOr<std::shared_ptr<Plan>> PlanFromFile(const Settings& settings, bool derived, int32_t rank_count) {
  if (settings.plan_file.empty()) return std::shared_ptr<Plan>();
  MYCEL_ASSIGN_OR_RETURN(Plan plan, LoadPlanFile(settings.plan_file));
  if (plan.rank_count != rank_count) {
    // The file is for the communicator that this one comes from.
    if (derived) return std::shared_ptr<Plan>();
    return InvalidArgument("MYCEL_PLAN_FILE=" + settings.plan_file + " is for " + std::to_string(plan.rank_count) +
                           " ranks, this communicator has " + std::to_string(rank_count));
  }
  return std::make_shared<Plan>(std::move(plan));
}

int32_t ServerCount(const Topology& topology) {
  std::set<std::string> servers;
  for (const Rank rank : Ids<Rank>(topology.rank_count())) servers.insert(topology.node(topology.NodeOf(rank)).server);
  return static_cast<int32_t>(servers.size());
}

/// Why the ranks do not read each other's memory, the better way for large messages.
std::string WhyNotDirectly(const Settings& settings, const ComposeOptions& options, const Transport& transport) {
  if (options.one_process) return "the ranks are threads, whose buffers may be gone before an error is seen";
  return settings.transport.direct == "off" ? "MYCEL_DIRECT=off" : transport.WhyNotDirectly();
}

/// Whether a plain alltoallv runs by a plan for its matrix. Inside one server there is nothing to plan unless asked to:
/// messages need no agreement about counts.
bool PlansVectors(const Settings& settings, const Topology& topology, const Plan* from_file) {
  if (from_file != nullptr && from_file->collective == Collective::kAllToAllV) return true;
  if (settings.planner == kVectorPlanner || settings.planner == kExchangePlanner) return true;
  return (settings.planner == "auto" || settings.planner == "direct") && ServerCount(topology) > 1;
}

/// What a rank brings to a communicator before it is connected.
struct Inputs {
  Settings settings;
  Topology topology;
  bool named_topology = false;  // somebody asked for it
  std::shared_ptr<const Plan> from_file;
  int32_t lanes_min = 1;
  int32_t lanes_max = 1;
};

/// Collective: reads them, and all ranks return the same failure where one cannot or where they disagree.
StatusOr<Inputs> ReadInputs(Bootstrap& bootstrap, const ComposeOptions& options) {
  const int32_t n = bootstrap.rank_count();
  StatusOr<Settings> read = ReadSettings(options.config);
  bool named_topology = false;
  StatusOr<Topology> topology =
      read.ok() ? TopologyFor(*read, options, n, &named_topology) : StatusOr<Topology>(read.status());
  StatusOr<std::shared_ptr<Plan>> from_file =
      read.ok() ? PlanFromFile(*read, options.parent != nullptr, n) : StatusOr<std::shared_ptr<Plan>>(read.status());
  Status local = read.status();
  if (local.ok()) local = topology.status();
  if (local.ok()) local = from_file.status();

  // One exchange carries the host, the settings and, where they are bad, the reason: nobody is left waiting.
  const std::string mine = local.ok() ? "+" + HostName() + "\n" + Agreement(*read) : "-" + StatusMessage(local);
  StatusOr<std::vector<std::string>> exchanged = bootstrap.AllGather(mine, options.deadline);
  // Our own mistake first: a rank that heard of it may have gone already, and the exchange failed for that.
  MYCEL_RETURN_IF_ERROR(local);
  MYCEL_ASSIGN_OR_RETURN(std::vector<std::string> settings_of, std::move(exchanged));
  std::set<std::string> hosts;
  for (size_t rank = 0; rank < settings_of.size(); ++rank) {
    std::string& said = settings_of[rank];
    if (said.empty() || said[0] != '+') {
      return RemoteError("rank " + std::to_string(rank) + ": " + (said.empty() ? "" : said.substr(1)));
    }
    const size_t host_ends = std::min(said.find('\n'), said.size());
    hosts.insert(said.substr(1, host_ends - 1));
    said.erase(0, host_ends);
  }
  MYCEL_RETURN_IF_ERROR(CheckAgreement(settings_of));
  Inputs inputs{*std::move(read), *std::move(topology), named_topology, nullptr};
  // Names decide how much memory the channels get, before anybody is connected; who reaches whom is probed.
  const bool several_servers = hosts.size() > 1 || inputs.settings.transport.transport == "ucx";
  inputs.lanes_max = inputs.settings.lanes_max.value_or(inputs.settings.device.driver != nullptr ? kLanesOfDevice
                                                        : several_servers                        ? kLanesBetweenServers
                                                                                                 : 1);
  inputs.lanes_min = inputs.settings.lanes_min.value_or(1);
  if (*from_file != nullptr) {
    const std::string name = "MYCEL_PLAN_FILE=" + inputs.settings.plan_file;
    MYCEL_RETURN_IF_ERROR(FitLanes(name, inputs.lanes_max, from_file->get()));
    FitRings(name, static_cast<int64_t>(PayloadBytes(inputs.settings, n)), from_file->get());
  }
  inputs.from_file = *std::move(from_file);
  return inputs;
}

}  // namespace

StatusOr<Deadline> InitDeadline(const CommConfig& config) {
  MYCEL_ASSIGN_OR_RETURN(const double seconds, EnvReal(Env::kTimeout));
  return Deadline::After(config.timeout_ns.value_or(SecondsToNs(seconds)));
}

StatusOr<Composed> Compose(Bootstrap& bootstrap, const ComposeOptions& options) {
  const int32_t n = bootstrap.rank_count();
  SetLogRank(bootstrap.rank().value());
  std::optional<InitLog> own_log;
  if (options.log == nullptr) own_log.emplace(bootstrap.rank().value(), n);
  InitLog& log = options.log == nullptr ? *own_log : *options.log;
  InstallStatusSignal();
  log.Begin("settings");
  MYCEL_ASSIGN_OR_RETURN(Inputs inputs, ReadInputs(bootstrap, options));
  const Settings& settings = inputs.settings;
  Topology& topology = inputs.topology;

  CommunicatorParts parts;
  parts.rank = bootstrap.rank();
  parts.rank_count = n;
  parts.name = options.config.name.value_or("");
  parts.channels_per_pair = inputs.lanes_max + 1;  // the last one carries point-to-point messages
  parts.device = options.device != nullptr ? options.device : &HostDevice();
  parts.wait = settings.wait;
  const int cores = AvailableCores();
  int cores_for_plans = cores;
  parts.wait.oversubscribed = n > cores;
  parts.timeout_ns = settings.timeout_ns;
  parts.cache_bytes = kCacheBytes;
  parts.reproducible = settings.reproducible == "on";
  TransportOptions wanted;
  wanted.rank = parts.rank;
  wanted.rank_count = n;
  wanted.channels_per_pair = parts.channels_per_pair;
  wanted.payload_bytes = PayloadBytes(settings, n);
  bool between_servers = false;
  log.Begin("connect");
  if (n > 1) {
    const std::string token =
        std::to_string(cores) + ":" + std::to_string(reinterpret_cast<uintptr_t>(&parts)) + std::to_string(NowNs());
    MYCEL_ASSIGN_OR_RETURN(const std::vector<std::string> tokens, bootstrap.AllGather(token, options.deadline));
    wanted.communicator = HashOfText(tokens[0]);
    // Plans follow from the core count: ranks with unlike affinities must use one number.
    for (const std::string& of_rank : tokens) cores_for_plans = std::min(cores_for_plans, std::atoi(of_rank.c_str()));
    MYCEL_ASSIGN_OR_RETURN(
        Connection connection,
        ConnectRanks(bootstrap, settings.transport, {options.one_process, options.wrap_transport, settings.device},
                     wanted, options.deadline));
    parts.transport = std::move(connection.transport);
    parts.host_transport = connection.host;
    between_servers = !connection.rails_of.empty();
    if (inputs.named_topology) {
      if (parts.rank == Rank(0)) TellDisagreements(topology, connection);
    } else if (between_servers && settings.transport.transport == "auto") {
      MYCEL_ASSIGN_OR_RETURN(topology, FoundTopology(connection));
    }
  }
  log.Begin("planner");
  log.Identify(wanted.communicator, parts.name, parts.transport == nullptr ? "none" : parts.transport->name(),
               settings.timeout_ns);
  CostModel cost = between_servers ? NetworkCostModel() : HostCostModel(n, cores_for_plans);
  cost.channel_bytes = static_cast<int64_t>(wanted.payload_bytes);
  // Not between threads of one process: a pointer into a buffer that its owner took back on an error would crash.
  cost.allow_direct = parts.transport != nullptr && !options.one_process && settings.transport.direct != "off" &&
                      parts.transport->AllReadDirectly();
  PlanSourceParts source;
  if (parts.transport != nullptr) {
    source.transport = std::string(parts.transport->name()) + ", direct reads " +
                       (cost.allow_direct ? "on" : "off: " + WhyNotDirectly(settings, options, *parts.transport));
    MYCEL_LOG(kInfo) << "rank " << parts.rank.value() << " reaches all " << n << " ranks through " << source.transport;
  }
  source.planner = settings.planner;
  source.topology = std::make_shared<const Topology>(std::move(topology));
  source.from_file = std::move(inputs.from_file);
  // Where the chooser is free and finds that relays do not pay, messages are what planner direct would do, and quicker
  // on a host: each leg goes at its own pace.
  if (settings.planner == "auto" && source.from_file == nullptr) parts.message_planner = "direct";
  parts.plans_vectors = PlansVectors(settings, *source.topology, source.from_file.get());
  source.cost = cost;
  source.lanes_min = inputs.lanes_min;
  source.lanes_max = inputs.lanes_max;
  source.store_folder = PlanStoreFolder();
  if (settings.device.driver != nullptr) {
    GpuDeviceOptions gpu;
    gpu.driver = settings.device.driver;
    gpu.device = settings.device.device;
    gpu.image = gpu.driver->name() == "hip" ? &HipImageOf : &CudaImageOf;
    gpu.blocks_max = inputs.lanes_max;
    MYCEL_ASSIGN_OR_RETURN(parts.stream_device, GpuDevice::Make(gpu));
    parts.trace_file.clear();
  }
  auto lineage = std::make_shared<Lineage>();
  lineage->device = settings.device;
  lineage->config = options.config;
  if (inputs.named_topology) lineage->topology = source.topology;
  lineage->one_process = options.one_process;
  lineage->time = MakeTimeSource(source);
  lineage->reproducible = parts.reproducible;
  parts.plan_pair_source = MakePlanPairSource(source);
  parts.plan_source = MakePlanSource(std::move(source));
  parts.trace_file = settings.trace_file;
  parts.status = log.Done(bootstrap.messages());
  return Composed{std::make_unique<Communicator>(std::move(parts)), std::move(lineage)};
}

}  // namespace mycel
