// FNV-1a (Fowler, Noll, Vo; public domain): the hash of a text where it leaves the process, in files or to other ranks,
// which may be of another build. std::hash may differ there.
#pragma once

#include <cstdint>
#include <string_view>

namespace mycel {

inline constexpr uint64_t kTextHashStart = 0xcbf29ce484222325U;

/// A change of one byte always changes it. `hash`: that of the text before.
constexpr uint64_t HashOfText(std::string_view text, uint64_t hash = kTextHashStart) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace mycel
