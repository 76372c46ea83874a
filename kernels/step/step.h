// The step loop: hop 7, single source for every device.
//
// A lane is a loop over slices of a body of instructions (core/plan/plan.h). One instruction on one slice is the unit:
// it either runs (all input slots published, all output rings have room) or says "not ready"; nothing in here waits. A
// GPU thread block spins on that answer, the host walks lanes round-robin, the simulator runs a thousand ranks on one
// thread.
//
// Order inside an instruction, which the simulator's planted bugs violate:
//   1. every input slot is ready and every output ring has room  2. read inputs, write outputs  3. publish outputs
//   4. release inputs
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/spi/launch.h"
#include "kernels/host/apply.h"
#include "kernels/step/slot.h"

namespace mycel::step {

enum class SliceEvent : uint8_t { kRan, kNotReady, kMismatch, kFailed };

/// One slice of one instruction, with everything resolved.
struct SliceView {
  const BoundInstruction* instruction;
  const BoundOperand* operands;
  int64_t first;  // element
  int64_t elements;
  int64_t bytes;
};

/// Whether all channels of the slice can go. Sets fault_channel to the one that blocks.
template <typename D>
inline bool ChannelsReady(Launch& launch, const SliceView& view) {
  const BoundProgram& program = *launch.program;
  const BoundInstruction& in = *view.instruction;
  for (int i = 0; i < in.inputs; ++i) {
    const BoundOperand& operand = view.operands[i];
    if (operand.base != OperandBase::kChannel) continue;
    if (!IsReady<D>(*program.channels[static_cast<size_t>(operand.channel)])) return false;
  }
  for (int i = in.inputs; i < in.inputs + in.outputs; ++i) {
    const BoundOperand& operand = view.operands[i];
    if (operand.base != OperandBase::kChannel) continue;
    if (!HasCredit<D>(*program.channels[static_cast<size_t>(operand.channel)], program.slot_count)) return false;
  }
  return true;
}

/// In integers: an empty block may lie anywhere, also beside a buffer that is NULL.
inline std::byte* MemoryOf(const Launch& launch, const BoundOperand& operand, int64_t first) {
  const int64_t offset = operand.offset + first * static_cast<int64_t>(launch.element_bytes);
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(launch.bases[static_cast<size_t>(operand.base)]) +
                                      static_cast<uintptr_t>(offset));
}

/// Where the payload of a ready input slot lies; null after recording a fault. With kDirect and a peer in another
/// process the bytes are fetched into `landing`.
template <typename D>
inline const void* InputOf(Launch& launch, const BoundOperand& operand, const SliceView& view, std::byte* landing) {
  const BoundProgram& program = *launch.program;
  ChannelEnd& end = *program.channels[static_cast<size_t>(operand.channel)];
  const SlotHeader& header = HeaderOf(end);
  if (header.signature != launch.signature + view.instruction->salt ||
      header.bytes != static_cast<uint32_t>(view.bytes)) [[unlikely]] {
    launch.fault_channel = operand.channel;
    launch.fault_signature = header.signature;
    return nullptr;
  }
  if (view.bytes <= static_cast<int64_t>(kInlineBytesMax)) return header.inline_bytes;
  if (program.protocol != Protocol::kDirect) return PayloadOf(end, program.slot_count, program.slice_bytes);
  if (end.same_address_space) return reinterpret_cast<const void*>(static_cast<uintptr_t>(header.longer.address));
  if (!launch.direct_read(launch.direct_context, end.peer, header.longer.address, landing,
                          static_cast<size_t>(view.bytes))) {
    launch.fault_channel = operand.channel;
    launch.direct_failed = true;
    return nullptr;
  }
  return landing;
}

