// Closed-form time of a schedule, before it is lowered: what the chooser compares. Microseconds of arithmetic, so that
// it may sit on the path of a first call.
//
// Model. Phases are lowering's (lower.h). w(r, tau) is the work of rank r in phase tau on one slice, C the time of one
// slice through all phases, P the time between two slices:
//   C = sum over tau of max over r of w(r, tau), plus a hop between phases
//   P = max over r of the sum over tau of w(r, tau)              with skew: a rank never waits for itself
//   P = the phases from a rank's first to its last op, as in C   without
//   T = C + (slices - 1) P
// On a host a byte costs more where the rings of a rank outgrow its core's cache: that is what large slices pay.
// More ranks than cores: work adds up on each core, and each round of phases costs a switch to every rank of the core.
// On a fabric the links work instead of the ranks, and T is at least what the busiest link and the lanes need.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/plan/contract.h"
#include "core/plan/plan.h"
#include "core/plan/schedule.h"
#include "core/topo/topology.h"
#include "scheduler/lower/depths.h"
#include "scheduler/select/cost_model.h"

namespace mycel::select {

/// The choices that lowering leaves to the chooser.
struct Shape {
  int64_t slice_bytes = 65536;
  bool pipelined = false;
  int32_t lanes = 1;
  Protocol protocol = Protocol::kSlot;
};

class Estimate {
 public:
  /// InvalidArgument when the schedule is malformed. `bytes` is nccl-tests' size.
  static StatusOr<Estimate> Make(const Schedule& schedule, const Topology& topology, int64_t bytes);

  double Us(const CostModel& model, const Shape& shape) const;
  /// Bytes of the longest chunk: more per slice is pointless.
  /// How many times a fair share one lane may have before it, and not a link, bounds the plan; at least 9/8.
  double LaneExcess(const CostModel& model, const Shape& shape) const;
  int64_t longest_bytes() const { return longest_bytes_; }
  /// Messages per slice of the busiest channel: skew needs that many slots and a few more.
  int32_t channel_messages() const { return channel_messages_; }
  int32_t phases() const { return phases_; }
  /// What the busiest link needs: no schedule of these edges takes less.
  double link_us() const { return link_us_; }

 private:
  /// Work of one rank in one phase over the whole collective, apart from the device's speed.
  struct Work {
    double ops = 0;
    double copied = 0;         // bytes of ops with one input
    double reduced = 0;        // bytes of further inputs
    double fanned = 0;         // bytes of further outputs
    double direct_copied = 0;  // bytes written when messages are read in place
    double direct_calls = 0;
    double moved = 0;  // bytes through a lane: the larger of inputs and outputs
    Chunk last_read{-1, 0, 0};
  };
  struct OpShape {
    int memory_inputs, channel_inputs, memory_outputs, channel_outputs;
  };
  struct TreeOps {
    int own = 0, up_children = 0, down_children = 0;
  };
  /// First and last phase in which a rank works.
  struct Span {
    int32_t first, last;
  };

  void AddTree(const Contract& contract, const Tree& tree, const lower::Depths& depths, int32_t first_phase,
               double bytes);
  void AddOp(Rank rank, int32_t phase, const Chunk& chunk, double bytes, const OpShape& op);
  void AddLinks(const Schedule& schedule, const Topology& topology, const std::vector<TreeEdge>& edges, double bytes,
                std::vector<double>* link_bytes);
  Span SpanOf(size_t rank) const;
  const Work& At(size_t rank, int32_t phase) const {
    return work_[rank * static_cast<size_t>(phases_) + static_cast<size_t>(phase)];
  }
  double HostUs(const CostModel& model, const Shape& shape, double slices) const;
  int64_t WidestBytes(const Shape& shape) const;  // of the chunks that lowering leaves with this many lanes
  double SlicesOf(const Shape& shape) const;
  /// What each lane of the busiest rank does when all its lanes do the same.
  double LaneUs(const CostModel& model, const Shape& shape, double slices) const;
  /// Overlapping stages: a round is one slice of everything. A rank waits for what was sent a round ago, so ranks go
  /// round in step, and no round is shorter than its ops and a message's way.
  double RoundUs(const CostModel& model, const Shape& shape) const;
  /// What the links stand still: a little in every round, and in the end, when some lanes are done before others.
  /// Fitted to simulations of 4 servers of 8 ranks with 16 to 256 MiB a rank.
  double StagedUs(const CostModel& model, const Shape& shape, double slices) const;
  double FabricUs(const CostModel& model, const Shape& shape, double slices) const;

  size_t rank_count_ = 0;
  int32_t phases_ = 1;
  bool staged_ = false;          // stages overlap
  std::vector<int64_t> widths_;  // of overlapping stages: bytes of the widest chunk with 1, 2, 4, ... lanes
  double mean_bytes_ = 0;        // of overlapping stages: of the chunks that travel
  int32_t depth_ = 1;            // of the pipeline: all phases, or the longest path of overlapping stages
  int64_t longest_bytes_ = 0;
  int32_t channel_messages_ = 0;
  int32_t rank_channels_ = 0;  // of the rank with most
  double footprint_ = 0;       // bytes of all user buffers
  double link_us_ = 0;         // busiest link
  double latency_us_ = 0;      // slowest edge
  double edge_GBps_ = 0;       // slowest link used
  std::vector<Work> work_;     // by rank, phase
  std::vector<TreeOps> ops_;   // of the tree being added, by rank
};

}  // namespace mycel::select
