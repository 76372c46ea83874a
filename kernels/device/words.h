// Words: what one load or store moves.
#pragma once

#include <cstdint>

namespace mycel {

template <int kBytes>
struct WordsOf;
template <>
struct WordsOf<1> {
  uint8_t word;
};
template <>
struct WordsOf<2> {
  uint16_t word;
};
template <>
struct WordsOf<4> {
  uint32_t word;
};
template <>
struct alignas(8) WordsOf<8> {
  uint32_t word[2];
};
template <>
struct alignas(16) WordsOf<16> {
  uint32_t word[4];
};

template <int kBytes>
using Words = WordsOf<kBytes>;

/// An integer of so many bytes.
template <int kBytes>
struct BitsOf {
  using Type = uint64_t;
};
template <>
struct BitsOf<4> {
  using Type = uint32_t;
};
template <>
struct BitsOf<2> {
  using Type = uint16_t;
};
template <>
struct BitsOf<1> {
  using Type = uint8_t;
};

/// The same bytes as elements.
template <typename T, int kBytes>
struct ElementsOf {
  T element[kBytes / sizeof(T)];
};

}  // namespace mycel
