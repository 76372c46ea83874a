// Schedule: a planner's answer at rank level, before chunk ops.
//
// Model. A collective moves logical blocks (contract.h). A block is cut into `units` equal units (for v-collectives a
// block has its own unit count). A Tree serves ONE chunk (a unit range of one block) and one root: contributions are
// reduced along `up` edges towards the root and the result is broadcast along `down` edges away from it. Everything a
// planner can say is a list of trees:
//   allgather, broadcast      down only (a weighted tree is a wider chunk)
//   reduce_scatter, reduce    up only
//   allreduce                 up joined to down at the root; one-shot = n up-only stars over the whole block
//   alltoall(v), gather, ...  down only, a path; a flow decomposition is several paths with disjoint chunks
//   staged all-to-all (FAST)  paths with `stage` numbers: stage s+1 starts after stage s on each rank, or, when stages
//                             overlap, only the hop `stage_hop` of a path belongs to its stage: what comes before is
//                             done earlier and what follows later, beside the other stages. Order then follows from
//                             the data and from the numbers of the messages that leave a rank, and nothing else.
// A network edge between two ranks may cross switches; its `route` says which nodes it uses, so that link loads are
// recomputed from the schedule and never believed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/plan/collective.h"

namespace mycel {

/// Units [begin, end) of logical block `block`.
struct Chunk {
  int32_t block = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t units() const { return end - begin; }
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// One logical hop of a tree. `route` indexes Schedule::routes; -1: the direct link source -> target.
struct TreeEdge {
  Rank source;
  Rank target;
  int32_t route = -1;
};

struct Tree {
  Chunk chunk;
  Rank root;
  int32_t stage = 0;
  std::vector<TreeEdge> up;    // towards the root; a child's edge comes before its parent's
  std::vector<TreeEdge> down;  // away from the root; a parent's edge comes before its child's
  int32_t stage_hop = 0;       // paths of overlapping stages: 0 is the hop from the root; past the end: none
};

/// A physical path: node ids from the source rank's node to the target rank's node, both included.
using Route = std::vector<NodeId>;

struct Schedule {
  Collective collective = Collective::kAllReduce;
  int32_t rank_count = 0;
  Rank root;                         // rooted collectives only
  int64_t units_per_block = 1;       // regular collectives
  std::vector<int64_t> block_units;  // v-collectives: units of each logical block; empty otherwise
  bool stages_overlap = false;
  std::string planner;
  std::vector<Route> routes;
  std::vector<Tree> trees;

  int64_t UnitsOf(int32_t block) const {
    return block_units.empty() ? units_per_block : block_units[static_cast<size_t>(block)];
  }
};

/// Whether lowering makes a plan of it that CheckRankOrder passes: all contributions of each tree go straight to its
/// root. True where nothing is reduced.
bool ReducesInRankOrder(const Schedule& schedule);

/// One line per tree, stable order, no floats: for eyes, diffs and golden files.
std::string ToText(const Schedule& schedule);

}  // namespace mycel
