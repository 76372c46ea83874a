#include "bindings/interchange/fold.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "bindings/interchange/lift.h"
#include "bindings/interchange/merge_parts.h"
#include "bindings/interchange/unskewed.h"
#include "core/base/check.h"
#include "core/plan/verify.h"

namespace mycel {
namespace {

/// The plan's ops in order, with addresses for scratch cells; channels are still apart.
Trace TraceOfPlan(const UnskewedPlan& unskewed) {
  const Plan& plan = unskewed.plan;
  Trace trace;
  trace.collective = plan.collective;
  trace.rank_count = plan.rank_count;
  trace.root = plan.root;
  trace.units_per_block = plan.units_per_block;
  trace.block_units = plan.block_units;
  trace.protocol = plan.protocol;
  trace.slice_bytes = plan.slice_bytes;
  trace.notes = {true, plan.planner, plan.topology, plan.topology_hash, plan.routes};
  std::vector<std::vector<int64_t>> cells(plan.ranks.size());
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    int64_t next = 0;
    for (const ScratchCell& cell : plan.ranks[rank].scratch) {
      cells[rank].push_back(next);
      next += cell.chunk.units();
    }
  }
  for (const OrderedOp& ordered : unskewed.order) {
    const Op& op = ordered.op;
    TraceOp out{ordered.rank, 0, op.chunk, {}, {}, op.finish};
    for (int32_t i = 0; i < op.inputs + op.outputs; ++i) {
      const Operand& operand = plan.operands[static_cast<size_t>(op.operands + i)];
      const bool is_output = i >= op.inputs;
      TraceOperand to;
      switch (operand.kind) {
        case Operand::Kind::kSend:
          to.kind = TraceOperand::Kind::kSend;
          break;
        case Operand::Kind::kRecv:
          to.kind = TraceOperand::Kind::kRecv;
          break;
        case Operand::Kind::kScratch: {
          const auto cell = static_cast<size_t>(operand.index);
          to.kind = TraceOperand::Kind::kScratch;
          to.place = cells[ordered.rank.index()][cell] +
                     (op.chunk.begin - plan.ranks[ordered.rank.index()].scratch[cell].chunk.begin);
          break;
        }
        case Operand::Kind::kChannel: {
          const Channel& channel = plan.channels[static_cast<size_t>(operand.index)];
          to.kind = TraceOperand::Kind::kMessage;
          to.peer = is_output ? channel.target : channel.source;
          to.index = channel.index;
          to.route = operand.route;
          break;
        }
      }
      (is_output ? out.outputs : out.inputs).push_back(to);
    }
    trace.ops.push_back(std::move(out));
  }
  return trace;
}

/// Leads the messages of all channels between two ranks through channel 0.
class Folder {
 public:
  explicit Folder(std::vector<TraceOp> ops) : ops_(std::move(ops)) {}

  std::vector<TraceOp> Run() {
    for (TraceOp& op : ops_) {
      for (TraceOperand& input : op.inputs) {
        if (input.kind == TraceOperand::Kind::kMessage) input = Receive(op, input);
      }
      for (TraceOperand& output : op.outputs) {
        if (output.kind != TraceOperand::Kind::kMessage) continue;
        Line& line = lines_[{op.rank, output.peer}];
        line.messages.push_back({output.index, op.chunk, -1, false});
        output.index = 0;
      }
      SplitRepeats(&op);
      out_.push_back(std::move(op));
    }
    return std::move(out_);
  }

 private:
  struct Message {
    int32_t index = 0;  // of the channel it was sent on
    Chunk chunk;
    int64_t place = -1;  // where it was set aside
    bool taken = false;  // from the line
  };
  struct Line {
    std::vector<Message> messages;
    size_t first = 0;  // not yet taken from the line
  };

