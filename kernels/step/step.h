// The step loop: hop 7, single source for every device.
//
// A lane is a loop over slices of a body of instructions (core/plan/plan.h). One instruction on one slice is the unit:
// it either runs (all input slots published, all output rings have room) or says "not ready"; nothing in here waits. A
// GPU thread block spins on that answer, the host walks lanes round-robin, the simulator runs a thousand ranks on one
// thread.
//
// A lane is run by a block of threads: one on the host, hundreds on a GPU, which all go through this code together. The
// first few, the operand threads, look at the operands and publish and release, each its share; all of them move and
// combine bytes. `D` is a device policy (kernels/device), `L` a launch: Launch or DeviceView.
//
// Order inside an instruction, which the simulator's planted bugs violate:
//   1. every input slot is ready and every output ring has room  2. read inputs, write outputs  3. publish outputs
//   4. release inputs
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/spi/bound.h"
#include "core/spi/channel.h"
#include "kernels/device/annotations.h"
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

/// Where the operands of a slice lie. Written by the operand threads, read by the block.
struct SliceTable {
  const void* inputs[kOpOperandsMax];
  void* outputs[kOpOperandsMax];
};

/// A message this long lies in its slot's header.
MYCEL_DEVICE inline bool IsInline(const SliceView& view) { return view.bytes <= static_cast<int64_t>(kInlineBytesMax); }

/// In integers: an empty block may lie anywhere, also beside a buffer that is NULL.
template <typename L>
MYCEL_DEVICE inline std::byte* MemoryOf(const L& launch, const BoundOperand& operand, int64_t first) {
  const int64_t offset = operand.offset + first * static_cast<int64_t>(launch.element_bytes);
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(launch.bases[static_cast<size_t>(operand.base)]) +
                                      static_cast<uintptr_t>(offset));
}

/// Looks at input `i`. kRan: it is ready, and the table says where it lies; null: it must be fetched.
template <typename D, typename L>
MYCEL_DEVICE inline SliceEvent LocateInput(L& launch, const SliceView& view, int i, SliceTable& table) {
  const BoundOperand& operand = view.operands[i];
  if (operand.base != OperandBase::kChannel) {
    table.inputs[i] = MemoryOf(launch, operand, view.first);
    return SliceEvent::kRan;
  }
  ChannelEnd& end = launch.ChannelOf(operand.channel);
  if (!IsReady<D>(end)) return SliceEvent::kNotReady;
  const SlotHeader& header = HeaderOf(end);
  if (header.signature != launch.signature + view.instruction->salt ||
      header.bytes != static_cast<uint32_t>(view.bytes)) [[unlikely]] {
    launch.NoteMismatch(operand.channel, header.signature);
    return SliceEvent::kMismatch;
  }
  if (IsInline(view)) {
    table.inputs[i] = header.inline_bytes;
  } else if (launch.protocol() != Protocol::kDirect) {
    table.inputs[i] = PayloadOf(end, launch.slot_count(), launch.slice_bytes());
  } else {
    const void* memory = launch.PeerMemory(operand.channel, end, header.longer.address, view.bytes);
    if constexpr (!L::kFetches) {
      if (memory == nullptr) [[unlikely]] {
        launch.NoteUnreadable(operand.channel);
        return SliceEvent::kFailed;
      }
    }
    table.inputs[i] = memory;
  }
  return SliceEvent::kRan;
}

/// Whether the slice's messages say where its bytes lie instead of carrying them.
template <typename L>
MYCEL_DEVICE inline bool IsDirect(const L& launch, const SliceView& view) {
  return launch.protocol() == Protocol::kDirect && !IsInline(view);
}

/// Where output `i`, counted from the first output, lies in the table: direct messages have no bytes to write.
template <typename L>
MYCEL_DEVICE inline int PlaceOfOutput(const L& launch, const SliceView& view, int i) {
  if (!IsDirect(launch, view)) return i;
  const BoundOperand* outputs = view.operands + view.instruction->inputs;
  int place = 0;
  MYCEL_ROLLED
  for (int j = 0; j < i; ++j) place += outputs[j].base != OperandBase::kChannel ? 1 : 0;
  return place;
}

