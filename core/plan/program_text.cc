// The text form of a program: one instruction a line, for eyes and diffs.
#include <string>

#include "core/base/hex.h"
#include "core/plan/program.h"

namespace mycel {
namespace {

std::string TextOf(const InstructionOperand& operand) {
  const std::string index = std::to_string(operand.index);
  switch (operand.kind) {
    case OperandKind::kSend:
      return "send[" + index + "]";
    case OperandKind::kRecv:
      return "recv[" + index + "]";
    case OperandKind::kScratch:
      return "scratch[" + index + "]" + (operand.base == 0 ? "" : "-" + std::to_string(operand.base));
    case OperandKind::kChannel:
      return "channel[" + index + "]";
  }
  return "?";
}

std::string TextOf(const Program& program, const Instruction& in) {
  std::string text = "block " + std::to_string(in.block) + " [" + std::to_string(in.begin) + "," +
                     std::to_string(in.end) + ") skew " + std::to_string(in.skew) + ":";
  for (int32_t i = 0; i < in.inputs + in.outputs; ++i) {
    if (i == in.inputs) {
      text += " ->";
    } else if (i > 0 && i < in.inputs) {
      text += " +";
    }
    text += " " + TextOf(program.operands[static_cast<size_t>(in.operands + i)]);
  }
  if (in.finish != 0) text += " finish";
  for (int32_t i = 0; i < in.wait_count; ++i) {
    const ProgramWait& wait = program.waits[static_cast<size_t>(in.waits + i)];
    text += " after " + std::to_string(wait.lane) + "." + std::to_string(wait.instruction);
  }
  return text;
}

}  // namespace

std::string ToText(const Program& program) {
  std::string text = "program of rank " + std::to_string(program.rank) + " of " + std::to_string(program.rank_count) +
                     ": " + std::string(NameOf(program.collective));
  if (program.root >= 0) text += " root " + std::to_string(program.root);
  text += ", " + std::string(NameOf(program.protocol)) + ", " + std::to_string(program.slot_count) + " slots of " +
          std::to_string(program.slice_bytes) + " bytes, plan " + Hex(program.plan_hash) + "\n";
  for (size_t i = 0; i < program.channels.size(); ++i) {
    const ProgramChannel& channel = program.channels[i];
    text += "channel " + std::to_string(i) + (channel.sends ? ": to rank " : ": from rank ") +
            std::to_string(channel.peer) + " index " + std::to_string(channel.index) + "\n";
  }
  for (size_t i = 0; i < program.scratch.size(); ++i) {
    const Chunk& chunk = program.scratch[i].chunk;
    text += "scratch " + std::to_string(i) + ": block " + std::to_string(chunk.block) + " [" +
            std::to_string(chunk.begin) + "," + std::to_string(chunk.end) + ")\n";
  }
  for (size_t lane = 0; lane < program.lanes.size(); ++lane) {
    const ProgramLane& head = program.lanes[lane];
    text += "lane " + std::to_string(lane) + ": units_max " + std::to_string(head.units_max) + "\n";
    for (int32_t i = 0; i < head.instruction_count; ++i) {
      text += "  " + std::to_string(i) + ". " +
              TextOf(program, program.instructions[static_cast<size_t>(head.instructions + i)]) + "\n";
    }
  }
  return text;
}

}  // namespace mycel
