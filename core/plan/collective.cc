#include "core/plan/collective.h"

#include <string>

#include "core/base/check.h"

namespace mycel {

const std::vector<CollectiveInfo>& AllCollectives() {
  static const std::vector<CollectiveInfo> rows = {
#define MYCEL_COLLECTIVE(e, value, name, perf, reduces, rooted, send, recv, factor) \
  {Collective::e, name, perf, reduces, rooted, Layout::send, Layout::recv, BusFactor::factor},
#include "core/plan/collectives.def"
  };
  return rows;
}

const CollectiveInfo& InfoOf(Collective collective) {
  const auto& rows = AllCollectives();
  const size_t index = static_cast<size_t>(collective);
  MYCEL_CHECK_LT(index, rows.size());
  return rows[index];
}

StatusOr<Collective> ParseCollective(std::string_view name) {
  std::string known;
  for (const CollectiveInfo& info : AllCollectives()) {
    if (info.name == name || info.perf_name == name) return info.collective;
    known += (known.empty() ? "" : " ") + std::string(info.name);
  }
  return InvalidArgument("unknown collective '" + std::string(name) + "'; use one of: " + known);
}

double BusBandwidthFactor(Collective collective, int rank_count) {
  const double n = rank_count;
  switch (InfoOf(collective).factor) {
    case BusFactor::kTwo:
      return 2 * (n - 1) / n;
    case BusFactor::kPart:
      return (n - 1) / n;
    case BusFactor::kUnit:
      return 1;
  }
  return 1;
}

}  // namespace mycel
