// The event loop of the simulator: one run of a plan with a fixed number of slices.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "core/base/status.h"
#include "core/plan/plan.h"
#include "core/topo/topology.h"
#include "scheduler/sim/maxmin.h"
#include "scheduler/sim/sim.h"

namespace mycel::sim {

/// The links and the latency of one way from a channel's source to its target.
struct Path {
  std::vector<int32_t> links;
  double latency_us = 0;
};

/// The ways of a plan's messages. Messages of one channel may take different ways: each op names its own.
struct PathTable {
  std::vector<Path> paths;
  std::vector<int32_t> of_operand;  // by Plan::operands: the path of a channel output; -1: none
  std::vector<int32_t> of_channel;  // the path of its first op; -1: no op sends. Freed slots are told along it
};
/// InvalidArgument when a channel has no route in the topology.
StatusOr<PathTable> PathsOf(const Plan& plan, const Topology& topology);

/// Sizes of one run.
struct RunShape {
  std::vector<int64_t> block_bytes;  // by block; one entry for regular collectives
  std::vector<Slicing> slicing;      // by lane number
  int64_t slices_max = 0;            // slices simulated of each chunk
  double op_overhead_us = 0;
  double lane_GBps = 0;
  bool record = false;

  int64_t BlockBytesOf(int32_t block) const {
    return block_bytes[block_bytes.size() == 1 ? 0 : static_cast<size_t>(block)];
  }
  int64_t ChunkBytesMax(const Plan& plan, const Chunk& chunk) const {
    return ElementsMaxOf(BlockBytesOf(chunk.block), chunk.units(), plan.UnitsOf(chunk.block));
  }
  int64_t ChunkBytes(const Plan& plan, const Chunk& chunk) const {
    const int64_t bytes = BlockBytesOf(chunk.block);
    const int64_t units = plan.UnitsOf(chunk.block);
    return ElementOf(bytes, chunk.end, units) - ElementOf(bytes, chunk.begin, units);
  }
};

class Engine {
 public:
  Engine(const Plan& plan, const Topology& topology, const PathTable& paths, const RunShape& shape);

  /// Runs to the end; the time of the last event. InternalError on deadlock.
  StatusOr<double> Run();
  std::vector<OpInterval>& ops() { return op_intervals_; }
  std::vector<MessageInterval>& messages() { return message_intervals_; }

 private:
  enum class EventKind : uint8_t { kOpEnd, kFlowEnd, kArrive, kRelease };
  struct Event {
    double time;
    int64_t order;  // events of the same time happen in the order they were made
    EventKind kind;
    int32_t id;       // actor or channel
    int64_t version;  // kFlowEnd: out of date unless it is the channel's
    bool operator>(const Event& other) const { return time != other.time ? time > other.time : order > other.order; }
  };
  /// A lane of a rank.
  struct Actor {
    int32_t rank = 0;
    int32_t lane = 0;
    int64_t iteration = 0;
    int64_t iterations = 0;
    size_t position = 0;
    bool busy = false;
    bool done = false;
    std::vector<ChunkSlicing> slicing;  // of each op
    std::vector<int64_t> op_slices;     // slices of each op in this run
    std::vector<int64_t> finished;      // by op: slices done, for waits of other lanes
  };
  struct Message {
    int64_t bytes = 0;
    int32_t path = -1;
  };
  struct ChannelState {
    int32_t source_actor = -1;
    int32_t target_actor = -1;
    int64_t issued = 0;    // messages whose op has started
    int64_t released = 0;  // slots the sender knows to be free again
    int64_t arrived = 0;
    int64_t claimed = 0;        // messages whose reading op has started
    std::queue<Message> queue;  // behind the one under way
    bool flowing = false;
    Message message;  // the one under way
    double last_arrival = 0;
    MaxMin::Flow flow = -1;
    double left = 0;  // bytes, as of `since`
    double rate = 0;  // bytes per us
    double since = 0;
    int64_t version = 0;
    double message_start = 0;
  };

  void MakeActors();
  const Op& OpOf(const Actor& actor) const;
  int64_t SliceOf(const Actor& actor) const { return actor.iteration - OpOf(actor).skew; }
  bool SkipToActiveOp(Actor* actor) const;
  bool IsReady(const Actor& actor) const;
  int64_t MessageBytes(const Actor& actor, const Op& op, int64_t slice) const;
  void Advance(int32_t id);
  void StartOp(int32_t id);
  void EndOp(int32_t id);
  void WakeRank(int32_t rank);
  void Enqueue(int32_t channel, Message message);
  void StartFlow(int32_t channel, Message message);
  void EndFlow(int32_t channel);
  void UpdateRates();
  void Push(double time, EventKind kind, int32_t id, int64_t version = 0);
  void Handle(const Event& event);
  std::string Deadlock() const;

  const Plan& plan_;
  const PathTable& paths_;
  const RunShape& shape_;
  MaxMin rates_;
  double now_ = 0;
  int64_t order_ = 0;
  bool rates_stale_ = false;
  std::vector<Actor> actors_;
  std::vector<std::vector<int32_t>> actors_of_rank_;
  std::vector<ChannelState> channels_;
  std::vector<int32_t> channel_of_flow_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<OpInterval> op_intervals_;
  std::vector<MessageInterval> message_intervals_;
};

}  // namespace mycel::sim
