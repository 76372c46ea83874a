#include "transport/chaos/chaos_lane.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"

namespace mycel {
namespace {

void RingIfAsleep(Bell* bell) {
  // relaxed: a hint; a missed ring costs its owner one sleep period.
  if (bell != nullptr && bell->sleepers.load(std::memory_order_relaxed) != 0) Ring(*bell);
}

uint64_t Mixed(uint64_t seed, uint64_t lane_seed, uint64_t purpose) {
  uint64_t state = seed;
  state = SplitMix64(state) ^ lane_seed;
  state = SplitMix64(state) ^ purpose;
  return SplitMix64(state);
}

}  // namespace

ChaosLane::ChaosLane(const ChannelEnd& back, Bell* source_bell, const ChaosOptions& options, uint64_t lane_seed)
    : options_(options),
      back_(back),
      source_bell_(source_bell),
      front_(new Front()),
      message_rng_(Mixed(options.seed, lane_seed, 1)),
      release_rng_(Mixed(options.seed, lane_seed, 2)) {
  MYCEL_CHECK(options_.now_ns != nullptr);
}

ChannelEnd ChaosLane::SourceEnd() {
  ChannelEnd end = back_;
  end.headers = front_->headers;
  end.release = &front_->release;
  return end;
}

uint64_t ChaosLane::DueAfter(uint64_t now_ns, Rng& rng, uint64_t last_due_ns) const {
  // All numbers are drawn every time, so that one probability does not shift what another one decides.
  const bool delay = rng.Unit() < options_.delay_probability;
  const bool stall = rng.Unit() < options_.stall_probability;
  const uint64_t delay_ns = 1 + rng.Below(std::max<uint64_t>(1, options_.delay_ns_max));
  return std::max(last_due_ns, now_ns + (delay ? delay_ns : 0) + (stall ? options_.stall_ns : 0));
}

void ChaosLane::NoteMessages(uint64_t now_ns) {
  while (true) {
    const SlotHeader& header = front_->headers[published_seen_ % kSlotCountMax];
    // acquire: pairs with the source's release store; its header and payload are readable.
    if (header.flag.load(std::memory_order_acquire) != published_seen_ + 1) return;
    ++published_seen_;
    message_due_ns_ = DueAfter(now_ns, message_rng_, message_due_ns_);
    severed_ |= message_rng_.Unit() < options_.drop_probability;
    if (!severed_) messages_.push_back({published_seen_, message_due_ns_});
  }
}

void ChaosLane::NoteReleases(uint64_t now_ns) {
  // acquire: pairs with the target's release store; it has read the slots.
  const uint64_t released = back_.release->released.load(std::memory_order_acquire);
  if (released == released_seen_) return;
  MYCEL_CHECK_GT(released, released_seen_);
  released_seen_ = released;
  release_due_ns_ = DueAfter(now_ns, release_rng_, release_due_ns_);
  releases_.push_back({released, release_due_ns_});
}

void ChaosLane::Deliver(uint64_t step) {
  const SlotHeader& from = front_->headers[step % kSlotCountMax];
  SlotHeader& to = back_.headers[step % kSlotCountMax];
  to.signature = from.signature;
  to.bytes = from.bytes;
  std::memcpy(to.inline_bytes, from.inline_bytes, sizeof(to.inline_bytes));
  // release: publishes the header, and the payload that the source wrote; pairs with the target's acquire load.
  to.flag.store(step + 1, std::memory_order_release);
}

bool ChaosLane::Pump() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (detached_) return false;
  const uint64_t now_ns = options_.now_ns();
  NoteMessages(now_ns);
  NoteReleases(now_ns);
  bool delivered = false;
  while (!messages_.empty() && messages_.front().due_ns <= now_ns) {
    Deliver(messages_.front().count - 1);
    messages_.pop_front();
    delivered = true;
  }
  if (delivered) RingIfAsleep(back_.peer_bell);
  bool released = false;
  while (!releases_.empty() && releases_.front().due_ns <= now_ns) {
    // release: passes on that the target has read the slots; pairs with the source's acquire load.
    front_->release.released.store(releases_.front().count, std::memory_order_release);
    releases_.pop_front();
    released = true;
  }
  if (released) RingIfAsleep(source_bell_);
  return delivered || released;
}

uint64_t ChaosLane::NextDueNs() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (detached_) return kNeverDue;
  const uint64_t now_ns = options_.now_ns();
  NoteMessages(now_ns);
  NoteReleases(now_ns);
  return std::min(messages_.empty() ? kNeverDue : messages_.front().due_ns,
                  releases_.empty() ? kNeverDue : releases_.front().due_ns);
}

void ChaosLane::FlushAndDetach() {
  const std::lock_guard<std::mutex> lock(mutex_);
  MYCEL_CHECK(!detached_);
  NoteMessages(0);
  for (const Flight& message : messages_) Deliver(message.count - 1);
  if (!messages_.empty()) RingIfAsleep(back_.peer_bell);
  detached_ = true;
}

}  // namespace mycel
