// Model: a plan on a topology, flattened to what the event loop needs. Plain data.
//
// An actor is a lane of a rank. Channels, actors and links may each stand for several alike (symmetry.h): then a way's
// links say how many flows of all those alike meet on each.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/plan/plan.h"
#include "core/plan/slicing.h"
#include "core/topo/topology.h"
#include "scheduler/sim/maxmin.h"

namespace mycel::sim {

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

/// The links that messages pass, and their latency. Several ways may pass the same links.
struct Ways {
  std::vector<LinkUse> links;  // of all ways, one after the other
  std::vector<int32_t> first;  // by way: its first entry in `links`; one more at the end
  std::vector<double> latency_us;

  size_t size() const { return latency_us.size(); }
};

/// The ways that a plan's channel outputs take.
struct PlanWays {
  Ways ways;
  std::vector<int32_t> of_operand;  // by Plan::operands: the way of a channel output; -1: none
};
/// InvalidArgument when a channel has no route in the topology.
StatusOr<PlanWays> WaysOf(const Plan& plan, const Topology& topology);

struct Model {
  struct Output {
    int32_t channel = 0;
    int32_t way = 0;
  };
  struct Wait {
    int32_t actor = 0;
    int32_t op = 0;  // of that actor
  };
  struct Op {
    ChunkSlicing slicing;
    int64_t bytes = 0;  // of its chunk
    int32_t skew = 0;
    int32_t breadth = 0;  // inputs or outputs, whichever are more; memory counts
    int32_t inputs = 0;   // first of its channels in `inputs`; they end where the next op's begin
    int32_t outputs = 0;
    int32_t waits = 0;
  };
  struct Actor {
    int32_t rank = 0;
    int32_t lane = 0;
    int32_t ops = 0;  // first op; they end where the next actor's begin
  };
  struct Channel {
    int32_t source = -1;  // actor; -1: nobody sends
    int32_t target = -1;
    int32_t source_port = -1;  // of the source's channels, in the order of first use, which this is
    int32_t target_port = -1;
    double back_us = 0;  // what the word of a freed slot takes
  };

  int32_t slot_count = 1;
  std::vector<double> capacities;  // by link, bytes per us
  Ways ways;
  std::vector<Actor> actors;  // one more at the end, for the last one's ops
  std::vector<Op> ops;        // one more at the end
  std::vector<int32_t> inputs;
  std::vector<Output> outputs;
  std::vector<Wait> waits;
  std::vector<Channel> channels;
  std::vector<int32_t> channel_of_plan;  // the plan's number of each channel here
  std::vector<int32_t> wakes;            // by actor: those that wait for ops of it
  std::vector<int32_t> wakes_first;      // one more at the end

  int32_t actor_count() const { return static_cast<int32_t>(actors.size()) - 1; }
};

Model MakeModel(const Plan& plan, const Topology& topology, const PlanWays& ways, const RunShape& shape);
/// Fills `wakes` from the waits.
void ListWakes(Model* model);

}  // namespace mycel::sim
