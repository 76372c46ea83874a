// The demand of an alltoallv as a CSV file: one row per sender with one byte count per receiver. Blank lines and lines
// that begin with # do not count; a number may end in K, M, G or T.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace mycel::cli {

inline constexpr int64_t kDemandFileBytesMax = int64_t{256} << 20;

/// rank_count x rank_count byte counts, row = sender. InvalidArgument names file, line, row and column; rows and
/// columns are counted from 1, as spreadsheets do, and the ranks are said beside them.
StatusOr<std::vector<int64_t>> ParseDemand(std::string_view text, const std::string& file_name, int32_t rank_count);
StatusOr<std::vector<int64_t>> ReadDemandFile(const std::string& path, int32_t rank_count);

}  // namespace mycel::cli
