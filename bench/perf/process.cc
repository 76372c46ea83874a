#include "bench/perf/process.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/perf/host.h"
#include "bench/perf/perf.h"
#include "bench/perf/sweep.h"
#include "core/base/bytes.h"

namespace mycel::perf {
namespace {

class Process {
 public:
  Process(const Collective& collective, Options options, Job& job)
      : collective_(collective),
        options_(std::move(options)),
        job_(job),
        team_(job, options_.threads),
        report_(collective, options_, stdout) {}

  Status Run(int argc, char** argv);
  /// What went wrong goes to standard error and into the JSON file.
  void ReportFailure(const Status& status);
  const Totals& totals() const { return totals_; }

 private:
  bool first() const { return job_.rank() == 0; }

  Status StartReport(int argc, char** argv);
  StatusOr<std::vector<DeviceLine>> GatherDevices(const World& world);
  Status LimitMemory(const std::vector<DeviceLine>& devices);
  Status RunThreads(World& world, const Demand& demand);
  Status RunThread(World& world, const Demand& demand, int thread, Totals* totals);
  Status Conclude(World& world);
  StatusOr<std::string> MemoryText(const World& world);

  const Collective& collective_;
  Options options_;
  Job& job_;
  Team team_;
  Report report_;
  std::optional<JsonFile> json_;
  Totals totals_;
};

Status Process::StartReport(int argc, char** argv) {
  if (const char* floor = std::getenv("NCCL_TESTS_MIN_BW")) totals_.busbw_floor = std::atof(floor);
  if (!first() || options_.json_path.empty()) return OkStatus();
  StatusOr<JsonFile> file = JsonFile::Create(options_.json_path);
  if (!file.ok()) return file.status();
  json_.emplace(std::move(*file));
  json_->Start(argc, argv);
  std::printf("# Writing JSON output to %s\n", json_->path().c_str());
  return OkStatus();
}

StatusOr<std::vector<DeviceLine>> Process::GatherDevices(const World& world) {
  const std::string host = HostName();
  const std::string model = CpuModel();
  std::vector<DeviceLine> mine;
  for (const Rank& rank : world.ranks()) {
    DeviceLine line;
    line.rank = rank.index;
    line.group = world.group();
    line.pid = getpid();
    std::strncpy(line.host, host.c_str(), sizeof(line.host) - 1);
    std::strncpy(line.model, model.c_str(), sizeof(line.model) - 1);
    mine.push_back(line);
  }
  std::vector<DeviceLine> all(mine.size() * static_cast<size_t>(job_.size()));
  MYCEL_RETURN_IF_ERROR(job_.AllGather(mine.data(), mine.size() * sizeof(DeviceLine), all.data()));
  return all;
}

// Each rank has two buffers of the largest size; a fifth of the memory is left for everything else.
Status Process::LimitMemory(const std::vector<DeviceLine>& devices) {
  const std::string host = HostName().substr(0, sizeof(DeviceLine::host) - 1);
  const int64_t ranks_here =
      std::count_if(devices.begin(), devices.end(), [&](const DeviceLine& d) { return host == d.host; });
  const int64_t available = AvailableMemoryBytes();
  int64_t limit = available > 0 ? available / 5 * 4 / 2 / std::max<int64_t>(1, ranks_here) : options_.range.max_bytes;
  std::vector<int64_t> limits(static_cast<size_t>(job_.size()));
  MYCEL_RETURN_IF_ERROR(job_.AllGather(&limit, sizeof(limit), limits.data()));
  limit = *std::min_element(limits.begin(), limits.end());
  if (options_.range.max_bytes <= limit) return OkStatus();
  if (options_.range.min_bytes > limit) {
    return InvalidArgument("-b " + FormatBytes(options_.range.min_bytes) + ": the memory allows " +
                           std::to_string(limit) + " bytes per rank");
  }
  options_.range.max_bytes = limit;
  if (first()) std::printf("#\n# Reducing maxBytes to %lld due to memory limitation\n", static_cast<long long>(limit));
  return OkStatus();
}

Status Process::Run(int argc, char** argv) {
  MYCEL_RETURN_IF_ERROR(StartReport(argc, argv));
  MYCEL_ASSIGN_OR_RETURN(World world, World::Meet(job_, options_));
  MYCEL_RETURN_IF_ERROR(CheckRoot(collective_, options_, world.group_ranks()));
  MYCEL_ASSIGN_OR_RETURN(const Demand demand, Demand::Parse(options_.demand, static_cast<size_t>(world.group_ranks())));
  if (demand.has_own_size() && !options_.range_given) {
    options_.range.min_bytes = options_.range.max_bytes = static_cast<int64_t>(demand.own_bytes());
  }
  MYCEL_ASSIGN_OR_RETURN(const std::vector<DeviceLine> devices, GatherDevices(world));
  if (first()) report_.Header(job_.Description(), devices);
  MYCEL_RETURN_IF_ERROR(LimitMemory(devices));
  if (json_.has_value()) json_->Config(options_, job_.Description(), devices);
  if (!options_.parallel_init) MYCEL_RETURN_IF_ERROR(world.Connect(0, options_.threads));
  MYCEL_RETURN_IF_ERROR(RunThreads(world, demand));
  return Conclude(world);
}

Status Process::RunThreads(World& world, const Demand& demand) {
  const size_t count = static_cast<size_t>(options_.threads);
  std::vector<Status> statuses(count);
  std::vector<Totals> totals(count, totals_);
  const auto run = [&](size_t t) {
    statuses[t] = RunThread(world, demand, static_cast<int>(t), &totals[t]);
    if (!statuses[t].ok()) team_.Fail();
  };
  std::vector<std::thread> threads;
  for (size_t t = 1; t < count; ++t) threads.emplace_back(run, t);
  run(0);
  for (std::thread& thread : threads) thread.join();
  totals_ = totals[0];
  // A thread that only heard of another's failure says less than that other one.
  Status failure;
  for (const Status& status : statuses) {
    if (!status.ok() && (failure.ok() || failure.code() == StatusCode::kUnavailable)) failure = status;
  }
  return failure;
}

Status Process::RunThread(World& world, const Demand& demand, int thread, Totals* totals) {
  if (options_.parallel_init) MYCEL_RETURN_IF_ERROR(world.Connect(thread, thread + 1));
  const size_t element_bytes_max = 8;
  const size_t arena = static_cast<size_t>(options_.range.max_bytes);
  // -u counts elements of the type measured; with several types, of the largest.
  const size_t element = options_.types.size() == 1 ? SizeOf(options_.types[0]) : element_bytes_max;
  MYCEL_RETURN_IF_ERROR(world.Allocate(thread, arena, static_cast<size_t>(options_.unalign) * element));
  SweepContext context{.collective = collective_,
                       .options = options_,
                       .demand = demand,
                       .world = world,
                       .worker = {team_, thread},
                       .totals = *totals};
  if (options_.roofline) {
    MYCEL_ASSIGN_OR_RETURN(context.roofline, MeasureRoofline(context.worker));
  }
  if (context.worker.first()) {
    if (collective_.takes_demand) {
      MYCEL_ASSIGN_OR_RETURN(context.network, NetworkBound::FromEnvironment(world.group_ranks()));
    }
    if (context.network != nullptr) report_.ShowNetwork(context.network->Describe());
    context.report = &report_;
    context.json = json_.has_value() ? &*json_ : nullptr;
    if (context.roofline.has_value()) report_.ShowRoofline(*context.roofline, team_.size());
    if (context.roofline.has_value() && context.json != nullptr) context.json->AddRoofline(*context.roofline);
    report_.Columns();
  }
  Sweep sweep(context);
  Status status = sweep.Run();
  *totals = context.totals;
  return status;
}

StatusOr<std::string> Process::MemoryText(const World& world) {
  int64_t mine[2] = {0, 0};  // buffers; channels and what relays stage
  for (const Rank& rank : world.ranks()) {
    mycelCommStats stats = {};
    stats.size = sizeof(stats);
    const mycelResult_t result = mycelCommGetStats(rank.comm, &stats);
    if (result != mycelSuccess) return CallError(result, rank.comm, "mycelCommGetStats");
    mine[0] += static_cast<int64_t>(rank.send.bytes() + rank.recv.bytes());
    mine[1] += static_cast<int64_t>(stats.payload_bytes + stats.scratch_bytes);
  }
  std::vector<int64_t> all(2 * static_cast<size_t>(job_.size()));
  MYCEL_RETURN_IF_ERROR(job_.AllGather(mine, sizeof(mine), all.data()));
  int64_t buffers = 0;
  int64_t channels = 0;
  for (size_t i = 0; i < all.size(); i += 2) {
    buffers += all[i];
    channels += all[i + 1];
  }
  const auto mib = [](int64_t bytes) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
    return std::string(text);
  };
  return "buffers " + mib(buffers) + " | channels " + mib(channels) + " | Total " + mib(buffers + channels);
}

Status Process::Conclude(World& world) {
  std::string memory;
  if (options_.memory_report) {
    MYCEL_ASSIGN_OR_RETURN(memory, MemoryText(world));
  }
  MYCEL_RETURN_IF_ERROR(world.Disconnect());
  if (first()) report_.Footer(totals_, memory);
  if (json_.has_value()) MYCEL_RETURN_IF_ERROR(json_->Finish(totals_, {}));
  return job_.Leave();
}

void Process::ReportFailure(const Status& status) {
  const std::string message = StatusMessage(status);
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", std::string(collective_.program).c_str(), message.c_str());
  if (json_.has_value()) {
    const Status written = json_->Finish(totals_, {message});
    if (!written.ok()) std::fprintf(stderr, "%s\n", StatusMessage(written).c_str());
  }
}

}  // namespace

Status CheckRoot(const Collective& collective, const Options& options, int ranks) {
  if (!collective.rooted || options.all_roots || options.root < ranks) return OkStatus();
  return InvalidArgument("-r " + std::to_string(options.root) + " is no rank of a run with " + std::to_string(ranks) +
                         (ranks == 1 ? " rank" : " ranks") + ": they are numbered from 0");
}

int RunProcess(const Collective& collective, Options options, Job& job, int argc, char** argv) {
  Process process(collective, std::move(options), job);
  const Status status = process.Run(argc, argv);
  if (!status.ok()) {
    // Bad input is seen by all processes alike: once is enough.
    const bool usage = status.code() == StatusCode::kInvalidArgument;
    if (!usage || job.rank() == 0) process.ReportFailure(status);
    if (!usage || !job.Leave().ok()) job.Fail();
    return usage ? kExitUsage : kExitError;
  }
  // One failing process makes the run fail; the others would only repeat it.
  return process.totals().ok() || job.rank() != 0 ? 0 : kExitWrong;
}

}  // namespace mycel::perf
