// Who sends how much to whom in alltoallv: read from a file or generated from a seed, the same on every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace mycel::perf {

/// One rank's view of one alltoallv call, in elements, and the whole matrix for checking.
struct PairCounts {
  std::vector<size_t> send, send_at, recv, recv_at;  // one entry per peer
  std::vector<size_t> matrix;                        // row = sender, n * n

  size_t ranks() const { return send.size(); }
  size_t send_total() const;
  size_t recv_total() const;
  /// Where `sender`'s block for `target` starts in the sender's buffer.
  size_t SendAt(size_t sender, size_t target) const;
};

/// The shape of the traffic, before a size is chosen.
class Demand {
 public:
  /// `spec`: gen:uniform, gen:zipf:S:SEED, gen:moe:EXPERTS,TOPK,TOKENS,HIDDEN,SKEW, or a CSV file of `ranks` rows of
  /// `ranks` byte counts. InvalidArgument names the file and line, the field, or the accepted forms.
  static StatusOr<Demand> Parse(const std::string& spec, size_t ranks);

  /// A file or tokens: it has a size of its own, the most bytes that one rank sends or receives.
  bool has_own_size() const { return has_own_size_; }
  uint64_t own_bytes() const { return static_cast<uint64_t>(busiest_); }

  /// The matrix, row by row, scaled so that the busiest rank sends or receives at most `bytes`, in elements of
  /// `element_bytes`. Uniform blocks are rounded down to 16 bytes like alltoall's; other entries to elements.
  std::vector<size_t> Scaled(uint64_t bytes, size_t element_bytes) const;

  /// The busiest rank's elements of such a matrix.
  static size_t Busiest(const std::vector<size_t>& matrix, size_t ranks);
  /// What `rank` passes to mycelAllToAllv.
  static PairCounts ForRank(std::vector<size_t> matrix, size_t ranks, size_t rank);

 private:
  size_t ranks_ = 0;
  bool uniform_ = false;
  bool has_own_size_ = false;
  std::vector<double> weights_;  // row = sender; any unit
  double busiest_ = 0;           // the largest row or column sum
};

}  // namespace mycel::perf
