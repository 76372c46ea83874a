// Ways: pairs of network devices, one of ours and one of a peer's, over which two ranks can reach each other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace mycel {

struct RailPair {
  size_t mine = 0;    // index among our rails
  size_t theirs = 0;  // index among the peer's
  friend bool operator==(const RailPair&, const RailPair&) = default;
};

/// From the networks (NetworkOf) of our devices and of the peer's: pairs within each network that both have, so that
/// each device of both is in one; where they share none (a router may join them), as if all were one network. At least
/// one pair; by ours, then theirs. The peer's pairs are ours mirrored.
std::vector<RailPair> PairRails(const std::vector<std::string>& mine, const std::vector<std::string>& theirs);

/// The index of the pair that has most of what a plan says: first the way out, then the way in. Where several have as
/// much, channel `index` decides, so that lanes spread over them.
size_t ChooseWay(const std::vector<RailPair>& pairs, Rails wanted, size_t index);

}  // namespace mycel
