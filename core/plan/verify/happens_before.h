// Happens-before between ops of different lanes: needed only where two lanes, or a peer that reads our memory directly,
// touch the same bytes.
//
// Before(x, y) means: for every number of slices and every s that both x and y have, x's slice s is over before y's
// slice s starts. Along one lane that is plain order. Across lanes it needs a chain of messages, freed slots and waits,
// and every link must exist whenever x's and y's slice s do: a smaller chunk on the way falls silent in later slices.
// Links are therefore taken from one CLASS of ops at a time, those whose chunk has the same units as x's (or as y's):
// equal units have equal slices.
//   message       writer of slice s -> reader of slice s
//   freed slot    reader -> the writer that is `slot_count` messages OF THE CLASS further on: at least as many lie
//                 between them in the real sequence, whatever the slices
//   wait          the op waited for -> the waiting op
//   lane          any member -> any later op of its lane
// Besides, x -> y when y itself waits for an op at or behind x in x's lane whose chunk covers x's.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/verify/flat_plan.h"
#include "core/plan/verify/messages.h"

namespace mycel::verify {

class HappensBefore {
 public:
  HappensBefore(const FlatPlan& flat, const Messages& messages) : flat_(flat), messages_(messages) {}
  bool Before(int32_t x, int32_t y);

 private:
  void Build();
  void GroupMessages();
  bool WaitsFor(int32_t y, int32_t x) const;
  bool Covers(const Chunk& outer, const Chunk& inner) const;
  void StartSearch(int32_t op_class, int32_t x);
  void Reach(int32_t op);
  void Follow(int32_t member);

  const FlatPlan& flat_;
  const Messages& messages_;
  bool built_ = false;
  std::vector<int32_t> class_of_;     // of each op
  std::vector<int32_t> class_first_;  // of each class, and one past the last
  std::vector<int32_t> members_;      // ops by (class, lane, turn)
  std::vector<int32_t> freed_;        // of each message: the message of its class that may follow into its slot, or -1

  // The last search, as far as it went: from which turn on each lane is known to come after x.
  int32_t search_class_ = -1;
  int32_t search_from_ = -1;
  std::vector<int32_t> reached_;    // of each lane
  std::vector<int32_t> touched_;    // lanes whose `reached_` is set
  std::vector<int32_t> to_follow_;  // ops
};

}  // namespace mycel::verify
