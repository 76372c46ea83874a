// Translations: proof that a graph of ranks looks the same from every rank, where that is cheap to find. Ranks are read
// as numbers of several digits (mixed radix, lowest digit first); adding to a digit modulo its radix is a translation
// if it takes every link to one of equal capacity. Rings, tori, hypercubes, circulants, complete graphs and products of
// them are like that in their usual numbering (Cayley graphs of abelian groups). Whatever is found has been checked
// link by link.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/flow/flow_problem.h"

namespace mycel::flow {

class Translations {
 public:
  /// Nothing when the graph has switches, or no numbering is one of translations.
  static std::optional<Translations> Find(const FlowGraph& graph);

  /// rank + offset, digit by digit.
  int32_t Add(int32_t rank, int32_t offset) const;
  /// The offset from `rank` to `other`.
  int32_t Subtract(int32_t other, int32_t rank) const;
  const std::vector<int32_t>& radixes() const { return radixes_; }

 private:
  std::vector<int32_t> radixes_;  // by digit, lowest first; their product is the number of ranks
};

/// Rank 0 as the only source; edges of equal offset are a class.
FlowProblem TranslatedProblem(const FlowGraph& graph, const Demand& demand, const Translations& translations);

}  // namespace mycel::flow
