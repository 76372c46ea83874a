// Step trace: what the traced step loop (kernels/step/step.h) notes while an operation runs: each slice of each
// instruction on its lane, and how long the lane was blocked before it. Off by default, and then costs nothing: a
// launch without a trace runs a loop that does not know of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mycel {

enum class TraceKind : uint8_t { kOperation, kStep, kWait };

/// An interval of CLOCK_MONOTONIC.
struct TraceEvent {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint64_t operation = 0;  // sequence number
  uint64_t what = 0;       // kOperation: OperationWord; else the slice
  uint64_t amount = 0;     // kOperation: count; kStep: bytes
  int32_t lane = -1;       // -1: kOperation
  int32_t from = -1;       // rank whose message came in, or is waited for
  int32_t to = -1;         // rank that a message went to, or whose receive is waited for
  TraceKind kind = TraceKind::kOperation;
  bool reduces = false;
};

/// The latest events of one communicator, up to a limit. Owner: the thread inside the communicator.
class StepTrace {
 public:
  static constexpr size_t kEventsMax = 65536;  // 4 MiB

  explicit StepTrace(size_t events_max = kEventsMax) : events_max_(events_max) {}

  /// An operation, or a stage of one, with so many lanes begins.
  void Begin(uint64_t operation, size_t lanes) {
    operation_ = operation;
    blocked_.assign(lanes, Blocked());
  }
  /// The lane could not go on at `now_ns`, for want of a message `from` or of room at `to`.
  void Block(int32_t lane, int64_t now_ns, int32_t from, int32_t to) {
    Blocked& blocked = blocked_[static_cast<size_t>(lane)];
    if (blocked.since_ns == 0) blocked = {now_ns, from, to};
  }
  bool IsBlocked(int32_t lane) const { return blocked_[static_cast<size_t>(lane)].since_ns != 0; }
  /// The lane ran a slice; ends a wait that was.
  void Step(TraceEvent step) {
    Blocked& blocked = blocked_[static_cast<size_t>(step.lane)];
    if (blocked.since_ns != 0) {
      TraceEvent wait;
      wait.start_ns = blocked.since_ns;
      wait.end_ns = step.start_ns;
      wait.operation = operation_;
      wait.what = step.what;
      wait.lane = step.lane;
      wait.from = blocked.from;
      wait.to = blocked.to;
      wait.kind = TraceKind::kWait;
      Add(wait);
      blocked.since_ns = 0;
    }
    step.operation = operation_;
    step.kind = TraceKind::kStep;
    Add(step);
  }
  void Add(const TraceEvent& event) {
    if (events_.size() < events_max_) {
      events_.push_back(event);
    } else {
      events_[added_ % events_max_] = event;
    }
    ++added_;
  }

  /// Oldest first.
  std::vector<TraceEvent> Events() const {
    std::vector<TraceEvent> ordered(events_);
    if (added_ > events_.size()) {
      std::rotate(ordered.begin(), ordered.begin() + static_cast<ptrdiff_t>(added_ % events_max_), ordered.end());
    }
    return ordered;
  }
  /// Events that had to make room.
  uint64_t dropped() const { return added_ - events_.size(); }
  void Clear() {
    events_.clear();
    added_ = 0;
  }

 private:
  struct Blocked {
    int64_t since_ns = 0;  // 0: not blocked
    int32_t from = -1;
    int32_t to = -1;
  };

  size_t events_max_;
  uint64_t operation_ = 0;
  uint64_t added_ = 0;
  std::vector<TraceEvent> events_;
  std::vector<Blocked> blocked_;  // by lane
};

}  // namespace mycel
