// The topology file: DESIGN's "mycel-topology" JSON, read and written without loss. Bandwidths are exact decimals or
// fractions and never pass through a double.
//
// The reader trusts nothing: it takes at most 64 MiB, keeps memory in proportion to that, never recurses, and refuses
// unknown and repeated keys. Its errors read "FILE:LINE: what is wrong; what to do" and name the key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/topo/topology.h"

namespace mycel {

inline constexpr int64_t kTopologyFileBytesMax = int64_t{64} << 20;

/// `file_name` is only for messages. Whether all ranks can reach each other is not asked here: see CheckConnected.
StatusOr<Topology> ReadTopologyText(std::string_view text, const std::string& file_name);
StatusOr<Topology> ReadTopologyFile(const std::string& path);

/// One node or link a line, in stable order, so that files can be compared line by line. Reading it back gives an equal
/// topology.
std::string WriteTopology(const Topology& topology);

}  // namespace mycel