  /// Where `op` finds the next message of the channel that `input` means.
  TraceOperand Receive(const TraceOp& op, const TraceOperand& input) {
    Line& line = lines_[{input.peer, op.rank}];
    size_t wanted = next_[{input.peer, op.rank, input.index}];
    while (line.messages[wanted].index != input.index) ++wanted;
    next_[{input.peer, op.rank, input.index}] = wanted + 1;
    TraceOperand from = input;
    from.index = 0;
    for (; line.first < wanted; ++line.first) {
      Message& earlier = line.messages[line.first];
      if (earlier.taken) continue;
      earlier.taken = true;
      earlier.place = next_place_;
      next_place_ += earlier.chunk.units();
      TraceOp aside{op.rank, 0, earlier.chunk, {from}, {}, false};
      aside.outputs.push_back({TraceOperand::Kind::kScratch, earlier.place, Rank(), 0, -1});
      out_.push_back(std::move(aside));
    }
    Message& message = line.messages[wanted];
    if (!message.taken) {
      message.taken = true;
      return from;
    }
    return {TraceOperand::Kind::kScratch, message.place, Rank(), 0, -1};
  }

  /// An op may read a channel once: of two messages from one peer the first is set aside.
  void SplitRepeats(TraceOp* op) {
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      if (op->inputs[i].kind != TraceOperand::Kind::kMessage) continue;
      const bool again = std::find(op->inputs.begin() + static_cast<ptrdiff_t>(i) + 1, op->inputs.end(),
                                   op->inputs[i]) != op->inputs.end();
      if (!again) continue;
      TraceOp aside{op->rank, 0, op->chunk, {op->inputs[i]}, {}, false};
      const TraceOperand place{TraceOperand::Kind::kScratch, next_place_, Rank(), 0, -1};
      next_place_ += op->chunk.units();
      aside.outputs.push_back(place);
      out_.push_back(std::move(aside));
      op->inputs[i] = place;
    }
    MYCEL_CHECK(!op->outputs.empty());
  }

  std::vector<TraceOp> ops_;
  std::vector<TraceOp> out_;
  std::map<std::pair<Rank, Rank>, Line> lines_;
  std::map<std::tuple<Rank, Rank, int32_t>, size_t> next_;  // where to look for the next message of a channel
  int64_t next_place_ = int64_t{1} << 41;                   // beyond every address of a plan
};

/// An op writes a channel once, so two messages of one op to one rank cannot share it.
bool SendsTwice(const std::vector<TraceOp>& ops) {
  return std::any_of(ops.begin(), ops.end(), [](const TraceOp& op) {
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (op.outputs[i].kind == TraceOperand::Kind::kMessage && op.outputs[j].kind == TraceOperand::Kind::kMessage &&
            op.outputs[i].peer == op.outputs[j].peer) {
          return true;
        }
      }
    }
    return false;
  });
}

StatusOr<Plan> FoldTrace(Trace trace) {
  trace.ops = Folder(std::move(trace.ops)).Run();
  MYCEL_ASSIGN_OR_RETURN(Plan folded, LiftTrace(trace));
  MYCEL_RETURN_IF_ERROR(Verify(folded));
  return folded;
}

}  // namespace

int32_t ChannelLanesOf(const Plan& plan) {
  int32_t lanes = 1;
  for (const Channel& channel : plan.channels) lanes = std::max(lanes, channel.index + 1);
  return lanes;
}

StatusOr<Plan> FoldLanes(const Plan& plan) {
  MYCEL_ASSIGN_OR_RETURN(const UnskewedPlan unskewed, UnskewPlan(plan));
  Trace trace = TraceOfPlan(unskewed);
  if (SendsTwice(trace.ops)) {
    return Impossible("the plan sends one chunk twice to a rank at once; it cannot be run on a single lane");
  }
  // Lanes of the same shape are parts of one tree: 32 of them one after another would be 32 times the messages.
  Trace whole = trace;
  MergeParts(&whole);
  if (StatusOr<Plan> folded = FoldTrace(std::move(whole)); folded.ok()) return folded;
  return FoldTrace(std::move(trace));
}

}  // namespace mycel
