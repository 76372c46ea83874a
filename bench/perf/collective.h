// What one benchmark program measures: a row of functions that its small file fills in; the driver does the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/perf/demand.h"
#include "bindings/c/mycel.h"

namespace mycel::perf {

/// Elements of one call at one rank, nccl-tests' rules. In place, send and recv lie in one buffer at these offsets
/// times the rank.
struct Counts {
  size_t send = 0;
  size_t recv = 0;
  size_t argument = 0;  // the count passed to the library
  size_t send_in_place = 0;
  size_t recv_in_place = 0;
};

/// One call, for one rank.
struct Call {
  const void* send = nullptr;
  void* recv = nullptr;
  size_t count = 0;
  mycelDataType_t type = mycelFloat32;
  mycelRedOp_t op = mycelSum;
  int root = 0;
  int rank = 0;
  int ranks = 1;
  mycelComm_t comm = nullptr;
  mycelStream_t stream = nullptr;
  const PairCounts* pairs = nullptr;  // alltoallv only
};

/// Where a rank's elements of the result come from.
struct Segment {
  enum class Source {
    kInput,      // elements of one rank's send buffer
    kReduced,    // the reduction over all ranks' send buffers
    kUntouched,  // this rank receives nothing: its buffer stays as it was
  };
  Source source = Source::kInput;
  size_t at = 0;       // in the receive buffer
  size_t count = 0;    // elements
  int from = 0;        // kInput: the rank
  size_t from_at = 0;  // in the send buffer(s)
};

/// Bytes that a rank must at least move, as multiples of the size column: the roofline's bound (bench/perf/README.md).
struct Work {
  double copied = 0;
  double reduced = 0;
};

struct Collective {
  std::string_view program;  // all_reduce_perf
  std::string_view verb;     // all_reduce
  bool reduces = false;
  bool rooted = false;
  bool in_place = true;
  bool takes_demand = false;
  /// Elements for a size of `count` elements in all; `chunk` is 16 bytes in elements.
  Counts (*counts)(size_t count, size_t ranks, size_t chunk) = nullptr;
  double (*busbw_factor)(int ranks) = nullptr;
  Work (*work)(int ranks, bool in_place) = nullptr;
  mycelResult_t (*run)(const Call& call) = nullptr;
  /// The result at `call.rank`, in order of `at`.
  std::vector<Segment> (*expected)(const Call& call) = nullptr;
};

/// nccl-tests' rule for one block of n: count / n, rounded down to 16 bytes.
inline size_t BlockOf(size_t count, size_t ranks, size_t chunk) { return count / ranks / chunk * chunk; }

inline double UnitFactor(int) { return 1; }
inline double PartFactor(int ranks) { return static_cast<double>(ranks - 1) / ranks; }
inline double TwoPartFactor(int ranks) { return 2 * PartFactor(ranks); }

}  // namespace mycel::perf