/// Looks at output `i`. kRan: it has room, and the table says where its bytes go, if it has any.
template <typename D, typename L>
MYCEL_DEVICE inline SliceEvent LocateOutput(L& launch, const SliceView& view, int i, SliceTable& table) {
  const BoundOperand& operand = view.operands[view.instruction->inputs + i];
  if (operand.base != OperandBase::kChannel) {
    table.outputs[PlaceOfOutput(launch, view, i)] = MemoryOf(launch, operand, view.first);
    return SliceEvent::kRan;
  }
  ChannelEnd& end = launch.ChannelOf(operand.channel);
  launch.ClaimRing(end);
  if (!HasCredit<D>(end, launch.slot_count())) return SliceEvent::kNotReady;
  if (IsInline(view)) {
    table.outputs[i] = HeaderOf(end).inline_bytes;
  } else if (launch.protocol() != Protocol::kDirect) {
    table.outputs[i] = PayloadOf(end, launch.slot_count(), launch.slice_bytes());
  }
  return SliceEvent::kRan;
}

/// The operand threads look at all operands, each at its share.
template <typename D, typename L>
MYCEL_DEVICE inline SliceEvent LocateOperands(L& launch, const SliceView& view, SliceTable& table) {
  const int inputs = view.instruction->inputs;
  const int operands = inputs + view.instruction->outputs;
  MYCEL_ROLLED
  for (int i = D::Thread(); i < operands; i += D::OperandThreads()) {
    MYCEL_ROLLED
    for (int spins = 0;; ++spins) {
      const SliceEvent event =
          i < inputs ? LocateInput<D>(launch, view, i, table) : LocateOutput<D>(launch, view, i - inputs, table);
      if (event == SliceEvent::kRan) break;
      if (event != SliceEvent::kNotReady || spins >= launch.kSpins) return event;
      D::Relax();
    }
  }
  return SliceEvent::kRan;
}

/// kDirect with peers whose memory is not mapped: fetches what they sent, now that all outputs have room. A lone memory
/// output is where the bytes may land without a bounce.
template <typename L>
MYCEL_DEVICE inline bool FetchInputs(L& launch, const SliceView& view, SliceTable& table) {
  const BoundInstruction& in = *view.instruction;
  std::byte* bounce = launch.bounce;
  for (int i = 0; i < in.inputs; ++i) {
    const BoundOperand& operand = view.operands[i];
    if (operand.base != OperandBase::kChannel) continue;
    if (table.inputs[i] == nullptr) {
      std::byte* landing = bounce;
      for (int k = in.inputs; in.inputs == 1 && k < in.inputs + in.outputs; ++k) {
        if (view.operands[k].base != OperandBase::kChannel) landing = MemoryOf(launch, view.operands[k], view.first);
      }
      const ChannelEnd& end = launch.ChannelOf(operand.channel);
      if (!launch.direct_read(launch.direct_context, end.peer, HeaderOf(end).longer.address, landing,
                              static_cast<size_t>(view.bytes))) {
        launch.NoteUnreadable(operand.channel);
        return false;
      }
      table.inputs[i] = landing;
    }
    bounce += launch.slice_bytes();
  }
  return true;
}

/// The whole block reads the inputs and writes the outputs.
template <typename D, typename L>
MYCEL_DEVICE inline void MoveBytes(const L& launch, const SliceView& view, const SliceTable& table) {
  const BoundInstruction& in = *view.instruction;
  const int outputs = PlaceOfOutput(launch, view, in.outputs);
  if (view.bytes == 0 || outputs == 0) return;
  uint32_t stream_outputs = 0;
  if (launch.stream_outputs) {
    const bool direct = IsDirect(launch, view);
    for (int i = 0, place = 0; i < in.outputs && place < 32; ++i) {
      const bool memory = view.operands[in.inputs + i].base != OperandBase::kChannel;
      if (memory) stream_outputs |= 1U << place;
      if (memory || !direct) ++place;
    }
  }
  bool copies = in.inputs == 1 && !in.finish;
  if constexpr (!L::kCombines) copies = true;
  if (copies) {
    if (outputs == 1 && table.outputs[0] == table.inputs[0]) return;
    D::Copy(table.inputs[0], table.outputs, outputs, static_cast<size_t>(view.bytes), stream_outputs);
  } else if constexpr (L::kCombines) {
    D::Apply(launch, in.finish != 0, table.inputs, in.inputs, table.outputs, outputs,
             static_cast<size_t>(view.elements), stream_outputs);
  }
  // A peer that reads our memory directly relies on the flag; non-temporal stores are not ordered by it.
  if (stream_outputs != 0) D::StreamFence();
}

