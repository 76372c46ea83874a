#include "scheduler/timeflow/time_search.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/rng.h"
#include "scheduler/timeflow/item_router.h"
#include "scheduler/timeflow/spreading.h"

namespace mycel::timeflow {
namespace {

/// Items taken out at once, at most.
constexpr size_t kTakenMax = 8;
/// Of the first schedules of a spread, in turn (the fourth is routed).
constexpr int32_t kPatience[] = {0, kFar, 4, 0};
/// Rounds of search, even where they cost no probes.
constexpr int64_t kRoundsMax = 200'000;

Status CheckProblem(const TimeProblem& problem, const std::vector<int32_t>& distances) {
  const int32_t n = problem.graph.rank_count;
  const auto is_rank = [n](int32_t rank) { return rank >= 0 && rank < n; };
  for (const int64_t weight : problem.weights) {
    if (weight < 1 || weight > int64_t{1} << 20) {
      return InvalidArgument("a tenant's weight is " + std::to_string(weight) + "; use 1 to 2^20");
    }
  }
  for (const Item& item : problem.items) {
    if (!is_rank(item.source)) return InvalidArgument("no rank " + std::to_string(item.source) + " to send from");
    if (item.tenant < 0 || item.tenant >= std::ssize(problem.weights)) {
      return InvalidArgument("no weight for tenant " + std::to_string(item.tenant));
    }
    for (const int32_t target : item.targets) {
      if (!is_rank(target) || target == item.source) {
        return InvalidArgument("rank " + std::to_string(item.source) + " cannot send to " + std::to_string(target));
      }
      const auto row = static_cast<size_t>(item.source) * static_cast<size_t>(problem.graph.node_count);
      if (distances[row + static_cast<size_t>(target)] >= kFar) {
        return Impossible("rank " + std::to_string(item.source) + " does not reach rank " + std::to_string(target) +
                          "; add the links that are missing");
      }
    }
  }
  return OkStatus();
}

class Search {
 public:
  Search(const TimeProblem& problem, const TimeSearch& search, std::vector<int32_t> distances)
      : problem_(problem),
        search_(search),
        distances_(std::move(distances)),
        rng_(search.seed),
        reservations_(problem.graph),
        router_(problem, &reservations_, &rng_),
        item_ends_(problem.items.size()) {
    best_.bound = FinishBound(problem);
    now_.bound = best_.bound;
  }

  TimeSchedule Run() {
    Starts();
    Restore();
    while (!Proved() && best_.rounds < kRoundsMax && Spent() < search_.probes_max) {
      ++best_.rounds;
      Round();
    }
    return std::move(best_);
  }

 private:
  bool Proved() const { return best_.epochs == best_.bound && problem_.weights.size() == 1; }
  int64_t Spent() const { return spent_ + reservations_.probes(); }

  void Starts() {
    const bool spread = IsSpread(problem_);
    for (int32_t start = 0; start < search_.starts; ++start) {
      if (start > 0 && (Proved() || Spent() > search_.probes_max / 2)) return;
      if (spread && start % 4 != 3) {
        now_.sends = Spread(problem_, distances_, kPatience[start % 4], &rng_);
        // What it costs in the router's coin: every link looked at every item once an epoch.
        spent_ += std::ssize(problem_.graph.hops) * std::ssize(problem_.items);
      } else {
        RouteAll(start);
      }
      Count();
      Keep(start == 0);
    }
  }

  /// Longest ways first, blurred more with every start; of tenants the heavier first.
  void RouteAll(int32_t start) {
    Clear();
    std::vector<std::pair<int64_t, size_t>> order;
    const auto n = static_cast<size_t>(problem_.graph.node_count);
    for (size_t x = 0; x < problem_.items.size(); ++x) {
      const Item& item = problem_.items[x];
      int64_t far = 0;
      for (const int32_t target : item.targets) {
        far = std::max<int64_t>(far, distances_[static_cast<size_t>(item.source) * n + static_cast<size_t>(target)]);
      }
      const int64_t blur = start == 0 ? 0 : static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(64 * start)));
      const int64_t weight = problem_.weights[static_cast<size_t>(item.tenant)];
      order.emplace_back(-(weight << 32) - far * 64 - blur, x);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [key, x] : order) router_.Route(static_cast<int32_t>(x), &now_.sends[x]);
  }

