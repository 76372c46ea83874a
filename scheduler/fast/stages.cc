#include "scheduler/fast/stages.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/check.h"
#include "core/base/int128.h"

namespace mycel::fast {
namespace {

/// What a stage costs beyond its bytes and the way's latency: a message's flag and an op at either end.
constexpr int64_t kMessageNs = 2000;
/// The matrix is coarsened until its longest line is below this, where decomposing is fastest.
constexpr int64_t kLongestLine = int64_t{1} << 30;
/// Stages are few enough when all their latencies together are at most this share of the bytes' time.
constexpr int64_t kLatencyShare = 50;
constexpr int32_t kLosses[] = {5, 20, 100};  // per mille
/// With more servers a decomposition takes longer than a wrong guess costs: one is made, by what the latencies of 2.5
/// stages a server would come to.
constexpr int32_t kServersTried = 8;

class Costs {
 public:
  Costs(const Cluster& cluster, int64_t unit_bytes)
      : alpha_ns_(cluster.latency_ns + kMessageNs),
        unit_ps_(std::max<int64_t>(1, std::llround(static_cast<double>(unit_bytes) * 1e6 / cluster.unit_MBps))) {
    // Of what a rank receives, (M - 1) / M goes on; within the server at another rate.
    int64_t ranks = 1, rate = 1;
    for (const Server& server : cluster.servers) {
      ranks = std::max(ranks, static_cast<int64_t>(server.ranks.size()));
      for (const int64_t r : server.rates) rate = std::max(rate, r);
    }
    const double out = static_cast<double>(rate) * cluster.unit_MBps;
    onward_ppm_ = std::llround(out / static_cast<double>(cluster.scale_up_MBps) * static_cast<double>(ranks - 1) /
                               static_cast<double>(ranks) * 1e6);
  }

  int64_t alpha_ns() const { return alpha_ns_; }
  int64_t SendNs(int64_t length) const {
    return alpha_ns_ + static_cast<int64_t>(static_cast<int128>(length) * unit_ps_ / 1000);
  }
  int64_t OnwardNs(int64_t length) const {
    return static_cast<int64_t>(static_cast<int128>(length) * unit_ps_ / 1000 * onward_ppm_ / 1'000'000);
  }
  int64_t Total(const StageList& stages) const {
    int64_t total = 0, onward = 0;
    for (const int64_t length : stages.length) {
      total += std::max(SendNs(length), onward);
      onward = OnwardNs(length);
    }
    return total + onward;
  }

 private:
  int64_t alpha_ns_;
  int64_t unit_ps_;
  int64_t onward_ppm_ = 0;
};

/// Johnson's order for sending (first machine) and passing on (second machine).
StageList InJohnsonsOrder(const StageList& stages, const Costs& costs) {
  std::vector<int32_t> order(static_cast<size_t>(stages.count()));
  std::iota(order.begin(), order.end(), 0);
  const auto length = [&](int32_t k) { return stages.length[static_cast<size_t>(k)]; };
  const auto sends_less = [&](int32_t k) { return costs.SendNs(length(k)) <= costs.OnwardNs(length(k)); };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const bool first = sends_less(a), second = sends_less(b);
    if (first != second) return first;
    return first ? length(a) < length(b) : length(a) > length(b);
  });
  return Reordered(stages, order);
}

StageList Decompose(const StageMatrix& matrix, Method method, int32_t loss_per_mille) {
  switch (method) {
    case Method::kExact:
      return DecomposeExactly(matrix);
    case Method::kLazy:
      return DecomposeLazily(matrix);
    case Method::kGrouped:
      return DecomposeGrouped(matrix);
    case Method::kChosen:
    case Method::kQuantised:
      return DecomposeQuantised(matrix, loss_per_mille);
  }
  return {};
}

struct Guess {
  Method method;
  int32_t loss_per_mille;
};

/// `share`: latencies in per cent of the bytes' time, at half a per cent of loss.
Guess GuessFor(int64_t share) {
  if (share <= 100 / kLatencyShare) return {Method::kQuantised, kLosses[0]};
  if (share <= 10) return {Method::kQuantised, kLosses[1]};
  if (share <= 40) return {Method::kQuantised, kLosses[2]};
  return {Method::kGrouped, 0};
}

