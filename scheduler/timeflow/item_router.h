// ItemRouter: brings one chunk to all its targets, each as early as what other chunks have reserved allows: Dijkstra's
// algorithm in time, from all ranks that have the chunk at once. Copies are free at ranks (and at switches that copy),
// so a way begins wherever the chunk is soonest.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/rng.h"
#include "scheduler/timeflow/reservations.h"
#include "scheduler/timeflow/time_schedule.h"

namespace mycel::timeflow {

class ItemRouter {
 public:
  /// All must outlive the router. Every target can be reached from its source.
  ItemRouter(const TimeProblem& problem, Reservations* reservations, Rng* rng);

  /// Adds to `sends` (what of the item is already sent and reserved) what it lacks, and reserves it. Of equally early
  /// ways a random one is taken.
  void Route(int32_t item, std::vector<Send>* sends);

 private:
  struct Entry {
    int32_t arrival;
    uint32_t tie;
    Send send;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.arrival != b.arrival ? a.arrival > b.arrival : a.tie > b.tie;
    }
  };

  const EpochGraph::Hop& HopOf(const Send& send) const { return graph_.hops[static_cast<size_t>(send.hop)]; }
  void Push(const Send& send);
  /// Ways on from `rank`, which has the chunk from `since` on.
  void Leave(int32_t rank, int32_t since);
  /// Ways on from the copying switches that `send` passes.
  void Branch(const Send& send);
  /// Reserves the way to `target` from where the chunk is already; writes it to `sends`.
  void Commit(int32_t target, std::vector<Send>* sends);
  void Hold(int32_t rank, int32_t since);

  const TimeProblem& problem_;
  const EpochGraph& graph_;
  Reservations& reservations_;
  Rng& rng_;
  bool copying_;
  int32_t item_ = 0;
  std::vector<std::vector<std::pair<int32_t, int32_t>>>
      through_;  // by switch: hops that pass it, and which edge leaves
  std::vector<Entry> heap_;
  std::vector<int32_t> held_;     // by rank: since when it has the chunk; kFar: not yet
  std::vector<int32_t> reached_;  // by rank: earliest arrival known; kFar: none
  std::vector<Send> last_;        // by rank: the send of that arrival
  std::vector<bool> wanted_;
};

}  // namespace mycel::timeflow
