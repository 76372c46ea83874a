// Subset: the part of a topology that some of its ranks are left with (a communicator split or shrunk off).
#pragma once

#include <span>

#include "core/base/ids.h"
#include "core/base/status.h"
#include "core/topo/topology.h"

namespace mycel {

/// The ranks `kept` (distinct ranks of `topology`, at least one), numbered anew in that order, with all switches and
/// the links among them. Other ranks and their links are gone: nobody forwards there. Not necessarily connected.
StatusOr<Topology> SubsetOf(const Topology& topology, std::span<const Rank> kept);

}  // namespace mycel
