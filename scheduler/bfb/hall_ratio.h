// The one small problem that breadth-first schedules consist of: a rank gets the shards of some sources in one step,
// each from any of the in-neighbours that hold it ("ways"), in fractions as it likes. How long does the busiest way
// take at least?
//
// Model. Groups of sources with the same ways; way w has capacity c_w. Minimise U with every shard delivered and way w
// carrying at most U c_w shards. By linear-program duality (Hall's condition with fractions) U is the largest
// |A| / capacity of A's ways over sets A of groups.
//
// Method. Newton's iteration on that ratio (Dinkelbach): guess U = p / q, ask a maximum flow in integers (shards times
// q, capacities times p) whether it fits; if not, the source side of the minimum cut is a set with a larger ratio,
// which is the next guess. Each guess is the ratio of a set, so the first that fits is the exact optimum. No set is
// guessed twice; one to three guesses are usual.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/rational.h"

namespace mycel::bfb {

struct HallProblem {
  struct Group {
    int64_t sources = 0;        // > 0
    std::vector<int32_t> ways;  // not empty, ascending
  };
  std::vector<Group> groups;
  std::vector<int64_t> capacities;  // by way; sum times sum of sources stays below 2^62
};

/// The least U, exact: shards per unit of capacity.
Rational LeastLoad(const HallProblem& problem);

/// Cuts every shard into `parts` equal parts and gives way w at most limits[w] of them: parts by group, then as its
/// ways stand in the group. Nothing when they do not fit.
std::optional<std::vector<std::vector<int64_t>>> Assign(const HallProblem& problem, int64_t parts,
                                                        const std::vector<int64_t>& limits);

}  // namespace mycel::bfb
