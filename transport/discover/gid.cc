#include "transport/discover/gid.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <tuple>

namespace mycel {
namespace {

bool IsMappedIpv4(const GidBytes& gid) {
  return std::all_of(gid.begin(), gid.begin() + 10, [](uint8_t byte) { return byte == 0; }) && gid[10] == 0xff &&
         gid[11] == 0xff;
}

bool IsLinkLocal(const GidBytes& gid) {
  if (IsMappedIpv4(gid)) return gid[12] == 169 && gid[13] == 254;
  return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

bool IsUnused(const GidBytes& gid) {
  return std::all_of(gid.begin(), gid.end(), [](uint8_t byte) { return byte == 0; });
}

std::string AddressOf(const GidBytes& gid) {
  char text[INET6_ADDRSTRLEN] = "";
  if (IsMappedIpv4(gid)) return inet_ntop(AF_INET, gid.data() + 12, text, sizeof text);
  return inet_ntop(AF_INET6, gid.data(), text, sizeof text);
}

}  // namespace

StatusOr<GidBytes> ParseGid(const std::string& text) {
  GidBytes gid = {};
  if (inet_pton(AF_INET6, text.c_str(), gid.data()) == 1) return gid;
  return InvalidArgument("'" + text.substr(0, 64) + "' is no GID; it is written like an IPv6 address");
}

std::vector<GidEntry> ReadGids(const SystemFiles& files, const std::string& port_folder) {
  std::vector<GidEntry> table;
  for (const std::string& index : files.List(port_folder + "/gids")) {
    const std::optional<std::string> text = files.Line(port_folder + "/gids/" + index);
    if (!text) continue;
    const StatusOr<GidBytes> gid = ParseGid(*text);
    if (!gid.ok() || IsUnused(*gid)) continue;
    GidEntry entry;
    entry.index = std::atoi(index.c_str());
    entry.bytes = *gid;
    entry.type = files.Line(port_folder + "/gid_attrs/types/" + index).value_or("");
    entry.interface = files.Line(port_folder + "/gid_attrs/ndevs/" + index).value_or("");
    table.push_back(std::move(entry));
  }
  return table;
}

std::optional<GidChoice> ChooseGid(const std::vector<GidEntry>& table, const std::string& link_layer) {
  const bool ethernet = link_layer == "Ethernet";
  const auto worth = [&](const GidEntry& entry) {
    const bool v2 = ethernet && entry.type.find("v2") != std::string::npos;
    const bool routable = v2 && !IsLinkLocal(entry.bytes);
    return std::tuple(v2, routable, routable && IsMappedIpv4(entry.bytes), -entry.index);
  };
  const GidEntry* best = nullptr;
  for (const GidEntry& entry : table) {
    if (!IsUnused(entry.bytes) && (best == nullptr || worth(entry) > worth(*best))) best = &entry;
  }
  if (best == nullptr) return std::nullopt;
  const auto [v2, routable, ipv4, index] = worth(*best);
  std::string reason = "InfiniBand: packets go by LID";
  if (ethernet) {
    reason = routable ? "RoCE v2, routable"
             : v2     ? "RoCE v2, link-local: reaches its own subnet only"
                      : "RoCE v1: reaches its own subnet only";
  }
  return GidChoice{*best, AddressOf(best->bytes), std::move(reason)};
}

}  // namespace mycel
