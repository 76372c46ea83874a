// A trace: what an algorithm of another format does to chunks, in one order in which it can run. Made by executing the
// file symbolically (msccl_trace.h, mscclpp_trace.h), turned into a plan by lift.h.
//
// Other formats say addresses ("chunk 7 of scratch"), our plans say chunks ("units [3,4) of block 2"). Executing the
// file tells which chunk lies at each address at each moment, and that is all a plan lacks: every step of the file
// becomes one op of the trace, and every op one op of the plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/interchange/notes.h"
#include "core/base/ids.h"
#include "core/plan/plan.h"

namespace mycel {

struct TraceOperand {
  enum class Kind : uint8_t {
    kSend,     // the rank's own data, as the caller gave them
    kRecv,     // the chunk's place in the receive buffer
    kScratch,  // temporary memory: whatever address is not the chunk's place in the receive buffer
    kMessage,  // from or to `peer`
  };
  Kind kind = Kind::kSend;
  int64_t place = -1;  // kScratch: address of the chunk's first unit among the rank's chunks
  Rank peer;           // kMessage
  int32_t index = 0;   // kMessage: which of the channels between the two ranks
  int32_t route = -1;  // kMessage, outputs: of Trace::notes
  friend bool operator==(const TraceOperand&, const TraceOperand&) = default;
};

struct TraceOp {
  Rank rank;
  int32_t lane = 0;
  Chunk chunk;
  std::vector<TraceOperand> inputs;
  std::vector<TraceOperand> outputs;
  bool finish = false;
};

/// The k-th op that sends on a channel is met by the k-th that receives from it; a receive comes after its send.
struct Trace {
  Collective collective = Collective::kAllReduce;
  int32_t rank_count = 0;
  Rank root;  // rooted collectives only
  int64_t units_per_block = 1;
  std::vector<int64_t> block_units;  // v-collectives only
  Protocol protocol = Protocol::kSlot;
  int64_t slice_bytes = 0;  // at most; 0: as suits the protocol
  std::string made_by;      // planner of a file without notes
  PlanNotes notes;
  std::vector<TraceOp> ops;
};

}  // namespace mycel
