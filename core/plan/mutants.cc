#include "core/plan/mutants.h"

#include <iterator>
#include <utility>
#include <vector>

#include "core/plan/run_check.h"

namespace mycel {
namespace {

/// Where an op is.
struct Spot {
  size_t rank;
  size_t lane;
  size_t op;
};

std::vector<Op>& BodyAt(Plan& plan, const Spot& spot) { return plan.ranks[spot.rank].lanes[spot.lane].ops; }
Op& OpAt(Plan& plan, const Spot& spot) { return BodyAt(plan, spot)[spot.op]; }

std::vector<Spot> SpotsOf(const Plan& plan) {
  std::vector<Spot> spots;
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    for (size_t lane = 0; lane < plan.ranks[rank].lanes.size(); ++lane) {
      for (size_t op = 0; op < plan.ranks[rank].lanes[lane].ops.size(); ++op) spots.push_back({rank, lane, op});
    }
  }
  return spots;
}

/// Operand `i` of an op, inputs first.
Operand& OperandOf(Plan& plan, const Spot& spot, int32_t i) {
  return plan.operands[static_cast<size_t>(OpAt(plan, spot).operands + i)];
}

void DropOperand(Plan& plan, const Spot& spot, int32_t dropped) {
  Op& op = OpAt(plan, spot);
  const auto moved = static_cast<int32_t>(plan.operands.size());
  for (int32_t i = 0; i < op.inputs + op.outputs; ++i) {
    if (i == dropped) continue;
    plan.operands.push_back(plan.operands[static_cast<size_t>(op.operands + i)]);
  }
  op.operands = moved;
  (dropped < op.inputs ? op.inputs : op.outputs) -= 1;
}

void MutateChunk(const Plan& plan, const Spot& spot, const MutantReport& report) {
  for (const int64_t by : {-1, 1}) {
    Plan mutant = plan;
    OpAt(mutant, spot).chunk.begin += by;
    report("chunk begin", mutant);
    mutant = plan;
    OpAt(mutant, spot).chunk.end += by;
    report("chunk end", mutant);
    mutant = plan;
    OpAt(mutant, spot).chunk.block += static_cast<int32_t>(by);
    report("chunk block", mutant);
  }
}

void MutateOperands(const Plan& plan, const Spot& spot, const MutantReport& report) {
  const Op& op = plan.ranks[spot.rank].lanes[spot.lane].ops[spot.op];
  for (int32_t i = 0; i < op.inputs + op.outputs; ++i) {
    Plan mutant = plan;
    DropOperand(mutant, spot, i);
    report(i < op.inputs ? "drop an input" : "drop an output", mutant);
    for (const Operand::Kind kind : {Operand::Kind::kSend, Operand::Kind::kRecv, Operand::Kind::kScratch}) {
      mutant = plan;
      Operand& operand = OperandOf(mutant, spot, i);
      if (operand.kind == kind) continue;
      operand = {kind, kind == Operand::Kind::kScratch ? 0 : -1, -1};
      report("another kind of operand", mutant);
    }
    for (size_t channel = 0; channel < plan.channels.size(); ++channel) {
      mutant = plan;
      const Operand other{Operand::Kind::kChannel, static_cast<int32_t>(channel), -1};
      if (OperandOf(mutant, spot, i) == other) continue;
      OperandOf(mutant, spot, i) = other;
      report("another channel", mutant);
    }
    if (i == 0 || i == op.inputs) continue;
    mutant = plan;
    std::swap(OperandOf(mutant, spot, i - 1), OperandOf(mutant, spot, i));
    report("swap operands", mutant);
  }
}

void MutateOp(const Plan& plan, const Spot& spot, const MutantReport& report) {
  const auto change = [&](const std::string& kind, const std::function<void(Plan&)>& edit) {
    Plan mutant = plan;
    edit(mutant);
    report(kind, mutant);
  };
  change("drop an op", [&](Plan& p) {
    std::vector<Op>& body = BodyAt(p, spot);
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(spot.op));
  });
  change("double an op", [&](Plan& p) {
    std::vector<Op>& body = BodyAt(p, spot);
    const Op copy = body[spot.op];
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(spot.op), copy);
  });
  change("toggle finish", [&](Plan& p) { OpAt(p, spot).finish = !OpAt(p, spot).finish; });
  for (const int32_t by : {-1, 1, 3}) {
    change("change a skew", [&](Plan& p) { OpAt(p, spot).skew += by; });
  }
  if (plan.ranks[spot.rank].lanes[spot.lane].ops[spot.op].wait_count > 0) {
    change("drop a wait", [&](Plan& p) { OpAt(p, spot).wait_count -= 1; });
  }
  for (size_t other = spot.op + 1; other < plan.ranks[spot.rank].lanes[spot.lane].ops.size(); ++other) {
    change("swap two ops", [&](Plan& p) { std::swap(BodyAt(p, spot)[spot.op], BodyAt(p, spot)[other]); });
  }
  for (size_t lane = 0; lane < plan.ranks[spot.rank].lanes.size(); ++lane) {
    if (lane == spot.lane) continue;
    change("another lane", [&](Plan& p) {
      p.ranks[spot.rank].lanes[lane].ops.push_back(OpAt(p, spot));
      std::vector<Op>& body = BodyAt(p, spot);
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(spot.op));
    });
  }
}

