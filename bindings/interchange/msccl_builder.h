// Appends steps to the blocks of one rank and finds the dependencies between them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "bindings/interchange/msccl_algorithm.h"

namespace mycel::msccl {

class RankBuilder {
 public:
  /// `shift`: chunks by which output chunk 0 lies behind input chunk 0 when run in place; may be negative.
  RankBuilder(Gpu* gpu, int64_t shift) : gpu_(gpu), shift_(shift) {}

  /// A new block; its number.
  int32_t AddBlock(int32_t send, int32_t recv, int32_t channel);
  /// Appends a step (its dependency is filled in) to a block, with nops in front where it has several.
  void Add(int32_t block, Step step);
  /// `count` chunks of scratch; the first one's offset.
  int32_t AddScratch(int32_t count);
  /// Blocks without steps are dropped, the others renumbered.
  void DropEmptyBlocks();

 private:
  struct StepId {
    int32_t block = -1;
    int32_t step = -1;
  };
  struct Touches {
    StepId writer;
    std::vector<StepId> readers;  // since
  };
  Touches& At(const Place& place, int32_t chunk);
  void Need(int32_t block, const StepId& step, std::vector<int32_t>* needed) const;

  Gpu* gpu_;
  int64_t shift_;
  std::map<std::pair<bool, int64_t>, Touches> memory_;  // by (is scratch, chunk; input and output laid in place)
  // Of each block: the steps (count) of every block that are over before its next one; and what each of its steps knew.
  std::vector<std::vector<int32_t>> known_;
  std::vector<std::vector<std::vector<int32_t>>> known_at_;
};

}  // namespace mycel::msccl