/// What a direct message of this slice refers to: what was written, or, if nothing was, the only input.
template <typename L>
MYCEL_DEVICE inline const void* DirectSource(const L& launch, const SliceView& view, const SliceTable& table) {
  const BoundInstruction& in = *view.instruction;
  for (int i = in.inputs + in.outputs - 1; i >= in.inputs; --i) {
    if (view.operands[i].base != OperandBase::kChannel) return MemoryOf(launch, view.operands[i], view.first);
  }
  return table.inputs[0];
}

/// The operand threads publish the outputs and release the inputs, each its share.
template <typename D, typename L>
MYCEL_DEVICE inline void PublishAndRelease(L& launch, const SliceView& view, const SliceTable& table) {
  const BoundInstruction& in = *view.instruction;
  MYCEL_ROLLED
  for (int i = in.inputs + D::Thread(); i < in.inputs + in.outputs; i += D::OperandThreads()) {
    const BoundOperand& operand = view.operands[i];
    if (operand.base != OperandBase::kChannel) continue;
    ChannelEnd& end = launch.ChannelOf(operand.channel);
    SlotHeader& header = HeaderOf(end);
    header.signature = launch.signature + in.salt;
    header.bytes = static_cast<uint32_t>(view.bytes);
    if (IsDirect(launch, view)) {
      header.longer.address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(DirectSource(launch, view, table)));
    } else if (!IsInline(view)) {
      header.longer.address = PlaceOf(end, launch.slot_count(), launch.slice_bytes());
      header.longer.rails = operand.rails;
    }
    Publish<D>(end, view.bytes);
  }
  MYCEL_ROLLED
  for (int i = D::Thread(); i < in.inputs; i += D::OperandThreads()) {
    const BoundOperand& operand = view.operands[i];
    if (operand.base != OperandBase::kChannel) continue;
    Release<D>(launch.ChannelOf(operand.channel), view.bytes);
  }
}

/// Runs one slice of one instruction if it can. All threads of the block get the same answer.
template <typename D, typename L>
MYCEL_DEVICE inline SliceEvent RunSlice(L& launch, const SliceView& view) {
  MYCEL_BLOCK_SHARED SliceTable table;
  const bool looks = D::Thread() < D::OperandThreads();
  SliceEvent event = SliceEvent::kRan;
  if (looks) event = LocateOperands<D>(launch, view, table);
  if (D::Any(event != SliceEvent::kRan)) {
    if (D::Any(event == SliceEvent::kMismatch)) return SliceEvent::kMismatch;
    return D::Any(event == SliceEvent::kFailed) ? SliceEvent::kFailed : SliceEvent::kNotReady;
  }
  if constexpr (L::kFetches) {
    if (IsDirect(launch, view) && !FetchInputs(launch, view, table)) return SliceEvent::kFailed;
  }
  MoveBytes<D>(launch, view, table);
  D::BarrierBeforePublish();
  if (looks) {
    PublishAndRelease<D>(launch, view, table);
    D::OperandBarrier();
  }
  return SliceEvent::kRan;
}

/// Whether the other lanes are as far as this instruction needs them. The same answer for all threads of the block.
template <typename D, typename L>
MYCEL_DEVICE inline bool WaitsDone(const L& launch, const BoundInstruction& in, int64_t slice) {
  bool done = true;
  MYCEL_ROLLED
  for (int i = D::Thread(); i < in.wait_count && done; i += D::Threads()) {
    const BoundWait& wait = launch.WaitAt(in.waits + i);
    const int64_t slices = launch.InstructionAt(wait.instruction).slicing.slices;
    const int64_t needed = slice + 1 < slices ? slice + 1 : slices;
    done = static_cast<int64_t>(launch.FinishedOf(wait.instruction)) >= needed;
  }
  return !D::Any(!done);
}

