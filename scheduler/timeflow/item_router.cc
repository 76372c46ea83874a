#include "scheduler/timeflow/item_router.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace mycel::timeflow {

ItemRouter::ItemRouter(const TimeProblem& problem, Reservations* reservations, Rng* rng)
    : problem_(problem),
      graph_(problem.graph),
      reservations_(*reservations),
      rng_(*rng),
      copying_(problem.graph.SwitchesCopy()),
      last_(static_cast<size_t>(problem.graph.rank_count)) {
  if (!copying_) return;
  through_.resize(static_cast<size_t>(graph_.node_count));
  for (size_t h = 0; h < graph_.hops.size(); ++h) {
    for (size_t i = 1; i < graph_.hops[h].edges.size(); ++i) {
      const int32_t node = graph_.edges[static_cast<size_t>(graph_.hops[h].edges[i])].source;
      if (!graph_.copies[static_cast<size_t>(node)]) continue;
      through_[static_cast<size_t>(node)].emplace_back(static_cast<int32_t>(h), static_cast<int32_t>(i));
    }
  }
}

void ItemRouter::Push(const Send& send) {
  const EpochGraph::Hop& hop = HopOf(send);
  const auto target = static_cast<size_t>(hop.target);
  const int32_t arrival = send.epoch + hop.delay;
  if (held_[target] < kFar || arrival > reached_[target]) return;
  heap_.push_back({arrival, static_cast<uint32_t>(rng_.Next()), send});
  std::push_heap(heap_.begin(), heap_.end(), Later());
}

void ItemRouter::Leave(int32_t rank, int32_t since) {
  for (int32_t h = graph_.first_hop[static_cast<size_t>(rank)]; h < graph_.first_hop[static_cast<size_t>(rank) + 1];
       ++h) {
    const EpochGraph::Hop& hop = graph_.hops[static_cast<size_t>(h)];
    if (held_[static_cast<size_t>(hop.target)] < kFar) continue;
    Push({item_, h, reservations_.Earliest(hop, since), 0});
  }
}

void ItemRouter::Branch(const Send& send) {
  const EpochGraph::Hop& hop = HopOf(send);
  int32_t at = send.epoch;
  for (size_t i = 0; i + 1 < hop.edges.size(); ++i) {
    const EpochGraph::Edge& edge = graph_.edges[static_cast<size_t>(hop.edges[i])];
    at += edge.delay;
    if (static_cast<int32_t>(i) < send.first) continue;
    for (const auto& [h, first] : through_[static_cast<size_t>(edge.target)]) {
      const EpochGraph::Hop& other = graph_.hops[static_cast<size_t>(h)];
      int32_t begin = at;
      for (int32_t j = 0; j < first; ++j)
        begin -= graph_.edges[static_cast<size_t>(other.edges[static_cast<size_t>(j)])].delay;
      if (held_[static_cast<size_t>(other.target)] < kFar) continue;
      if (reservations_.Fits(other, begin, static_cast<size_t>(first))) Push({item_, h, begin, first});
    }
  }
}

void ItemRouter::Hold(int32_t rank, int32_t since) {
  held_[static_cast<size_t>(rank)] = reached_[static_cast<size_t>(rank)] = since;
}

void ItemRouter::Commit(int32_t target, std::vector<Send>* sends) {
  std::vector<Send> way;
  for (int32_t rank = target; held_[static_cast<size_t>(rank)] == kFar;) {
    way.push_back(last_[static_cast<size_t>(rank)]);
    if (way.back().first > 0) break;  // a switch has it already
    rank = HopOf(way.back()).source;
  }
  for (auto send = way.rbegin(); send != way.rend(); ++send) {
    const EpochGraph::Hop& hop = HopOf(*send);
    // What this way has just reserved itself may stand in its own path: then it waits.
    if (send->first == 0) {
      const int32_t since = std::max(send->epoch, held_[static_cast<size_t>(hop.source)]);
      send->epoch = reservations_.Earliest(hop, since);
    }
    reservations_.Add(hop, send->epoch, static_cast<size_t>(send->first), 1);
    sends->push_back(*send);
    Hold(hop.target, send->epoch + hop.delay);
    if (copying_) Branch(*send);
    Leave(hop.target, held_[static_cast<size_t>(hop.target)]);
  }
}

void ItemRouter::Route(int32_t index, std::vector<Send>* sends) {
  const Item& item = problem_.items[static_cast<size_t>(index)];
  item_ = index;
  const auto n = static_cast<size_t>(graph_.rank_count);
  held_.assign(n, kFar);
  reached_.assign(n, kFar);
  wanted_.assign(n, false);
  heap_.clear();
  Hold(item.source, 0);
  for (const Send& send : *sends) Hold(HopOf(send).target, send.epoch + HopOf(send).delay);
  size_t missing = 0;
  for (const int32_t target : item.targets) {
    wanted_[static_cast<size_t>(target)] = true;
    missing += held_[static_cast<size_t>(target)] == kFar ? 1 : 0;
  }
  if (missing == 0) return;
  Leave(item.source, 0);
  for (const Send& send : std::vector<Send>(*sends)) {
    if (copying_) Branch(send);
    Leave(HopOf(send).target, held_[static_cast<size_t>(HopOf(send).target)]);
  }
  while (missing > 0) {
    MYCEL_CHECK(!heap_.empty());  // every target can be reached
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    const Entry entry = heap_.back();
    heap_.pop_back();
    const EpochGraph::Hop& hop = HopOf(entry.send);
    const auto target = static_cast<size_t>(hop.target);
    if (held_[target] < kFar || entry.arrival > reached_[target]) continue;
    // A way reserved since may have taken the place, or delayed the chunk itself.
    if (entry.send.first > 0) {
      if (!reservations_.Fits(hop, entry.send.epoch, static_cast<size_t>(entry.send.first))) continue;
    } else {
      const int32_t since = std::max(entry.send.epoch, reached_[static_cast<size_t>(hop.source)]);
      const int32_t epoch = reservations_.Earliest(hop, since);
      if (epoch != entry.send.epoch) {
        Push({item_, entry.send.hop, epoch, 0});
        continue;
      }
    }
    if (entry.arrival == reached_[target]) continue;  // settled by another way
    reached_[target] = entry.arrival;
    last_[target] = entry.send;
    if (wanted_[target]) {
      const size_t before = sends->size();
      Commit(hop.target, sends);
      for (size_t i = before; i < sends->size(); ++i)
        missing -= wanted_[static_cast<size_t>(HopOf((*sends)[i]).target)] ? 1 : 0;
    } else {
      Leave(hop.target, entry.arrival);
    }
  }
}

}  // namespace mycel::timeflow
