// The one place that waits. A blocked rank spins briefly, then gives its core away, then sleeps in the kernel on its
// bell; with more ranks than cores it starts by giving the core away. Every wait is cut into short pieces by its
// caller, who checks deadline, abort and peers between them (core/runtime/executor).
#pragma once

#include <atomic>
#include <cstdint>

namespace mycel {

/// A rank's bell, in memory shared with its peers: they look at `sleepers` after each message and ring when somebody
/// sleeps. A missed ring costs at most one sleep period, so no fence is needed on the message path.
struct alignas(128) Bell {
  std::atomic<uint32_t> rings;     // futex word; incremented by whoever wakes
  std::atomic<uint32_t> sleepers;  // writer: the owner of the bell
};
static_assert(sizeof(Bell) == 128);

/// Wakes the bell's owner.
void Ring(Bell& bell);

enum class WaitMode : uint8_t { kAuto, kSpin, kYield, kSleep };

struct WaitPolicy {
  WaitMode mode = WaitMode::kAuto;
  bool oversubscribed = false;  // more ranks than cores: kAuto starts by yielding
  int32_t spin_us = 20;         // kAuto: how long to spin before yielding
  int32_t yield_us = 2000;      // kAuto: how long to yield before sleeping; far less where oversubscribed
};

/// Pauses between polls, longer the longer nothing happens. One per blocked operation; not thread-safe.
class Waiter {
 public:
  Waiter(const WaitPolicy& policy, Bell* bell) : policy_(policy), bell_(bell) {}

  ~Waiter() { Disarm(); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// Something happened: start over with short pauses.
  void Reset() {
    pauses_ = 0;
    sleeping_ = false;
    if (armed_) Disarm();
  }
  /// Pauses once. Returns true about every `kSlowPeriodNs`: time for the caller's slow checks.
  bool Pause();
  /// Polls that a device may do by itself before it returns to us.
  int polls() const { return policy_.oversubscribed || policy_.mode == WaitMode::kSleep ? 1 : kPollsPerPause; }
  uint64_t sleeps() const { return sleeps_; }
  /// Nanoseconds since the first pause after Reset.
  uint64_t WaitedNs() const;

  static constexpr int kPollsPerPause = 64;
  static constexpr uint64_t kSlowPeriodNs = 1'000'000;

 private:
  /// First call: tells the peers that we are about to sleep; the caller polls once more. Second call: sleeps.
  void Sleep();
  void Disarm();

  const WaitPolicy policy_;
  Bell* bell_;
  uint64_t pauses_ = 0;
  uint64_t start_ns_ = 0;
  uint64_t last_slow_ns_ = 0;
  uint64_t sleeps_ = 0;
  uint32_t rings_seen_ = 0;
  bool armed_ = false;     // the bell says that we sleep
  bool sleeping_ = false;  // kAuto: waited so long that it sleeps between polls
};

/// Cores this process may run on: the affinity mask, cut by the cgroup's CPU quota.
int AvailableCores();

}  // namespace mycel
