// Fingerprints as text.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace mycel {

/// Sixteen hexadecimal digits.
inline std::string Hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace mycel
