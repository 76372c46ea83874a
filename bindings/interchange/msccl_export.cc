#include "bindings/interchange/msccl_export.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "bindings/interchange/msccl_builder.h"
#include "bindings/interchange/msccl_trace.h"
#include "bindings/interchange/unskewed.h"
#include "bindings/interchange/wrong_plan.h"
#include "core/base/check.h"
#include "core/plan/contract.h"

namespace mycel::msccl {
namespace {

size_t U(int64_t value) { return static_cast<size_t>(value); }
bool IsChannel(const Operand& operand) { return operand.kind == Operand::Kind::kChannel; }

/// Turns the ops of one rank into steps.
class RankExporter {
 public:
  RankExporter(const Plan& plan, Rank rank, const std::map<int32_t, int32_t>& channel_numbers, Gpu* gpu)
      : plan_(plan),
        rank_(rank),
        contract_{plan.collective, plan.rank_count, plan.root},
        channel_numbers_(channel_numbers),
        builder_(gpu, contract_.InPlaceOffset(rank) * plan.units_per_block) {
    const auto chunks = [&](const std::vector<int32_t>& blocks) {
      return static_cast<int32_t>(static_cast<int64_t>(blocks.size()) * plan.units_per_block);
    };
    gpu->input_chunks = chunks(contract_.SendBlocks(rank));
    gpu->output_chunks = chunks(contract_.RecvBlocks(rank));
    for (const ScratchCell& cell : plan.ranks[rank.index()].scratch) {
      cells_.push_back(builder_.AddScratch(static_cast<int32_t>(cell.chunk.units())));
    }
  }

  /// Gives every channel of the rank a block. `fused`: a block may own an incoming and an outgoing one.
  void PlaceBlocks(const std::vector<const OrderedOp*>& ops, bool fused);
  void Add(const OrderedOp& ordered);
  void Finish() { builder_.DropEmptyBlocks(); }

 private:
  struct Pass {  // of units from one channel to another
    int64_t units = 0;
    int32_t in = -1;
    int32_t out = -1;
  };
  std::vector<Pass> PassesOf(const std::vector<const OrderedOp*>& ops) const;
  std::vector<Operand> InputsOf(const Op& op) const;
  Place PlaceOf(const Operand& operand, const Chunk& chunk) const;
  int32_t NumberOf(int32_t channel) const { return channel_numbers_.at(plan_.channels[U(channel)].index); }
  /// The block for copies and sums of the rank's own memory, one for each MSCCL channel.
  int32_t LocalBlock(int32_t channel);
  /// A part of an op, narrow enough for one step to move.
  struct Part {
    Chunk chunk;
    int32_t channel = 0;          // of MSCCL
    std::vector<Operand> inputs;  // in the order in which they are added
    std::vector<Place> kept;      // where the result must lie
    std::vector<Operand> sends;   // channels it must go to
    int32_t fused = -1;           // of `sends`: in the block that receives the last input
    bool only_passes_on = false;  // the fused one is all that becomes of the result
    bool sends_memory = false;    // one input, in memory: nothing to compute
    Place result;                 // where it is kept while it grows
  };
  Part PartOf(const Op& op, const Chunk& chunk, int32_t channel);
  void TakeInputs(const Part& part);
  void AddPart(const Part& part);
  void AddStep(int32_t block, StepType type, const Chunk& chunk, const Place& source, const Place& target,
               int32_t route) {
    Step step;
    step.type = type;
    step.source = source;
    step.target = target;
    step.count = static_cast<int32_t>(chunk.units());
    step.route = route;
    builder_.Add(block, step);
  }

