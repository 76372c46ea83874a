// What more trees per root would buy: throughput against height, forest by forest.
#pragma once

#include <string>

#include "bindings/cli/plan_report.h"

namespace mycel::cli {

/// For a plan of planner forest: a table of forests with 1, 2, 3, 4, 6, 8, ... trees per root up to the exact number
/// (that of the optimum). One line instead where the exact number is 1, or where making them would take more than about
/// a second. Empty for other planners. Each row is a plan made for it, with its link loads, but not verified. Errors:
/// the planner's for the exact forest.
StatusOr<std::string> TreeTradeoffText(const PlanReport& report);

}  // namespace mycel::cli
