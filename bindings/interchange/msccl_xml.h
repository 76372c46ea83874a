// MSCCL's XML: text <-> Algorithm. The reader trusts nothing: at most 128 MiB, unknown and repeated attributes and
// elements refused, every number in range, every reference to something that exists. Its errors read
// "FILE:LINE: <step> of gpu 1 tb 2: attribute srcoff: what is wrong; what to do".
//
// Beside MSCCL's own words the files may hold one element of ours, which the runtimes skip as they skip any element
// they do not know, and one attribute of steps, which they do not ask for:
//   <mycel version="1" planner=".." topology=".." topology_hash="16 hex digits">  first in <algo>
//     <route id="0" nodes="0 4 1"/>                                                  node numbers of the topology
//   </mycel>
//   <step .. mycel_route="0"/>                                                       the way of this step's message
#pragma once

#include <string>
#include <string_view>

#include "bindings/interchange/msccl_algorithm.h"
#include "core/base/status.h"

namespace mycel::msccl {

/// `file` is only for messages. InvalidArgument as above; Impossible for a collective that Mycel does not import.
/// What was read is well formed, not yet right: see msccl_trace.h. InvalidUsage when Mycel was built without pugixml.
StatusOr<Algorithm> ReadXml(std::string_view text, const std::string& file);

/// One step a line, in stable order. `limits` decides spelling only.
std::string WriteXml(const Algorithm& algorithm, const Limits& limits);

}  // namespace mycel::msccl