  const Plan& plan_;
  const Rank rank_;
  const Contract contract_;
  const std::map<int32_t, int32_t>& channel_numbers_;
  RankBuilder builder_;
  std::vector<int32_t> cells_;               // offset of each scratch cell
  std::map<int32_t, int32_t> in_blocks_;     // of each channel
  std::map<int32_t, int32_t> out_blocks_;    // of each channel
  std::map<int32_t, int32_t> local_blocks_;  // of each MSCCL channel
};

/// In the plan's order, but memory first of the first two: a sum does not ask which of two comes first.
std::vector<Operand> RankExporter::InputsOf(const Op& op) const {
  std::vector<Operand> inputs(plan_.InputsOf(op), plan_.InputsOf(op) + op.inputs);
  if (inputs.size() > 1 && IsChannel(inputs[0]) && !IsChannel(inputs[1])) std::swap(inputs[0], inputs[1]);
  return inputs;
}

/// What the last input of each op brings to each of its outgoing channels, most units first.
std::vector<RankExporter::Pass> RankExporter::PassesOf(const std::vector<const OrderedOp*>& ops) const {
  std::map<std::pair<int32_t, int32_t>, int64_t> units;
  for (const OrderedOp* ordered : ops) {
    const Op* const op = &ordered->op;
    const Operand last = InputsOf(*op).back();
    if (!IsChannel(last)) continue;
    for (int32_t i = 0; i < op->outputs; ++i) {
      const Operand& out = plan_.OutputsOf(*op)[i];
      if (!IsChannel(out) || NumberOf(out.index) != NumberOf(last.index)) continue;
      units[{last.index, out.index}] += op->chunk.units();
    }
  }
  std::vector<Pass> passes;
  passes.reserve(units.size());
  for (const auto& [ends, sum] : units) passes.push_back({sum, ends.first, ends.second});
  std::stable_sort(passes.begin(), passes.end(), [](const Pass& a, const Pass& b) { return a.units > b.units; });
  return passes;
}

void RankExporter::PlaceBlocks(const std::vector<const OrderedOp*>& ops, bool fused) {
  const auto peer = [&](int32_t channel, bool out) {
    const Channel& it = plan_.channels[U(channel)];
    return (out ? it.target : it.source).value();
  };
  if (fused) {
    for (const Pass& pass : PassesOf(ops)) {
      if (in_blocks_.count(pass.in) != 0 || out_blocks_.count(pass.out) != 0) continue;
      const int32_t block = builder_.AddBlock(peer(pass.out, true), peer(pass.in, false), NumberOf(pass.in));
      in_blocks_[pass.in] = block;
      out_blocks_[pass.out] = block;
    }
  }
  for (const OrderedOp* ordered : ops) {
    const Op* const op = &ordered->op;
    for (int32_t i = 0; i < op->inputs + op->outputs; ++i) {
      const Operand& operand = plan_.operands[U(op->operands + i)];
      if (!IsChannel(operand)) continue;
      const bool out = i >= op->inputs;
      std::map<int32_t, int32_t>& blocks = out ? out_blocks_ : in_blocks_;
      if (blocks.count(operand.index) != 0) continue;
      blocks[operand.index] = builder_.AddBlock(out ? peer(operand.index, true) : -1,
                                                out ? -1 : peer(operand.index, false), NumberOf(operand.index));
    }
  }
}

int32_t RankExporter::LocalBlock(int32_t channel) {
  const auto [at, is_new] = local_blocks_.try_emplace(channel, -1);
  if (is_new) at->second = builder_.AddBlock(-1, -1, channel);
  return at->second;
}

Place RankExporter::PlaceOf(const Operand& operand, const Chunk& chunk) const {
  const auto at = [&](int64_t place) { return static_cast<int32_t>(place * plan_.units_per_block + chunk.begin); };
  switch (operand.kind) {
    case Operand::Kind::kSend:
      return {Buffer::kInput, at(contract_.SendPlace(rank_, chunk.block))};
    case Operand::Kind::kRecv:
      return {Buffer::kOutput, at(contract_.RecvPlace(rank_, chunk.block))};
    case Operand::Kind::kScratch: {
      const Chunk& cell = plan_.ranks[rank_.index()].scratch[U(operand.index)].chunk;
      return {Buffer::kScratch, cells_[U(operand.index)] + static_cast<int32_t>(chunk.begin - cell.begin)};
    }
    case Operand::Kind::kChannel:
      break;
  }
  MYCEL_CHECK(false);
  return {};
}

void RankExporter::Add(const OrderedOp& ordered) {
  const Op& op = ordered.op;
  // Its own channels say which; an op without any keeps to the channel of its lane, if there is one.
  const auto of_lane = channel_numbers_.find(ordered.lane);
  int32_t channel = of_lane == channel_numbers_.end() ? 0 : of_lane->second;
  for (int32_t i = 0; i < op.inputs + op.outputs; ++i) {
    const Operand& operand = plan_.operands[U(op.operands + i)];
    if (IsChannel(operand)) channel = NumberOf(operand.index);
  }
  const int64_t parts = (op.chunk.units() + kCountMax - 1) / kCountMax;
  for (int64_t part = 0; part < parts; ++part) {
    const Chunk chunk{op.chunk.block, op.chunk.begin + ElementOf(op.chunk.units(), part, parts),
                      op.chunk.begin + ElementOf(op.chunk.units(), part + 1, parts)};
    AddPart(PartOf(op, chunk, channel));
  }
}

RankExporter::Part RankExporter::PartOf(const Op& op, const Chunk& chunk, int32_t channel) {
  Part part;
  part.chunk = chunk;
  part.channel = channel;
  part.inputs = InputsOf(op);
  for (int32_t i = 0; i < op.outputs; ++i) {
    const Operand& out = plan_.OutputsOf(op)[i];
    if (IsChannel(out)) {
      part.sends.push_back(out);
    } else {
      part.kept.push_back(PlaceOf(out, chunk));
    }
  }
  const Operand& last = part.inputs.back();
  for (size_t i = 0; i < part.sends.size() && IsChannel(last); ++i) {
    if (out_blocks_.at(part.sends[i].index) == in_blocks_.at(last.index)) part.fused = static_cast<int32_t>(i);
  }
  part.only_passes_on = part.fused >= 0 && part.kept.empty() && part.sends.size() == 1 && part.inputs.size() > 1;
  part.sends_memory = part.inputs.size() == 1 && !IsChannel(last);
  if (part.sends_memory) {
    part.result = PlaceOf(last, chunk);
    return part;
  }
  // In its final place, unless an input still to come lies there in place.
  const bool safe = std::all_of(part.inputs.begin() + 1, part.inputs.end(), IsChannel);
  if (!part.kept.empty() && safe) {
    part.result = part.kept.front();
  } else if (!part.only_passes_on || part.inputs.size() > 2) {
    part.result = {Buffer::kScratch, builder_.AddScratch(static_cast<int32_t>(chunk.units()))};
  }
  return part;
}

/// Receives and sums the inputs; the last step also passes the result on where the part is fused.
void RankExporter::TakeInputs(const Part& part) {
  Place sum;  // of the inputs so far
  int32_t block = -1;
  for (size_t i = 0; i < part.inputs.size(); ++i) {
    const Operand& input = part.inputs[i];
    if (!IsChannel(input)) {
      const Place own = PlaceOf(input, part.chunk);
      if (i == 0 && IsChannel(part.inputs[1])) {
        sum = own;  // read where it lies
        continue;
      }
      if (block < 0) block = LocalBlock(part.channel);
      AddStep(block, i == 0 ? StepType::kCopy : StepType::kReduce, part.chunk, own, part.result, -1);
      sum = part.result;
      continue;
    }
    block = in_blocks_.at(input.index);
    const bool forwards = i + 1 == part.inputs.size() && part.fused >= 0;
    const int32_t route = forwards ? part.sends[U(part.fused)].route : -1;
    if (i == 0) {
      const StepType type = forwards ? StepType::kRecvCopySend : StepType::kRecv;
      AddStep(block, type, part.chunk, part.result, part.result, route);
    } else if (forwards && part.only_passes_on) {
      AddStep(block, StepType::kRecvReduceSend, part.chunk, sum, sum, route);
    } else {
      const StepType type = forwards ? StepType::kRecvReduceCopySend : StepType::kRecvReduceCopy;
      AddStep(block, type, part.chunk, sum, part.result, route);
    }
    sum = part.result;
  }
}

void RankExporter::AddPart(const Part& part) {
  if (!part.sends_memory) TakeInputs(part);
  for (size_t i = 0; i < part.sends.size(); ++i) {
    if (static_cast<int32_t>(i) == part.fused) continue;
    const Operand& out = part.sends[i];
    AddStep(out_blocks_.at(out.index), StepType::kSend, part.chunk, part.result, part.result, out.route);
  }
  for (const Place& place : part.kept) {
    if (place == part.result) continue;
    AddStep(LocalBlock(part.channel), StepType::kCopy, part.chunk, part.result, place, -1);
  }
}

/// MSCCL channel of each index that the plan's channels use.
std::map<int32_t, int32_t> NumberChannels(const Plan& plan) {
  std::map<int32_t, int32_t> numbers;
  for (const Channel& channel : plan.channels) numbers[channel.index] = 0;
  int32_t next = 0;
  for (auto& [index, number] : numbers) number = next++;
  return numbers;
}

Algorithm Build(const UnskewedPlan& unskewed, bool fused) {
  const Plan& plan = unskewed.plan;
  Algorithm algorithm;
  algorithm.file = "the exported algorithm";
  algorithm.name = "mycel_" + std::string(NameOf(plan.collective)) + "_" + std::to_string(plan.rank_count);
  algorithm.proto = plan.protocol == Protocol::kInline ? Proto::kLl : Proto::kSimple;
  algorithm.collective = plan.collective;
  const int64_t blocks = plan.collective == Collective::kAllReduce ? 1 : plan.rank_count;
  algorithm.chunk_count = static_cast<int32_t>(plan.units_per_block * blocks);
  const std::map<int32_t, int32_t> numbers = NumberChannels(plan);
  algorithm.channel_count = std::max(1, static_cast<int32_t>(numbers.size()));
  algorithm.notes = {true, plan.planner, plan.topology, plan.topology_hash, plan.routes};
  algorithm.gpus.resize(U(plan.rank_count));
  std::vector<std::vector<const OrderedOp*>> ops_of(U(plan.rank_count));
  for (const OrderedOp& each : unskewed.order) ops_of[each.rank.index()].push_back(&each);
  for (Rank rank : Ids<Rank>(plan.rank_count)) {
    RankExporter exporter(plan, rank, numbers, &algorithm.gpus[rank.index()]);
    exporter.PlaceBlocks(ops_of[rank.index()], fused);
    for (const OrderedOp* op : ops_of[rank.index()]) exporter.Add(*op);
    exporter.Finish();
  }
  return algorithm;
}

Status TooMuch(const Limits& limits, const std::string& what, int64_t has, int64_t most, const std::string& cure) {
  return Impossible("as " + std::string(limits.runtime) + " file " + what + " " + std::to_string(has) +
                    ", of at most " + std::to_string(most) + "; " + cure);
}

Status CheckLimits(const Algorithm& algorithm, const Limits& limits) {
  constexpr char kFewer[] = "plan with fewer lanes (--lanes 1) or fewer trees (--trees-per-root 1)";
  if (algorithm.channel_count > limits.channels) {
    return TooMuch(limits, "the plan needs channels:", algorithm.channel_count, limits.channels, kFewer);
  }
  for (size_t rank = 0; rank < algorithm.gpus.size(); ++rank) {
    const Gpu& gpu = algorithm.gpus[rank];
    const std::string name = "gpu " + std::to_string(rank);
    if (gpu.scratch_chunks > kOffsetMax) {
      return TooMuch(limits, name + " needs scratch chunks:", gpu.scratch_chunks, kOffsetMax, kFewer);
    }
    if (static_cast<int64_t>(gpu.blocks.size()) > limits.blocks_per_gpu) {
      return TooMuch(limits, name + " needs thread blocks:", static_cast<int64_t>(gpu.blocks.size()),
                     limits.blocks_per_gpu, kFewer);
    }
    std::map<int32_t, int32_t> of_channel;
    for (size_t b = 0; b < gpu.blocks.size(); ++b) {
      const Block& block = gpu.blocks[b];
      if (static_cast<int64_t>(block.steps.size()) > limits.steps_per_block) {
        return TooMuch(limits,
                       name + " tb " + std::to_string(b) + " needs steps:", static_cast<int64_t>(block.steps.size()),
                       limits.steps_per_block, "plan with more lanes (--lanes) or fewer trees (--trees-per-root 1)");
      }
      if (++of_channel[block.channel] > limits.blocks_per_channel) {
        return TooMuch(limits, name + " needs thread blocks on channel " + std::to_string(block.channel) + ":",
                       of_channel[block.channel], limits.blocks_per_channel, "plan with more lanes (--lanes)");
      }
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Algorithm> ExportPlan(const Plan& plan, const Limits& limits) {
  if (!Serves(plan.collective)) {
    return Impossible("MSCCL files do not say the root or the counts of " + std::string(NameOf(plan.collective)) +
                      "; allgather, reduce_scatter, allreduce and alltoall can be exported");
  }
  MYCEL_ASSIGN_OR_RETURN(const UnskewedPlan unskewed, UnskewPlan(plan));
  const int64_t blocks = plan.collective == Collective::kAllReduce ? 1 : plan.rank_count;
  if (unskewed.plan.units_per_block > kOffsetMax / blocks) {
    return Impossible("the plan cuts a block into " + std::to_string(unskewed.plan.units_per_block) +
                      " units; MSCCL counts at most " + std::to_string(kOffsetMax) + " chunks over all " +
                      std::to_string(blocks) + " blocks; plan with fewer trees (--trees-per-root 1) or lanes");
  }
  Status problem;
  for (const bool fused : {true, false}) {
    Algorithm algorithm = Build(unskewed, fused);
    const StatusOr<Trace> trace = TraceOf(algorithm);
    if (trace.ok()) {
      MYCEL_RETURN_IF_ERROR(CheckLimits(algorithm, limits));
      return algorithm;
    }
    if (!IsWrongPlan(trace.status())) return trace.status();
    problem = trace.status();
  }
  return Impossible("the plan does not run with the " +
                    std::to_string(FifoSlotsOf(plan.protocol == Protocol::kInline ? Proto::kLl : Proto::kSimple)) +
                    " messages that an MSCCL connection holds: " + StatusMessage(problem) +
                    "; plan with another planner, such as flow or direct");
}

}  // namespace mycel::msccl
