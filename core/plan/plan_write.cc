// Writes the plan file. Plain text output: no JSON library is needed to write integers, names and lists.
#include <cstdio>
#include <fstream>

#include "core/base/hex.h"
#include "core/plan/plan_json.h"

namespace mycel {
namespace {

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

/// `[` items joined by `separator` `]`.
template <typename Items, typename ToItem>
std::string ListOf(const Items& items, const char* separator, ToItem to_item) {
  std::string out = "[";
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += separator;
    first = false;
    out += to_item(item);
  }
  return out + "]";
}

std::string ChunkText(const Chunk& chunk) {
  return "[" + std::to_string(chunk.block) + ", " + std::to_string(chunk.begin) + ", " + std::to_string(chunk.end) +
         "]";
}

std::string OperandsText(const Operand* operands, int32_t count) {
  std::string out = "[";
  for (int32_t i = 0; i < count; ++i) {
    const Operand& operand = operands[i];
    out += i == 0 ? "\"" : ", \"";
    switch (operand.kind) {
      case Operand::Kind::kSend:
        out += "send";
        break;
      case Operand::Kind::kRecv:
        out += "recv";
        break;
      case Operand::Kind::kScratch:
        out += "scratch " + std::to_string(operand.index);
        break;
      case Operand::Kind::kChannel:
        out += "channel " + std::to_string(operand.index);
        if (operand.route >= 0) out += " route " + std::to_string(operand.route);
        break;
    }
    out += "\"";
  }
  return out + "]";
}

std::string OpText(const Plan& plan, const Op& op) {
  std::string out = "{\"chunk\": " + ChunkText(op.chunk) + ", \"in\": " + OperandsText(plan.InputsOf(op), op.inputs) +
                    ", \"out\": " + OperandsText(plan.OutputsOf(op), op.outputs);
  if (op.skew != 0) out += ", \"skew\": " + std::to_string(op.skew);
  if (op.finish) out += ", \"finish\": true";
  if (op.wait_count > 0) {
    out += ", \"after\": [";
    for (int32_t i = 0; i < op.wait_count; ++i) {
      const Wait& wait = plan.waits[static_cast<size_t>(op.waits + i)];
      out += (i == 0 ? "[" : ", [") + std::to_string(wait.lane.value()) + ", " + std::to_string(wait.op) + "]";
    }
    out += "]";
  }
  return out + "}";
}

std::string RankText(const Plan& plan, const RankPlan& rank) {
  const auto cell_text = [](const ScratchCell& cell) { return ChunkText(cell.chunk); };
  const auto op_text = [&plan](const Op& op) { return "\n    " + OpText(plan, op); };
  const auto lane_text = [&op_text](const Lane& lane) { return "\n   " + ListOf(lane.ops, ",", op_text); };
  return "\n  {\"scratch\": " + ListOf(rank.scratch, ", ", cell_text) +
         ",\n   \"lanes\": " + ListOf(rank.lanes, ",", lane_text) + "}";
}

}  // namespace

std::string WritePlan(const Plan& plan) {
  const auto number = [](int64_t value) { return std::to_string(value); };
  std::string out = "{\n \"format\": \"mycel-plan\", \"version\": 1,\n \"collective\": ";
  out += Quoted(NameOf(plan.collective)) + ", \"rank_count\": " + number(plan.rank_count);
  if (plan.root.valid()) out += ", \"root\": " + number(plan.root.value());
  if (plan.block_units.empty()) {
    out += ", \"units_per_block\": " + number(plan.units_per_block);
  } else {
    out += ",\n \"block_units\": " + ListOf(plan.block_units, ", ", number);
  }
  out += ",\n \"planner\": " + Quoted(plan.planner) + ", \"topology\": " + Quoted(plan.topology) +
         ", \"topology_hash\": " + Quoted(Hex(plan.topology_hash)) +
         ",\n \"protocol\": " + Quoted(NameOf(plan.protocol)) + ", \"slice_bytes\": " + number(plan.slice_bytes) +
         ", \"slot_count\": " + number(plan.slot_count) + ",\n \"routes\": ";
  const auto node_text = [](NodeId node) { return std::to_string(node.value()); };
  out += ListOf(plan.routes, ",", [&](const Route& route) { return "\n  " + ListOf(route, ", ", node_text); });
  out += ",\n \"channels\": ";
  out += ListOf(plan.channels, ",", [](const Channel& channel) {
    return "\n  [" + std::to_string(channel.source.value()) + ", " + std::to_string(channel.target.value()) + ", " +
           std::to_string(channel.index) + "]";
  });
  out += ",\n \"ranks\": ";
  out += ListOf(plan.ranks, ",", [&plan](const RankPlan& rank) { return RankText(plan, rank); });
  return out + "\n}\n";
}

Status WritePlanFile(const Plan& plan, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << WritePlan(plan);
  file.close();
  if (file) return OkStatus();
  return SystemError("cannot write plan file " + path + "; check that the folder exists and has room");
}

}  // namespace mycel
