#include "core/base/bytes.h"

#include <cctype>
#include <charconv>
#include <limits>

namespace mycel {
namespace {
constexpr std::string_view kUnits = "KMGT";
}  // namespace

StatusOr<int64_t> ParseBytes(std::string_view text) {
  const auto refuse = [text](const char* why) {
    return InvalidArgument("\"" + std::string(text) + "\" is not a number of bytes (" + why +
                           "); write it as 65536, 64K, 64M or 2G");
  };
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::result_out_of_range) return refuse("too large");
  if (error != std::errc()) return refuse("no digits");
  if (number < 0) return refuse("negative");
  std::string_view suffix(rest, static_cast<size_t>(end - rest));
  if (suffix.empty()) return number;
  const char unit = static_cast<char>(std::toupper(static_cast<unsigned char>(suffix.front())));
  const size_t power = kUnits.find(unit);
  if (power != std::string_view::npos) suffix.remove_prefix(1);
  const bool plain_bytes = power == std::string_view::npos && (suffix == "B" || suffix == "b");
  if (power == std::string_view::npos && !plain_bytes) return refuse("unknown unit");
  if (!suffix.empty() && suffix != "B" && suffix != "b" && suffix != "iB") return refuse("unknown unit");
  const int shift = plain_bytes ? 0 : 10 * static_cast<int>(power + 1);
  if (number > (std::numeric_limits<int64_t>::max() >> shift)) return refuse("too large");
  return number << shift;
}

std::string FormatBytes(int64_t bytes) {
  size_t power = 0;
  while (power < kUnits.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++power;
  }
  std::string text = std::to_string(bytes);
  if (power > 0) text += kUnits[power - 1];
  return text;
}

}  // namespace mycel
