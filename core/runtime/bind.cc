#include "core/runtime/bind.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "core/base/int128.h"

namespace mycel {
namespace {

constexpr int64_t kScratchAlign = 64;

int64_t AlignUp(int64_t value, int64_t align) { return (value + align - 1) / align * align; }

/// First element of `unit`, and how many elements a chunk has, in a block of `count` elements.
struct BlockRuler {
  int64_t count;
  int64_t units;
  int64_t At(int64_t unit) const { return ElementOf(count, unit, units); }
  int64_t LengthOf(int64_t begin, int64_t end) const { return At(end) - At(begin); }
};

/// How the blocks of a program are measured: all alike, each by its own count, or each by its own units of one byte.
class Rulers {
 public:
  /// `count` of every block; of the longest where `counts` has one for each.
  Rulers(const Program& program, DataType type, int64_t count, const std::vector<size_t>* counts)
      : program_(program),
        count_(count),
        counts_(counts),
        element_bytes_(program.block_units.empty() ? static_cast<int64_t>(SizeOf(type)) : 1) {}

  /// Whether each call says where its blocks begin.
  bool placed() const { return counts_ != nullptr || units_are_bytes(); }
  bool units_are_bytes() const { return !program_.block_units.empty(); }
  int64_t element_bytes() const { return element_bytes_; }
  BlockRuler Of(int32_t block) const {
    if (counts_ != nullptr) {
      return {static_cast<int64_t>((*counts_)[static_cast<size_t>(block)]), program_.units_per_block};
    }
    if (!units_are_bytes()) return {count_, program_.units_per_block};
    const int64_t bytes = program_.block_units[static_cast<size_t>(block)];
    return {bytes, bytes};
  }
  /// Elements that no chunk of so many units exceeds.
  int64_t ElementsMax(int64_t units) const {
    return units_are_bytes() ? units : ElementsMaxOf(count_, units, program_.units_per_block);
  }

 private:
  const Program& program_;
  int64_t count_;
  const std::vector<size_t>* counts_;
  int64_t element_bytes_;
};

StatusOr<std::vector<int64_t>> ScratchOffsets(const Program& program, const Rulers& rulers, size_t* total) {
  // More staging than bytes on their way is a plan that nobody meant, and might not fit 64 bits.
  int128 moved = 0;
  for (const int64_t bytes : program.block_units) moved += bytes;
  std::vector<int64_t> offsets;
  offsets.reserve(program.scratch.size());
  int64_t at = 0;
  int128 staged = 0;
  for (const ScratchCell& cell : program.scratch) {
    const int64_t bytes =
        rulers.Of(cell.chunk.block).LengthOf(cell.chunk.begin, cell.chunk.end) * rulers.element_bytes();
    staged += bytes;
    if (rulers.units_are_bytes() && staged > moved) {
      return InvalidArgument("the plan stages more bytes on rank " + std::to_string(program.rank) + " than the " +
                             std::to_string(static_cast<int64_t>(moved)) +
                             " that the whole exchange moves; use another plan");
    }
    offsets.push_back(at);
    at = AlignUp(at + bytes, kScratchAlign);
  }
  *total = static_cast<size_t>(at);
  return offsets;
}

/// Writes bound operands, and for v-collectives which of them each call has to place.
class OperandBinder {
 public:
  OperandBinder(const Rulers& rulers, const std::vector<int64_t>& scratch_offsets, BoundProgram* bound)
      : rulers_(rulers), scratch_offsets_(scratch_offsets), bound_(*bound) {}

  void Add(const InstructionOperand& operand, const Instruction& instruction) {
    BoundOperand out{};
    out.channel = -1;
    const BlockRuler ruler = rulers_.Of(instruction.block);
    const int64_t first = ruler.At(instruction.begin) * rulers_.element_bytes();
    switch (operand.kind) {
      case OperandKind::kSend:
      case OperandKind::kRecv:
        out.base = operand.kind == OperandKind::kSend ? OperandBase::kSend : OperandBase::kRecv;
        if (rulers_.placed()) {
          bound_.places.push_back({static_cast<int32_t>(bound_.operands.size()), operand.index, first});
        } else {
          out.offset = operand.index * ruler.count * rulers_.element_bytes() + first;
        }
        break;
      case OperandKind::kScratch:
        out.base = OperandBase::kScratch;
        out.offset = scratch_offsets_[static_cast<size_t>(operand.index)] + first -
                     ruler.At(operand.base) * rulers_.element_bytes();
        break;
      case OperandKind::kChannel:
        out.base = OperandBase::kChannel;
        out.channel = operand.index;
        out.rails = operand.rails;
        break;
    }
    bound_.operands.push_back(out);
  }

