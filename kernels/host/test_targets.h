// For tests: the instruction sets that are compiled in and that this CPU has, one by one.
#pragma once

#include "kernels/host/highway_targets.h"

// After the choice of targets.
#include <hwy/targets.h>

#include <cstdint>
#include <vector>

namespace mycel {

inline std::vector<int64_t> Targets() {
  std::vector<int64_t> targets;
  for (int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1)
    targets.push_back(rest & -rest);
  return targets;
}

/// Restricts Highway to one instruction set while it lives.
class TargetScope {
 public:
  explicit TargetScope(int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  ~TargetScope() { hwy::SetSupportedTargetsForTest(0); }
};

}  // namespace mycel
