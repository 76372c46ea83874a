// Separation: which cuts do rates break? For every terminal a maximum flow from all roots; a terminal that cannot draw
// everything shows a node set around it that too little enters.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/graph/max_flow.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel::bound {

class RateCuts {
 public:
  /// `reversed`: data run against the links, i.e. the sets are those that too little leaves. Keeps no reference.
  RateCuts(const ScaledGraph& graph, bool reversed, std::vector<int32_t> terminals);

  /// Node sets T (ascending) with a terminal for which (roots outside T) - (links into T) > error. Finds at most one
  /// per terminal, and none only if there is none, as long as creep is 0. `creep` is added to every link while looking:
  /// of cuts that are about equal the one with the fewest links is found. `roots` by rank, `links` by link; sums fit
  /// 2^62.
  std::vector<std::vector<int32_t>> Broken(const std::vector<int64_t>& roots, const std::vector<int64_t>& links,
                                           int64_t error, int64_t creep);

 private:
  struct Ends {
    int32_t source;
    int32_t target;
  };
  std::vector<Ends> ends_;  // of links, in the direction data run
  std::vector<int32_t> ranks_;
  std::vector<int32_t> terminals_;
  MaxFlow<int64_t> flow_;
};

}  // namespace mycel::bound
