#include "core/runtime/init_log.h"

#include <unistd.h>

#include <cstdio>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/hex.h"
#include "core/base/log.h"
#include "core/base/rng.h"

namespace mycel {
namespace {

std::string Milliseconds(uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f ms", static_cast<double>(ns) * 1e-6);
  return text;
}

}  // namespace

InitLog::InitLog(int32_t rank, int32_t rank_count, uint64_t slow_ns)
    : status_(StatusOwner::Take(rank, rank_count)), slow_ns_(slow_ns) {}

void InitLog::EndPhase() {
  const auto now = static_cast<uint64_t>(NowNs());
  const uint32_t begun = status_->phase_count.load(std::memory_order_relaxed);
  if (begun > 0) status_->phases[begun - 1].ns.store(now - phase_start_ns_, std::memory_order_relaxed);
  phase_start_ns_ = now;
}

void InitLog::Begin(std::string_view phase) {
  EndPhase();
  const uint32_t begun = status_->phase_count.load(std::memory_order_relaxed);
  MYCEL_CHECK_LT(begun, StatusEntry::kPhases);
  SetField(status_->phases[begun].name, phase);
  // release: publishes the name.
  status_->phase_count.store(begun + 1, std::memory_order_release);
}

void InitLog::Identify(uint64_t communicator, std::string_view name, std::string_view transport, int64_t timeout_ns) {
  // A rank alone has nobody to agree on a number with.
  if (communicator == 0) communicator = Rng(status_->made_ns ^ static_cast<uint64_t>(getpid()) << 40).Next() | 1;
  const std::string fallback = "comm-" + Hex(communicator).substr(0, 8);
  SetField(status_->name, name.empty() ? fallback : name);
  SetField(status_->transport, transport);
  status_->timeout_ns = static_cast<uint64_t>(timeout_ns);
  status_->communicator = communicator;
}

StatusOwner InitLog::Done(int64_t messages) {
  EndPhase();
  const uint64_t total = phase_start_ns_ - status_->made_ns;
  const bool slow = total >= slow_ns_;
  if (LogEnabled(slow ? LogLevel::kWarn : LogLevel::kInfo)) {
    std::string text = "communicator " + std::string(FieldText(status_->name)) + " of " +
                       std::to_string(status_->rank_count) + " rank(s) made in " + Milliseconds(total) + ":";
    const char* separator = " ";
    const InitPhase* longest = nullptr;
    const uint32_t phases = status_->phase_count.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < phases; ++i) {
      const InitPhase& phase = status_->phases[i];
      text +=
          separator + std::string(FieldText(phase.name)) + " " + Milliseconds(phase.ns.load(std::memory_order_relaxed));
      separator = ", ";
      if (longest == nullptr || phase.ns.load(std::memory_order_relaxed) > longest->ns.load(std::memory_order_relaxed))
        longest = &phase;
    }
    text += "; " + std::to_string(messages) + " messages of the bootstrap";
    if (slow) {
      if (longest != nullptr) text += "; slow: most of it in " + std::string(FieldText(longest->name));
      MYCEL_LOG(kWarn) << text;
    } else {
      MYCEL_LOG(kInfo) << text;
    }
  }
  return std::move(status_);
}

}  // namespace mycel
