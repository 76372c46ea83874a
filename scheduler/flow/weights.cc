#include "scheduler/flow/weights.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "scheduler/flow/shortest_tree.h"

namespace mycel::flow {
namespace {

/// Lengths start at most so long, and are divided by 2^kRescaleBits when one passes kLengthMax / 2.
constexpr int64_t kLengthStart = int64_t{1} << 30;
constexpr int kRescaleBits = 10;
/// epsilon = 2^-halvings, from the first to the last.
constexpr int kHalvingsFirst = 1;
constexpr int kHalvingsLast = 7;
/// Rounds without gaining a fiftieth of the wanted gap after which epsilon halves.
constexpr int32_t kPatience = 5;
constexpr int32_t kPatienceLong = 8;  // divided by epsilon, where the gap is still wider than epsilon
constexpr int64_t kGainParts = 50;
/// Growth factors are in units of 2^-60; a step at most doubles a length.
constexpr int kRateBits = 60;
/// Of all rounds: edges looked at, over all sources. Rounds are at most so many that loads fit 64 bits.
constexpr int64_t kWorkMax = int64_t{1} << 31;
constexpr int64_t kRoundsMin = 200, kRoundsMax = 16'000;
static_assert(kRoundsMax <= (int64_t{1} << 62) / kDemandSumMax);

int32_t RoundsMax(const FlowProblem& problem, const WeightOptions& options) {
  if (options.rounds_max > 0) return options.rounds_max;
  const int64_t work = std::ssize(problem.sources) * std::ssize(problem.graph.edges);
  return static_cast<int32_t>(std::clamp(kWorkMax / work, kRoundsMin, kRoundsMax));
}

class Weights {
 public:
  Weights(const FlowProblem& problem, const WeightOptions& options)
      : problem_(problem),
        options_(options),
        rounds_max_(RoundsMax(problem, options)),
        tree_(problem.graph),
        length_(problem.class_capacity.size()),
        loads_(problem.class_capacity.size()),
        edge_length_(problem.graph.edges.size()),
        rates_(problem.class_capacity.size()),
        flow_(problem.sources.size(), std::vector<int64_t>(problem.graph.edges.size())) {
    const int64_t least = *std::min_element(problem.class_capacity.begin(), problem.class_capacity.end());
    for (size_t c = 0; c < length_.size(); ++c) {
      length_[c] = std::max<int64_t>(1, static_cast<int64_t>(int128{kLengthStart} * least / problem.class_capacity[c]));
    }
    identity_ = problem.class_capacity.size() == problem.graph.edges.size();
  }

  FlowSolution Run() {
    Prove();
    int64_t next_proof = 6;
    while (true) {
      SetRates();
      for (size_t s = 0; s < problem_.sources.size(); ++s) Send(s);
      ++rounds_;
      ++best_.rounds;
      Rescale();
      const bool stalled = Stalled();
      const bool last = best_.rounds >= rounds_max_;
      if (best_.rounds < next_proof && !stalled && !last) continue;
      Keep();
      Prove();
      next_proof = best_.rounds + best_.rounds / 5 + 4;
      if (last || GoodEnough()) return std::move(best_);
      if (stalled) Restart();
    }
  }

 private:
  void Expand() {
    for (size_t e = 0; e < edge_length_.size(); ++e) {
      edge_length_[e] = length_[static_cast<size_t>(problem_.class_of[e])];
    }
  }

  void SetRates() {
    // time * 2^20, so that small times are not lost.
    const int128 time = std::max<int128>(1, (int128{best_.bound.numerator()} << 20) / best_.bound.denominator());
    for (size_t c = 0; c < rates_.size(); ++c) {
      const int128 rate = (int128{1} << (kRateBits + 20 - halvings_)) / (time * problem_.class_capacity[c]);
      rates_[c] = static_cast<uint64_t>(std::clamp<int128>(rate, 1, int128{1} << kRateBits));
    }
    Expand();
  }

  void Send(size_t s) {
    const int32_t source = problem_.sources[s];
    tree_.Grow(source, edge_length_);
    std::vector<int64_t>& flow = flow_[s];
    tree_.ForEachLoad(source, problem_.demand, [&](int32_t edge, int64_t amount) {
      const auto e = static_cast<size_t>(edge);
      const auto c = static_cast<size_t>(problem_.class_of[e]);
      flow[e] += amount;
      loads_[c] += amount;
      const uint128 growth =
          std::min(uint128{rates_[c]} * static_cast<uint128>(amount), uint128{1} << kRateBits) >> (kRateBits - 40);
      const auto grown = static_cast<int64_t>(growth * static_cast<uint128>(length_[c]) >> 40) + 1;
      length_[c] = std::min(length_[c] + grown, kLengthMax);
      if (identity_) edge_length_[e] = length_[c];
    });
  }

