// The step loop's device policy for the simulator: the same members as HostDevicePolicy, each a place where the fiber
// may be switched out. Memory is real; only the order in which ranks act is drawn from the seed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/base/rng.h"
#include "core/spi/device.h"
#include "kernels/device/host.h"
#include "kernels/step/walk.h"
#include "tests/sim/fiber.h"

namespace mycel::sim {

/// Gives the processor away about every `period`-th time, as the seed says.
class Switcher {
 public:
  static Switcher& Current() {
    static Switcher switcher;
    return switcher;
  }
  void Start(uint64_t seed, uint64_t period) {
    rng_ = Rng(seed);
    period_ = period;
    switches_ = 0;
  }
  void Maybe() {
    if (!rng_.OneIn(period_)) return;
    ++switches_;
    Fiber::Yield();
  }
  uint64_t switches() const { return switches_; }

 private:
  Rng rng_{1};
  uint64_t period_ = 1;
  uint64_t switches_ = 0;
};

struct SimPolicy : HostDevicePolicy {
  static uint64_t LoadAcquire(const std::atomic<uint64_t>& word) {
    Switcher::Current().Maybe();
    return HostDevicePolicy::LoadAcquire(word);
  }
  static void StoreRelease(std::atomic<uint64_t>& word, uint64_t value) {
    Switcher::Current().Maybe();
    HostDevicePolicy::StoreRelease(word, value);
    Switcher::Current().Maybe();
  }
  static void StreamFence() {}
  static void Relax() { Switcher::Current().Maybe(); }
  static void Notify(Bell*) {}
  template <typename L>
  static void Apply(const L& launch, bool finish, const void* const* inputs, int input_count, void* const* outputs,
                    int output_count, size_t count, uint32_t stream_outputs) {
    Switcher::Current().Maybe();
    HostDevicePolicy::Apply(launch, finish, inputs, input_count, outputs, output_count, count, stream_outputs);
    Switcher::Current().Maybe();
  }
  /// In pieces: a slot that is overwritten while it is read shows.
  static void Copy(const void* input, void* const* outputs, int output_count, size_t bytes, uint32_t) {
    constexpr size_t kPiece = 96;
    for (size_t done = 0; done < bytes; done += kPiece) {
      for (int i = 0; i < output_count; ++i) {
        std::memcpy(static_cast<char*>(outputs[i]) + done, static_cast<const char*>(input) + done,
                    std::min(kPiece, bytes - done));
      }
      Switcher::Current().Maybe();
    }
  }
};

/// A planted bug: bytes move only after the store that was to publish or release them.
struct StoreBeforeCopyPolicy : SimPolicy {
  struct Pending {
    const void* input = nullptr;
    std::vector<void*> outputs;
    size_t bytes = 0;
  };
  static Pending& Late() {
    static thread_local Pending pending;
    return pending;
  }
  static void StoreRelease(std::atomic<uint64_t>& word, uint64_t value) {
    SimPolicy::StoreRelease(word, value);
    Pending pending;
    std::swap(pending, Late());
    if (pending.input != nullptr) {
      SimPolicy::Copy(pending.input, pending.outputs.data(), static_cast<int>(pending.outputs.size()), pending.bytes,
                      0);
    }
  }
  static void Copy(const void* input, void* const* outputs, int output_count, size_t bytes, uint32_t) {
    Late() = {input, std::vector<void*>(outputs, outputs + output_count), bytes};
  }
};

template <typename Policy>
class SimDevice final : public Device {
 public:
  std::string_view name() const override { return "sim"; }
  const void* KernelFor(DataType type, ReduceOp op) const override {
    return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(ApplyFor(type, op)));
  }
  void Scale(DataType type, const void* factor, const void* input, void* output, size_t count) const noexcept override {
    ScaleElements(type, factor, input, output, count);
  }
  bool RunsUserFunctions() const override { return true; }
  StepEvent Step(Launch& launch, int polls) const noexcept override {
    return step::RunLaunch<Policy>(launch, std::min(polls, 2));
  }
  int32_t BlockedOn(const Launch& launch, bool* receives) const override {
    return step::BlockedChannel<HostDevicePolicy>(launch, receives);
  }
};

}  // namespace mycel::sim
