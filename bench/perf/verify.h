// Checks the result of one call, element by element, against data whose right answer is known exactly.
//
// A call's inputs come from check_data.h. The receive buffer is filled with a pattern first, so that elements nobody
// wrote are seen; the bytes around it, and out of place the send buffer, must not change either.
#pragma once

#include <cstdint>

#include "bench/perf/check_data.h"
#include "bench/perf/loop.h"

namespace mycel::perf {

class Verifier {
 public:
  explicit Verifier(const Collective& collective) : collective_(collective) {}

  /// Fills the buffers of all calls that `loop` is bound to. `seed` makes one check's data differ from the last one's.
  void Prepare(const Loop& loop, const Setting& setting, bool in_place, uint64_t seed);
  /// Wrong elements of all those calls, after Loop::Once.
  int64_t CountWrong(const Loop& loop, const Setting& setting, bool in_place, uint64_t seed);

 private:
  CheckData DataOf(const Call& call, const Setting& setting, uint64_t seed) const;

  const Collective& collective_;
};

}  // namespace mycel::perf
