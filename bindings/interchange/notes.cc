#include "bindings/interchange/notes.h"

#include <charconv>
#include <cstdio>

namespace mycel {

std::string HashText(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

StatusOr<uint64_t> ParseHashText(std::string_view text) {
  uint64_t hash = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, hash, 16);
  if (error == std::errc() && at == end && text.size() == 16) return hash;
  return InvalidArgument("is '" + std::string(text) + "'; write 16 hexadecimal digits");
}

}  // namespace mycel
