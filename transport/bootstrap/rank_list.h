// Ranks as an error text names them.
#pragma once

#include <string>
#include <vector>

#include "core/base/ids.h"

namespace mycel {

/// "rank 3", "ranks 1, 2 and 5", "ranks 0-4, 6-8 and 1016 more": ascending, runs folded, long lists cut.
std::string RankList(std::vector<Rank> ranks);

}  // namespace mycel
