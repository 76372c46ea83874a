#include "bindings/cli/tenants_file.h"

#include <charconv>

#include "core/base/bytes.h"
#include "core/topo/topology.h"

namespace mycel::cli {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(by);
    parts.push_back(Trimmed(text.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

/// A whole number from `least` to `most`.
StatusOr<int64_t> Number(std::string_view text, const std::string& where, int64_t least, int64_t most) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most) return value;
  return InvalidArgument(where + ": '" + std::string(text.substr(0, 40)) + "' is no whole number from " +
                         std::to_string(least) + " to " + std::to_string(most));
}

StatusOr<std::vector<int32_t>> Ranks(std::string_view text, const std::string& where) {
  constexpr int64_t kMost = TopologyBuilder::kNodeCountMax - 1;
  std::vector<int32_t> ranks;
  for (const std::string_view part : Split(text, '+')) {
    const size_t dash = part.find('-');
    MYCEL_ASSIGN_OR_RETURN(const int64_t first, Number(Trimmed(part.substr(0, dash)), where, 0, kMost));
    int64_t last = first;
    if (dash != std::string_view::npos) {
      MYCEL_ASSIGN_OR_RETURN(last, Number(Trimmed(part.substr(dash + 1)), where, first, kMost));
    }
    for (int64_t rank = first; rank <= last; ++rank) ranks.push_back(static_cast<int32_t>(rank));
  }
  return ranks;
}

StatusOr<timeflow::Tenant> ParseLine(std::string_view line, const std::string& where) {
  const std::vector<std::string_view> cells = Split(line, ',');
  if (cells.size() < 4 || cells.size() > 6) {
    return InvalidArgument(where + ": " + std::to_string(cells.size()) +
                           " columns; give name, collective, bytes, ranks, and if need be weight and root");
  }
  timeflow::Tenant tenant;
  tenant.name = std::string(cells[0]);
  if (tenant.name.empty()) return InvalidArgument(where + ", column 1: a tenant needs a name");
  const StatusOr<Collective> collective = ParseCollective(cells[1]);
  if (!collective.ok()) return InvalidArgument(where + ", column 2: " + StatusMessage(collective.status()));
  tenant.collective = *collective;
  const StatusOr<int64_t> bytes = ParseBytes(cells[2].substr(0, 40));
  if (!bytes.ok()) return InvalidArgument(where + ", column 3: " + StatusMessage(bytes.status()));
  tenant.bytes = *bytes;
  MYCEL_ASSIGN_OR_RETURN(tenant.ranks, Ranks(cells[3], where + ", column 4"));
  tenant.root = tenant.ranks.front();
  if (cells.size() > 4) {
    MYCEL_ASSIGN_OR_RETURN(tenant.weight, Number(cells[4], where + ", column 5", 1, 1 << 20));
  }
  if (cells.size() > 5) {
    MYCEL_ASSIGN_OR_RETURN(const int64_t root,
                           Number(cells[5], where + ", column 6", 0, TopologyBuilder::kNodeCountMax));
    tenant.root = static_cast<int32_t>(root);
  }
  return tenant;
}

}  // namespace

StatusOr<std::vector<timeflow::Tenant>> ParseTenants(std::string_view text, const std::string& file_name) {
  std::vector<timeflow::Tenant> tenants;
  int64_t number = 0;
  for (const std::string_view raw : Split(text, '\n')) {
    ++number;
    const std::string_view line = Trimmed(raw);
    if (line.empty() || line.front() == '#') continue;
    MYCEL_ASSIGN_OR_RETURN(timeflow::Tenant tenant, ParseLine(line, file_name + ":" + std::to_string(number)));
    tenants.push_back(std::move(tenant));
    if (tenants.size() > kTenantsMax) {
      return InvalidArgument(file_name + ": more than " + std::to_string(kTenantsMax) + " tenants");
    }
  }
  if (tenants.empty()) {
    return InvalidArgument(file_name +
                           ": no tenants; give a line each of name, collective, bytes, ranks, weight, root");
  }
  return tenants;
}

}  // namespace mycel::cli