  void Rescale() {
    if (*std::max_element(length_.begin(), length_.end()) <= kLengthMax / 2) return;
    for (int64_t& length : length_) length = std::max<int64_t>(1, length >> kRescaleBits);
  }

  /// The class with the largest load over capacity: it sets the flow's time.
  size_t Busiest() const {
    size_t busiest = 0;
    for (size_t c = 1; c < loads_.size(); ++c) {
      if (int128{loads_[c]} * problem_.class_capacity[busiest] > int128{loads_[busiest]} * problem_.class_capacity[c]) {
        busiest = c;
      }
    }
    return busiest;
  }

  Rational Time() const {
    const size_t busiest = Busiest();
    return RoundedUp(loads_[busiest], int128{rounds_} * problem_.class_capacity[busiest]);
  }

  bool Stalled() {
    const Rational time = Time();
    // Worth a round: a fiftieth of the gap less.
    const int64_t parts = kGainParts * 1000;
    const Rational wanted = RoundedDown(int128{stage_time_.numerator()} * (parts - options_.gap_permille),
                                        int128{stage_time_.denominator()} * parts);
    const bool gains = rounds_ == 1 || time < wanted;
    since_gain_ = gains ? 0 : since_gain_ + 1;
    if (rounds_ == 1 || time < stage_time_) stage_time_ = time;
    if (since_gain_ < kPatience || halvings_ == kHalvingsLast) return false;
    // Lengths that are still on their way travel faster with a large epsilon.
    return WithinGap(1, int64_t{1} << halvings_) || since_gain_ >= int32_t{kPatienceLong} << halvings_;
  }

  void Keep() {
    const Rational time = Time();
    if (best_.amount > 0 && time >= best_.time) return;
    best_.flow = flow_;
    best_.amount = rounds_;
    best_.time = time;
  }

  void Prove() { best_.bound = std::max(best_.bound, BoundOfLengths(problem_, length_)); }

  /// The stage's time is at most (1 + part / whole) of the bound.
  bool WithinGap(int64_t part, int64_t whole) const {
    return stage_time_ <=
           RoundedDown(int128{best_.bound.numerator()} * (whole + part), int128{best_.bound.denominator()} * whole);
  }

  bool GoodEnough() const {
    return best_.time <= RoundedDown(int128{best_.bound.numerator()} * (1000 + options_.gap_permille),
                                     int128{best_.bound.denominator()} * 1000);
  }

  void Restart() {
    ++halvings_;
    rounds_ = 0;
    since_gain_ = 0;
    std::fill(loads_.begin(), loads_.end(), 0);
    for (std::vector<int64_t>& flow : flow_) std::fill(flow.begin(), flow.end(), 0);
  }

  const FlowProblem& problem_;
  const WeightOptions& options_;
  const int32_t rounds_max_;
  ShortestTree tree_;
  std::vector<int64_t> length_;       // by class
  std::vector<int64_t> loads_;        // by class, of this stage
  std::vector<int64_t> edge_length_;  // by edge
  std::vector<uint64_t> rates_;       // by class: growth for one unit of load
  std::vector<std::vector<int64_t>> flow_;
  bool identity_ = false;  // every edge is a class
  int halvings_ = kHalvingsFirst;
  int64_t rounds_ = 0;  // of this stage
  int32_t since_gain_ = 0;
  Rational stage_time_;
  FlowSolution best_;
};

}  // namespace

Rational BoundOfLengths(const FlowProblem& problem, const std::vector<int64_t>& length_of_class) {
  std::vector<int64_t> lengths(problem.graph.edges.size());
  for (size_t e = 0; e < lengths.size(); ++e) lengths[e] = length_of_class[static_cast<size_t>(problem.class_of[e])];
  ShortestTree tree(problem.graph);
  int128 gain = 0, cost = 0;
  for (const int32_t source : problem.sources) {
    tree.Grow(source, lengths);
    gain += tree.Cost(source, problem.demand);
  }
  for (size_t c = 0; c < length_of_class.size(); ++c) cost += int128{problem.class_capacity[c]} * length_of_class[c];
  MYCEL_CHECK(cost > 0);
  return RoundedDown(gain, cost);
}

FlowSolution SolveByWeights(const FlowProblem& problem, const WeightOptions& options) {
  return Weights(problem, options).Run();
}

}  // namespace mycel::flow
