// The order in which rows are measured, and how a row is: types, operations, roots, cycles, sizes; for each size out of
// place, then in place: warm up, agree on the number of calls, barrier, measure, check.
#pragma once

#include <memory>
#include <optional>

#include "bench/perf/json.h"
#include "bench/perf/loop.h"
#include "bench/perf/network_bound.h"
#include "bench/perf/report.h"
#include "bench/perf/roofline.h"
#include "bench/perf/team.h"
#include "bench/perf/verify.h"

namespace mycel::perf {

/// What one thread needs. Only the first worker of the run has `report`, `json` (with -J), and `network` (alltoallv on
/// a topology of several servers).
struct SweepContext {
  const Collective& collective;
  const Options& options;
  const Demand& demand;
  World& world;
  Worker worker;
  std::optional<Roofline> roofline = std::nullopt;
  std::unique_ptr<NetworkBound> network = nullptr;
  Report* report = nullptr;
  JsonFile* json = nullptr;
  Totals totals = {};  // the same on every worker afterwards
};

class Sweep {
 public:
  explicit Sweep(SweepContext& context);

  /// Every worker runs it and takes the same decisions.
  Status Run();

 private:
  Status RunSizes(Setting setting);
  Status RunRow(const Setting& setting);
  Status RunLatencyRow(const Setting& setting);
  StatusOr<Result> Measure(const Setting& setting, bool in_place, int* iterations);
  StatusOr<Loop::Elapsed> Timed(int iters);
  StatusOr<double> Slowest(double mine);
  StatusOr<int> AgreeOnIterations(double fill_us, int least, int most);
  Status WarmUp();
  StatusOr<std::optional<int64_t>> Check(const Setting& setting, bool in_place);
  Status AddPerIteration(Result* result, int iters);

  SweepContext& context_;
  const Options& options_;
  Worker& worker_;
  Loop loop_;
  Verifier verifier_;
  uint64_t checks_done_ = 0;  // seeds the data
};

}  // namespace mycel::perf