/// Runs one slice of one instruction if it can.
template <typename D>
inline SliceEvent RunSlice(Launch& launch, const SliceView& view) {
  if (!ChannelsReady<D>(launch, view)) return SliceEvent::kNotReady;
  const BoundProgram& program = *launch.program;
  const BoundInstruction& in = *view.instruction;
  const void* inputs[kOpOperandsMax];
  void* outputs[kOpOperandsMax];
  uint32_t stream_outputs = 0;
  int output_count = 0;

  // Outputs first: a lone memory output is where a direct read may land without a bounce.
  const bool direct = program.protocol == Protocol::kDirect && view.bytes > static_cast<int64_t>(kInlineBytesMax);
  std::byte* memory_output = nullptr;
  for (int i = in.inputs; i < in.inputs + in.outputs; ++i) {
    const BoundOperand& operand = view.operands[i];
    if (operand.base != OperandBase::kChannel) {
      memory_output = MemoryOf(launch, operand, view.first);
      if (launch.stream_outputs && output_count < 32) stream_outputs |= 1u << output_count;
      outputs[output_count++] = memory_output;
      continue;
    }
    ChannelEnd& end = *program.channels[static_cast<size_t>(operand.channel)];
    if (view.bytes <= static_cast<int64_t>(kInlineBytesMax)) {
      outputs[output_count++] = HeaderOf(end).inline_bytes;
    } else if (!direct) {
      outputs[output_count++] = PayloadOf(end, program.slot_count, program.slice_bytes);
    }
  }

  std::byte* bounce = launch.bounce;
  for (int i = 0; i < in.inputs; ++i) {
    const BoundOperand& operand = view.operands[i];
    if (operand.base != OperandBase::kChannel) {
      inputs[i] = MemoryOf(launch, operand, view.first);
      continue;
    }
    std::byte* landing = in.inputs == 1 && memory_output != nullptr ? memory_output : bounce;
    inputs[i] = InputOf<D>(launch, operand, view, landing);
    if (inputs[i] == nullptr) [[unlikely]] {
      return launch.direct_failed ? SliceEvent::kFailed : SliceEvent::kMismatch;
    }
    bounce += program.slice_bytes;
  }

  if (view.bytes > 0 && output_count > 0) {
    if (in.inputs == 1 && !in.finish) {
      if (!(output_count == 1 && outputs[0] == inputs[0])) {
        D::Copy(inputs[0], outputs, output_count, static_cast<size_t>(view.bytes), stream_outputs);
      }
    } else {
      ApplyOptions options;
      options.finish = in.finish != 0;
      options.rank_count = launch.rank_count;
      options.stream_outputs = stream_outputs;
      options.user = launch.user;
      D::Apply(launch.kernel, inputs, in.inputs, outputs, output_count, static_cast<size_t>(view.elements), options);
    }
    // A peer that reads our memory directly relies on the flag; non-temporal stores are not ordered by it.
    if (stream_outputs != 0) D::StreamFence();
  }

  for (int i = in.inputs; i < in.inputs + in.outputs; ++i) {
    const BoundOperand& operand = view.operands[i];
    if (operand.base != OperandBase::kChannel) continue;
    ChannelEnd& end = *program.channels[static_cast<size_t>(operand.channel)];
    SlotHeader& header = HeaderOf(end);
    header.signature = launch.signature + in.salt;
    header.bytes = static_cast<uint32_t>(view.bytes);
    if (direct) {
      const void* source = memory_output != nullptr ? memory_output : inputs[0];
      header.longer.address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(source));
    } else if (view.bytes > static_cast<int64_t>(kInlineBytesMax)) {
      header.longer.address = PlaceOf(end, program.slot_count, program.slice_bytes);
      header.longer.rails = operand.rails;
    }
    Publish<D>(end, view.bytes);
  }
  for (int i = 0; i < in.inputs; ++i) {
    const BoundOperand& operand = view.operands[i];
    if (operand.base != OperandBase::kChannel) continue;
    Release<D>(*program.channels[static_cast<size_t>(operand.channel)], view.bytes);
  }
  return SliceEvent::kRan;
}

template <typename D>
inline bool WaitsDone(const Launch& launch, const BoundInstruction& in, int64_t slice) {
  for (int i = 0; i < in.wait_count; ++i) {
    const BoundWait& wait = launch.program->waits[static_cast<size_t>(in.waits + i)];
    const BoundInstruction& other = launch.program->instructions[static_cast<size_t>(wait.instruction)];
    const int64_t needed = std::min(slice + 1, other.slicing.slices);
    if (static_cast<int64_t>(launch.finished[wait.instruction]) < needed) return false;
  }
  return true;
}

/// kDirect: our buffers are free only when every message has been read.
template <typename D>
inline bool DirectReadsDone(Launch& launch) {
  for (int32_t channel : launch.program->send_channels) {
    ChannelEnd& end = *launch.program->channels[static_cast<size_t>(channel)];
    if (end.released_seen == end.step) continue;
    // acquire: pairs with the release in Release; the peer has finished reading our memory.
    end.released_seen = D::LoadAcquire(end.release->released);
    if (end.released_seen != end.step) return false;
  }
  return true;
}

/// The first channel that an instruction's next slice waits for, or -1; `*receives`: for a message, not for room.
template <typename D>
inline int32_t BlockingChannel(const BoundProgram& program, const BoundInstruction& in, bool* receives) {
  const BoundOperand* operands = program.operands.data() + in.operands;
  for (int i = 0; i < in.inputs + in.outputs; ++i) {
    if (operands[i].base != OperandBase::kChannel) continue;
    ChannelEnd copy = *program.channels[static_cast<size_t>(operands[i].channel)];
    *receives = i < in.inputs;
    const bool open = *receives ? IsReady<D>(copy) : HasCredit<D>(copy, program.slot_count);
    if (!open) return operands[i].channel;
  }
  return -1;
}

template <typename D>
inline void TraceBlock(Launch& launch, int32_t lane, const BoundInstruction& in, int64_t now_ns) {
  if (launch.trace->IsBlocked(lane)) return;
  bool receives = false;
  const int32_t channel = BlockingChannel<D>(*launch.program, in, &receives);
  const int32_t peer = channel < 0 ? -1 : launch.program->channels[static_cast<size_t>(channel)]->peer;
  launch.trace->Block(lane, now_ns, receives ? peer : -1, receives ? -1 : peer);
}

