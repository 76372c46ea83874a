#include "core/base/wait.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>

#include "core/base/clock.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mycel {
namespace {

// Clock reads cost about as much as a cache miss: look at the clock only every so many spins.
constexpr uint64_t kSpinsPerClockRead = 32;
constexpr int64_t kSleepNs = 1'000'000;
// sched_yield does nothing for ranks in different scheduling groups (one session each, as MPICH's launcher makes them):
// yield for about two switches, then sleep for real.
constexpr int32_t kOversubscribedYieldUs = 50;

void SpinPause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

void FutexWait(std::atomic<uint32_t>& word, uint32_t expected, int64_t timeout_ns) {
  const timespec timeout{0, timeout_ns};
  // Not FUTEX_PRIVATE: the bell is shared between processes.
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

}  // namespace

void Ring(Bell& bell) {
  // relaxed: the futex call orders; the value only has to change.
  bell.rings.fetch_add(1, std::memory_order_relaxed);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&bell.rings), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Waiter::Disarm() {
  // relaxed: a hint for peers.
  if (armed_ && bell_ != nullptr) bell_->sleepers.store(0, std::memory_order_relaxed);
  armed_ = false;
}

void Waiter::Sleep() {
  if (!armed_) {
    armed_ = true;
    if (bell_ == nullptr) return;
    // relaxed: a ring after this changes the word, and the futex call returns at once.
    rings_seen_ = bell_->rings.load(std::memory_order_relaxed);
    // seq_cst: our next poll comes after this store; a peer that published before it is seen by that poll, one that
    // publishes later sees the sleeper, but for the few ns that its own store takes to leave its core.
    bell_->sleepers.exchange(1, std::memory_order_seq_cst);
    return;
  }
  ++sleeps_;
  if (bell_ == nullptr) {
    const timespec pause{0, kSleepNs / 10};
    nanosleep(&pause, nullptr);
  } else {
    FutexWait(bell_->rings, rings_seen_, kSleepNs);
  }
  Disarm();
}

uint64_t Waiter::WaitedNs() const { return pauses_ == 0 ? 0 : static_cast<uint64_t>(NowNs()) - start_ns_; }

bool Waiter::Pause() {
  const bool spin_first =
      policy_.mode == WaitMode::kSpin || (policy_.mode == WaitMode::kAuto && !policy_.oversubscribed);
  ++pauses_;
  // Who sleeps does not spin between two sleeps: that would be a tenth of a core for as long as it waits.
  if (spin_first && !sleeping_ && pauses_ % kSpinsPerClockRead != 0) {
    if (pauses_ == 1) start_ns_ = last_slow_ns_ = 0;
    SpinPause();
    return false;
  }
  const uint64_t now = static_cast<uint64_t>(NowNs());
  if (start_ns_ == 0 || pauses_ == 1) start_ns_ = last_slow_ns_ = now;
  const uint64_t waited_us = (now - start_ns_) / 1000;
  switch (policy_.mode) {
    case WaitMode::kSpin:
      SpinPause();
      break;
    case WaitMode::kYield:
      sched_yield();
      break;
    case WaitMode::kSleep:
      Sleep();
      break;
    case WaitMode::kAuto:
      if (!policy_.oversubscribed && waited_us < static_cast<uint64_t>(policy_.spin_us)) {
        SpinPause();
      } else if (waited_us <
                 static_cast<uint64_t>(policy_.oversubscribed ? kOversubscribedYieldUs : policy_.yield_us)) {
        sched_yield();
      } else {
        sleeping_ = true;
        Sleep();
      }
      break;
  }
  if (now - last_slow_ns_ < kSlowPeriodNs) return false;
  last_slow_ns_ = now;
  return true;
}

int AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (sched_getaffinity(0, sizeof(set), &set) == 0) cores = std::min(cores, CPU_COUNT(&set));
  if (std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
    long long quota = 0;
    long long period = 0;
    if (std::fscanf(file, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0) {
      cores = std::min(cores, static_cast<int>(std::max(1LL, (quota + period - 1) / period)));
    }
    std::fclose(file);
  }
  return std::max(1, cores);
}

}  // namespace mycel
