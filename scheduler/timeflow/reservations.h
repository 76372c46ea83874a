// Reservations: how many chunks each link takes in each epoch so far.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/timeflow/epoch_graph.h"

namespace mycel::timeflow {

class Reservations {
 public:
  explicit Reservations(const EpochGraph& graph) : graph_(graph), used_(graph.edges.size()) {}

  /// Whether a chunk that enters the hop in `epoch` finds every link free from the hop's edge `first` on.
  bool Fits(const EpochGraph::Hop& hop, int32_t epoch, size_t first = 0) const;
  /// The first epoch >= `epoch` in which it fits.
  int32_t Earliest(const EpochGraph::Hop& hop, int32_t epoch);
  /// `chunks` = 1 takes the place, -1 gives it back.
  void Add(const EpochGraph::Hop& hop, int32_t epoch, size_t first, int32_t chunks);

  /// Gives everything back.
  void Clear();

  int64_t probes() const { return probes_; }  // epochs looked at by Earliest: what search costs

 private:
  bool LinkFits(int32_t edge, int32_t epoch) const;

  const EpochGraph& graph_;
  std::vector<std::vector<int32_t>> used_;  // by edge, epoch; grows as needed
  int64_t probes_ = 0;
};

}  // namespace mycel::timeflow
