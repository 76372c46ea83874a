// The plan file: JSON, "format": "mycel-plan", version 1. Reading and writing lose nothing that a plan says.
//
//   { "format": "mycel-plan", "version": 1, "collective": "broadcast", "rank_count": 2, "root": 0, "units_per_block":
//   1,
//     "planner": "chain", "topology": "ring2", "topology_hash": "00d1ce0000000000",
//     "protocol": "slot", "slice_bytes": 65536, "slot_count": 8,
//     "routes": [[0, 2, 1]],               node ids of the topology, from source to target
//     "channels": [[0, 1, 0]],             [source, target, index]
//     "ranks": [
//       { "scratch": [[0, 0, 1]],          chunks: [block, begin, end]
//         "lanes": [[ {"chunk": [0, 0, 1], "in": ["send"], "out": ["recv", "channel 0 route 0"]} ]] },
//       { "scratch": [],
//         "lanes": [[ {"chunk": [0, 0, 1], "in": ["channel 0"], "out": ["recv"]} ]] } ] }
//
// Operands: "send", "recv", "scratch C", "channel C", and for outputs "channel C route R". Optional keys of an op:
// "skew" (0), "finish" (false), "after" ([[lane, op], ...], none). "root" only where the collective has one;
// "block_units" instead of "units_per_block" where blocks differ.
//
// The reader trusts nothing: at most 128 MiB, memory in proportion to that, no recursion beyond the format's own depth,
// unknown and repeated keys refused, structure checked (structure.h). Its errors read "FILE:LINE: where in the plan:
// what is wrong; what to do".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/plan/plan.h"

namespace mycel {

inline constexpr int64_t kPlanFileBytesMax = int64_t{128} << 20;

/// `file_name` is only for messages. A plan that was read is well formed, not yet right: see Verify.
StatusOr<Plan> ReadPlanText(std::string_view text, const std::string& file_name);
StatusOr<Plan> ReadPlanFile(const std::string& path);

/// One op a line, in stable order, so that files can be compared line by line.
std::string WritePlan(const Plan& plan);
Status WritePlanFile(const Plan& plan, const std::string& path);

}  // namespace mycel
