#include "core/plan/encode.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "core/base/check.h"
#include "core/plan/contract.h"

namespace mycel {
namespace {

int16_t Narrow(int32_t value) {
  MYCEL_CHECK(value >= 0 && value <= std::numeric_limits<int16_t>::max());
  return static_cast<int16_t>(value);
}

/// Widest chunk of each lane number over all ranks: what makes every rank cut slices alike.
std::vector<int64_t> LaneUnitsMax(const Plan& plan) {
  std::vector<int64_t> units_max;
  for (const RankPlan& rank : plan.ranks) {
    if (units_max.size() < rank.lanes.size()) units_max.resize(rank.lanes.size(), 0);
    for (size_t lane = 0; lane < rank.lanes.size(); ++lane) {
      for (const Op& op : rank.lanes[lane].ops) units_max[lane] = std::max(units_max[lane], op.chunk.units());
    }
  }
  return units_max;
}

/// Writes one rank's program; channels get local numbers in order of first use.
class Encoder {
 public:
  Encoder(const Plan& plan, Rank rank)
      : plan_(plan), rank_(rank), contract_{plan.collective, plan.rank_count, plan.root} {}

  Program Run() {
    WriteHead();
    const RankPlan& mine = plan_.ranks[rank_.index()];
    program_.scratch = mine.scratch;
    const std::vector<int64_t> units_max = LaneUnitsMax(plan_);
    for (size_t lane = 0; lane < mine.lanes.size(); ++lane) WriteLane(mine.lanes[lane], units_max[lane]);
    return std::move(program_);
  }

 private:
  void WriteHead() {
    program_.collective = plan_.collective;
    program_.rank = rank_.value();
    program_.rank_count = plan_.rank_count;
    program_.root = plan_.root.value();
    program_.units_per_block = plan_.units_per_block;
    program_.block_units = plan_.block_units;
    program_.protocol = plan_.protocol;
    program_.slice_bytes = plan_.slice_bytes;
    program_.slot_count = plan_.slot_count;
    program_.plan_hash = HashOf(plan_);
  }

  void WriteLane(const Lane& lane, int64_t units_max) {
    ProgramLane out{};
    out.instructions = static_cast<int32_t>(program_.instructions.size());
    out.instruction_count = static_cast<int32_t>(lane.ops.size());
    out.units_max = units_max;
    for (const Op& op : lane.ops) {
      out.skew_max = std::max(out.skew_max, op.skew);
      WriteOp(op);
    }
    program_.lanes.push_back(out);
  }

  void WriteOp(const Op& op) {
    MYCEL_CHECK_LT(op.chunk.begin, op.chunk.end);
    MYCEL_CHECK_LE(op.chunk.end, plan_.UnitsOf(op.chunk.block));
    Instruction out{};
    out.block = op.chunk.block;
    out.skew = op.skew;
    out.begin = op.chunk.begin;
    out.end = op.chunk.end;
    out.operands = static_cast<int32_t>(program_.operands.size());
    out.inputs = Narrow(op.inputs);
    out.outputs = Narrow(op.outputs);
    out.waits = static_cast<int32_t>(program_.waits.size());
    out.wait_count = Narrow(op.wait_count);
    out.finish = op.finish ? 1 : 0;
    for (int32_t i = 0; i < op.inputs + op.outputs; ++i) {
      program_.operands.push_back(OperandOf(op, plan_.operands[static_cast<size_t>(op.operands + i)], i >= op.inputs));
    }
    for (int32_t i = 0; i < op.wait_count; ++i) {
      const Wait& wait = plan_.waits[static_cast<size_t>(op.waits + i)];
      program_.waits.push_back({wait.lane.value(), wait.op});
    }
    program_.instructions.push_back(out);
  }

  InstructionOperand OperandOf(const Op& op, const Operand& operand, bool is_output) {
    InstructionOperand out{};
    switch (operand.kind) {
      case Operand::Kind::kSend:
        out.kind = OperandKind::kSend;
        out.index = contract_.SendPlace(rank_, op.chunk.block);
        break;
      case Operand::Kind::kRecv:
        out.kind = OperandKind::kRecv;
        out.index = contract_.RecvPlace(rank_, op.chunk.block);
        break;
      case Operand::Kind::kScratch:
        out.kind = OperandKind::kScratch;
        out.index = operand.index;
        out.base = program_.scratch[static_cast<size_t>(operand.index)].chunk.begin;
        MYCEL_CHECK_GE(op.chunk.begin, out.base);
        break;
      case Operand::Kind::kChannel:
        out.kind = OperandKind::kChannel;
        out.index = LocalChannel(operand.index, is_output);
        if (operand.route >= 0 && !plan_.rails.empty()) out.rails = plan_.rails[static_cast<size_t>(operand.route)];
        break;
    }
    MYCEL_CHECK_GE(out.index, 0);
    return out;
  }

  int32_t LocalChannel(int32_t channel, bool sends) {
    const auto [at, is_new] = local_.try_emplace(channel, static_cast<int32_t>(program_.channels.size()));
    if (is_new) {
      const Channel& known = plan_.channels[static_cast<size_t>(channel)];
      MYCEL_CHECK_EQ(sends ? known.source : known.target, rank_);
      program_.channels.push_back({sends ? known.target.value() : known.source.value(), known.index, sends});
    }
    MYCEL_CHECK_EQ(program_.channels[static_cast<size_t>(at->second)].sends, sends);
    return at->second;
  }

  const Plan& plan_;
  const Rank rank_;
  const Contract contract_;
  Program program_;
  std::unordered_map<int32_t, int32_t> local_;
};

}  // namespace

Program Encode(const Plan& plan, Rank rank) {
  MYCEL_CHECK(rank.valid() && rank.index() < plan.ranks.size());
  return Encoder(plan, rank).Run();
}

}  // namespace mycel
