// The event loop of the simulator: one run of a model with a fixed number of slices.
//
// Flows of one way have one rate, so a way keeps the bytes that each of them has got since the beginning; a message
// ends when that count passes what it was when the message started, plus its bytes. A change of rate is then one number
// a way, however many messages are under way.
#pragma once

#include <cstdint>
#include <queue>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "scheduler/sim/maxmin.h"
#include "scheduler/sim/model.h"
#include "scheduler/sim/sim.h"

namespace mycel::sim {

class Engine {
 public:
  /// `shape`: as the model was made with, but for slices_max and record.
  Engine(const Model& model, const RunShape& shape);

  /// Runs to the end; the time of the last event. InternalError on deadlock.
  StatusOr<double> Run();
  std::vector<OpInterval>& ops() { return op_intervals_; }
  std::vector<MessageInterval>& messages() { return message_intervals_; }

 private:
  enum class EventKind : uint8_t { kOpEnd, kEmptyEnd, kArrive, kRelease };
  struct Event {
    double time;
    int64_t order;  // events of the same time happen in the order they were made
    EventKind kind;
    int32_t id;  // actor or channel
    bool operator>(const Event& other) const { return time != other.time ? time > other.time : order > other.order; }
  };
  struct ActorState {
    int64_t iteration = 0;
    int64_t iterations = 0;
    int32_t op = 0;  // of the model
    bool busy = false;
    bool done = false;
  };
  struct Message {
    int64_t bytes = 0;
    int32_t way = -1;
    int32_t op = -1;  // of the model: who sent it
  };
  struct QueuedMessage {
    Message message;
    int32_t next = -1;
  };
  struct ChannelState {
    int64_t issued = 0;    // messages whose op has started
    int64_t released = 0;  // slots the sender knows to be free again
    int64_t arrived = 0;
    int64_t claimed = 0;  // messages whose reading op has started
    int32_t first = -1;   // queue behind the message under way, in queued_
    int32_t last = -1;
    bool flowing = false;
    Message message;  // the one under way
    double last_arrival = 0;
    double message_start = 0;
  };
  struct Finish {
    double served;  // of the way, when this message has left
    int64_t order;
    int32_t channel;
    bool operator>(const Finish& other) const {
      return served != other.served ? served > other.served : order > other.order;
    }
  };
  struct WayState {
    double served = 0;  // bytes that each flow has got, as of `since`
    double rate = 0;    // bytes per us
    double since = 0;
    double next = 0;               // when the first of `finishes` ends
    int32_t place = -1;            // in way_heap_; -1: nothing ends
    std::vector<Finish> finishes;  // heap
  };

  const Model::Op& OpOf(const ActorState& actor) const { return model_.ops[static_cast<size_t>(actor.op)]; }
  int64_t SliceOf(const ActorState& actor) const { return actor.iteration - OpOf(actor).skew; }
  bool SkipToActiveOp(int32_t id);
  bool IsReady(const ActorState& actor) const;
  static int64_t MessageBytes(const Model::Op& op, int64_t slice);
  void Advance(int32_t id);
  void StartOp(int32_t id);
  void EndOp(int32_t id);
  void Enqueue(int32_t channel, const Message& message);
  void StartMessage(int32_t channel, const Message& message);
  void EndMessage(int32_t channel);
  void EndFirstOf(int32_t way);
  void Await(int32_t way);  // the first end of a way has changed
  void SiftUp(int32_t place);
  void SiftDown(int32_t place);
  void Place(int32_t way, int32_t place);
  void UpdateRates();
  void Push(double time, EventKind kind, int32_t id);
  void Handle(const Event& event);
  double NextTime() const;
  std::string Deadlock() const;

  const Model& model_;
  const RunShape& shape_;
  MaxMin rates_;
  double now_ = 0;
  int64_t order_ = 0;
  bool rates_stale_ = false;
  double stale_since_ = 0;
  std::vector<ActorState> actors_;
  std::vector<int32_t> op_slices_;  // of each op in this run
  std::vector<int32_t> finished_;   // by op: slices done, for waits of other lanes
  std::vector<ChannelState> channels_;
  std::vector<QueuedMessage> queued_;
  std::vector<int32_t> queued_free_;
  std::vector<WayState> ways_;
  std::vector<int32_t> way_heap_;  // ways by their next end, a binary heap
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<OpInterval> op_intervals_;
  std::vector<MessageInterval> message_intervals_;
};

}  // namespace mycel::sim
