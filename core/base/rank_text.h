// How messages name a rank.
#pragma once

#include <string>

#include "core/base/ids.h"

namespace mycel {

inline std::string RankText(Rank rank) { return "rank " + std::to_string(rank.value()); }

}  // namespace mycel
