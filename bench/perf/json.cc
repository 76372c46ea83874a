#include "bench/perf/json.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

namespace mycel::perf {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 3;

std::string Now() {
  char text[64];
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

// nccl-tests dumps the whole environment; passwords have no place in a benchmark's result, so only variables that may
// explain it are kept.
bool Explains(const char* variable) {
  for (const char* prefix : {"MYCEL_", "NCCL_", "OMPI_", "PMI", "MPIR_", "SLURM_", "UCX_", "OMP_", "LD_PRELOAD="}) {
    if (std::strncmp(variable, prefix, std::strlen(prefix)) == 0) return true;
  }
  return false;
}

// nccl-tests writes booleans as text.
std::string Truth(bool value) { return value ? "true" : "false"; }

Json Placement(const Options& options, const Result& r) {
  Json json;
  json[options.cpu_time ? "cpu_time" : "time"] = r.time_us;
  json["alg_bw"] = r.algbw;
  json["bus_bw"] = r.busbw;
  json["nwrong"] = r.wrong.has_value() ? Json(static_cast<double>(*r.wrong)) : Json(nullptr);
  if (options.roofline) json["bound_us"] = r.bound_us;
  if (r.network_us.has_value()) json["lower_bound_us"] = *r.network_us;
  return json;
}

Json Percentiles(const Summary& s) {
  Json json;
  json["min_us"] = s.min;
  json["max_us"] = s.max;
  json["avg_us"] = s.mean;
  json["p50_us"] = s.p50;
  json["p90_us"] = s.p90;
  json["p95_us"] = s.p95;
  json["p99_us"] = s.p99;
  json["p999_us"] = s.p999;
  json["stdev_us"] = s.stdev;
  json["cv_pct"] = s.mean > 0 ? 100 * s.stdev / s.mean : 0;
  return json;
}

Json RowStart(const Collective& collective, const Setting& setting, size_t size_bytes, size_t count) {
  Json json;
  json["size"] = size_bytes;
  json["count"] = count;
  json["type"] = NameOf(setting.type);
  json["redop"] = OpColumn(collective, setting);
  char root[32];
  std::snprintf(root, sizeof(root), "%6d", RootColumn(collective, setting));
  json["root"] = root;
  return json;
}

}  // namespace

struct JsonFile::Document {
  Json json = Json::object();
};

JsonFile::JsonFile() : document_(std::make_unique<Document>()) {}
JsonFile::~JsonFile() {
  if (fd_ >= 0) close(fd_);
}
JsonFile::JsonFile(JsonFile&& other) noexcept { *this = std::move(other); }
JsonFile& JsonFile::operator=(JsonFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(document_, other.document_);
  return *this;
}

StatusOr<JsonFile> JsonFile::Create(const std::string& path) {
  JsonFile file;
  file.path_ = path;
  for (int n = 0;; ++n) {
    file.fd_ = open(file.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file.fd_ >= 0) return file;
    if (errno != EEXIST) {
      return SystemError("-J: cannot create '" + file.path_ + "': " + std::strerror(errno));
    }
    file.path_ = path + "." + std::to_string(n);
  }
}

void JsonFile::Start(int argc, const char* const* argv) {
  Json& json = document_->json;
  json["version"] = kSchemaVersion;
  json["start_time"] = Now();
  json["args"] = Json::array();
  for (int i = 0; i < argc; ++i) json["args"].push_back(argv[i]);
  json["env"] = Json::array();
  for (char** e = environ; *e != nullptr; ++e) {
    if (Explains(*e)) json["env"].push_back(*e);
  }
  int version = 0;
  mycelGetVersion(&version);
  json["mycel_version"] = version;
}

void JsonFile::Config(const Options& options, const std::string& job, const std::vector<DeviceLine>& devices) {
  Json config;
  config["nthreads"] = options.threads;
  config["ngpus"] = options.ranks_per_thread;
  config["minimum_bytes"] = options.range.min_bytes;
  config["maximum_bytes"] = options.range.max_bytes;
  if (options.range.step_factor > 1) {
    config["step_factor"] = options.range.step_factor;
  } else {
    config["step_bytes"] = options.range.step_bytes;
  }
  config["warmup_iters"] = options.warmup_iters;
  config["iterations"] = options.iters;
  config["aggregated_iterations"] = options.agg_iters;
  config["validation"] = options.checks;
  config["graph"] = options.graph;
  config["blocking_collectives"] = Truth(options.blocking != Blocking::kNone);
  config["per_iter_timing"] = Truth(options.per_iteration);
  config["per_iter_skip"] = options.per_iteration_skip;
  config["parallel_init"] = Truth(options.parallel_init);
  config["processes"] = job;
  config["minimum_of_batches"] = Truth(options.minimum);
  config["devices"] = Json::array();
  for (const DeviceLine& d : devices) {
    Json device;
    device["rank"] = d.rank;
    device["group"] = d.group;
    device["pid"] = d.pid;
    device["hostname"] = d.host;
    device["device"] = 0;
    device["device_hex"] = "0000:00:00";
    device["device_info"] = d.model;
    config["devices"].push_back(device);
  }
  document_->json["config"] = config;
  document_->json["results"] = Json::array();
}

void JsonFile::AddRoofline(const Roofline& roofline) {
  Json rows = Json::array();
  for (const RooflineRow& row : roofline.rows) {
    Json json;
    json["buffer_bytes"] = row.bytes;
    json["copy_alone_GBps"] = row.copy_alone;
    json["copy_together_GBps"] = row.copy_together;
    json["reduce_alone_GBps"] = row.reduce_alone;
    json["reduce_together_GBps"] = row.reduce_together;
    rows.push_back(json);
  }
  document_->json["roofline"] = rows;
}

void JsonFile::AddRow(const Collective& collective, const Options& options, const Row& row) {
  Json json = RowStart(collective, row.setting, row.size_bytes, row.count);
  const auto add = [&](const std::string& name, const std::optional<Result>& result) {
    json[name] = result.has_value() ? Placement(options, *result) : Json(nullptr);
    if (!result.has_value() || !result->per_iteration.has_value()) return;
    Json iterations;
    iterations["skipped_iterations"] = options.per_iteration_skip;
    iterations.update(Percentiles(*result->per_iteration));
    iterations["times_us"] = result->iteration_us;
    json[name + "_per_iter"] = iterations;
  };
  add("out_of_place", row.out_of_place);
  add("in_place", row.in_place);
  json["actual_iterations"] = row.iterations;
  json["experiment_name"] = collective.program;
  document_->json["results"].push_back(json);
}

void JsonFile::AddLatency(const Collective& collective, const LatencyRow& row) {
  Json json = RowStart(collective, row.setting, row.size_bytes, row.size_bytes / row.setting.element_bytes());
  json["latency"] = Percentiles(row.summary);
  json["nwrong"] = row.wrong.has_value() ? Json(static_cast<double>(*row.wrong)) : Json(nullptr);
  json["actual_iterations"] = row.iterations;
  json["experiment_name"] = collective.program;
  document_->json["results"].push_back(json);
}

Status JsonFile::Finish(const Totals& totals, const std::vector<std::string>& errors) {
  Json& json = document_->json;
  json["out_of_bounds"] = {{"count", totals.wrong}, {"okay", Truth(totals.wrong == 0)}};
  json["average_bus_bandwidth"] = {{"bandwidth", totals.busbw()},
                                   {"okay", totals.busbw_floor < 0 ? "unchecked" : Truth(totals.busbw_ok())}};
  json["errors"] = errors;
  json["end_time"] = Now();
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(fd_, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return SystemError("-J: cannot write '" + path_ + "': " + std::strerror(errno));
    written += static_cast<size_t>(n);
  }
  return OkStatus();
}

}  // namespace mycel::perf