  void Clear() {
    now_.sends.assign(problem_.items.size(), {});
    reservations_.Clear();
  }

  /// Back to the best, with its reservations.
  void Restore() {
    Clear();
    now_ = best_;
    for (const std::vector<Send>& sends : now_.sends) {
      for (const Send& send : sends) Reserve(send, 1);
    }
    Count();
  }

  void Reserve(const Send& send, int32_t chunks) {
    reservations_.Add(problem_.graph.hops[static_cast<size_t>(send.hop)], send.epoch, static_cast<size_t>(send.first),
                      chunks);
  }

  void Count() {
    for (size_t x = 0; x < problem_.items.size(); ++x)
      item_ends_[x] = EndOf(problem_, problem_.items[x], now_.sends[x]);
    Total();
  }

  void Total() {
    now_.ends.assign(problem_.weights.size(), 0);
    now_.cost = {};
    for (size_t x = 0; x < problem_.items.size(); ++x) {
      int32_t& end = now_.ends[static_cast<size_t>(problem_.items[x].tenant)];
      end = std::max(end, item_ends_[x].end);
      now_.cost.arrivals += item_ends_[x].arrivals;
    }
    now_.epochs = 0;
    for (size_t t = 0; t < now_.ends.size(); ++t) {
      now_.cost.weighted_end += problem_.weights[t] * now_.ends[t];
      now_.epochs = std::max(now_.epochs, now_.ends[t]);
    }
    for (size_t x = 0; x < problem_.items.size(); ++x) {
      const int32_t last = now_.ends[static_cast<size_t>(problem_.items[x].tenant)];
      if (item_ends_[x].end < last) continue;
      for (const Send& send : now_.sends[x]) {
        now_.cost.last += send.epoch + problem_.graph.hops[static_cast<size_t>(send.hop)].delay == last ? 1 : 0;
      }
    }
  }

  void Keep(bool first) {
    if (!first && now_.cost >= best_.cost) return;
    const bool sooner = first || now_.cost.weighted_end < best_.cost.weighted_end;
    const int64_t rounds = best_.rounds;
    best_ = now_;
    best_.rounds = rounds;
    if (sooner && search_.progress) search_.progress(best_);
  }

  /// Items that end a tenant's schedule.
  std::vector<int32_t> Late() const {
    std::vector<int32_t> late;
    for (size_t x = 0; x < item_ends_.size(); ++x) {
      const int32_t end = now_.ends[static_cast<size_t>(problem_.items[x].tenant)];
      if (item_ends_[x].end == end && end > 0) late.push_back(static_cast<int32_t>(x));
    }
    return late;
  }

  void Round() {
    const std::vector<int32_t> late = Late();
    if (late.empty()) {
      best_.rounds = kRoundsMax;  // nothing is sent at all
      return;
    }
    const auto x = static_cast<size_t>(late[rng_.Below(late.size())]);
    changed_.clear();
    if (problem_.items[x].targets.size() > 1 && rng_.Below(2) == 0) {
      TakeReceipts(x);
    } else {
      TakeItems(x);
    }
    const TimeCost before = now_.cost;
    for (const auto& [item, sends] : changed_) router_.Route(item, &now_.sends[static_cast<size_t>(item)]);
    for (const auto& [item, sends] : changed_) {
      const auto i = static_cast<size_t>(item);
      item_ends_[i] = EndOf(problem_, problem_.items[i], now_.sends[i]);
    }
    Total();
    if (now_.cost <= before) {
      Keep(false);
      return;
    }
    for (const auto& [item, sends] : changed_) {
      for (const Send& send : now_.sends[static_cast<size_t>(item)]) Reserve(send, -1);
    }
    for (auto& [item, sends] : changed_) {
      const auto i = static_cast<size_t>(item);
      for (const Send& send : sends) Reserve(send, 1);
      now_.sends[i] = std::move(sends);
      item_ends_[i] = EndOf(problem_, problem_.items[i], now_.sends[i]);
    }
    Total();
  }