void MutatePlan(const Plan& plan, const MutantReport& report) {
  for (int32_t slots = 1; slots < plan.slot_count; ++slots) {
    Plan mutant = plan;
    mutant.slot_count = slots;
    report("fewer slots", mutant);
  }
  for (size_t channel = 0; channel < plan.channels.size(); ++channel) {
    for (Rank rank : Ids<Rank>(plan.rank_count)) {
      Plan mutant = plan;
      mutant.channels[channel].target = rank;
      if (rank != plan.channels[channel].target) report("another target", mutant);
      mutant = plan;
      mutant.channels[channel].source = rank;
      if (rank != plan.channels[channel].source) report("another source", mutant);
    }
  }
}

}  // namespace

void ForEachMutant(const Plan& plan, const MutantReport& report) {
  MutatePlan(plan, report);
  for (const Spot& spot : SpotsOf(plan)) {
    MutateOp(plan, spot, report);
    MutateChunk(plan, spot, report);
    MutateOperands(plan, spot, report);
  }
}

Status RunManyWays(const Plan& plan, bool in_place) {
  const int64_t slice = plan.slice_bytes * plan.units_per_block;
  uint64_t seed = 0;
  for (const int64_t count : {int64_t{1}, int64_t{13}, slice, 3 * slice + 17, 7 * slice + 1}) {
    for (int round = 0; round < 3; ++round) {
      InterpretRequest request;
      request.type = DataType::kUint8;
      request.count = count;
      request.in_place = in_place;
      request.seed = ++seed;
      MYCEL_RETURN_IF_ERROR(CheckByRunning(plan, request));
    }
  }
  return OkStatus();
}

void ScrambleOnce(Plan& plan, Rng& rng) {
  const auto value = [&rng]() -> int32_t {
    constexpr int32_t kEdges[] = {-1, 0, 1, 2, 3, 5, 64, 1 << 20, 2147483647, -2147483647 - 1};
    return rng.OneIn(3) ? kEdges[rng.Below(std::size(kEdges))] : static_cast<int32_t>(rng.Below(4));
  };
  const std::vector<Spot> spots = SpotsOf(plan);
  if (spots.empty()) return;
  const Spot spot = spots[rng.Below(spots.size())];
  Op& op = OpAt(plan, spot);
  Operand& operand = plan.operands[rng.Below(plan.operands.size())];
  switch (rng.Below(18)) {
    case 0:
      op.chunk.begin = value();
      break;
    case 1:
      op.chunk.end = value();
      break;
    case 2:
      op.chunk.block = value();
      break;
    case 3:
      op.operands = value();
      break;
    case 4:
      op.inputs = value();
      break;
    case 5:
      op.outputs = value();
      break;
    case 6:
      op.skew = value();
      break;
    case 7:
      plan.waits.push_back({LaneId(value()), value()});
      op.waits = static_cast<int32_t>(plan.waits.size()) - 1;
      op.wait_count = 1;
      break;
    case 8:
      op.wait_count = value();
      break;
    case 9:
      op.finish = !op.finish;
      break;
    case 10:
      operand.kind = static_cast<Operand::Kind>(rng.Below(5));
      break;
    case 11:
      operand.index = value();
      break;
    case 12:
      if (!plan.channels.empty()) plan.channels[rng.Below(plan.channels.size())].target = Rank(value());
      break;
    case 13:
      plan.slot_count = value();
      break;
    case 14:
      std::swap(op, BodyAt(plan, spot)[rng.Below(BodyAt(plan, spot).size())]);
      break;
    case 15:
      plan.protocol = static_cast<Protocol>(rng.Below(4));
      break;
    case 16:
      plan.ranks[spot.rank].scratch.push_back({{value(), value(), value()}});
      break;
    default:
      plan.units_per_block = value();
  }
}

}  // namespace mycel
