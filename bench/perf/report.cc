#include "bench/perf/report.h"

#include <ctime>

namespace mycel::perf {
namespace {

std::string Now() {
  char text[64];
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

int Version() {
  int version = 0;
  mycelGetVersion(&version);
  return version;
}

const char* BlockingText(Blocking blocking) {
  switch (blocking) {
    case Blocking::kNone:
      return nullptr;
    case Blocking::kWaitAndBarrier:
      return "wait and barrier after each inner iteration (-m)";
    case Blocking::kWait:
      return "wait after each inner iteration (-m), no barrier";
    case Blocking::kOuter:
      return "wait and barrier after each outer iteration (-n); time excludes barrier";
  }
  return nullptr;
}

std::string Share(double bound_us, double time_us) {
  return time_us > 0 ? FixedWidth(100 * bound_us / time_us, 5) : "N/A";
}

std::string Share(const std::optional<Result>& result) {
  return result.has_value() ? Share(result->bound_us, result->time_us) : "N/A";
}

}  // namespace

std::string OpColumn(const Collective& collective, const Setting& setting) {
  if (!collective.reduces) return "none";
  return setting.op == ReduceOp::kPreMulSum ? "mulsum" : std::string(NameOf(setting.op));  // nccl-tests' word
}

int RootColumn(const Collective& collective, const Setting& setting) { return collective.rooted ? setting.root : -1; }

void Report::Header(const std::string& job, const std::vector<DeviceLine>& devices) {
  const std::string program(collective_.program);
  const SizeRange& range = options_.range;
  const bool factor = range.step_factor > 1;
  std::fprintf(out_, "# mycel-perf version %d.%d.%d mycel-headers=%d mycel-library=%d\n", MYCEL_MAJOR, MYCEL_MINOR,
               MYCEL_PATCH, MYCEL_VERSION_CODE, Version());
  std::fprintf(out_, "# Collective test starting: %s\n", program.c_str());
  std::fprintf(out_,
               "# nThread %d nGpus %d minBytes %lld maxBytes %lld step: %lld(%s) warmup iters: %d iters: %d agg iters: "
               "%d validation: %d graph: %d unalign: %d\n",
               options_.threads, options_.ranks_per_thread, static_cast<long long>(range.min_bytes),
               static_cast<long long>(range.max_bytes),
               static_cast<long long>(factor ? range.step_factor : range.step_bytes), factor ? "factor" : "bytes",
               options_.warmup_iters, options_.iters, options_.agg_iters, options_.checks, options_.graph,
               options_.unalign);
  if (const char* text = BlockingText(options_.blocking)) std::fprintf(out_, "# Blocking Enabled: %s \n", text);
  if (options_.parallel_init) std::fprintf(out_, "# Parallel Init Enabled: threads create their communicators\n");
  for (const std::string& note : options_.notes) Note(note);
  std::fprintf(out_, "#\n# Using devices\n");
  for (const DeviceLine& d : devices) {
    std::fprintf(out_, "#  Rank %2d Group %2d Pid %6d on %10s device %2d [0000:00:00] %s\n", d.rank, d.group, d.pid,
                 d.host, 0, d.model);
  }
  std::fprintf(out_, "# %zu ranks, %s\n", devices.size(), job.c_str());
  std::fflush(out_);
}

void Report::Note(const std::string& text) { std::fprintf(out_, "# Note: %s\n", text.c_str()); }

void Report::ShowRoofline(const Roofline& roofline, int ranks) {
  std::fprintf(out_, "#\n# Roofline of this machine, GB/s per rank     copy     reduce (float32 b += a)\n");
  for (const RooflineRow& row : roofline.rows) {
    const double kib = static_cast<double>(row.bytes) / 1024;
    std::fprintf(out_, "#   two buffers of %9.0f KiB, one thread  %7.2f    %7.2f\n", kib, row.copy_alone,
                 row.reduce_alone);
    std::fprintf(out_, "#   %32s %3d at once  %7.2f    %7.2f\n", "", ranks, row.copy_together, row.reduce_together);
  }
}

void Report::ShowNetwork(const std::string& topology) {
  network_ = true;
  Note("lbound is the time that no schedule beats on the links of " + topology +
       ", share is lbound / time; ranks that share a machine may be quicker than those links");
}

void Report::Columns() {
  if (options_.latency) {
    std::fprintf(out_, "#\n# %10s  %8s  %6s  %6s  %8s  %8s  %8s  %8s  %8s  %8s  %8s  %10s  %6s\n", "size", "type",
                 "redop", "root", "avg", "min", "p50", "p90", "p99", "p99.9", "max", "iterations", "#wrong");
    std::fprintf(out_, "# %10s  %8s  %6s  %6s  %8s  %8s  %8s  %8s  %8s  %8s  %8s  %10s  %6s\n", "(B)", "", "", "",
                 "(us)", "(us)", "(us)", "(us)", "(us)", "(us)", "(us)", "", "");
    return;
  }
  const bool iter = options_.per_iteration;
  std::fprintf(out_, "#\n# %10s  %12s  %8s  %6s  %6s", "", "", "", "", "");
  std::fprintf(out_, iter ? "              out-of-place (+ per-iteration)                                in-place (+ "
                            "per-iteration)"
                          : "           out-of-place                       in-place          ");
  std::fprintf(out_, "%s\n", options_.roofline ? "     roofline" : "");
  const auto line = [&](const char* size, const char* count, const char* type, const char* op, const char* root,
                        const char* time, const char* bw_a, const char* bw_b, const char* wrong, const char* min,
                        const char* max, const char* p99, const char* cv, const char* bound, const char* share,
                        const char* lbound, const char* stamp) {
    std::fprintf(out_, "# %10s  %12s  %8s  %6s  %6s", size, count, type, op, root);
    for (int placement = 0; placement < 2; ++placement) {
      std::fprintf(out_, "  %7s  %6s  %6s  %6s", time, bw_a, bw_b, wrong);
      if (iter) std::fprintf(out_, "  %7s  %7s  %7s  %7s", min, max, p99, cv);
    }
    if (options_.roofline) std::fprintf(out_, "  %7s  %5s  %5s", bound, share, share);
    if (network_) std::fprintf(out_, "  %7s  %5s", lbound, share);
    std::fprintf(out_, " %*s\n", options_.timestamps ? 19 : 0, options_.timestamps ? stamp : "");
  };
  line("size", "count", "type", "redop", "root", options_.cpu_time ? "cputime" : "time", "algbw", "busbw", "#wrong",
       "i_min", "i_max", "i_p99", "i_cv%", "bound", "share", "lbound", "timestamp");
  line("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(us)", "(us)", "(%)", "(us)", "(%)",
       "(us)", "%Y-%m-%d %H:%M:%S");
  std::fflush(out_);
}

void Report::Body(const std::optional<Result>& result) {
  if (!result.has_value()) {
    std::fprintf(out_, "  %7s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
    if (options_.per_iteration) std::fprintf(out_, "  %7s  %7s  %7s  %7s", "N/A", "N/A", "N/A", "N/A");
    return;
  }
  const Result& r = *result;
  std::fprintf(out_, "  %s  %s  %s", FixedWidth(r.time_us, 7).c_str(), FixedWidth(r.algbw, 6).c_str(),
               FixedWidth(r.busbw, 6).c_str());
  if (r.wrong.has_value()) {
    std::fprintf(out_, "  %6g", static_cast<double>(*r.wrong));
  } else {
    std::fprintf(out_, "    N/A");
  }
  if (!options_.per_iteration || !r.per_iteration.has_value()) return;
  const Summary& s = *r.per_iteration;
  const double cv = s.mean > 0 ? 100 * s.stdev / s.mean : 0;
  for (const double value : {s.min, s.max, s.p99, cv}) std::fprintf(out_, "  %s", FixedWidth(value, 7).c_str());
}

void Report::Preamble(const Setting& setting, size_t size_bytes, size_t count) {
  std::fprintf(out_, "%12zu  %12zu  %8s  %6s  %6d", size_bytes, count, std::string(NameOf(setting.type)).c_str(),
               OpColumn(collective_, setting).c_str(), RootColumn(collective_, setting));
}

void Report::ShowRow(const Row& row) {
  Preamble(row.setting, row.size_bytes, row.count);
  Body(row.out_of_place);
  Body(row.in_place);
  if (options_.roofline) {
    std::fprintf(out_, "  %s  %5s  %5s", FixedWidth(row.out_of_place->bound_us, 7).c_str(),
                 Share(row.out_of_place).c_str(), Share(row.in_place).c_str());
  }
  if (network_) {
    const Result& result = *row.out_of_place;
    std::fprintf(out_, "  %s  %5s", FixedWidth(*result.network_us, 7).c_str(),
                 Share(*result.network_us, result.time_us).c_str());
  }
  if (options_.timestamps) std::fprintf(out_, "%21s", Now().c_str());
  std::fprintf(out_, "\n");
  std::fflush(out_);
}

void Report::ShowLatency(const LatencyRow& row) {
  const Summary& s = row.summary;
  std::fprintf(out_, "%12zu  %8s  %6s  %6d", row.size_bytes, std::string(NameOf(row.setting.type)).c_str(),
               OpColumn(collective_, row.setting).c_str(), RootColumn(collective_, row.setting));
  for (const double value : {s.mean, s.min, s.p50, s.p90, s.p99, s.p999, s.max}) {
    std::fprintf(out_, "  %s", FixedWidth(value, 8).c_str());
  }
  std::fprintf(out_, "  %10d  %6s\n", row.iterations,
               row.wrong.has_value() ? std::to_string(*row.wrong).c_str() : "N/A");
  std::fflush(out_);
}

void Report::Footer(const Totals& totals, const std::string& memory) {
  std::fprintf(out_, "# %-20s : %lld %s\n", "Out of bounds values", static_cast<long long>(totals.wrong),
               totals.wrong != 0 ? "FAILED" : "OK");
  if (!options_.latency) {
    std::fprintf(out_, "# %-20s : %g %s\n", "Avg bus bandwidth", totals.busbw(),
                 totals.busbw_floor < 0 ? "" : (totals.busbw_ok() ? "OK" : "FAILED"));
  }
  std::fprintf(out_, "#\n# Collective test concluded: %s\n", std::string(collective_.program).c_str());
  if (!memory.empty()) std::fprintf(out_, "# %-20s : %s\n", "Memory usage", memory.c_str());
  std::fprintf(out_, "#\n");
  std::fflush(out_);
}

}  // namespace mycel::perf
