// The text that people and scripts read: nccl-tests' lines, column for column.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "bench/perf/collective.h"
#include "bench/perf/loop.h"
#include "bench/perf/options.h"
#include "bench/perf/roofline.h"
#include "bench/perf/statistics.h"

namespace mycel::perf {

/// One line of "Using devices".
struct DeviceLine {
  int rank = 0;
  int group = 0;
  int pid = 0;
  char host[64] = {};
  char model[128] = {};
};

/// The four columns of one placement, and what -I and --roofline add.
struct Result {
  double time_us = 0;
  double algbw = 0;  // GB/s
  double busbw = 0;
  std::optional<int64_t> wrong;  // empty with -c 0
  std::optional<Summary> per_iteration;
  std::vector<double> iteration_us;  // with -I
  double bound_us = 0;               // with --roofline
  std::optional<double> network_us;  // alltoallv on a topology of several servers: its lower bound
};

struct Row {
  Setting setting;
  size_t size_bytes = 0;
  size_t count = 0;
  std::optional<Result> out_of_place;
  std::optional<Result> in_place;  // empty where the collective has none
  int iterations = 0;
};

/// The row of --latency.
struct LatencyRow {
  Setting setting;
  size_t size_bytes = 0;
  Summary summary;
  int iterations = 0;
  std::optional<int64_t> wrong;
};

struct Totals {
  int64_t wrong = 0;
  double busbw_sum = 0;
  int busbw_count = 0;
  /// NCCL_TESTS_MIN_BW: fail when the mean bus bandwidth is below 0.9 of it; negative: no floor.
  double busbw_floor = -1;

  double busbw() const { return busbw_count == 0 ? 0 : busbw_sum / busbw_count; }
  bool busbw_ok() const { return busbw_floor < 0 || busbw() >= 0.9 * busbw_floor; }
  bool ok() const { return wrong == 0 && busbw_ok(); }
};

/// Names as the columns show them: "none" where nothing is reduced, -1 where there is no root.
std::string OpColumn(const Collective& collective, const Setting& setting);
int RootColumn(const Collective& collective, const Setting& setting);

class Report {
 public:
  Report(const Collective& collective, const Options& options, std::FILE* out)
      : collective_(collective), options_(options), out_(out) {}

  void Header(const std::string& job, const std::vector<DeviceLine>& devices);
  void Note(const std::string& text);
  void ShowRoofline(const Roofline& roofline, int ranks);
  /// Rows will have `network_us`; `topology` says of what.
  void ShowNetwork(const std::string& topology);
  void Columns();
  void ShowRow(const Row& row);
  void ShowLatency(const LatencyRow& row);
  /// `memory`: the text of the memory line, or empty.
  void Footer(const Totals& totals, const std::string& memory);

 private:
  void Preamble(const Setting& setting, size_t size_bytes, size_t count);
  void Body(const std::optional<Result>& result);

  const Collective& collective_;
  const Options& options_;
  std::FILE* out_;
  bool network_ = false;
};

}  // namespace mycel::perf
