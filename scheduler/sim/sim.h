// Flow-level simulation of a plan on a topology: what each lane does when, what each link carries, how long it takes.
//
// Model
//  * A lane walks its body as plan.h says. An op starts when its inputs have arrived and its output channels have free
//    slots; it keeps the lane busy for `op_overhead_us` plus its bytes over `lane_GBps`, then its messages leave.
//  * A channel sends its messages one after the other (FIFO). The message under way is a flow over the links of the
//    channel's route; all flows share link capacities max-min fairly (maxmin.h). It arrives one route latency after its
//    last byte left. A freed slot is seen by the sender one route latency later.
//  * Long collectives repeat themselves: when a chunk has more than `slices_max` slices (or four times the pipeline's
//    depth, if that is more) the run is cut short twice, at half that number and at that number of slices, and the rest
//    is added at the pace between the two. Plans with uneven chunks do not repeat; their slices are made longer
//    instead, and an op's overhead in proportion.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/plan/plan.h"
#include "core/topo/topology.h"

namespace mycel {

struct SimOptions {
  int64_t bytes = 0;            // nccl-tests' size, as in PlanRequest; v-collectives: the plan's units are the bytes
  double op_overhead_us = 0.2;  // of each op on each slice
  double lane_GBps = 0;         // how fast a lane reads and writes; 0: no limit
  int32_t slices_max = 64;      // simulated slices of a chunk
  int64_t messages_max = 2'000'000;  // simulated messages; fewer slices are simulated when they would be more
  bool record = false;               // keep intervals, for pictures
  bool fold = true;                  // one lane stands for all that cannot be told apart from it (symmetry.h)
};

/// One op working on one slice.
struct OpInterval {
  Rank rank;
  LaneId lane;
  int32_t op = 0;
  int64_t slice = 0;
  double start_us = 0;
  double end_us = 0;
};

/// One message on its way.
struct MessageInterval {
  ChannelId channel;
  Rank rank;  // who sends it: its lane, and the op there
  LaneId lane;
  int32_t op = 0;
  int64_t bytes = 0;
  double start_us = 0;
  double end_us = 0;
};

/// A lane of a rank.
struct RankLane {
  Rank rank;
  LaneId lane;
};

struct SimResult {
  double time_us = 0;
  double bound_us = 0;  // of the busiest link alone; time_us is never below
  double algbw_GBps = 0;
  double busbw_GBps = 0;
  std::vector<double> link_bytes;        // by link of the topology
  std::vector<double> link_utilisation;  // bytes / (bandwidth x time)
  int64_t slices = 0;                    // of the longest chunk
  int64_t slices_simulated = 0;          // fewer when the run was cut short
  double simulated_us = 0;               // of the simulated slices alone: where the intervals end
  int64_t lanes = 0;                     // of all ranks
  int64_t lanes_simulated = 0;           // fewer where some stand for others
  std::vector<OpInterval> ops;           // of the simulated slices and lanes
  std::vector<MessageInterval> messages;
  std::vector<ChannelId>
      channel_alike;                 // by channel of the plan: the simulated one that does the same at the same time
  std::vector<RankLane> lane_alike;  // the same by lane, rank after rank
};

/// Bytes of one logical block of a regular collective when nccl-tests' size is `bytes`.
int64_t BlockBytes(Collective collective, int32_t rank_count, int64_t bytes);

/// InvalidArgument when plan and topology do not fit; InternalError when the plan deadlocks, naming who waits.
StatusOr<SimResult> Simulate(const Plan& plan, const Topology& topology, const SimOptions& options);

/// Chrome / Perfetto trace.
struct ChromeTrace {
  std::string json;     // a process per rank with a thread per lane, and a process with a thread per channel
  int32_t ranks = 0;    // the first ranks, with the channels they send on
  double until_us = 0;  // what begins later is left out
};

/// `result` with its intervals. At most `events_max` of them (each about 120 bytes): of so many ranks as fit, of the
/// first alone up to some moment. What is simulated once for all that are alike is written for each of them.
ChromeTrace ToChromeTrace(const Plan& plan, const SimResult& result, int64_t events_max = 200'000);

}  // namespace mycel
