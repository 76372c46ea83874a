// The sequential interpreter: runs a plan of all ranks on real bytes in one thread, in any fair order of lanes drawn
// from a seed, with the plan's slot count. The oracle for the step loop and for every lowering pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/plan/plan.h"
#include "core/plan/types.h"

namespace mycel {

struct InterpretRequest {
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int64_t count = 0;  // elements of one block; collectives with block_units take those as elements instead
  bool in_place = false;
  uint64_t seed = 1;  // order in which lanes take turns
};

/// Out of place: `send[r]` and `recv[r]` are rank r's buffers, exactly as large as the contract's blocks, without gaps
/// between them; empty where the rank has none.
///
/// In place: each rank has ONE memory, the larger of its two buffers: `send[r]` where Contract::SendHoldsRecv says so,
/// else `recv[r]`. The smaller buffer is the part of it at Contract::InPlaceOffset. The vector that is not used is not
/// looked at. For instance, allgather: recv[r], the input being its block r; reduce_scatter: send[r], whose block r
/// becomes the result; allreduce: recv[r]; reduce: recv[root], and send[r] on the other ranks. Collectives with
/// block_units have no in-place form.
///
/// Reduces as scalar_apply.h says. With Protocol::kDirect consumers read their producer's memory when they run, so that
/// a race shows in the result. InvalidArgument: a malformed plan or buffers of the wrong size. InternalError: a
/// deadlock, naming who waits for whom, or a message that its reader did not expect.
Status Interpret(const Plan& plan, const InterpretRequest& request, std::vector<std::vector<std::byte>>& send,
                 std::vector<std::vector<std::byte>>& recv);

/// Bytes of `send[rank]` and `recv[rank]` that Interpret wants; 0 for a vector that is not used.
struct InterpretBytes {
  int64_t send = 0;
  int64_t recv = 0;
};
InterpretBytes BytesFor(const Plan& plan, const InterpretRequest& request, Rank rank);

}  // namespace mycel
