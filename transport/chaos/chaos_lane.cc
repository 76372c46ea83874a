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
      release_rng_(Mixed(options.seed, lane_seed, 2)),
      damage_rng_(Mixed(options.seed, lane_seed, 3)) {
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
    const Flight message = NextMessage();
    if (!severed_) messages_.push_back(message);
  }
}

/// The message just noted, with its fate.
ChaosLane::Flight ChaosLane::NextMessage() {
  Flight message{published_seen_, message_due_ns_, 0};
  const bool duplicate = damage_rng_.Unit() < options_.duplicate_probability;
  const bool truncate = damage_rng_.Unit() < options_.truncate_probability;
  const uint64_t later_ns = 1 + damage_rng_.Below(std::max<uint64_t>(1, options_.delay_ns_max));
  const uint64_t cut = damage_rng_.Next();
  const uint32_t bytes = front_->headers[(published_seen_ - 1) % kSlotCountMax].bytes;
  if (truncate && bytes > 0) message.missing = static_cast<uint32_t>(1 + cut % bytes);
  if (duplicate && !severed_) duplicates_.push_back({message.count, message.due_ns + later_ns, message.missing});
  return message;
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

void ChaosLane::Deliver(const Flight& message) {
  const uint64_t step = message.count - 1;
  const SlotHeader& from = front_->headers[step % kSlotCountMax];
  SlotHeader& to = back_.headers[step % kSlotCountMax];
  to.signature = from.signature;
  to.bytes = from.bytes - message.missing;
  std::memcpy(to.inline_bytes, from.inline_bytes, sizeof(to.inline_bytes));
  if (message.missing > 0 && from.bytes <= kInlineBytesMax) {
    std::memset(to.inline_bytes + to.bytes, 0, kInlineBytesMax - to.bytes);
  }
  // release: publishes the header, and the payload that the source wrote; pairs with the target's acquire load.
  to.flag.store(step + 1, std::memory_order_release);
}

/// Once more what was delivered before, as a network does that has lost an acknowledgement. The front's header is still
/// the message's: its slot is free for another only after the release.
bool ChaosLane::DeliverDuplicates(uint64_t now_ns) {
  bool delivered = false;
  for (size_t i = duplicates_.size(); i-- > 0;) {
    const Flight duplicate = duplicates_[i];
    if (duplicate.due_ns > now_ns) continue;
    duplicates_.erase(duplicates_.begin() + static_cast<ptrdiff_t>(i));
    // acquire: as in NoteReleases.
    if (back_.release->released.load(std::memory_order_acquire) >= duplicate.count) continue;
    Deliver(duplicate);
    delivered = true;
  }
  return delivered;
}

bool ChaosLane::Pump() {
  const MutexLock lock(mutex_);
  if (detached_) return false;
  const uint64_t now_ns = options_.now_ns();
  NoteMessages(now_ns);
  NoteReleases(now_ns);
  bool delivered = false;
  while (!messages_.empty() && messages_.front().due_ns <= now_ns) {
    Deliver(messages_.front());
    messages_.pop_front();
    delivered = true;
  }
  delivered |= DeliverDuplicates(now_ns);
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
  const MutexLock lock(mutex_);
  if (detached_) return kNeverDue;
  const uint64_t now_ns = options_.now_ns();
  NoteMessages(now_ns);
  NoteReleases(now_ns);
  uint64_t due_ns = kNeverDue;
  for (const std::deque<Flight>* flights : {&messages_, &releases_}) {
    if (!flights->empty()) due_ns = std::min(due_ns, flights->front().due_ns);
  }
  for (const Flight& duplicate : duplicates_) due_ns = std::min(due_ns, duplicate.due_ns);
  return due_ns;
}

void ChaosLane::FlushAndDetach() {
  const MutexLock lock(mutex_);
  MYCEL_CHECK(!detached_);
  NoteMessages(0);
  for (const Flight& message : messages_) Deliver(message);
  if (!messages_.empty()) RingIfAsleep(back_.peer_bell);
  detached_ = true;
}

}  // namespace mycel