inline void TraceStep(Launch& launch, int32_t lane, const SliceView& view, int64_t slice, int64_t start_ns) {
  const BoundInstruction& in = *view.instruction;
  TraceEvent event;
  event.start_ns = start_ns;
  event.end_ns = NowNs();
  event.what = static_cast<uint64_t>(slice);
  event.amount = static_cast<uint64_t>(view.bytes);
  event.lane = lane;
  event.reduces = in.inputs > 1;
  for (int i = in.inputs + in.outputs - 1; i >= 0; --i) {
    if (view.operands[i].base != OperandBase::kChannel) continue;
    const int32_t peer = launch.program->channels[static_cast<size_t>(view.operands[i].channel)]->peer;
    (i < in.inputs ? event.from : event.to) = peer;
  }
  launch.trace->Step(event);
}

/// Runs lane `lane` until it is done or blocked. Traced is a loop of its own, so that the other knows nothing of it.
template <typename D, bool kTraced>
inline StepEvent RunLane(Launch& launch, int32_t lane, int polls) {
  const BoundProgram& program = *launch.program;
  const BoundLane& body = program.lanes[static_cast<size_t>(lane)];
  LaneState& state = launch.lanes[lane];
  if (body.after >= 0 && !launch.lanes[body.after].done) return StepEvent::kIdle;
  bool ran = false;
  for (; state.iteration < body.iterations; ++state.iteration, state.pc = 0) {
    for (; state.pc < body.count; ++state.pc) {
      const int32_t index = body.first + state.pc;
      const BoundInstruction& in = program.instructions[static_cast<size_t>(index)];
      const int64_t slice = state.iteration - in.skew;
      if (slice < 0 || slice >= in.slicing.slices) continue;
      SliceView view;
      view.instruction = &in;
      view.operands = program.operands.data() + in.operands;
      view.first = std::min(in.elements, in.slicing.First(slice));
      view.elements = std::min(in.elements, in.slicing.First(slice + 1)) - view.first;
      view.bytes = view.elements * static_cast<int64_t>(launch.element_bytes);
      SliceEvent event = SliceEvent::kNotReady;
      int64_t start_ns = 0;
      for (int poll = 0; poll < polls; ++poll) {
        if constexpr (kTraced) start_ns = NowNs();
        if (in.wait_count == 0 || WaitsDone<D>(launch, in, slice)) event = RunSlice<D>(launch, view);
        if (event != SliceEvent::kNotReady) break;
        D::Relax();
      }
      if constexpr (kTraced) {
        if (event == SliceEvent::kNotReady) TraceBlock<D>(launch, lane, in, start_ns);
        if (event == SliceEvent::kRan) TraceStep(launch, lane, view, slice, start_ns);
      }
      if (event == SliceEvent::kNotReady) return ran ? StepEvent::kProgress : StepEvent::kIdle;
      if (event != SliceEvent::kRan) {
        return event == SliceEvent::kMismatch ? StepEvent::kMismatch : StepEvent::kFailed;
      }
      ran = true;
      if (launch.finished != nullptr) ++launch.finished[index];
    }
  }
  state.done = true;
  return StepEvent::kDone;
}

/// Walks all lanes once, each as far as it goes.
template <typename D, bool kTraced = false>
inline StepEvent RunLaunch(Launch& launch, int polls) {
  const auto lanes = static_cast<int32_t>(launch.program->lanes.size());
  // A blocked lane is polled in place only when there is no other to turn to.
  const int lane_polls = lanes == 1 ? polls : 1;
  bool progress = false;
  bool all_done = true;
  for (int32_t lane = 0; lane < lanes; ++lane) {
    if (launch.lanes[lane].done) continue;
    const StepEvent event = RunLane<D, kTraced>(launch, lane, lane_polls);
    if (event == StepEvent::kMismatch || event == StepEvent::kFailed) return event;
    progress |= event != StepEvent::kIdle;
    all_done &= event == StepEvent::kDone;
  }
  if (!all_done) return progress ? StepEvent::kProgress : StepEvent::kIdle;
  if (launch.program->protocol == Protocol::kDirect && !DirectReadsDone<D>(launch)) return StepEvent::kIdle;
  return StepEvent::kDone;
}

/// The channel that the first unfinished lane waits for, or -1; `*receives`: for a message, not for room.
template <typename D>
inline int32_t BlockedChannel(const Launch& launch, bool* receives) {
  const BoundProgram& program = *launch.program;
  for (size_t lane = 0; lane < program.lanes.size(); ++lane) {
    const BoundLane& body = program.lanes[lane];
    const LaneState& state = launch.lanes[lane];
    if (state.done || state.pc >= body.count) continue;
    const BoundInstruction& in = program.instructions[static_cast<size_t>(body.first + state.pc)];
    const int32_t channel = BlockingChannel<D>(program, in, receives);
    if (channel >= 0) return channel;
  }
  *receives = false;
  for (int32_t channel : program.send_channels) {
    const ChannelEnd& end = *program.channels[static_cast<size_t>(channel)];
    if (D::LoadAcquire(end.release->released) != end.step) return channel;
  }
  return -1;
}

}  // namespace mycel::step
