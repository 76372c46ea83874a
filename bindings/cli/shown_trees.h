// What a drawing shows of a schedule: the trees of one root as strands over physical links. Equal trees are one; trees
// beyond the palette are merged into a last, grey one. A schedule that reduces and then broadcasts gives two sheets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/schedule.h"
#include "core/topo/topology.h"

namespace mycel::cli {

/// One tree's data on one directed link.
struct Strand {
  LinkId link;
  double load = 0;    // shares of the root's data that cross the link: more than the tree's share when it passes again
  int32_t level = 0;  // 1: the first hop in time
};

struct ShownTree {
  std::vector<Strand> strands;  // by link
  double share = 0;             // of the root's data, 0..1
  int32_t hops = 0;             // levels of rank-to-rank hops
  int32_t merged = 1;           // trees that this one stands for
};

enum class Flow : uint8_t { kBroadcast, kReduce, kSend, kReceive };

/// One drawing: what flows away from the root, or towards it.
struct TreeSheet {
  Flow flow = Flow::kBroadcast;
  Rank root;
  int32_t tree_count = 0;        // distinct trees
  std::vector<ShownTree> trees;  // the largest shares first
  bool rest_merged = false;      // the last of `trees` stands for all the others, without strands if too many
  double load_max = 0;           // of the strands of single trees
};

inline constexpr size_t kTreeColours = 8;
/// The merged rest is drawn on up to so many links; beyond, it would only be a grey veil in a file of many megabytes.
inline constexpr size_t kRestStrandsMax = 4'000;

/// The sheets for the schedule's root, or rank 0; none when that rank has nothing to send or receive. Paths (alltoall,
/// gather, scatter) are merged: a "tree" of those is a stage. InvalidArgument when an edge has no physical path.
StatusOr<std::vector<TreeSheet>> ShownTrees(const Schedule& schedule, const Topology& topology);

}  // namespace mycel::cli
