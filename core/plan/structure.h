// Structure: what must hold before anybody may follow an index of a plan. The file readers and the verifier ask here
// first; everything after may index without fear.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/ids.h"
#include "core/base/status.h"
#include "core/plan/plan.h"

namespace mycel {

/// Beyond these a plan is taken for a mistake; they also keep every sum below 64 bits.
inline constexpr int32_t kRankCountMax = 1 << 13;
inline constexpr int64_t kBlockUnitsMax = int64_t{1} << 50;
inline constexpr int32_t kSkewMax = 1 << 20;
inline constexpr int32_t kOpWaitsMax = 1024;

/// Whether blocks have their own unit counts (Plan::block_units).
constexpr bool IsVariable(Collective collective) { return collective == Collective::kAllToAllV; }

/// OK, or InvalidArgument naming rank, lane, op or channel: indices in range, chunks inside their blocks and cells,
/// operands that exist on their rank, no op that writes a place or a channel twice, several inputs and `finish` only
/// where the collective reduces, kDirect messages that refer to memory.
Status CheckStructure(const Plan& plan);

/// "rank 2 lane 0 op 5".
std::string DescribeOp(Rank rank, LaneId lane, int32_t op);
/// "channel 7 (rank 1 -> rank 3, index 0)".
std::string DescribeChannel(const Plan& plan, ChannelId channel);
/// "block 3 [0,4)".
std::string DescribeChunk(const Chunk& chunk);

}  // namespace mycel
