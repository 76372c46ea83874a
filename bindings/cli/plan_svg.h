// `mycel plan --svg`: a picture of a plan for slides: the machine, the trees of one root over its links, and the cut
// that bounds the collective.
#pragma once

#include <string>

#include "bindings/cli/plan_report.h"

namespace mycel::cli {

/// A whole SVG 1.1 document: no scripts, no fonts or images from outside, its own background; equal reports give equal
/// texts. InvalidArgument when a tree edge has no path in the topology.
StatusOr<std::string> DrawPlanSvg(const PlanReport& report);

}  // namespace mycel::cli