  /// Takes all of item `x` and of a few others out, in random order, `x` often first.
  void TakeItems(size_t x) {
    const size_t most = std::min(kTakenMax, problem_.items.size());
    const size_t count = 1 + rng_.Below(most);
    std::vector<int32_t> taken = {static_cast<int32_t>(x)};
    for (size_t tries = 0; taken.size() < count && tries < 4 * count; ++tries) {
      const auto other = static_cast<int32_t>(rng_.Below(problem_.items.size()));
      if (std::find(taken.begin(), taken.end(), other) == taken.end()) taken.push_back(other);
    }
    if (rng_.Below(4) == 0) rng_.Shuffle(taken);
    for (const int32_t item : taken) {
      std::vector<Send>& sends = now_.sends[static_cast<size_t>(item)];
      for (const Send& send : sends) Reserve(send, -1);
      changed_.emplace_back(item, std::exchange(sends, {}));
    }
  }

  /// Takes out what one rank that `x` reaches last receives and does not pass on.
  void TakeReceipts(size_t x) {
    std::vector<int32_t> last;
    for (const Send& send : now_.sends[x]) {
      const EpochGraph::Hop& hop = problem_.graph.hops[static_cast<size_t>(send.hop)];
      if (send.epoch + hop.delay == item_ends_[x].end) last.push_back(hop.target);
    }
    const int32_t rank = last[rng_.Below(last.size())];
    std::vector<int32_t> order(problem_.items.size());
    std::iota(order.begin(), order.end(), 0);
    rng_.Shuffle(order);
    for (const int32_t item : order) {
      std::vector<Send>& sends = now_.sends[static_cast<size_t>(item)];
      const auto hop_of = [&](const Send& send) -> const EpochGraph::Hop& {
        return problem_.graph.hops[static_cast<size_t>(send.hop)];
      };
      const bool passes_on = std::any_of(sends.begin(), sends.end(), [&](const Send& s) {
        return hop_of(s).source == rank || s.first > 0;  // what a switch copies hangs together
      });
      const auto at = std::find_if(sends.begin(), sends.end(), [&](const Send& s) { return hop_of(s).target == rank; });
      if (passes_on || at == sends.end()) continue;
      // Half of the others stay, so that rounds differ.
      if (static_cast<size_t>(item) != x && rng_.Below(2) == 0) continue;
      changed_.emplace_back(item, sends);
      Reserve(*at, -1);
      sends.erase(at);
    }
    if (changed_.empty()) TakeItems(x);
  }

  const TimeProblem& problem_;
  const TimeSearch& search_;
  std::vector<int32_t> distances_;
  Rng rng_;
  Reservations reservations_;
  ItemRouter router_;
  TimeSchedule now_;  // what the reservations say
  TimeSchedule best_;
  std::vector<ItemEnd> item_ends_;                              // of now_
  std::vector<std::pair<int32_t, std::vector<Send>>> changed_;  // item, and its sends before
  int64_t spent_ = 0;
};

}  // namespace

StatusOr<TimeSchedule> FindTimeSchedule(const TimeProblem& problem, const TimeSearch& search) {
  std::vector<int32_t> distances = problem.graph.Distances();
  MYCEL_RETURN_IF_ERROR(CheckProblem(problem, distances));
  TimeSchedule schedule = Search(problem, search, std::move(distances)).Run();
  MYCEL_RETURN_IF_ERROR(CheckTimeSchedule(problem, schedule));
  return schedule;
}

}  // namespace mycel::timeflow
