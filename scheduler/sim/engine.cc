#include "scheduler/sim/engine.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "core/base/check.h"

namespace mycel::sim {
namespace {

/// Changes of flows this close together get one new set of rates: a picosecond, far below what is modelled, but above
/// the rounding that tells apart what happens at once. Without it a regular plan takes thirty times as long.
constexpr double kInstantUs = 1e-6;

std::vector<LinkUse> UsesOf(const Ways& ways, size_t way) {
  return {ways.links.begin() + ways.first[way], ways.links.begin() + ways.first[way + 1]};
}

}  // namespace

Engine::Engine(const Model& model, const RunShape& shape)
    : model_(model),
      shape_(shape),
      rates_(model.capacities),
      actors_(static_cast<size_t>(model.actor_count())),
      finished_(model.ops.size(), 0),
      channels_(model.channels.size()),
      ways_(model.ways.size()) {
  op_slices_.reserve(model.ops.size());
  for (const Model::Op& op : model.ops) {
    op_slices_.push_back(static_cast<int32_t>(std::min(op.slicing.slices, shape.slices_max)));
  }
  for (size_t a = 0; a < actors_.size(); ++a) {
    ActorState& actor = actors_[a];
    actor.op = model.actors[a].ops;
    actor.done = actor.op == model.actors[a + 1].ops;
    int64_t slices = 0, skew = 0;
    for (int32_t op = actor.op; op < model.actors[a + 1].ops; ++op) {
      slices = std::max<int64_t>(slices, op_slices_[static_cast<size_t>(op)]);
      skew = std::max<int64_t>(skew, model.ops[static_cast<size_t>(op)].skew);
    }
    actor.iterations = slices + skew;
  }
  for (size_t way = 0; way < ways_.size(); ++way) rates_.AddWay(UsesOf(model.ways, way));
}

bool Engine::SkipToActiveOp(int32_t id) {
  ActorState& actor = actors_[static_cast<size_t>(id)];
  const int32_t first = model_.actors[static_cast<size_t>(id)].ops;
  const int32_t last = model_.actors[static_cast<size_t>(id) + 1].ops;
  for (; actor.iteration < actor.iterations; ++actor.iteration, actor.op = first) {
    for (; actor.op < last; ++actor.op) {
      const int64_t slice = SliceOf(actor);
      if (slice >= 0 && slice < op_slices_[static_cast<size_t>(actor.op)]) return true;
    }
  }
  actor.done = true;
  return false;
}

bool Engine::IsReady(const ActorState& actor) const {
  const Model::Op* op = &OpOf(actor);
  for (int32_t i = op->inputs; i < op[1].inputs; ++i) {
    const ChannelState& channel = channels_[static_cast<size_t>(model_.inputs[static_cast<size_t>(i)])];
    if (channel.arrived == channel.claimed) return false;
  }
  for (int32_t i = op->outputs; i < op[1].outputs; ++i) {
    const ChannelState& channel = channels_[static_cast<size_t>(model_.outputs[static_cast<size_t>(i)].channel)];
    if (channel.issued - channel.released >= model_.slot_count) return false;
  }
  for (int32_t i = op->waits; i < op[1].waits; ++i) {
    const Model::Wait& wait = model_.waits[static_cast<size_t>(i)];
    const auto awaited = static_cast<size_t>(model_.actors[static_cast<size_t>(wait.actor)].ops + wait.op);
    if (finished_[awaited] < std::min<int64_t>(SliceOf(actor) + 1, op_slices_[awaited])) return false;
  }
  return true;
}

int64_t Engine::MessageBytes(const Model::Op& op, int64_t slice) {
  return std::min(op.bytes, op.slicing.First(slice + 1)) - std::min(op.bytes, op.slicing.First(slice));
}

void Engine::Advance(int32_t id) {
  ActorState& actor = actors_[static_cast<size_t>(id)];
  while (!actor.busy && !actor.done && SkipToActiveOp(id) && IsReady(actor)) StartOp(id);
}

void Engine::StartOp(int32_t id) {
  ActorState& actor = actors_[static_cast<size_t>(id)];
  const Model::Op* op = &OpOf(actor);
  for (int32_t i = op->inputs; i < op[1].inputs; ++i) {
    ++channels_[static_cast<size_t>(model_.inputs[static_cast<size_t>(i)])].claimed;
  }
  for (int32_t i = op->outputs; i < op[1].outputs; ++i) {
    ++channels_[static_cast<size_t>(model_.outputs[static_cast<size_t>(i)].channel)].issued;
  }
  const int64_t slice = SliceOf(actor);
  double duration = shape_.op_overhead_us;
  if (shape_.lane_GBps > 0) {
    const auto bytes = static_cast<double>(MessageBytes(*op, slice));
    duration += bytes * op->breadth / (shape_.lane_GBps * 1e3);
  }
  if (shape_.record) {
    const Model::Actor& who = model_.actors[static_cast<size_t>(id)];
    op_intervals_.push_back({Rank(who.rank), LaneId(who.lane), actor.op - who.ops, slice, now_, now_ + duration});
  }
  actor.busy = true;
  Push(now_ + duration, EventKind::kOpEnd, id);
}

void Engine::EndOp(int32_t id) {
  ActorState& actor = actors_[static_cast<size_t>(id)];
  const Model::Op* op = &OpOf(actor);
  const int64_t bytes = MessageBytes(*op, SliceOf(actor));
  for (int32_t i = op->inputs; i < op[1].inputs; ++i) {
    const int32_t channel = model_.inputs[static_cast<size_t>(i)];
    Push(now_ + model_.channels[static_cast<size_t>(channel)].back_us, EventKind::kRelease, channel);
  }
  for (int32_t i = op->outputs; i < op[1].outputs; ++i) {
    const Model::Output& output = model_.outputs[static_cast<size_t>(i)];
    Enqueue(output.channel, {bytes, output.way, actor.op});
  }
  ++finished_[static_cast<size_t>(actor.op)];
  actor.busy = false;
  ++actor.op;
  Advance(id);
  const auto wakes = static_cast<size_t>(id);
  for (int32_t i = model_.wakes_first[wakes]; i < model_.wakes_first[wakes + 1]; ++i) {
    Advance(model_.wakes[static_cast<size_t>(i)]);
  }
}

void Engine::Enqueue(int32_t channel, const Message& message) {
  ChannelState& state = channels_[static_cast<size_t>(channel)];
  if (!state.flowing) {
    StartMessage(channel, message);
    if (message.bytes > 0) rates_.Add(message.way), rates_stale_ = true;
    return;
  }
  int32_t place = static_cast<int32_t>(queued_.size());
  if (queued_free_.empty()) {
    queued_.emplace_back();
  } else {
    place = queued_free_.back();
    queued_free_.pop_back();
  }
  queued_[static_cast<size_t>(place)] = {message, -1};
  (state.first < 0 ? state.first : queued_[static_cast<size_t>(state.last)].next) = place;
  state.last = place;
}

void Engine::StartMessage(int32_t channel, const Message& message) {
  ChannelState& state = channels_[static_cast<size_t>(channel)];
  state.flowing = true;
  state.message = message;
  state.message_start = now_;
  if (message.bytes == 0) {  // a signature alone
    Push(now_, EventKind::kEmptyEnd, channel);
    return;
  }
  WayState& way = ways_[static_cast<size_t>(message.way)];
  way.served += way.rate * (now_ - way.since);
  way.since = now_;
  way.finishes.push_back({way.served + static_cast<double>(message.bytes), order_++, channel});
  std::push_heap(way.finishes.begin(), way.finishes.end(), std::greater<>());
  Await(message.way);
}

void Engine::EndMessage(int32_t channel) {
  ChannelState& state = channels_[static_cast<size_t>(channel)];
  const Message ended = state.message;
  if (shape_.record) {
    const Model::Actor& who = model_.actors[static_cast<size_t>(model_.channels[static_cast<size_t>(channel)].source)];
    message_intervals_.push_back({ChannelId(model_.channel_of_plan[static_cast<size_t>(channel)]), Rank(who.rank),
                                  LaneId(who.lane), ended.op - who.ops, ended.bytes, state.message_start, now_});
  }
  // A short way does not overtake a long one: messages of a channel arrive in order.
  const double latency_us = model_.ways.latency_us[static_cast<size_t>(ended.way)];
  state.last_arrival = std::max(state.last_arrival, now_ + latency_us);
  Push(state.last_arrival, EventKind::kArrive, channel);
  state.flowing = false;
  Message next;
  if (const int32_t place = state.first; place >= 0) {
    next = queued_[static_cast<size_t>(place)].message;
    state.first = queued_[static_cast<size_t>(place)].next;
    queued_free_.push_back(place);
    StartMessage(channel, next);
  }
  // The next message of a busy channel takes over the flow: no rate changes.
  if (next.bytes > 0 && ended.bytes > 0 && next.way == ended.way) return;
  if (ended.bytes > 0) rates_.Remove(ended.way), rates_stale_ = true;
  if (next.bytes > 0) rates_.Add(next.way), rates_stale_ = true;
}

void Engine::EndFirstOf(int32_t way) {
  WayState& state = ways_[static_cast<size_t>(way)];
  std::pop_heap(state.finishes.begin(), state.finishes.end(), std::greater<>());
  const Finish first = state.finishes.back();
  state.finishes.pop_back();
  state.served = first.served;  // without the error of the division that told when
  state.since = now_;
  EndMessage(first.channel);
  Await(way);
}

void Engine::Place(int32_t way, int32_t place) {
  way_heap_[static_cast<size_t>(place)] = way;
  ways_[static_cast<size_t>(way)].place = place;
}

void Engine::SiftUp(int32_t place) {
  const int32_t way = way_heap_[static_cast<size_t>(place)];
  const double next = ways_[static_cast<size_t>(way)].next;
  while (place > 0) {
    const int32_t parent = way_heap_[static_cast<size_t>((place - 1) / 2)];
    if (ways_[static_cast<size_t>(parent)].next <= next) break;
    Place(parent, place);
    place = (place - 1) / 2;
  }
  Place(way, place);
}

void Engine::SiftDown(int32_t place) {
  const int32_t way = way_heap_[static_cast<size_t>(place)];
  const double next = ways_[static_cast<size_t>(way)].next;
  const auto end = static_cast<int32_t>(way_heap_.size());
  const auto next_at = [this](int32_t at) {
    return ways_[static_cast<size_t>(way_heap_[static_cast<size_t>(at)])].next;
  };
  for (int32_t child = 2 * place + 1; child < end; child = 2 * place + 1) {
    if (child + 1 < end && next_at(child + 1) < next_at(child)) ++child;
    if (next <= next_at(child)) break;
    Place(way_heap_[static_cast<size_t>(child)], place);
    place = child;
  }
  Place(way, place);
}

void Engine::Await(int32_t id) {
  WayState& way = ways_[static_cast<size_t>(id)];
  if (way.finishes.empty() || way.rate == 0) {
    if (way.place < 0) return;
    const int32_t place = std::exchange(way.place, -1);
    const int32_t moved = way_heap_.back();
    way_heap_.pop_back();
    if (moved == id) return;
    Place(moved, place);
    SiftUp(place);
    SiftDown(ways_[static_cast<size_t>(moved)].place);
    return;
  }
  const double left = way.finishes.front().served - way.served;
  way.next = std::max(now_, way.since + left / way.rate);
  if (way.place < 0) {
    way.place = static_cast<int32_t>(way_heap_.size());
    way_heap_.push_back(id);
  }
  SiftUp(way.place);
  SiftDown(way.place);
}

void Engine::UpdateRates() {
  rates_stale_ = false;
  for (const MaxMin::Way id : rates_.Update()) {
    WayState& way = ways_[static_cast<size_t>(id)];
    const double rate = rates_.RateOf(id);
    MYCEL_CHECK_GT(rate, 0.0);
    if (rate == way.rate) continue;
    way.served += way.rate * (now_ - way.since);
    way.since = now_;
    way.rate = rate;
    Await(id);
  }
}

void Engine::Push(double time, EventKind kind, int32_t id) { events_.push({time, order_++, kind, id}); }

void Engine::Handle(const Event& event) {
  const auto channel = static_cast<size_t>(event.id);
  switch (event.kind) {
    case EventKind::kOpEnd:
      return EndOp(event.id);
    case EventKind::kEmptyEnd:
      return EndMessage(event.id);
    case EventKind::kArrive:
      ++channels_[channel].arrived;
      return Advance(model_.channels[channel].target);
    case EventKind::kRelease:
      ++channels_[channel].released;
      return Advance(model_.channels[channel].source);
  }
}

double Engine::NextTime() const {
  double time = std::numeric_limits<double>::infinity();
  if (!events_.empty()) time = events_.top().time;
  if (!way_heap_.empty()) time = std::min(time, ways_[static_cast<size_t>(way_heap_.front())].next);
  return time;
}

StatusOr<double> Engine::Run() {
  double end = 0;
  for (int32_t id = 0; id < model_.actor_count(); ++id) Advance(id);
  while (!events_.empty() || !way_heap_.empty()) {
    const double time = NextTime();
    MYCEL_CHECK_GE(time, now_);
    now_ = time;
    const bool was_stale = rates_stale_;
    if (!events_.empty() && events_.top().time == time) {
      const Event event = events_.top();
      events_.pop();
      // Slots given back after the last op are bookkeeping, not part of the collective.
      if (event.kind != EventKind::kRelease) end = now_;
      Handle(event);
    } else {
      end = now_;
      EndFirstOf(way_heap_.front());
    }
    if (!rates_stale_) continue;
    if (!was_stale) stale_since_ = now_;
    // Rates change once per instant: after its last event.
    if (NextTime() > stale_since_ + kInstantUs) UpdateRates();
  }
  for (const ActorState& actor : actors_) {
    if (!actor.done) return InternalError(Deadlock());
  }
  return end;
}

std::string Engine::Deadlock() const {
  std::string text = "the plan deadlocks:";
  int named = 0;
  for (size_t a = 0; a < actors_.size(); ++a) {
    const ActorState& actor = actors_[a];
    if (actor.done || ++named > 4) continue;
    const Model::Actor& who = model_.actors[a];
    text += " rank " + std::to_string(who.rank) + " lane " + std::to_string(who.lane) + " waits at op " +
            std::to_string(actor.op - who.ops) + ", slice " + std::to_string(SliceOf(actor)) + ";";
  }
  return text + " run 'mycel verify' on it";
}

}  // namespace mycel::sim
