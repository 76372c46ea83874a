// What one block of a GPU does in a launch, and what a scale kernel's blocks do: the body of every kernel, also run on
// the host (kernels/device/run_on_host.h).
//
// A block runs its lanes turn by turn until all are done, then goes on with the next launch of the chain when the lanes
// of this one are done in all blocks. A lane that waits does so in LocateOperands, where the operand threads poll, each
// its operands, and the others stand at a barrier; now and then the block comes back here and looks whether it is to
// give up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/spi/device_launch.h"
#include "kernels/device/annotations.h"
#include "kernels/step/device_view.h"
#include "kernels/step/step.h"

namespace mycel::step {

/// Whether the host wants the kernel to end, or a block has reported a fault. The same answer for all threads of the
/// block.
template <typename D>
MYCEL_DEVICE inline bool IsAborted(const DeviceLaunch& launch) {
  bool aborted = false;
  if (D::Thread() == 0) {
    aborted = D::LoadFlag(*launch.claimed) != 0 || (launch.abort != nullptr && D::LoadFlag(*launch.abort) != 0);
  }
  return D::Any(aborted);
}

/// kDirect: whether all that a lane has sent has been read. The same answer for all threads of the block.
template <typename D, typename View>
MYCEL_DEVICE inline bool IsLaneRead(const View& view, int32_t lane, int32_t* unread) {
  *unread = -1;
  if (D::Thread() == 0) {
    const BoundLane& body = view.Lane(lane);
    for (int32_t i = body.first; i < body.first + body.count && *unread < 0; ++i) {
      const BoundInstruction& in = view.InstructionAt(i);
      const BoundOperand* outputs = view.OperandsOf(in) + in.inputs;
      for (int k = 0; k < in.outputs; ++k) {
        if (outputs[k].base != OperandBase::kChannel || IsRead<D>(view.ChannelOf(outputs[k].channel))) continue;
        *unread = outputs[k].channel;
        break;
      }
    }
  }
  return !D::Any(*unread >= 0);
}

/// Says what the lane waited for when it was told to give up.
template <typename D, typename View>
MYCEL_DEVICE inline void ReportAbort(const View& view, int32_t lane, const LaneState& state, int32_t unread) {
  if (D::Thread() != 0) return;
  const BoundLane& body = view.Lane(lane);
  bool receives = false;
  int32_t channel = unread;
  if (!state.done && state.pc < body.count) {
    channel = BlockingChannel<D>(view, view.InstructionAt(body.first + state.pc), &receives);
  }
  view.Report(DeviceFault::kAborted, lane, channel, 0, receives);
}

/// Runs lane `lane` as far as it goes. kDone: also read by its peers and noted as done.
template <typename D, typename View>
MYCEL_DEVICE inline StepEvent Advance(View& view, int32_t lane, LaneState& state, int32_t* unread) {
  *unread = -1;
  view.SetLane(lane);
  StepEvent event = StepEvent::kDone;
  if (!state.done) event = RunLane<D>(view, lane, state, 1, NoNote());
  if (event != StepEvent::kDone) return event;
  if (view.protocol() == Protocol::kDirect && !IsLaneRead<D>(view, lane, unread)) return StepEvent::kIdle;
  if (D::Thread() == 0) {
    DeviceLaneState& kept = view.launch().lane_states[lane];
    kept.iteration = 0;
    kept.pc = 0;
    kept.done = 0;
    // release: publishes all that the lane did; pairs with the acquire in IsLaneDone.
    D::StoreReleaseLane(kept.runs, view.runs() + 1);
  }
  return StepEvent::kDone;
}

/// A block's lanes, turn by turn, their states in the device's memory between turns; that of an only lane stays in
/// registers. False: a fault is reported, or the launch is aborted.
template <typename D, typename View>
MYCEL_DEVICE inline bool RunLanes(View& view, int32_t block, int32_t blocks) {
  const DeviceLaunch& launch = view.launch();
  const bool only_lane = block + blocks >= launch.lane_count;
  LaneState state;
  for (;;) {
    bool progress = false;
    bool all_done = true;
    for (int32_t lane = block; lane < launch.lane_count; lane += blocks) {
      DeviceLaneState& kept = launch.lane_states[lane];
      if (!only_lane) {
        const bool ran = kept.runs > view.runs();
        state.iteration = kept.iteration;
        state.pc = kept.pc;
        state.done = kept.done != 0;
        D::Any(false);  // everyone has read the state before it is written
        if (ran) continue;
      }
      int32_t unread = -1;
      const StepEvent event = Advance<D>(view, lane, state, &unread);
      if (event == StepEvent::kMismatch || event == StepEvent::kFailed) return false;
      if (event == StepEvent::kIdle && IsAborted<D>(launch)) {
        ReportAbort<D>(view, lane, state, unread);
        return false;
      }
      if (!only_lane) {
        if (D::Thread() == 0 && event != StepEvent::kDone) {
          kept.iteration = state.iteration;
          kept.pc = state.pc;
          kept.done = state.done ? 1 : 0;
        }
        D::Any(false);  // everyone sees it in the next turn
      }
      progress |= event != StepEvent::kIdle;
      all_done &= event == StepEvent::kDone;
    }
    if (all_done) return true;
    if (!progress) D::Relax();
  }
}

/// Waits until all lanes of a launch, in all blocks, are done. False: aborted.
template <typename D, typename View>
MYCEL_DEVICE inline bool WaitForLanes(const View& view) {
  const DeviceLaunch& launch = view.launch();
  for (;;) {
    bool done = true;
    for (int32_t lane = D::Thread(); lane < launch.lane_count && done; lane += D::Threads()) {
      done = view.IsLaneDone(lane);
    }
    if (!D::Any(!done)) return true;
    if (IsAborted<D>(launch)) {
      if (D::Thread() == 0) view.Report(DeviceFault::kAborted, -1, -1, 0, false);
      return false;
    }
    D::Relax();
  }
}

/// The body of kernels mycel_run_*: block `block` of `blocks`. `kAnyType`: D::Apply looks at the launch's type itself.
template <typename D, DataType kType, bool kCombines, bool kAnyType = false>
MYCEL_DEVICE inline void RunBlock(const DeviceLaunch& first, int32_t block, int32_t blocks) {
  using View = DeviceView<D, kType, kCombines>;
  for (const DeviceLaunch* launch = &first; launch != nullptr; launch = launch->next) {
    // acquire: only to look at the word itself, which this block alone writes.
    const uint64_t runs = D::LoadAcquireLane(launch->lane_states[block].runs);
    D::Any(false);  // everyone has read it before it is written
    View view(*launch, runs, block + blocks >= launch->lane_count ? D::kSpins : 0);
    if (kCombines ? launch->type != kType && !kAnyType : launch->combines != 0) {
      if (D::Thread() == 0) view.Report(DeviceFault::kWrongKernel, block, -1, 0, false);
      return;
    }
    if (!RunLanes<D>(view, block, blocks)) return;
    if (launch->next != nullptr && !WaitForLanes<D>(view)) return;
  }
}

}  // namespace mycel::step
