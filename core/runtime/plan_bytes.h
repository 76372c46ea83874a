// The size by which plans are asked for.
#pragma once

#include <cstdint>

#include "core/plan/collective.h"
#include "core/plan/types.h"
#include "core/runtime/call.h"

namespace mycel {

/// nccl-tests' size of a call: what a planner calls `bytes`.
inline int64_t PlanBytes(const CollectiveCall& call, int32_t rank_count) {
  const CollectiveInfo& info = InfoOf(call.collective);
  const auto block = static_cast<int64_t>(call.count * SizeOf(call.type));
  const bool one_block = info.send == Layout::kOne || info.send == Layout::kOneAtRoot;
  return one_block ? block : block * rank_count;
}

}  // namespace mycel
