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
  int64_t count = 0;  // elements of one block (regular); v-collectives take the plan's block_units as elements
  bool in_place = false;
  uint64_t seed = 1;  // order in which lanes take turns
};

/// `send[r]`, `recv[r]`: the ranks' buffers as the contract lays them out (empty where a rank has none). In place,
/// `send` is ignored and `recv` (or, for layouts where the send buffer is the larger one, `send`) holds the input.
/// Returns InternalError on deadlock, naming who waits for whom.
Status Interpret(const Plan& plan, const InterpretRequest& request, std::vector<std::vector<std::byte>>& send,
                 std::vector<std::vector<std::byte>>& recv);

}  // namespace mycel
