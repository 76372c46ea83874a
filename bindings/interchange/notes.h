// What a plan file of ours says beyond what another format can: which topology and planner the plan is of, and the
// routes of its messages. Written where that format's own readers do not look, read back by ours; see README.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/plan/schedule.h"

namespace mycel {

struct PlanNotes {
  bool present = false;  // false: a file from elsewhere
  std::string planner;
  std::string topology;
  uint64_t topology_hash = 0;
  std::vector<Route> routes;
};

/// "00d1ce0000000000", the form in which plan files show a topology's hash.
std::string HashText(uint64_t hash);
/// InvalidArgument, starting "is ...", when `text` is not 16 hexadecimal digits.
StatusOr<uint64_t> ParseHashText(std::string_view text);

}  // namespace mycel
