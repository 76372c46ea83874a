// Arrivals: what each rank gets in each step of a breadth-first schedule, grouped by where it may come from.
//
// In step t rank u gets the shards of the ranks v at distance t; an in-neighbour w of u is a way for v's shard when it
// is at distance t - 1 from v, for it holds the whole shard after step t - 1. (u, t) is a problem of its own
// (hall_ratio.h), because a shard that takes a shortest way arrives whole wherever it is passed on from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "scheduler/bfb/hall_ratio.h"
#include "scheduler/bfb/rank_graph.h"

namespace mycel::bfb {

/// One step of one rank. The ways are the in-edges of the rank, in the graph's order.
struct Arrival {
  int32_t step = 0;  // 1 is the first
  /// What tells groups apart, in the order of `counts`: equal patterns mean equal ways in every arrival with as many
  /// in-edges.
  std::vector<uint64_t> patterns;
  std::vector<int64_t> counts;
};

/// All that the answer to an arrival's problem depends on: how many ways, their capacities, the groups. Compared in
/// full, never by hash alone.
using ProblemKey = std::vector<uint64_t>;
struct ProblemKeyHash {
  size_t operator()(const ProblemKey& key) const;
};

/// Reads the arrivals of rank after rank. Not for use by several threads at once.
class ArrivalReader {
 public:
  /// Both must outlive the reader; `distances` are the graph's.
  ArrivalReader(const RankGraph& graph, const std::vector<uint16_t>& distances);

  /// The arrivals of `rank` by step, every step once. Valid until the next call.
  const std::vector<Arrival>& Read(int32_t rank);
  HallProblem ProblemOf(const Arrival& arrival) const;
  /// Of the rank read last; reuses the key's memory.
  void WriteKey(const Arrival& arrival, ProblemKey* key) const;
  /// Of the rank read last: its sources in step `step` by group, ascending.
  std::vector<std::vector<int32_t>> SourcesOf(const Arrival& arrival) const;

 private:
  uint64_t PatternOf(int32_t source, uint16_t distance);

  const RankGraph& graph_;
  const std::vector<uint16_t>& distances_;
  int32_t rank_ = -1;
  std::vector<const uint16_t*> ways_;  // rows of the in-neighbours
  std::vector<Arrival> arrivals_;
  std::vector<uint64_t> key_of_source_;  // step and pattern; 0 for the rank itself

  // A hash table of keys, cleared by walking `keys_`.
  struct Slot {
    uint64_t key = 0;
    int64_t count = 0;
  };
  std::vector<Slot> table_;
  std::vector<uint64_t> keys_;
  // Patterns of ranks with more in-edges than a key has bits for them.
  std::map<std::vector<int32_t>, uint64_t> wide_;
  std::vector<std::vector<int32_t>> wide_ways_;
};

}  // namespace mycel::bfb