 private:
  const Rulers& rulers_;
  const std::vector<int64_t>& scratch_offsets_;
  BoundProgram& bound_;
};

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

namespace {

StatusOr<std::unique_ptr<BoundProgram>> BindMeasured(const Program& program, const Rulers& rulers,
                                                     ChannelTable& channels) {
  auto bound = std::make_unique<BoundProgram>();
  bound->protocol = program.protocol;
  bound->slice_bytes = program.slice_bytes;
  bound->slot_count = program.slot_count;
  MYCEL_RETURN_IF_ERROR(BindChannels(program, channels, bound.get()));
  MYCEL_ASSIGN_OR_RETURN(const std::vector<int64_t> scratch, ScratchOffsets(program, rulers, &bound->scratch_bytes));
  OperandBinder operands(rulers, scratch, bound.get());

  for (const ProgramLane& lane : program.lanes) {
    // Ceiling over all ranks' chunks of this width: every rank gets the same slicing.
    const Slicing slicing = SlicingOf(rulers.ElementsMax(lane.units_max), rulers.element_bytes(), program.slice_bytes);
    BoundLane bound_lane{lane.instructions, lane.instruction_count, -1, 0, 0};
    for (int32_t i = lane.instructions; i < lane.instructions + lane.instruction_count; ++i) {
      const Instruction& instruction = program.instructions[static_cast<size_t>(i)];
      BoundInstruction out{};
      out.elements = rulers.Of(instruction.block).LengthOf(instruction.begin, instruction.end);
      out.slicing = SlicesOf(rulers.ElementsMax(instruction.end - instruction.begin), slicing);
      out.skew = instruction.skew;
      out.operands = static_cast<int32_t>(bound->operands.size());
      out.inputs = instruction.inputs;
      out.outputs = instruction.outputs;
      out.waits = instruction.waits;
      out.wait_count = instruction.wait_count;
      out.finish = instruction.finish;
      for (int32_t k = 0; k < instruction.inputs + instruction.outputs; ++k) {
        operands.Add(program.operands[static_cast<size_t>(instruction.operands + k)], instruction);
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

}  // namespace

StatusOr<std::unique_ptr<BoundProgram>> Bind(const Program& program, DataType type, int64_t count,
                                             ChannelTable& channels) {
  return BindMeasured(program, Rulers(program, type, count, nullptr), channels);
}

StatusOr<std::unique_ptr<BoundProgram>> BindBlocks(const Program& program, DataType type,
                                                   const std::vector<size_t>& counts, ChannelTable& channels) {
  MYCEL_CHECK(program.block_units.empty() && !counts.empty());
  const size_t longest = *std::max_element(counts.begin(), counts.end());
  return BindMeasured(program, Rulers(program, type, static_cast<int64_t>(longest), &counts), channels);
}

void PlaceBlocks(const size_t* send_at, const size_t* recv_at, size_t element_bytes, BoundProgram* program) {
  for (const BoundPlace& place : program->places) {
    BoundOperand& operand = program->operands[static_cast<size_t>(place.operand)];
    const size_t* at = operand.base == OperandBase::kSend ? send_at : recv_at;
    operand.offset = static_cast<int64_t>(at[place.place] * element_bytes) + place.within;
  }
}

void ClaimRings(const BoundProgram& program) {
  const uint64_t geometry = GeometryOf(program.slice_bytes, program.slot_count);
  for (int32_t channel : program.send_channels) {
    ChannelEnd& end = *program.channels[static_cast<size_t>(channel)];
    if (end.geometry == geometry) continue;
    end.drain = end.geometry != 0;
    end.geometry = geometry;
  }
}

}  // namespace mycel
