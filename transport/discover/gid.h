// A port's GID table, and which of its addresses to use.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "transport/discover/system_files.h"

namespace mycel {

using GidBytes = std::array<uint8_t, 16>;

struct GidEntry {
  int32_t index = 0;
  GidBytes bytes = {};
  std::string type;       // "IB/RoCE v1", "RoCE v2"; empty where the kernel does not say
  std::string interface;  // "eth2"; empty where the kernel does not say
};

/// "fe80:0000:0000:0000:..." as the kernel writes it. InvalidArgument quotes what is no GID.
StatusOr<GidBytes> ParseGid(const std::string& text);

/// The entries in use. Tables are sparse: an unused entry is all zero, and its attributes cannot be read.
std::vector<GidEntry> ReadGids(const SystemFiles& files, const std::string& port_folder);

struct GidChoice {
  GidEntry entry;
  std::string address;  // "10.0.3.7" or "fe80::..."
  std::string reason;   // "RoCE v2, routable"
};

/// On Ethernet: RoCE v2 with a routable address (IPv4 before IPv6), then RoCE v2 with a link-local one, then RoCE v1,
/// which no router passes on whatever its address; the lowest index of equals. On InfiniBand the lowest index: packets
/// go by LID. nullopt: the table is empty.
std::optional<GidChoice> ChooseGid(const std::vector<GidEntry>& table, const std::string& link_layer);

}  // namespace mycel
