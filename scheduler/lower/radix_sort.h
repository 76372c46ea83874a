// Stable sort by a 64-bit key in linear time: lowering sorts the same few kinds of records again and again, and
// planning time is mostly that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mycel::lower {

/// `Item` has a member `uint64_t key`. Least significant byte first; bytes that are alike in all keys are skipped.
template <typename Item>
void RadixSort(std::vector<Item>* items) {
  uint64_t differing = 0;
  for (const Item& item : *items) differing |= item.key ^ items->front().key;
  std::vector<Item> other(differing == 0 ? 0 : items->size());
  for (int shift = 0; shift < 64; shift += 8) {
    if ((differing >> shift & 0xff) == 0) continue;
    std::array<size_t, 256> next{};
    for (const Item& item : *items) ++next[item.key >> shift & 0xff];
    size_t sum = 0;
    for (size_t& count : next) sum += std::exchange(count, sum);
    for (const Item& item : *items) other[next[item.key >> shift & 0xff]++] = item;
    items->swap(other);
  }
}

}  // namespace mycel::lower
