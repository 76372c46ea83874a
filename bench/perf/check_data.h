// Data whose right answer is known exactly: nccl-tests' idea, for every type, operation and number of ranks.
//
// An element's value depends on its index, the rank and a seed. It is chosen so that every partial reduction, in any
// order and grouping, is exact in the type itself; so a result is right or wrong bit for bit, whatever plan made it:
//
//   sum   integers: any numbers (sums wrap); floating: whole numbers, none 0, whose magnitudes over all ranks add up to
//         what the type holds exactly (f8e5m2: 8, f8e4m3: 16, bfloat16: 256, half: 2048)
//   mulsum  the same to half of that, since the ranks' factors are 1 and 2
//   avg   such whole numbers for integers too (int8: 127, uint8: 255), and the sum is a multiple of the number of ranks
//   prod  integers: any odd numbers (products wrap, and never become 0); floating: plus or minus powers of two
//   max, min  whole numbers of either sign (8-bit floats: all up to some power of two), integers from the whole range
//   band, bor, bxor  any integers
//   none  (only moved) any bits at all, NaNs among them
//
// With more ranks than such a sum has room for (256 for bfloat16), only as many contribute a number that is not 0. An
// average in integers cannot show an error that its truncation hides: of uint8, one contribution added twice at 16
// ranks and more.
//
// Values repeat every kPeriod elements, a prime: data that lands in the wrong place is noticed unless it is off by a
// multiple of that, and buffers are filled at the speed of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/plan/contract.h"
#include "core/plan/types.h"

namespace mycel::perf {

/// The data of one call of one collective. Remembers the last period it made: one thread at a time.
class CheckData {
 public:
  static constexpr size_t kPeriod = 8191;

  /// `op` none: the collective only moves data. Other seeds give unrelated data.
  CheckData(DataType type, std::optional<ReduceOp> op, int rank_count, uint64_t seed);

  DataType type() const { return type_; }
  int rank_count() const { return rank_count_; }

  /// At least the first `count` elements (kPeriod at most) of the send buffer of `rank`, or of the reduction of all
  /// ranks' send buffers.
  const std::byte* InputPeriod(int rank, size_t count) const;
  const std::byte* ReducedPeriod(size_t count) const;

 private:
  DataType type_;
  std::optional<ReduceOp> op_;
  int rank_count_;
  uint64_t seed_;
  mutable int input_rank_ = -1;
  mutable std::vector<std::byte> input_;
  mutable std::vector<std::byte> reduced_;
};

/// One element: what mulsum multiplies the data of `rank` with.
void StoreMulSumFactor(DataType type, int rank, void* into);

/// Elements [first, first + count) of the send buffer of `rank`.
void FillInput(const CheckData& data, int rank, size_t first, size_t count, void* into);
/// The same elements of the reduction of all ranks' send buffers, finished.
void FillReduced(const CheckData& data, size_t first, size_t count, void* into);
/// What the receive buffer of `rank` must hold after a regular collective of `count` elements a block. Broadcast,
/// scatter: FillInput of the root's buffer; ranks without a receive buffer: nothing.
void FillExpected(const CheckData& data, const Contract& contract, Rank rank, size_t count, void* into);

struct Comparison {
  int64_t wrong = 0;        // elements that differ in any bit
  size_t first = 0;         // the first of them
  std::string description;  // "element 12 is 3 (0x40400000), expected 4 (0x40800000)"; empty when nothing is wrong
};
Comparison Compare(DataType type, const void* got, const void* expected, size_t count);
/// Compare().wrong.
int64_t CountWrongElements(DataType type, const void* got, const void* expected, size_t count);

}  // namespace mycel::perf
