// The trees of a breadth-first schedule: for every rank its shard, cut into ranges that each travel along one tree of
// shortest ways. Every step's busiest edge carries what step_loads.h says, and no more.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "scheduler/bfb/rank_graph.h"

namespace mycel::bfb {

struct ShareTree {
  struct Hop {
    int32_t source;
    int32_t target;
  };
  int32_t root;
  int64_t begin;  // units of the root's shard
  int64_t end;
  std::vector<Hop> hops;  // away from the root, by distance, then target
};

struct ShareTrees {
  int64_t units = 1;             // of a shard
  std::vector<ShareTree> trees;  // by root, then begin; they tile every shard
};

/// Hops of all trees together, at most: beyond, a plan would not fit memory.
inline constexpr int64_t kHopsMax = int64_t{1} << 24;
/// Impossible when `tree_count` trees would have more.
Status CheckHops(int64_t rank_count, int64_t tree_count);

enum class Cutting : uint8_t {
  kExact,  // as often as the least loads ask for
  kWhole,  // never: one tree a root, fewest messages
};

/// kExact: in every (rank, step) whole shards are tried first, then as many parts as the exact load of that rank asks
/// for; where all these parts' common unit is very fine, as many as the load of the step does. kWhole: the least load
/// that whole shards can have; kExact's last resort, too, on a graph that is not exact. Impossible with too many hops;
/// InvalidArgument when a shard would have more than `units_max` units.
StatusOr<ShareTrees> MakeShareTrees(const RankGraph& graph, const std::vector<uint16_t>& distances, Cutting cutting,
                                    int64_t units_max);

}  // namespace mycel::bfb
