// Monotonic time and deadlines. Durations are int64 nanoseconds; arithmetic saturates, so "no deadline" needs no
// special case at the places that wait.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace mycel {

using SteadyTime = std::chrono::steady_clock::time_point;

inline constexpr int64_t kNsPerUs = 1'000;
inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerSecond = 1'000'000'000;
inline constexpr int64_t kNeverNs = std::numeric_limits<int64_t>::max();

/// Nanoseconds of the monotonic clock (CLOCK_MONOTONIC: comparable between processes of one machine).
inline int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// a + b, or the end of time instead of overflow. Both must not be negative.
constexpr int64_t SaturatingAddNs(int64_t a, int64_t b) { return a > kNeverNs - b ? kNeverNs : a + b; }

/// Seconds as a person writes them (0.5, 300, 1e12) to nanoseconds; saturates, negative values become 0.
constexpr int64_t SecondsToNs(double seconds) {
  const double ns = seconds * static_cast<double>(kNsPerSecond);
  if (!(ns > 0)) return 0;
  return ns >= static_cast<double>(kNeverNs) ? kNeverNs : static_cast<int64_t>(ns);
}

/// A point of monotonic time after which waiting is an error: the one type for it, from mycelCommInitRank to the last
/// socket. Made once for a call and handed down, so that what a call does takes as long as the caller said and not each
/// step of it. A value, cheap to copy; the default never passes.
class Deadline {
 public:
  constexpr Deadline() = default;
  /// A point of time is a deadline, and a deadline one that can be waited until.
  /// NOLINTNEXTLINE(google-explicit-constructor)
  constexpr Deadline(SteadyTime at)
      : at_ns_(std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count()) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator SteadyTime() const { return SteadyTime(std::chrono::nanoseconds(at_ns_)); }
  static constexpr Deadline Never() { return Deadline(); }
  /// `ns` after `now_ns`; ns < 0 counts as 0.
  static constexpr Deadline After(int64_t ns, int64_t now_ns) {
    return Deadline(SaturatingAddNs(now_ns, ns < 0 ? 0 : ns));
  }
  static Deadline After(int64_t ns) { return After(ns, NowNs()); }
  static constexpr Deadline At(int64_t at_ns) { return Deadline(at_ns); }

  constexpr bool Passed(int64_t now_ns) const { return now_ns >= at_ns_ && at_ns_ != kNeverNs; }
  bool Passed() const { return at_ns_ != kNeverNs && Passed(NowNs()); }
  /// Nanoseconds left, 0 when passed, kNeverNs for a deadline that never passes.
  constexpr int64_t LeftNs(int64_t now_ns) const {
    if (at_ns_ == kNeverNs) return kNeverNs;
    return now_ns >= at_ns_ ? 0 : at_ns_ - now_ns;
  }
  /// This one, or `ns` from now if that is earlier: for waits that look up now and then.
  SteadyTime Within(int64_t ns) const {
    return SteadyTime(std::chrono::nanoseconds(std::min(at_ns_, SaturatingAddNs(NowNs(), ns))));
  }
  constexpr int64_t at_ns() const { return at_ns_; }
  constexpr bool operator==(const Deadline&) const = default;

 private:
  constexpr explicit Deadline(int64_t at_ns) : at_ns_(at_ns) {}
  int64_t at_ns_ = kNeverNs;
};

}  // namespace mycel
