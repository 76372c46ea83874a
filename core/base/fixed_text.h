// Text put together in memory of the caller: no allocation, no locale, so that a signal handler may use it. What does
// not fit is cut off.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace mycel {

class FixedText {
 public:
  /// `capacity` bytes at `buffer`, which must outlive this.
  FixedText(char* buffer, size_t capacity) : buffer_(buffer), capacity_(capacity) {}

  FixedText& operator<<(std::string_view text) {
    const size_t length = std::min(text.size(), capacity_ - size_);
    if (length > 0) std::memcpy(buffer_ + size_, text.data(), length);
    size_ += length;
    return *this;
  }
  FixedText& operator<<(const char* text) { return *this << std::string_view(text); }
  FixedText& operator<<(char c) { return *this << std::string_view(&c, 1); }
  template <std::integral Number>
  requires(!std::same_as<Number, char>) FixedText& operator<<(Number number) {
    const bool negative = number < 0;
    // In unsigned arithmetic, where the least number has an absolute value too.
    uint64_t rest = static_cast<uint64_t>(number);
    if (negative) rest = 0 - rest;
    return Digits(rest, 10, 1, negative);
  }
  /// At least `width` hexadecimal digits.
  FixedText& Hex(uint64_t number, size_t width = 1) { return Digits(number, 16, width, false); }
  /// Nanoseconds as "12.3 s", "45 ms" or "6 us".
  FixedText& Duration(uint64_t ns) {
    if (ns >= 1'000'000'000) {
      return *this << ns / 1'000'000'000 << '.' << ns / 100'000'000 % 10 << " s";
    }
    return ns >= 1'000'000 ? *this << ns / 1'000'000 << " ms" : *this << ns / 1000 << " us";
  }
  /// Spaces up to `column` bytes after `from`, at least one.
  FixedText& PadTo(size_t from, size_t column) {
    do {
      *this << ' ';
    } while (size_ < from + column && size_ < capacity_);
    return *this;
  }

  size_t size() const { return size_; }
  std::string_view view() const { return {buffer_, size_}; }
  void Clear() { size_ = 0; }

 private:
  FixedText& Digits(uint64_t number, uint64_t base, size_t width, bool negative) {
    char digits[24];
    size_t first = sizeof(digits);
    do {
      digits[--first] = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0 || sizeof(digits) - first < std::min(width, sizeof(digits) - 1));
    if (negative) digits[--first] = '-';
    return *this << std::string_view(digits + first, sizeof(digits) - first);
  }

  char* const buffer_;
  const size_t capacity_;
  size_t size_ = 0;
};

}  // namespace mycel
