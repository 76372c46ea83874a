#include "scheduler/timeflow/spreading.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/base/check.h"
#include "scheduler/timeflow/reservations.h"

namespace mycel::timeflow {
namespace {

/// On more ranks the way before a chunk is not looked at: that would cost more than all else.
constexpr size_t kFarRanksMax = 64;

class Spreader {
 public:
  Spreader(const TimeProblem& problem, const std::vector<int32_t>& distances, Rng* rng)
      : graph_(problem.graph),
        distances_(distances),
        rng_(*rng),
        reservations_(problem.graph),
        rank_count_(static_cast<size_t>(problem.graph.rank_count)),
        item_count_(problem.items.size()),
        there_(rank_count_, std::vector<bool>(item_count_)),
        known_(there_),
        missing_(item_count_),
        hops_into_(rank_count_),
        sends_(item_count_),
        since_(rank_count_ * item_count_) {
    for (size_t h = 0; h < graph_.hops.size(); ++h) {
      hops_into_[static_cast<size_t>(graph_.hops[h].target)].push_back(static_cast<int32_t>(h));
    }
    for (size_t x = 0; x < item_count_; ++x) {
      const auto source = static_cast<size_t>(problem.items[x].source);
      there_[source][x] = known_[source][x] = true;
      missing_[x] = static_cast<int64_t>(problem.items[x].targets.size());
      left_ += missing_[x];
    }
  }

  /// `patience`: how many epochs later than over another link a chunk may come that a link takes.
  std::vector<std::vector<Send>> Run(int32_t patience) {
    patience_ = patience;
    std::vector<size_t> order(rank_count_);
    std::iota(order.begin(), order.end(), size_t{0});
    for (int32_t epoch = 0; left_ > 0; ++epoch) {
      MYCEL_CHECK_LT(epoch, kFar);
      for (auto at = coming_.begin(); at != coming_.end() && at->first <= epoch; at = coming_.erase(at)) {
        for (const auto& [rank, item] : at->second) there_[rank][item] = true;
      }
      rng_.Shuffle(order);
      bool moved = true;
      while (moved) {  // again while a link takes more than one chunk an epoch
        moved = false;
        for (const size_t rank : order) moved = Receive(rank, epoch) || moved;
      }
    }
    return std::move(sends_);
  }

 private:
  /// More is taken first.
  int64_t PriorityOf(size_t item, size_t rank) {
    int32_t far = 0;
    for (size_t v = 0; v < rank_count_ && rank_count_ <= kFarRanksMax; ++v) {
      if (known_[v][item] || v == rank) continue;
      far = std::max(far, distances_[rank * static_cast<size_t>(graph_.node_count) + v]);
    }
    return (missing_[item] << 40) + (int64_t{far} << 20) + static_cast<int64_t>(rng_.Below(1 << 20));
  }

  /// When the chunk could come to `rank` if links were free: from whoever has it, or will.
  int32_t SoonestFor(size_t item, size_t rank, int32_t epoch) {
    int32_t& soonest = soonest_[item];
    if (soonest >= 0) return soonest;
    soonest = kFar;
    for (const int32_t h : hops_into_[rank]) {
      const EpochGraph::Hop& hop = graph_.hops[static_cast<size_t>(h)];
      const auto source = static_cast<size_t>(hop.source);
      if (!known_[source][item]) continue;
      soonest = std::min(soonest, std::max(since_[source * item_count_ + item], epoch) + hop.delay);
    }
    return soonest;
  }

