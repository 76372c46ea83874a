#include "core/runtime/bind.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"

namespace mycel {
namespace {

constexpr int64_t kScratchAlign = 64;

int64_t AlignUp(int64_t value, int64_t align) { return (value + align - 1) / align * align; }

/// First element of `unit`, and how many elements a chunk has, in a block of `count` elements.
struct BlockRuler {
  int64_t count;
  int64_t units;
  int64_t At(int64_t unit) const { return ElementOf(count, unit, units); }
};

std::vector<int64_t> ScratchOffsets(const Program& program, const BlockRuler& ruler, int64_t element_bytes,
                                    size_t* total) {
  std::vector<int64_t> offsets;
  offsets.reserve(program.scratch.size());
  int64_t at = 0;
  for (const ScratchCell& cell : program.scratch) {
    offsets.push_back(at);
    at = AlignUp(at + (ruler.At(cell.chunk.end) - ruler.At(cell.chunk.begin)) * element_bytes, kScratchAlign);
  }
  *total = static_cast<size_t>(at);
  return offsets;
}

BoundOperand BindOperand(const InstructionOperand& operand, const Instruction& instruction, const BlockRuler& ruler,
                         int64_t element_bytes, const std::vector<int64_t>& scratch_offsets) {
  BoundOperand bound{};
  bound.channel = -1;
  const int64_t first = ruler.At(instruction.begin);
  switch (operand.kind) {
    case OperandKind::kSend:
    case OperandKind::kRecv:
      bound.base = operand.kind == OperandKind::kSend ? OperandBase::kSend : OperandBase::kRecv;
      bound.offset = (operand.index * ruler.count + first) * element_bytes;
      break;
    case OperandKind::kScratch:
      bound.base = OperandBase::kScratch;
      bound.offset =
          scratch_offsets[static_cast<size_t>(operand.index)] + (first - ruler.At(operand.base)) * element_bytes;
      break;
    case OperandKind::kChannel:
      bound.base = OperandBase::kChannel;
      bound.channel = operand.index;
      break;
  }
  return bound;
}

Status BindChannels(const Program& program, ChannelTable& channels, BoundProgram* bound) {
  for (const ProgramChannel& channel : program.channels) {
    const Rank peer(channel.peer);
    MYCEL_ASSIGN_OR_RETURN(ChannelEnd * end,
                           channel.sends ? channels.Send(peer, channel.index) : channels.Recv(peer, channel.index));
    const auto needed = static_cast<uint64_t>(program.slot_count) * static_cast<uint64_t>(program.slice_bytes);
    if (program.protocol != Protocol::kDirect && needed > end->payload_bytes) {
      return InvalidArgument("the plan needs rings of " + std::to_string(needed) + " bytes (" +
                             std::to_string(program.slot_count) + " slots of " + std::to_string(program.slice_bytes) +
                             "), the channels have " + std::to_string(end->payload_bytes) +
                             "; raise MYCEL_PAYLOAD_BYTES or use a plan with smaller slices");
    }
    if (channel.sends) bound->send_channels.push_back(static_cast<int32_t>(bound->channels.size()));
    bound->channels.push_back(end);
  }
  return OkStatus();
}

}  // namespace

ChannelTable::ChannelTable(Transport* transport, int32_t rank_count, int32_t channels_per_pair)
    : transport_(transport),
      rank_count_(rank_count),
      channels_per_pair_(channels_per_pair),
      ends_(static_cast<size_t>(2 * rank_count * channels_per_pair)) {}

StatusOr<ChannelEnd*> ChannelTable::Open(Rank peer, int32_t index, bool sends) {
  MYCEL_CHECK(peer.value() >= 0 && peer.value() < rank_count_);
  if (index < 0 || index >= channels_per_pair_) {
    return InvalidArgument("the plan uses channel index " + std::to_string(index) + " to rank " +
                           std::to_string(peer.value()) + "; this communicator has " +
                           std::to_string(channels_per_pair_) + " channels per pair; use a plan with fewer lanes");
  }
  const int32_t slot = ((sends ? 0 : rank_count_) + peer.value()) * channels_per_pair_ + index;
  std::unique_ptr<ChannelEnd>& end = ends_[static_cast<size_t>(slot)];
  if (end == nullptr) {
    MYCEL_ASSIGN_OR_RETURN(ChannelEnd opened,
                           sends ? transport_->OpenSend(peer, index) : transport_->OpenRecv(peer, index));
    opened.peer = peer.value();
    // Even a thread of this process is read through the transport, which survives memory that has gone.
    opened.same_address_space = false;
    end = std::make_unique<ChannelEnd>(opened);
  }
  return end.get();
}

std::vector<ChannelTraffic> ChannelTable::Traffic() const {
  std::vector<ChannelTraffic> traffic;
  for (size_t slot = 0; slot < ends_.size(); ++slot) {
    const ChannelEnd* end = ends_[slot].get();
    if (end == nullptr) continue;
    const auto index = static_cast<int32_t>(slot % static_cast<size_t>(channels_per_pair_));
    traffic.push_back({Rank(end->peer), index, slot < ends_.size() / 2, end->step, end->bytes});
  }
  return traffic;
}

StatusOr<std::unique_ptr<BoundProgram>> Bind(const Program& program, DataType type, int64_t count,
                                             ChannelTable& channels) {
  MYCEL_CHECK(program.block_units.empty());
  const auto element_bytes = static_cast<int64_t>(SizeOf(type));
  const BlockRuler ruler{count, program.units_per_block};
  auto bound = std::make_unique<BoundProgram>();
  bound->protocol = program.protocol;
  bound->slice_bytes = program.slice_bytes;
  bound->slot_count = program.slot_count;
  MYCEL_RETURN_IF_ERROR(BindChannels(program, channels, bound.get()));
  const std::vector<int64_t> scratch = ScratchOffsets(program, ruler, element_bytes, &bound->scratch_bytes);

  for (const ProgramLane& lane : program.lanes) {
    // Ceiling over all ranks' chunks of this width: every rank gets the same slicing.
    const int64_t elements_max = ElementsMaxOf(count, lane.units_max, ruler.units);
    const Slicing slicing = SlicingOf(elements_max, element_bytes, program.slice_bytes);
    BoundLane bound_lane{lane.instructions, lane.instruction_count, -1, 0, 0};
    for (int32_t i = lane.instructions; i < lane.instructions + lane.instruction_count; ++i) {
      const Instruction& instruction = program.instructions[static_cast<size_t>(i)];
      BoundInstruction out{};
      out.elements = ruler.At(instruction.end) - ruler.At(instruction.begin);
      out.slicing = SlicesOf(ElementsMaxOf(count, instruction.end - instruction.begin, ruler.units), slicing);
      out.skew = instruction.skew;
      out.operands = static_cast<int32_t>(bound->operands.size());
      out.inputs = instruction.inputs;
      out.outputs = instruction.outputs;
      out.waits = instruction.waits;
      out.wait_count = instruction.wait_count;
      out.finish = instruction.finish;
      for (int32_t k = 0; k < instruction.inputs + instruction.outputs; ++k) {
        bound->operands.push_back(BindOperand(program.operands[static_cast<size_t>(instruction.operands + k)],
                                              instruction, ruler, element_bytes, scratch));
      }
      bound_lane.iterations = std::max(bound_lane.iterations, out.slicing.slices + out.skew);
      bound->instructions.push_back(out);
    }
    bound->lanes.push_back(bound_lane);
  }
  for (const ProgramWait& wait : program.waits) {
    const int32_t first = program.lanes[static_cast<size_t>(wait.lane)].instructions;
    bound->waits.push_back({wait.lane, first + wait.instruction});
  }
  return bound;
}

void ClaimRings(const BoundProgram& program) {
  const uint64_t geometry =
      (static_cast<uint64_t>(program.slice_bytes) << 8) | static_cast<uint64_t>(program.slot_count);
  for (int32_t channel : program.send_channels) {
    ChannelEnd& end = *program.channels[static_cast<size_t>(channel)];
    if (end.geometry == geometry) continue;
    end.drain = end.geometry != 0;
    end.geometry = geometry;
  }
}

}  // namespace mycel
