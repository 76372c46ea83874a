// `mycel topo calibrate`: the capacities that a topology's links really reach. One process a rank, started by mpirun,
// srun or whatever else sets their variables; they meet at MYCEL_COMM_ID.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "bindings/c/mycel.h"
#include "bindings/cli/arguments.h"
#include "bindings/cli/calibration.h"
#include "bindings/cli/command.h"
#include "bindings/cli/terminal.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/topo/gallery.h"
#include "core/topo/topology_json.h"

namespace mycel::cli {
namespace {

constexpr double kPatternSeconds = 0.2;  // how long one pattern is measured
constexpr int64_t kRoundsMax = 1000;
constexpr int64_t kMessageBytesMax = int64_t{1} << 30;  // each rank holds two of them

struct CalibrateArguments {
  std::string topology;
  std::string out;
  int64_t bytes = 4 << 20;
  int64_t shifts = 8;
};

struct Place {
  int rank = -1;
  int size = 0;
};

/// -1 where it is no whole number.
int NumberOf(const char* text) {
  int value = -1;
  const char* const end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, value);
  return error == std::errc() && at == end ? value : -1;
}

/// As the launcher tells it; -1 where there is none.
Place FindPlace() {
  const std::pair<const char*, const char*> kinds[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                       {"PMI_RANK", "PMI_SIZE"},
                                                       {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
                                                       {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [rank, size] : kinds) {
    const char* const rank_text = std::getenv(rank);
    const char* const size_text = std::getenv(size);
    if (rank_text == nullptr || size_text == nullptr) continue;
    const Place place{NumberOf(rank_text), NumberOf(size_text)};
    if (place.rank >= 0 && place.rank < place.size) return place;
  }
  return {};
}

/// The rank's end of the job.
class Meter {
 public:
  ~Meter() {
    if (comm_ != nullptr) mycelCommAbort(comm_);
  }

  Status Join(Place place) {
    place_ = place;
    mycelUniqueId id;
    MYCEL_RETURN_IF_ERROR(Checked(mycelGetUniqueId(&id)));
    return Checked(mycelCommInitRank(&comm_, place.size, id, place.rank));
  }
  Status Leave() {
    Status status = Checked(mycelCommDestroy(comm_));
    comm_ = nullptr;
    return status;
  }
  StatusOr<Measurement> Measure(const SendPattern& pattern, int64_t bytes);

 private:
  Status Checked(mycelResult_t result) const {
    if (result == mycelSuccess) return OkStatus();
    return SystemError(std::string(mycelGetErrorString(result)) + ": " + mycelGetLastError(comm_));
  }
  /// The largest of all ranks' values.
  StatusOr<double> Largest(double value) {
    MYCEL_RETURN_IF_ERROR(Checked(mycelAllReduce(&value, &value, 1, mycelFloat64, mycelMax, comm_, nullptr)));
    return value;
  }
  StatusOr<double> SecondsFor(int to, int from, int64_t rounds);

  Place place_;
  mycelComm_t comm_ = nullptr;
  std::vector<char> outgoing_;
  std::vector<char> incoming_;
};

/// From when all start to when this rank has received everything (0: receives nothing).
StatusOr<double> Meter::SecondsFor(int to, int from, int64_t rounds) {
  MYCEL_RETURN_IF_ERROR(Checked(mycelBarrier(comm_, nullptr)));
  const int64_t start = NowNs();
  for (int64_t round = 0; round < rounds; ++round) {
    MYCEL_RETURN_IF_ERROR(Checked(mycelGroupStart()));
    if (to >= 0) mycelSend(outgoing_.data(), outgoing_.size(), mycelInt8, to, comm_, nullptr);
    if (from >= 0) mycelRecv(incoming_.data(), incoming_.size(), mycelInt8, from, comm_, nullptr);
    MYCEL_RETURN_IF_ERROR(Checked(mycelGroupEnd()));
  }
  return from < 0 ? 0.0 : static_cast<double>(std::max<int64_t>(NowNs() - start, 1)) / 1e9;
}

StatusOr<Measurement> Meter::Measure(const SendPattern& pattern, int64_t bytes) {
  outgoing_.assign(static_cast<size_t>(bytes), 1);
  incoming_.assign(static_cast<size_t>(bytes), 0);
  const int to = pattern[static_cast<size_t>(place_.rank)];
  const auto sender = std::find(pattern.begin(), pattern.end(), place_.rank);
  const int from = sender == pattern.end() ? -1 : static_cast<int>(sender - pattern.begin());
  // The first two rounds connect, and tell how many make the time.
  MYCEL_RETURN_IF_ERROR(SecondsFor(to, from, 1).status());
  MYCEL_ASSIGN_OR_RETURN(const double once, SecondsFor(to, from, 1));
  MYCEL_ASSIGN_OR_RETURN(const double slowest, Largest(once));
  const int64_t rounds = std::clamp<int64_t>(static_cast<int64_t>(kPatternSeconds / slowest), 1, kRoundsMax);
  MYCEL_ASSIGN_OR_RETURN(const double seconds, SecondsFor(to, from, rounds));
  std::vector<double> seconds_of(static_cast<size_t>(place_.size));
  MYCEL_RETURN_IF_ERROR(Checked(mycelAllGather(&seconds, seconds_of.data(), 1, mycelFloat64, comm_, nullptr)));
  Measurement measurement;
  for (size_t source = 0; source < pattern.size(); ++source) {
    if (pattern[source] < 0) continue;
    measurement.push_back({static_cast<int32_t>(source), pattern[source], bytes * rounds,
                           seconds_of[static_cast<size_t>(pattern[source])]});
  }
  return measurement;
}

std::string RatesText(const Topology& topology, const std::vector<LinkRate>& rates) {
  Table table({"from", "to", "kind", ">GB/s", ">reached", ">share"}, "  ");
  for (const LinkRate& rate : rates) {
    const Link& link = topology.link(rate.link);
    table.Add({Printable(topology.node(link.source).id), Printable(topology.node(link.target).id),
               std::string(NameOf(link.kind)), Decimal(rate.nominal_gbps),
               rate.reached_gbps > 0 ? Decimal(rate.reached_gbps) : "-",
               rate.reached_gbps > 0 ? Percent(rate.reached_gbps / rate.nominal_gbps) : "no bottleneck"});
  }
  return table.ToText();
}

/// What rank 0 prints; the others say nothing.
StatusOr<std::string> CalibrateHere(const CalibrateArguments& arguments, const Place& place) {
  MYCEL_ASSIGN_OR_RETURN(const Topology topology, LoadTopology(arguments.topology));
  if (topology.rank_count() != place.size) {
    return InvalidArgument("topology " + topology.name() + " has " + std::to_string(topology.rank_count()) +
                           " ranks, the job " + std::to_string(place.size) + "; start as many");
  }
  Meter meter;
  MYCEL_RETURN_IF_ERROR(meter.Join(place));
  std::vector<Measurement> measurements;
  for (const SendPattern& pattern : PatternsFor(topology, static_cast<int32_t>(arguments.shifts))) {
    MYCEL_ASSIGN_OR_RETURN(Measurement measured, meter.Measure(pattern, arguments.bytes));
    measurements.push_back(std::move(measured));
  }
  MYCEL_RETURN_IF_ERROR(meter.Leave());
  if (place.rank != 0) return std::string();
  MYCEL_ASSIGN_OR_RETURN(const Calibration calibrated, Calibrate(topology, measurements));
  MYCEL_RETURN_IF_ERROR(WriteFile(arguments.out, WriteTopology(calibrated.topology)));
  return RatesText(topology, calibrated.links) + Printable(arguments.out) + ": " + std::to_string(measurements.size()) +
         " patterns of " + SizeText(arguments.bytes) + " measured\n";
}

ExitCode RunCalibrate(const CalibrateArguments& arguments) {
  if (arguments.bytes < 1 || arguments.bytes > kMessageBytesMax) {
    return FailUsage("--bytes: messages of " + SizeText(arguments.bytes) +
                         " measure nothing or do not fit; take 1 to " + SizeText(kMessageBytesMax),
                     "topo calibrate");
  }
  const Place place = FindPlace();
  if (place.rank < 0 || place.size < 2) {
    return FailUsage("no launcher's variables are set; start one process a rank under mpirun or srun",
                     "topo calibrate");
  }
  const StatusOr<std::string> meeting = EnvText(Env::kCommId);
  if (!meeting.ok()) return Fail(meeting.status());
  if (meeting->empty()) {
    return FailUsage("MYCEL_COMM_ID is not set; give all processes the host and a free port of rank 0, as HOST:PORT",
                     "topo calibrate");
  }
  const StatusOr<std::string> text = CalibrateHere(arguments, place);
  if (!text.ok()) return Fail(text.status());
  return text->empty() ? kDone : Print(*text);
}

}  // namespace

std::vector<Command> DeclareCalibration(CLI::App& topo) {
  CLI::App* app = topo.add_subcommand(
      "calibrate", "under a launcher: measure what a topology's links reach, and write it with those capacities");
  auto arguments = std::make_shared<CalibrateArguments>();
  AddTopology(app, &arguments->topology)->required();
  app->add_option("--out", arguments->out, "the file to write")->required()->type_name("FILE");
  AddBytes(app, &arguments->bytes, "size of a message (4M)");
  AddNumber(app, "--shifts", &arguments->shifts, 1, 4096, "ranks send to their next, second next, ... N-th next (8)");
  app->footer(
      "mpirun -np 8 -x MYCEL_COMM_ID=server0:7777 mycel topo calibrate --topo found.json --out calibrated.json\n"
      "All ranks must be able to read T; rank 0 writes.");
  return {{app, [arguments] { return RunCalibrate(*arguments); }}};
}

}  // namespace mycel::cli
