// The base families with a given number of ranks and degree, for the finder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scheduler/design/digraph.h"

namespace mycel::design {

struct Family {
  std::string recipe;
  std::function<Digraph()> build;
};

/// Bandwidth-optimal families first. Never empty for 1 <= degree < ranks: there is a one-way ring, or a generalised
/// Kautz graph. Some may not be strongly connected, such as circulants whose offsets share a factor.
std::vector<Family> FamiliesOf(int32_t ranks, int32_t degree);

}  // namespace mycel::design
