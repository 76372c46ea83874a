#include "bindings/c/block_places.h"

#include <algorithm>
#include <vector>

namespace mycel {

Status CheckPlaces(const Blocks& blocks, const char* function) {
  uintptr_t end = 0;
  bool ascending = true;
  for (int32_t rank = 0; rank < blocks.n; ++rank) {
    const Span block = blocks.Of(rank);
    const uint64_t bytes = block.end - block.begin;
    if (bytes == 0) continue;  // the displacement of an empty block is not read
    if (blocks.displacements[rank] > (kBlockBytesMax - bytes) / blocks.element_bytes) {
      return InvalidArgument(std::string(function) + ": " + ListName(blocks.displacements_name, rank) + " is " +
                             std::to_string(blocks.displacements[rank]) + ", which ends beyond 2^62 bytes");
    }
    ascending &= block.begin >= end;
    end = block.end;
  }
  if (ascending) return OkStatus();
  thread_local std::vector<int32_t> order;  // grown once
  order.clear();
  for (int32_t rank = 0; rank < blocks.n; ++rank) {
    if (blocks.counts[rank] > 0) order.push_back(rank);
  }
  std::sort(order.begin(), order.end(),
            [&blocks](int32_t a, int32_t b) { return blocks.Of(a).begin < blocks.Of(b).begin; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (!Overlap(blocks.Of(order[i - 1]), blocks.Of(order[i]))) continue;
    return InvalidArgument(std::string(function) + ": the blocks of ranks " + std::to_string(order[i - 1]) + " and " +
                           std::to_string(order[i]) + " overlap in " + blocks.buffer_name + "; see " +
                           ListName(blocks.displacements_name, order[i]));
  }
  return OkStatus();
}

}  // namespace mycel
