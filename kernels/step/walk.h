// Walks all lanes of a launch in the calling thread: how the host and the simulator run the step loop.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/clock.h"
#include "core/spi/launch.h"
#include "core/spi/step_trace.h"
#include "kernels/step/step.h"

namespace mycel::step {

/// Notes every slice in Launch::trace.
template <typename D>
class TraceNote {
 public:
  void Begins() const { start_ns_ = NowNs(); }
  void Ends(Launch& launch, int32_t lane, const SliceView& view, int64_t slice, SliceEvent event) const {
    if (event == SliceEvent::kNotReady) Block(launch, lane, *view.instruction);
    if (event == SliceEvent::kRan) Step(launch, lane, view, slice);
  }

 private:
  void Block(Launch& launch, int32_t lane, const BoundInstruction& in) const {
    if (launch.trace->IsBlocked(lane)) return;
    bool receives = false;
    const int32_t channel = BlockingChannel<D>(launch, in, &receives);
    const int32_t peer = channel < 0 ? -1 : launch.ChannelOf(channel).peer;
    launch.trace->Block(lane, start_ns_, receives ? peer : -1, receives ? -1 : peer);
  }
  void Step(Launch& launch, int32_t lane, const SliceView& view, int64_t slice) const {
    const BoundInstruction& in = *view.instruction;
    TraceEvent event;
    event.start_ns = start_ns_;
    event.end_ns = NowNs();
    event.what = static_cast<uint64_t>(slice);
    event.amount = static_cast<uint64_t>(view.bytes);
    event.lane = lane;
    event.reduces = in.inputs > 1;
    for (int i = in.inputs + in.outputs - 1; i >= 0; --i) {
      if (view.operands[i].base != OperandBase::kChannel) continue;
      (i < in.inputs ? event.from : event.to) = launch.ChannelOf(view.operands[i].channel).peer;
    }
    launch.trace->Step(event);
  }

  mutable int64_t start_ns_ = 0;
};

/// kDirect: our buffers are free only when every message has been read.
template <typename D>
inline bool DirectReadsDone(Launch& launch) {
  for (int32_t channel : launch.program->send_channels) {
    if (!IsRead<D>(launch.ChannelOf(channel))) return false;
  }
  return true;
}

/// Walks all lanes once, each as far as it goes.
template <typename D, typename Note>
inline StepEvent RunLaunchNoting(Launch& launch, int polls, const Note& note) {
  const auto lanes = static_cast<int32_t>(launch.program->lanes.size());
  // A blocked lane is polled in place only when there is no other to turn to.
  const int lane_polls = lanes == 1 ? polls : 1;
  bool progress = false;
  bool all_done = true;
  for (int32_t lane = 0; lane < lanes; ++lane) {
    if (launch.lanes[lane].done) continue;
    const StepEvent event = RunLane<D>(launch, lane, launch.lanes[lane], lane_polls, note);
    if (event == StepEvent::kMismatch || event == StepEvent::kFailed) return event;
    progress |= event != StepEvent::kIdle;
    all_done &= event == StepEvent::kDone;
  }
  if (!all_done) return progress ? StepEvent::kProgress : StepEvent::kIdle;
  if (launch.program->protocol == Protocol::kDirect && !DirectReadsDone<D>(launch)) return StepEvent::kIdle;
  return StepEvent::kDone;
}

/// Traced is a loop of its own, so that the other knows nothing of it.
template <typename D, bool kTraced = false>
inline StepEvent RunLaunch(Launch& launch, int polls) {
  if constexpr (kTraced) return RunLaunchNoting<D>(launch, polls, TraceNote<D>());
  return RunLaunchNoting<D>(launch, polls, NoNote());
}

/// The channel that the first unfinished lane waits for, or -1; `*receives`: for a message, not for room.
template <typename D>
inline int32_t BlockedChannel(const Launch& launch, bool* receives) {
  const BoundProgram& program = *launch.program;
  for (size_t lane = 0; lane < program.lanes.size(); ++lane) {
    const BoundLane& body = program.lanes[lane];
    const LaneState& state = launch.lanes[lane];
    if (state.done || state.pc >= body.count) continue;
    const int32_t channel = BlockingChannel<D>(launch, launch.InstructionAt(body.first + state.pc), receives);
    if (channel >= 0) return channel;
  }
  *receives = false;
  for (int32_t channel : program.send_channels) {
    const ChannelEnd& end = launch.ChannelOf(channel);
    if (D::LoadAcquire(end.release->released) != end.step) return channel;
  }
  return -1;
}

}  // namespace mycel::step
