// A picture of an alltoallv between servers: the server matrix as a heat map with the line that sets the bound, and the
// stages as a Gantt chart, with what is balanced before and passed on after each.
#pragma once

#include <string>

#include "bindings/cli/exchange_facts.h"
#include "bindings/cli/plan_report.h"

namespace mycel::cli {

/// An SVG document. `facts` must be of two servers or more with bytes between them.
std::string DrawExchangeSvg(const PlanReport& report, const ExchangeFacts& facts);

}  // namespace mycel::cli
