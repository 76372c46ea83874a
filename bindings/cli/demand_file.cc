#include "bindings/cli/demand_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include "core/base/bytes.h"

namespace mycel::cli {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// What the reader is at, for messages.
struct Place {
  const std::string& file;
  int64_t line = 0;
  int64_t row = 0;  // from 0: the sender's rank

  std::string InRow() const {
    return file + ":" + std::to_string(line) + ": row " + std::to_string(row + 1) + " (sender rank " +
           std::to_string(row) + ")";
  }
  std::string InCell(int64_t column) const {
    return InRow() + ", column " + std::to_string(column + 1) + " (receiver rank " + std::to_string(column) + ")";
  }
};

Status ParseRow(std::string_view line, const Place& place, int32_t rank_count, int64_t* total,
                std::vector<int64_t>* demand) {
  int64_t column = 0;
  for (bool more = true; more; ++column) {
    const size_t comma = line.find(',');
    more = comma != std::string_view::npos;
    if (column < rank_count) {
      const std::string_view cell = Trimmed(line.substr(0, comma));
      const StatusOr<int64_t> bytes = ParseBytes(cell.substr(0, 40));
      if (!bytes.ok()) return InvalidArgument(place.InCell(column) + ": " + StatusMessage(bytes.status()));
      if (*bytes > std::numeric_limits<int64_t>::max() - *total) {
        return InvalidArgument(place.InCell(column) + ": the sum of all counts passes 2^63 bytes; use smaller counts");
      }
      *total += *bytes;
      demand->push_back(*bytes);
    }
    if (more) line.remove_prefix(comma + 1);
  }
  if (column == rank_count) return OkStatus();
  return InvalidArgument(place.InRow() + ": " + std::to_string(column) + (column == 1 ? " column" : " columns") +
                         " where the topology has " + std::to_string(rank_count) +
                         " ranks; give one byte count per receiver, separated by commas");
}

}  // namespace

StatusOr<std::vector<int64_t>> ParseDemand(std::string_view text, const std::string& file_name, int32_t rank_count) {
  std::vector<int64_t> demand;
  int64_t total = 0;
  Place place{file_name};
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = Trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++place.line;
    if (line.empty() || line.front() == '#') continue;
    if (place.row == rank_count) {
      return InvalidArgument(place.InRow() + ": one row too many for the topology's " + std::to_string(rank_count) +
                             " ranks; give one row per sender, or another topology");
    }
    MYCEL_RETURN_IF_ERROR(ParseRow(line, place, rank_count, &total, &demand));
    ++place.row;
  }
  if (place.row == rank_count) return demand;
  return InvalidArgument(file_name + ": " + std::to_string(place.row) + (place.row == 1 ? " row" : " rows") +
                         " where the topology has " + std::to_string(rank_count) +
                         " ranks; give one row per sender, or another topology");
}

StatusOr<std::vector<int64_t>> ReadDemandFile(const std::string& path, int32_t rank_count) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(1 << 16, '\0');
  size_t used = 0;
  while (file && used <= static_cast<size_t>(kDemandFileBytesMax)) {
    if (used == text.size()) text.resize(2 * text.size());
    file.read(text.data() + used, static_cast<std::streamsize>(text.size() - used));
    used += static_cast<size_t>(file.gcount());
  }
  if (!file.is_open() || file.bad() || (!file.eof() && file.fail())) {
    return InvalidArgument("cannot read the demand " + path + ": " + std::strerror(errno != 0 ? errno : EIO) +
                           "; give a CSV file with one row per sender and one byte count per receiver");
  }
  if (used > static_cast<size_t>(kDemandFileBytesMax)) {
    return InvalidArgument(path + ": more than 256 MiB; a demand needs one byte count per pair of ranks and no more");
  }
  text.resize(used);
  return ParseDemand(text, path, rank_count);
}

}  // namespace mycel::cli
