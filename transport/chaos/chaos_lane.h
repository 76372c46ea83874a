// ChaosLane: one channel under chaos. The source writes headers into a front ring, the target reads those of the
// wrapped channel (the back), and somebody who calls Pump moves messages and releases between the two when their time
// has come.
//
//   source -> front headers --delay--> back headers -> target
//   source <- front release <--delay-- back release <- target
//
// The payload is the wrapped channel's own: the source writes it before it publishes in front, and may not touch it
// again before the release has come back, so only headers need to move and the lane need not know the plan's slot
// geometry.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "core/base/mutex.h"
#include "core/base/rng.h"
#include "core/spi/channel.h"

namespace mycel {

/// What may happen to messages and releases. Times are those of `now_ns`, which may be real or virtual. Probabilities
/// are per message; delays and stalls also meet releases.
struct ChaosOptions {
  uint64_t seed = 1;
  std::function<uint64_t()> now_ns;  // required
  double delay_probability = 0.5;
  uint64_t delay_ns_max = 20'000;  // uniform in 1..delay_ns_max
  double stall_probability = 0.01;
  uint64_t stall_ns = 1'000'000;  // nothing of this channel moves for so long
  double drop_probability = 0;    // the message is lost, and with it all later ones of its channel
  // Drawn apart from the above, so that these do not shift what those decide:
  double duplicate_probability = 0;  // its header arrives again a while later, unless its slot was given back by then
  double truncate_probability = 0;   // its last bytes are missing, and its header says so
};

inline constexpr uint64_t kNeverDue = ~uint64_t{0};

/// Thread-safe: both sides may pump.
class ChaosLane {
 public:
  /// `back`: the source's end of the wrapped channel, untouched so far.
  ChaosLane(const ChannelEnd& back, Bell* source_bell, const ChaosOptions& options, uint64_t lane_seed);

  /// The end for the source.
  ChannelEnd SourceEnd();
  /// Takes note of what is new and moves what is due. True when something moved.
  bool Pump();
  /// When the next known message or release is due; kNeverDue when none is under way.
  uint64_t NextDueNs();
  /// Moves all messages at once (what was dropped stays lost) and never touches the back again: the source leaves.
  void FlushAndDetach();

  static size_t MemoryBytes() { return sizeof(Front); }

 private:
  struct Front {
    SlotHeader headers[kSlotCountMax];
    ReleaseWord release;
  };
  struct Flight {
    uint64_t count = 0;  // messages published or slots released, once this has arrived
    uint64_t due_ns = 0;
    uint32_t missing = 0;  // bytes cut off
  };

  uint64_t DueAfter(uint64_t now_ns, Rng& rng, uint64_t last_due_ns) const;
  void NoteMessages(uint64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteReleases(uint64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Flight NextMessage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Deliver(const Flight& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool DeliverDuplicates(uint64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ChaosOptions options_;
  const ChannelEnd back_;
  Bell* const source_bell_;
  const std::unique_ptr<Front> front_;

  Mutex mutex_;
  Rng message_rng_ ABSL_GUARDED_BY(mutex_);
  Rng release_rng_ ABSL_GUARDED_BY(mutex_);
  Rng damage_rng_ ABSL_GUARDED_BY(mutex_);
  std::deque<Flight> messages_ ABSL_GUARDED_BY(mutex_);
  std::deque<Flight> duplicates_ ABSL_GUARDED_BY(mutex_);
  std::deque<Flight> releases_ ABSL_GUARDED_BY(mutex_);
  uint64_t published_seen_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t released_seen_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t message_due_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // of the last message noted: FIFO
  uint64_t release_due_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  bool severed_ ABSL_GUARDED_BY(mutex_) = false;  // a message was dropped
  bool detached_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mycel
