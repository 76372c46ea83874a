#include "bench/perf/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "core/base/check.h"

namespace mycel::perf {

Summary Summarize(std::vector<double> samples) {
  MYCEL_CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const double n = static_cast<double>(samples.size());
  const auto percentile = [&](double p) {
    // The small amount keeps 99 % of 100 at 99 although 0.99 * 100 may round up.
    const double at = std::ceil(p / 100 * n - 1e-9);
    return samples[std::min(samples.size(), static_cast<size_t>(std::max(1.0, at))) - 1];
  };
  Summary s;
  s.min = samples.front();
  s.max = samples.back();
  s.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  double squares = 0;
  for (const double x : samples) squares += (x - s.mean) * (x - s.mean);
  s.stdev = std::sqrt(squares / n);
  s.p50 = percentile(50);
  s.p90 = percentile(90);
  s.p95 = percentile(95);
  s.p99 = percentile(99);
  s.p999 = percentile(99.9);
  return s;
}

double Combine(Average average, const std::vector<double>& by_rank) {
  MYCEL_CHECK(!by_rank.empty());
  switch (average) {
    case Average::kRank0:
      return by_rank[0];
    case Average::kMean:
      return std::accumulate(by_rank.begin(), by_rank.end(), 0.0) / static_cast<double>(by_rank.size());
    case Average::kMin:
      return *std::min_element(by_rank.begin(), by_rank.end());
    case Average::kMax:
      return *std::max_element(by_rank.begin(), by_rank.end());
  }
  return 0;
}

std::vector<double> CombineLists(Average average, const std::vector<double>& lists, size_t length) {
  MYCEL_CHECK(length > 0 && lists.size() % length == 0);
  std::vector<double> combined;
  std::vector<double> entry(lists.size() / length);
  for (size_t i = 0; i < length; ++i) {
    for (size_t r = 0; r < entry.size(); ++r) entry[r] = lists[r * length + i];
    combined.push_back(Combine(average, entry));
  }
  return combined;
}

std::string FixedWidth(double value, int width) {
  char text[64];
  for (const int decimals : {2, 1, 0}) {
    if (std::snprintf(text, sizeof(text), "%*.*f", width, decimals, value) <= width) return text;
  }
  std::snprintf(text, sizeof(text), "%*.*e", width, width >= 7 ? 1 : 0, value);
  return text;
}

}  // namespace mycel::perf
