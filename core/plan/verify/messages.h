// Messages: who writes and who reads each message of each channel (invariant 4: both sides agree on the sequence).
//
// With one slice the sides' sequences are their ops by (skew, place in the body); the k-th op that writes meets the
// k-th that reads. With more slices a side's sequence interleaves the slices of its ops: op A's slice s goes before op
// B's slice s' when (s + skew_A, place_A) < (s' + skew_B, place_B). Measured from the first op of the channel, an op
// has a lead r = skew difference + fraction by place; whole part `lag`, fractional part its turn in the cycle `phase`.
// Two sides interleave equally for every number of slices exactly when lags and the cyclic order by fraction are equal:
// then message (k, s) has number (s + lag_k) * messages_per_slice + phase_k in an endless run of slices. In a finite
// run, or where a small chunk has fewer slices, messages are left out on both sides alike (same chunk, same slicing).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/plan/verify/flat_plan.h"

namespace mycel::verify {

struct Messages {
  std::vector<int32_t> first;     // of each channel, and one past the last; then k-th message: first + k
  std::vector<int32_t> channel;   // of each message
  std::vector<int32_t> producer;  // op
  std::vector<int32_t> consumer;  // op
  std::vector<int32_t> lag;       // of each message
  std::vector<int32_t> phase;     // of each message, 0 .. messages per slice - 1
  std::vector<int32_t> by_phase;  // first + phase -> message
  // The messages an op writes and reads: [first[op], first[op + 1]).
  std::vector<int32_t> written_first;
  std::vector<int32_t> written;
  std::vector<int32_t> read_first;
  std::vector<int32_t> read;

  int32_t CountOf(int32_t channel_id) const {
    return first[static_cast<size_t>(channel_id) + 1] - first[static_cast<size_t>(channel_id)];
  }
};

/// InvalidArgument naming the channel and the two ops that disagree; also checks that waits join lanes that cut slices
/// alike.
StatusOr<Messages> MatchMessages(const FlatPlan& flat);

}  // namespace mycel::verify
