// Collectives, generated from collectives.def.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace mycel {

enum class Collective : uint8_t {
#define MYCEL_COLLECTIVE(e, value, name, perf, reduces, rooted, send, recv, factor) e = value,
#include "core/plan/collectives.def"
};

/// Which logical blocks lie in a rank's buffer; see collectives.def.
enum class Layout : uint8_t { kOne, kMine, kAll, kFromMe, kToMe, kOneAtRoot, kAllAtRoot };
enum class BusFactor : uint8_t { kTwo, kPart, kUnit };

/// One row of collectives.def.
struct CollectiveInfo {
  Collective collective;
  std::string_view name;       // "allreduce": commands, plan files
  std::string_view perf_name;  // "all_reduce": benchmark programs
  bool reduces;
  bool rooted;
  Layout send;
  Layout recv;
  BusFactor factor;
};

const CollectiveInfo& InfoOf(Collective collective);
inline std::string_view NameOf(Collective collective) { return InfoOf(collective).name; }
/// Accepts both spellings ("allreduce", "all_reduce"); InvalidArgument lists the accepted names.
StatusOr<Collective> ParseCollective(std::string_view name);
const std::vector<CollectiveInfo>& AllCollectives();
/// busbw = algbw x this, for n ranks.
double BusBandwidthFactor(Collective collective, int rank_count);

}  // namespace mycel