  bool Receive(size_t rank, int32_t epoch) {
    ways_.clear();
    soonest_.assign(item_count_, -1);
    for (const int32_t h : hops_into_[rank]) {
      const EpochGraph::Hop& hop = graph_.hops[static_cast<size_t>(h)];
      if (!reservations_.Fits(hop, epoch)) continue;
      Way way{h, {}, -1};
      const auto source = static_cast<size_t>(hop.source);
      for (size_t x = 0; x < item_count_; ++x) {
        if (!there_[source][x] || known_[rank][x]) continue;
        // A slow link is not for what a quick one brings sooner.
        if (epoch + hop.delay > SoonestFor(x, rank, epoch) + patience_) continue;
        way.items.emplace_back(PriorityOf(x, rank), static_cast<int32_t>(x));
      }
      if (way.items.empty()) continue;
      std::sort(way.items.rbegin(), way.items.rend());
      ways_.push_back(std::move(way));
    }
    // Links with the least choice first; an augmenting path moves those before it.
    std::stable_sort(ways_.begin(), ways_.end(),
                     [](const Way& a, const Way& b) { return a.items.size() < b.items.size(); });
    taken_.assign(item_count_, -1);
    for (size_t w = 0; w < ways_.size(); ++w) {
      tried_.assign(item_count_, false);
      Augment(w);
    }
    bool moved = false;
    for (const Way& way : ways_) {
      const EpochGraph::Hop& hop = graph_.hops[static_cast<size_t>(way.hop)];
      // Hops through a switch may share a link with one just taken.
      if (way.taken < 0 || !reservations_.Fits(hop, epoch)) continue;
      reservations_.Add(hop, epoch, 0, 1);
      const auto item = static_cast<size_t>(way.taken);
      sends_[item].push_back({way.taken, way.hop, epoch, 0});
      known_[rank][item] = true;
      since_[rank * item_count_ + item] = epoch + hop.delay;
      coming_[epoch + hop.delay].emplace_back(rank, item);
      --missing_[item];
      --left_;
      moved = true;
    }
    return moved;
  }

  bool Augment(size_t w) {
    // A free chunk of the best priority before moving another link's.
    for (const bool free : {true, false}) {
      for (const auto& [priority, item] : ways_[w].items) {
        const auto x = static_cast<size_t>(item);
        if (tried_[x] || (taken_[x] < 0) != free) continue;
        tried_[x] = true;
        if (!free && !Augment(static_cast<size_t>(taken_[x]))) continue;
        taken_[x] = static_cast<int32_t>(w);
        ways_[w].taken = item;
        return true;
      }
    }
    return false;
  }

  struct Way {
    int32_t hop;
    std::vector<std::pair<int64_t, int32_t>> items;  // (priority, item), best first
    int32_t taken;
  };

  const EpochGraph& graph_;
  const std::vector<int32_t>& distances_;
  Rng& rng_;
  Reservations reservations_;
  size_t rank_count_, item_count_;
  std::vector<std::vector<bool>> there_;  // by rank, item: usable now
  std::vector<std::vector<bool>> known_;  // there, or on its way
  std::vector<int64_t> missing_;          // by item: ranks that do not know it
  std::vector<std::vector<int32_t>> hops_into_;
  std::vector<std::vector<Send>> sends_;
  std::vector<int32_t> since_;    // by rank, item: from when it is there, where it is known
  std::vector<int32_t> soonest_;  // by item, of the rank that is looked at; -1: not computed
  int32_t patience_ = 0;
  std::map<int32_t, std::vector<std::pair<size_t, size_t>>> coming_;  // by epoch: (rank, item)
  std::vector<Way> ways_;
  std::vector<int32_t> taken_;
  std::vector<bool> tried_;
  int64_t left_ = 0;
};

}  // namespace

bool IsSpread(const TimeProblem& problem) {
  if (problem.graph.SwitchesCopy()) return false;
  return std::all_of(problem.items.begin(), problem.items.end(),
                     [&](const Item& item) { return std::ssize(item.targets) == problem.graph.rank_count - 1; });
}

std::vector<std::vector<Send>> Spread(const TimeProblem& problem, const std::vector<int32_t>& distances,
                                      int32_t patience, Rng* rng) {
  return Spreader(problem, distances, rng).Run(patience);
}

}  // namespace mycel::timeflow
