// Point-to-point messages: a program made on the spot, one lane per message. Messages of a pair and direction run one
// after the other (BoundLane::after), everything else runs at the same time. Building it is linear in the messages and
// allocates nothing once its arrays have grown.
#include <algorithm>

#include "core/runtime/communicator.h"
#include "core/runtime/flight.h"
#include "core/runtime/operation_word.h"

namespace mycel {
namespace {

constexpr int64_t kPointSliceBytes = 32 * 1024;
constexpr int32_t kPointSlots = 8;

/// Type and size of a whole message: both sides must agree.
uint32_t SaltOf(const PointCall& call) { return MixSignature(call.count, static_cast<uint64_t>(call.type) + 1); }

BoundInstruction CopyInstruction(int64_t bytes, int64_t slice_bytes, int32_t operands, uint32_t salt) {
  BoundInstruction instruction{};
  instruction.elements = bytes;
  instruction.slicing.slices = std::max<int64_t>(1, (bytes + slice_bytes - 1) / slice_bytes);
  instruction.slicing.steps = instruction.slicing.slices * slice_bytes;
  instruction.operands = operands;
  instruction.inputs = 1;
  instruction.outputs = 1;
  instruction.salt = salt;
  return instruction;
}

BoundOperand Memory(const void* buffer) {
  BoundOperand operand{};
  operand.base = OperandBase::kAbsolute;
  operand.channel = -1;
  operand.offset = static_cast<int64_t>(reinterpret_cast<intptr_t>(buffer));
  return operand;
}

BoundOperand Ring(int32_t channel) {
  BoundOperand operand{};
  operand.base = OperandBase::kChannel;
  operand.channel = channel;
  return operand;
}

void AddMessage(BoundProgram* program, const BoundOperand& input, const BoundOperand& output, int64_t bytes,
                uint32_t salt, int32_t after) {
  const auto operands = static_cast<int32_t>(program->operands.size());
  program->operands.push_back(input);
  program->operands.push_back(output);
  program->instructions.push_back(CopyInstruction(bytes, program->slice_bytes, operands, salt));
  BoundLane lane{};
  lane.first = static_cast<int32_t>(program->instructions.size()) - 1;
  lane.count = 1;
  lane.after = after;
  lane.iterations = program->instructions.back().slicing.slices;
  program->lanes.push_back(lane);
}

}  // namespace

/// Sends to oneself meet receives from oneself in order: plain copies, no channel.
Status Communicator::AddSelfMessages(std::span<const PointCall> calls) {
  size_t next_recv = 0;
  const auto is_self = [this](const PointCall& call, bool sends) {
    return call.peer == parts_.rank.value() && call.sends == sends;
  };
  int32_t after = -1;
  for (const PointCall& call : calls) {
    if (!is_self(call, true)) continue;
    while (next_recv < calls.size() && !is_self(calls[next_recv], false)) ++next_recv;
    if (next_recv == calls.size()) {
      return InvalidUsage("a send to oneself (rank " + std::to_string(call.peer) +
                          ") has no receive in the same group; put both halves in one group");
    }
    const PointCall& recv = calls[next_recv++];
    if (recv.count != call.count || recv.type != call.type) {
      return InvalidUsage("a send to oneself (count " + std::to_string(call.count) + ", " +
                          std::string(NameOf(call.type)) + ") meets a receive of count " + std::to_string(recv.count) +
                          ", " + std::string(NameOf(recv.type)));
    }
    AddMessage(&points_, Memory(call.buffer), Memory(recv.buffer), static_cast<int64_t>(call.count * SizeOf(call.type)),
               0, after);
    after = static_cast<int32_t>(points_.lanes.size()) - 1;
  }
  for (; next_recv < calls.size(); ++next_recv) {
    if (is_self(calls[next_recv], false)) {
      return InvalidUsage("a receive from oneself (rank " + std::to_string(parts_.rank.value()) +
                          ") has no send in the same group; put both halves in one group");
    }
  }
  return OkStatus();
}

StatusOr<ChannelEnd*> Communicator::OpenPoint(const PointCall& call, int32_t index, Runs runs) {
  ChannelTable& channels = runs == Runs::kData ? data_channels() : channels_;
  return call.sends ? channels.Send(Rank(call.peer), index) : channels.Recv(Rank(call.peer), index);
}

Status Communicator::BuildPoints(std::span<const PointCall> calls, int32_t index, Runs runs) {
  points_.lanes.clear();
  points_.instructions.clear();
  points_.operands.clear();
  points_.channels.clear();
  points_.send_channels.clear();
  point_uses_.resize(2 * static_cast<size_t>(parts_.rank_count));
  ++point_group_;
  points_.slice_bytes = kPointSliceBytes;
  for (const PointCall& call : calls) {
    if (call.peer == parts_.rank.value()) continue;
    MYCEL_ASSIGN_OR_RETURN(const ChannelEnd* end, OpenPoint(call, index, runs));
    // All rings of a communicator are equal, so both sides come to the same slices: at least two in a ring.
    points_.slice_bytes = std::min(kPointSliceBytes, static_cast<int64_t>(end->payload_bytes / 2) / 64 * 64);
    break;
  }
  points_.slot_count = kPointSlots;
  MYCEL_RETURN_IF_ERROR(AddSelfMessages(calls));
  for (const PointCall& call : calls) {
    if (call.peer == parts_.rank.value()) continue;
    MYCEL_ASSIGN_OR_RETURN(ChannelEnd * end, OpenPoint(call, index, runs));
    points_.slot_count = static_cast<int32_t>(std::min<uint64_t>(
        static_cast<uint64_t>(points_.slot_count), end->payload_bytes / static_cast<uint64_t>(points_.slice_bytes)));
    // The last message on the same ring, if any, goes first.
    const size_t ring = static_cast<size_t>(call.sends ? call.peer : parts_.rank_count + call.peer);
    PointUse& use = point_uses_[ring];
    if (use.group != point_group_) {
      use = {point_group_, static_cast<int32_t>(points_.channels.size()), -1};
      points_.channels.push_back(end);
      if (call.sends) points_.send_channels.push_back(use.channel);
    }
    const auto bytes = static_cast<int64_t>(call.count * SizeOf(call.type));
    if (call.sends) {
      AddMessage(&points_, Memory(call.buffer), Ring(use.channel), bytes, SaltOf(call), use.lane);
    } else {
      AddMessage(&points_, Ring(use.channel), Memory(call.buffer), bytes, SaltOf(call), use.lane);
    }
    use.lane = static_cast<int32_t>(points_.lanes.size()) - 1;
  }
  return OkStatus();
}

Status Communicator::StartPoints(std::span<const PointCall> calls, const CallSettings* settings, void* stream) {
  // relaxed: as in Start.
  if (failed_.load(std::memory_order_relaxed) || aborted_.load(std::memory_order_relaxed)) return Fail(error());
  current_.point_to_point = true;
  current_.call.stream = stream;
  current_.stage = CallStage::kNone;
  current_.refused = false;
  SetSettings(settings);
  const Status built = BuildPoints(calls, point_index());
  // Alone nobody waits for us; else the peers must hear of it.
  if (!built.ok()) return parts_.rank_count == 1 ? built : Fail(built);
  OperationWord what;
  what.collective = kBoardSendRecv;
  uint64_t bytes = 0;
  for (const PointCall& call : calls) {
    bytes += call.count * SizeOf(call.type);
    if (what.root < 0 && call.peer != parts_.rank.value()) what.root = call.peer;
  }
  PostFlight(what.Pack(), bytes, bytes >= kTimedBytes);
  if (board_ != nullptr) {
    board_->collective.store(kBoardSendRecv, std::memory_order_relaxed);
    board_->root.store(what.root, std::memory_order_relaxed);
    board_->count.store(bytes, std::memory_order_relaxed);
    board_->phase.store(static_cast<uint32_t>(Phase::kRunning), std::memory_order_relaxed);
  }
  current_.launch.kernel = nullptr;
  current_.launch.stream_outputs = false;
  ++stats_.operations;
  return Begin(points_, kBoardSendRecv, 1);
}

Status Communicator::RunPoints(std::span<const PointCall> calls, const CallSettings* settings, void* stream) {
  MYCEL_RETURN_IF_ERROR(StartPoints(calls, settings, stream));
  return Wait();
}

}  // namespace mycel
