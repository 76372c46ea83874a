// The tenants of a fabric as a CSV file: a line each of
//   name, collective, bytes, ranks, weight, root
// ranks are numbers and ranges joined by '+', as in 0-3+6; bytes may end in K, M, G or T; weight (1) and root (the
// first rank) may be left out. Blank lines and lines that begin with # do not count.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "scheduler/timeflow/tenants.h"

namespace mycel::cli {

inline constexpr size_t kTenantsMax = 256;

/// InvalidArgument names file, line and column.
StatusOr<std::vector<timeflow::Tenant>> ParseTenants(std::string_view text, const std::string& file_name);

}  // namespace mycel::cli
