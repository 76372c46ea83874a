// MSCCL++'s execution plan JSON: text <-> ExecutionPlan. The reader trusts nothing: at most 16 MiB, unknown and
// repeated keys refused, every number in range, every reference to something that exists. Its errors read "FILE:LINE:
// gpus[1].threadblocks[0].ops[3].channel_ids what is wrong; what to do".
//
// Beside MSCCL++'s own keys, which its loader asks for by name, files of ours hold two more:
//   "mycel": {"version": 1, "planner": "..", "topology": "..", "topology_hash": "16 hex digits", "routes": [[0, 4, 1]]}
//   "mycel_route": 0     in a put: the way of its data
#pragma once

#include <string>
#include <string_view>

#include "bindings/interchange/mscclpp_plan.h"
#include "core/base/status.h"

namespace mycel::mscclpp {

inline constexpr int64_t kFileBytesMax = int64_t{16} << 20;

/// `file` is only for messages. InvalidArgument as above; Impossible for collectives and ops that Mycel does not know.
/// What was read is well formed, not yet right: see mscclpp_trace.h.
StatusOr<ExecutionPlan> ReadJson(std::string_view text, const std::string& file);

/// One op a line, in stable order.
std::string WriteJson(const ExecutionPlan& plan);

}  // namespace mycel::mscclpp
