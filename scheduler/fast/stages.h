// Stages of an all-to-all between servers: which of the decompositions is the cheapest here, and in which order its
// stages go.
//
// Cost, in ns, of stages of lengths w_1, w_2, ... whose bytes are passed on within the target servers meanwhile:
//   sum over k of max(alpha + w_k, r_(k-1)) + r_last        r_k = w_k * (M - 1) / M * (rate out / rate within)
// Half a per cent of loss is tried first; more loss, or grouped stages, only where alpha is felt (beyond 8 servers one
// of them, guessed from alpha). Passing on follows sending like the second machine of a flow shop, so Johnson's rule
// orders the stages (Johnson 1954): where passing on is the shorter part, the stages go by falling length, which leaves
// the least at the end.
//
// Integers only: every rank finds the same stages.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "scheduler/fast/cluster.h"
#include "scheduler/graph/stage_decomposition.h"

namespace mycel::fast {

enum class Method : uint8_t { kChosen, kExact, kLazy, kQuantised, kGrouped };

/// "exact", ...; empty for kChosen.
std::string_view NameOf(Method method);

struct StageOptions {
  Method method = Method::kChosen;
  int64_t unit_bytes = 16;  // stages are cut at multiples; grows with the sizes
};

struct Stages {
  /// Time that each pair of servers needs alone: units of `unit_bytes` for a rate of 1.
  StageMatrix matrix;
  int64_t unit_bytes = 1;
  StageList list;
  Method method = Method::kExact;
  int32_t loss_per_mille = 0;  // kQuantised
  int64_t predicted_ns = 0;
};

/// `traffic`: bytes from server to server, the diagonal zero; its total stays below 2^62.
Stages ChooseStages(const Cluster& cluster, const StageMatrix& traffic, const StageOptions& options = {});

/// One stage's part of a pair: units [begin, end) of the pair's matrix entry.
struct Cut {
  int32_t stage = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

/// The cuts of all pairs, by stage.
class Cuts {
 public:
  explicit Cuts(const StageList& stages);
  const Cut* Begin(int32_t from, int32_t to) const { return cuts_.data() + begin_[Index(from, to)]; }
  const Cut* End(int32_t from, int32_t to) const { return cuts_.data() + begin_[Index(from, to) + 1]; }

 private:
  size_t Index(int32_t from, int32_t to) const {
    return static_cast<size_t>(from) * static_cast<size_t>(size_) + static_cast<size_t>(to);
  }
  int32_t size_;
  std::vector<size_t> begin_;
  std::vector<Cut> cuts_;
};

}  // namespace mycel::fast
