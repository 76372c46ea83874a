// Passes "pipeline" and "slots": how many slots rule out deadlock?
//
// Every wait of an op must point back in one global order, (iteration, phase). Waiting for data does: a message of
// phase tau is read in phase tau + 1 of the same iteration (no skew) or of the next one (skew = tau). Waiting for a
// free slot: let a channel carry m messages per iteration, sent in phases tau_0 <= ... <= tau_(m-1), and let x be the
// least number with tau_(i-x) + 1 < tau_i for all i >= x (x <= m).
//   no skew    x slots: message i waits for message i - x, which was read in phase tau_(i-x) + 1 < tau_i.
//   skew       m + x slots: message i of iteration T waits for message i - x of iteration T - 1, which is read in
//              iteration T, phase tau_(i-x) + 1 < tau_i; or for one of an earlier iteration.
// Ops that fall silent at the ends only make the messages waited for older.
//
// Where stages overlap, an op lags by its hop on the path alone, two slices a hop, tau being stage plus hop: a rank
// goes through all stages of one slice, and what it passes on meanwhile came with an earlier slice. The pipeline is as
// deep as the longest path, however many stages there are. A message is read two iterations after it was sent, in the
// next phase, so 2 m + x slots do.
#include <algorithm>

#include "core/base/check.h"
#include "scheduler/lower/passes.h"

namespace mycel::lower {

Status ChoosePipeline(const LowerOptions& options, Draft* draft) {
  if (options.pipelined == Pipelining::kOff) return OkStatus();
  const bool one_phase =
      std::all_of(draft->ops.begin(), draft->ops.end(), [](const DraftOp& op) { return op.phase == 0; });
  const int32_t slots_max = options.slot_count > 0 ? options.slot_count : kSlotCountMax;
  draft->pipelined = !one_phase && FactsOf(draft).slots_skewed <= slots_max;
  return OkStatus();
}

Status ChooseSlots(const LowerOptions& options, Draft* draft) {
  const MessageFacts& facts = FactsOf(draft);
  const int32_t least = draft->pipelined ? facts.slots_skewed : facts.slots_plain;
  if (least > kSlotCountMax) {
    return InternalError("lowering: a channel needs " + std::to_string(least) + " slots of at most " +
                         std::to_string(kSlotCountMax) + "; allow more lanes or disable the pass 'pipeline'");
  }
  const bool in_slots = options.protocol != Protocol::kDirect;
  int64_t most = options.slot_count > 0 ? options.slot_count : kSlotsWanted;
  if (in_slots) most = std::min(most, options.channel_bytes / options.slice_bytes);
  draft->slot_count = static_cast<int32_t>(std::max<int64_t>(least, most));
  draft->slice_bytes = options.slice_bytes;
  if (in_slots) {
    draft->slice_bytes = std::min(draft->slice_bytes, options.channel_bytes / draft->slot_count / 64 * 64);
  }
  MYCEL_CHECK_GE(draft->slice_bytes, 64);
  return OkStatus();
}

}  // namespace mycel::lower
