// One alltoallv held against what must arrive, byte for byte: displacements in random order with gaps, guards around
// everything, and displacements of empty legs that point nowhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bindings/c/mycel.h"
#include "core/base/rng.h"

namespace mycel {

/// Elements from each rank to each; row = sender.
struct CountMatrix {
  explicit CountMatrix(int n) : ranks(static_cast<size_t>(n)), counts(ranks * ranks) {}
  size_t& At(size_t i, size_t j) { return counts[i * ranks + j]; }
  size_t At(size_t i, size_t j) const { return counts[i * ranks + j]; }
  CountMatrix Transposed() const;

  size_t ranks;
  std::vector<size_t> counts;
};

/// What one rank passes to mycelAllToAllv.
struct ExchangeArguments {
  const void* send;
  const size_t* send_counts;
  const size_t* send_at;
  void* recv;
  const size_t* recv_counts;
  const size_t* recv_at;
  mycelDataType_t type;
};
using ExchangeRunner = std::function<mycelResult_t(const ExchangeArguments&)>;

/// One rank's side of an exchange of `matrix`; all ranks pass the same `seed`. What is wrong, or nothing.
std::string CheckExchange(const CountMatrix& matrix, int rank, mycelDataType_t type, uint64_t seed,
                          const ExchangeRunner& run);

/// mycelAllToAllv on `comm`.
ExchangeRunner PlainExchange(mycelComm_t comm, mycelStream_t stream = nullptr);
/// mycelAllToAllvPlanRun.
ExchangeRunner PlannedExchange(mycelAllToAllvPlan_t plan, mycelDirection_t direction, mycelStream_t stream = nullptr);

/// Matrices worth trying, with names: random ones, half empty, one hot row, one hot column, silent ranks, nothing, only
/// self legs. Counts up to `most`.
struct NamedMatrix {
  std::string name;
  CountMatrix matrix;
};
std::vector<NamedMatrix> SampleMatrices(int ranks, size_t most, Rng* rng);

}  // namespace mycel