/// kDirect: what was sent by `channel` has been read, so that the memory it referred to is free.
template <typename D>
MYCEL_DEVICE inline bool IsRead(ChannelEnd& end) {
  if (end.released_seen == end.step) return true;
  // acquire: pairs with the release in Release; the peer has finished reading our memory.
  end.released_seen = D::LoadAcquire(end.release->released);
  return end.released_seen == end.step;
}

/// The first channel that an instruction's next slice waits for, or -1; `*receives`: for a message, not for room.
template <typename D, typename L>
MYCEL_DEVICE inline int32_t BlockingChannel(const L& launch, const BoundInstruction& in, bool* receives) {
  const BoundOperand* operands = launch.OperandsOf(in);
  MYCEL_ROLLED
  for (int i = 0; i < in.inputs + in.outputs; ++i) {
    if (operands[i].base != OperandBase::kChannel) continue;
    const ChannelEnd& end = launch.ChannelOf(operands[i].channel);
    *receives = i < in.inputs;
    const bool open = *receives ? IsReady<D>(end) : WouldHaveCredit<D>(end, launch.slot_count());
    if (!open) return operands[i].channel;
  }
  return -1;
}

/// Sets `*view` to a slice of an instruction.
template <typename L>
MYCEL_DEVICE inline SliceView SliceOf(const L& launch, const BoundInstruction& in, int64_t slice) {
  SliceView view;
  view.instruction = &in;
  view.operands = launch.OperandsOf(in);
  const int64_t first = in.slicing.First(slice);
  const int64_t end = in.slicing.First(slice + 1);
  view.first = first < in.elements ? first : in.elements;
  view.elements = (end < in.elements ? end : in.elements) - view.first;
  view.bytes = view.elements * static_cast<int64_t>(launch.element_bytes);
  return view;
}

/// Runs lane `lane` until it is done or blocked. `note` hears of each slice that ran or could not; the one that hears
/// nothing costs nothing. All threads of the block hold the same `state` and get the same answer.
template <typename D, typename L, typename Note>
MYCEL_DEVICE inline StepEvent RunLane(L& launch, int32_t lane, LaneState& state, int polls, const Note& note) {
  const BoundLane& body = launch.Lane(lane);
  if (body.after >= 0 && D::Any(!launch.IsLaneDone(body.after))) return StepEvent::kIdle;
  bool ran = false;
  MYCEL_ROLLED
  for (; state.iteration < body.iterations; ++state.iteration, state.pc = 0) {
    MYCEL_ROLLED
    for (; state.pc < body.count; ++state.pc) {
      const int32_t index = body.first + state.pc;
      const BoundInstruction& in = launch.InstructionAt(index);
      const int64_t slice = state.iteration - in.skew;
      if (slice < 0 || slice >= in.slicing.slices) continue;
      const SliceView view = SliceOf(launch, in, slice);
      SliceEvent event = SliceEvent::kNotReady;
      MYCEL_ROLLED
      for (int poll = 0; poll < polls; ++poll) {
        note.Begins();
        if (in.wait_count == 0 || WaitsDone<D>(launch, in, slice)) event = RunSlice<D>(launch, view);
        if (event != SliceEvent::kNotReady) break;
        D::Relax();
      }
      note.Ends(launch, lane, view, slice, event);
      if (event == SliceEvent::kNotReady) return ran ? StepEvent::kProgress : StepEvent::kIdle;
      if (event != SliceEvent::kRan) {
        return event == SliceEvent::kMismatch ? StepEvent::kMismatch : StepEvent::kFailed;
      }
      ran = true;
      launch.Finish(index);
    }
  }
  state.done = true;
  return StepEvent::kDone;
}

/// Hears nothing.
struct NoNote {
  MYCEL_DEVICE void Begins() const {}
  template <typename L>
  MYCEL_DEVICE void Ends(L&, int32_t, const SliceView&, int64_t, SliceEvent) const {}
};

}  // namespace mycel::step