void Try(Method method, int32_t loss_per_mille, const Costs& costs, Stages* best) {
  StageList list = InJohnsonsOrder(Decompose(best->matrix, method, loss_per_mille), costs);
  const int64_t predicted_ns = costs.Total(list);
  if (best->method != Method::kChosen && predicted_ns >= best->predicted_ns) return;
  best->list = std::move(list);
  best->method = method;
  best->loss_per_mille = method == Method::kQuantised ? loss_per_mille : 0;
  best->predicted_ns = predicted_ns;
}

}  // namespace

std::string_view NameOf(Method method) {
  switch (method) {
    case Method::kChosen:
      return "";
    case Method::kExact:
      return "exact";
    case Method::kLazy:
      return "lazy";
    case Method::kQuantised:
      return "quantised";
    case Method::kGrouped:
      return "grouped";
  }
  return "";
}

Stages ChooseStages(const Cluster& cluster, const StageMatrix& traffic, const StageOptions& options) {
  const int32_t n = cluster.server_count();
  MYCEL_CHECK_EQ(traffic.size, n);
  MYCEL_CHECK_GE(options.unit_bytes, 1);
  Stages stages;
  stages.matrix = StageMatrix(n);
  stages.unit_bytes = options.unit_bytes;
  Pair pair;
  for (int32_t a = 0; a < n; ++a) {
    for (int32_t b = 0; b < n; ++b) {
      const size_t at = traffic.Index(a, b);
      if (traffic.entries[at] == 0) continue;
      JoinServers(cluster, a, b, &pair);
      // For a rate of 1; units come later.
      stages.matrix.entries[at] = (traffic.entries[at] + pair.rate - 1) / pair.rate;
    }
  }
  const int64_t longest = LongestLine(stages.matrix);
  while (longest / stages.unit_bytes >= kLongestLine - n) stages.unit_bytes *= 2;
  for (int64_t& entry : stages.matrix.entries) entry = (entry + stages.unit_bytes - 1) / stages.unit_bytes;
  stages.method = Method::kChosen;
  const Costs costs(cluster, stages.unit_bytes);
  if (options.method != Method::kChosen) {
    Try(options.method, kLosses[0], costs, &stages);
    return stages;
  }
  if (n > kServersTried) {
    const int64_t latencies = costs.alpha_ns() * n * 5 / 2;
    const int64_t share = latencies * 100 / std::max<int64_t>(1, costs.SendNs(LongestLine(stages.matrix)));
    const Guess guess = GuessFor(share);
    Try(guess.method, guess.loss_per_mille, costs, &stages);
    return stages;
  }
  for (const int32_t loss : kLosses) {
    Try(Method::kQuantised, loss, costs, &stages);
    const int64_t latencies = costs.alpha_ns() * stages.list.count();
    if (latencies * kLatencyShare <= stages.predicted_ns) return stages;
  }
  Try(Method::kGrouped, 0, costs, &stages);
  return stages;
}

Cuts::Cuts(const StageList& stages)
    : size_(stages.size), begin_(static_cast<size_t>(stages.size) * static_cast<size_t>(stages.size) + 1) {
  const auto for_each = [&](auto&& f) {
    for (int32_t k = 0; k < stages.count(); ++k) {
      for (int32_t a = 0; a < size_; ++a) {
        if (stages.TargetsOf(k)[a] >= 0) f(k, Index(a, stages.TargetsOf(k)[a]), stages.SentIn(k)[a]);
      }
    }
  };
  for_each([&](int32_t, size_t pair, int64_t) { ++begin_[pair + 1]; });
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  cuts_.resize(begin_.back());
  std::vector<size_t> next(begin_.begin(), begin_.end() - 1);
  for_each([&](int32_t stage, size_t pair, int64_t sent) {
    const size_t at = next[pair]++;
    const int64_t begin = at == begin_[pair] ? 0 : cuts_[at - 1].end;
    cuts_[at] = {stage, begin, begin + sent};
  });
}

}  // namespace mycel::fast
