// Symbolic execution with one slice: every value is the set of ranks whose data it holds (invariants 1, 2 and 5).
//
// Why one slice proves all. Ops cut their chunks alike: slice s of a chunk that begins at element B is
// [B + s L, B + (s + 1) L), L the same for all ops whose order is known (messages.h). Let x come before y in the
// one-slice run and touch the same units, one of them writing. Then x must come before y for every slice: Before(x, y)
// (happens_before.h). And an element that both touch lies in slice j of x and slice s of y with
// j <= s whenever x's chunk begins at or behind y's, so x's slice j is over, x's slice s being over too; if x began
// earlier, j could exceed s by any number. Hence two rules for each such pair, both checked here:
//   ordered   Before(x, y)
//   aligned   x.begin >= y.begin
// With them every element of every run sees the same sequence of reads and writes as its unit does in the one-slice
// run, and holds the same contributions in the end.
//
// kDirect. A message refers to its producer's memory, so its consumer counts as one more reader of that memory.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "core/plan/verify/contributors.h"
#include "core/plan/verify/flat_plan.h"
#include "core/plan/verify/happens_before.h"
#include "core/plan/verify/memory.h"
#include "core/plan/verify/messages.h"

namespace mycel::verify {

/// `firing_order`: see firing_order.h. InvalidArgument naming the op and what it breaks.
Status RunSymbolically(const FlatPlan& flat, const Messages& messages, const BlockBorders& borders,
                       const std::vector<int32_t>& firing_order, bool in_place, ContributorSets& sets,
                       HappensBefore& order);

}  // namespace mycel::verify
