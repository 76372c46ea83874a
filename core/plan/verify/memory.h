// Memory of a plan at unit granularity: which slots each rank has, and into which segments the plan's chunks cut them.
//
// A slot is as large as a block (a place of the send or receive buffer) or as a scratch cell. In place, a rank's send
// and receive places are laid over each other by Contract::InPlaceOffset and share slots. A segment is the part of a
// slot between two neighbouring chunk borders of the blocks that live there: every op covers whole segments, so facts
// about memory are kept one per segment.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/plan/verify/flat_plan.h"

namespace mycel::verify {

/// Segments [begin, end) of the plan's memory, numbered through all ranks.
struct SegmentRange {
  int32_t begin = 0;
  int32_t end = 0;
  friend bool operator==(const SegmentRange&, const SegmentRange&) = default;
};

/// Where the plan's chunks cut each block: ascending, the block's own ends included. The plan's messages match and it
/// has no deadlock: an op that gets everything by message has the chunk of some op that reads memory, so those say it
/// all.
struct BlockBorders {
  explicit BlockBorders(const FlatPlan& flat);

  std::vector<int32_t> first;  // of each block, and one past the last
  std::vector<int64_t> units;
};

class MemoryMap {
 public:
  /// `borders` outlives the map. InvalidArgument when the memory has too many segments to be verified.
  static StatusOr<MemoryMap> Make(const FlatPlan& flat, const BlockBorders& borders, bool in_place);

  int32_t segment_count() const { return static_cast<int32_t>(ends_.size()); }
  /// Unit of its slot's block at which the segment ends.
  int64_t EndOf(int32_t segment) const { return ends_[static_cast<size_t>(segment)]; }
  /// What a memory operand of an op on `rank` covers.
  SegmentRange RangeOf(Rank rank, const Operand& operand, const Chunk& chunk) const;
  /// A whole block of the rank's send or receive buffer.
  SegmentRange SendRange(Rank rank, int32_t block) const;
  SegmentRange RecvRange(Rank rank, int32_t block) const;

 private:
  struct RankSlots {
    int32_t send = 0;     // slot of place 0 of the send buffer
    int32_t recv = 0;     // slot of place 0 of the receive buffer
    int32_t scratch = 0;  // slot of cell 0
  };

  MemoryMap(const FlatPlan& flat, const BlockBorders& borders) : flat_(&flat), borders_(&borders) {}
  Status PlaceSlots(bool in_place);
  Status PlaceBuffers(Rank rank, bool in_place);
  /// A new slot cut at the borders of `blocks` (at most two; -1: none) that lie inside (begin, end).
  Status AddSlot(int32_t block, int32_t other_block, int64_t begin, int64_t end);
  SegmentRange Part(int32_t slot, int64_t begin, int64_t end) const;

  const FlatPlan* flat_;
  const BlockBorders* borders_;
  std::vector<RankSlots> ranks_;
  std::vector<int32_t> slot_first_;  // first segment of each slot, and one past the last
  std::vector<int64_t> slot_begin_;  // unit at which each slot begins
  std::vector<int64_t> ends_;        // of each segment
};

}  // namespace mycel::verify
