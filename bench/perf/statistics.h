// Numbers from samples, and numbers as nccl-tests prints them.
#pragma once

#include <string>
#include <vector>

#include "bench/perf/options.h"

namespace mycel::perf {

struct Summary {
  double min = 0, max = 0, mean = 0, stdev = 0;
  double p50 = 0, p90 = 0, p95 = 0, p99 = 0, p999 = 0;
};

/// Of at least one sample. Percentile p is the smallest sample that p % of the samples do not exceed (nearest rank).
Summary Summarize(std::vector<double> samples);

/// -a: one number from the ranks' numbers, in order of rank.
double Combine(Average average, const std::vector<double>& by_rank);

/// The same for lists of equal length that lie one after the other: combines entry i of every rank.
std::vector<double> CombineLists(Average average, const std::vector<double>& lists, size_t length);

/// A number in `width` columns: 2, 1 or 0 decimals, then an exponent, whichever fits first.
std::string FixedWidth(double value, int width);

}  // namespace mycel::perf
