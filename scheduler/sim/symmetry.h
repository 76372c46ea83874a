// Symmetry of a model: which lanes, channels and links cannot be told apart, so that one of each may be simulated for
// all. Exact, not a heuristic.
//
// Claim. Let lanes and links be divided into classes so that
//   1. lanes of a class run the same ops (sizes, skews, order), and what an op reads, writes or waits for belongs,
//   place
//      by place, to the same classes: the other end of a channel, its port there, the links of a way in their order;
//   2. links of a class have the same capacity, and as many channels of each class pass each of them.
// Then at every moment members of a class are in the same state. Proof: by induction over events. What a lane does next
// depends on its channels alone (1). Fair rates are unique; let every flow of a class have the rate that the quotient
// gives it: no link is overloaded, since each link of a class carries what the quotient's one does (2), and every flow
// has its bottleneck, since the quotient's has one. So these are the fair rates, and equal messages end together.
//
// This is an equitable partition (colour refinement, after Weisfeiler and Leman; for linear programs Grohe et al.,
// "Dimension reduction via colour refinement", 2014): an automorphism of plan and topology gives one, but needs not be
// known. FindClasses refines by hashes; Fold then checks 1 and 2 member by member and builds nothing where they fail.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/sim/model.h"

namespace mycel::sim {

struct Classes {
  std::vector<int32_t> of_actor;  // numbered by their first members
  std::vector<int32_t> of_link;
  int32_t actors = 0;  // classes
  int32_t links = 0;
};

/// nullopt where fewer than half of the lanes would be saved.
std::optional<Classes> FindClasses(const Model& model);

/// One lane, channel and link of each class: the first.
struct Folded {
  Model model;
  std::vector<int32_t> channel_of;  // by channel of the whole model: its representative's number in `model`
  std::vector<int32_t> actor_of;    // the same for actors
};
/// nullopt when the classes do not have the two properties.
std::optional<Folded> Fold(const Model& model, const Classes& classes);

}  // namespace mycel::sim
