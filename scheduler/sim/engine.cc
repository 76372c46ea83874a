#include "scheduler/sim/engine.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/base/check.h"

namespace mycel::sim {
namespace {

using Kind = Operand::Kind;

/// The node path of a channel: its explicit route, or the direct link.
Route RouteOf(const Plan& plan, const Topology& topology, size_t channel, int32_t route) {
  if (route >= 0) return plan.routes[static_cast<size_t>(route)];
  return {topology.NodeOf(plan.channels[channel].source), topology.NodeOf(plan.channels[channel].target)};
}

Status FindPath(const Plan& plan, const Topology& topology, const Operand& output, Path* path) {
  const Route route = RouteOf(plan, topology, static_cast<size_t>(output.index), output.route);
  for (size_t i = 0; i + 1 < route.size(); ++i) {
    const bool known = route[i].index() < topology.nodes().size() && route[i + 1].index() < topology.nodes().size();
    const LinkId link = known ? topology.FindLink(route[i], route[i + 1]) : LinkId();
    if (!link.valid()) {
      const Channel& channel = plan.channels[static_cast<size_t>(output.index)];
      return InvalidArgument("the channel from rank " + std::to_string(channel.source.value()) + " to rank " +
                             std::to_string(channel.target.value()) + " has no route in topology '" + topology.name() +
                             "'; simulate the plan on the topology it was made for ('" + plan.topology + "')");
    }
    path->links.push_back(link.value());
    path->latency_us += topology.link(link).latency_us;
  }
  return OkStatus();
}

std::vector<double> CapacitiesOf(const Topology& topology) {
  std::vector<double> capacities;
  for (const Link& link : topology.links()) capacities.push_back(link.bandwidth.ToDouble() * 1e3);  // bytes per us
  return capacities;
}

}  // namespace

StatusOr<PathTable> PathsOf(const Plan& plan, const Topology& topology) {
  if (plan.rank_count != topology.rank_count()) {
    return InvalidArgument("the plan has " + std::to_string(plan.rank_count) + " ranks, topology '" + topology.name() +
                           "' has " + std::to_string(topology.rank_count()));
  }
  PathTable table;
  table.of_operand.assign(plan.operands.size(), -1);
  table.of_channel.assign(plan.channels.size(), -1);
  std::map<std::pair<int32_t, int32_t>, int32_t> known;  // (channel, route)
  for (const RankPlan& rank : plan.ranks) {
    for (const Lane& lane : rank.lanes) {
      for (const Op& op : lane.ops) {
        for (int32_t i = op.operands + op.inputs; i < op.operands + op.inputs + op.outputs; ++i) {
          const Operand& output = plan.operands[static_cast<size_t>(i)];
          if (output.kind != Kind::kChannel) continue;
          const auto next = static_cast<int32_t>(table.paths.size());
          const auto [at, added] = known.emplace(std::pair(output.index, output.route), next);
          if (added) {
            table.paths.emplace_back();
            MYCEL_RETURN_IF_ERROR(FindPath(plan, topology, output, &table.paths.back()));
          }
          table.of_operand[static_cast<size_t>(i)] = at->second;
          int32_t& first = table.of_channel[static_cast<size_t>(output.index)];
          if (first < 0) first = at->second;
        }
      }
    }
  }
  return table;
}

Engine::Engine(const Plan& plan, const Topology& topology, const PathTable& paths, const RunShape& shape)
    : plan_(plan), paths_(paths), shape_(shape), rates_(CapacitiesOf(topology)), channels_(plan.channels.size()) {
  MakeActors();
}

void Engine::MakeActors() {
  actors_of_rank_.resize(plan_.ranks.size());
  for (size_t r = 0; r < plan_.ranks.size(); ++r) {
    for (size_t l = 0; l < plan_.ranks[r].lanes.size(); ++l) {
      Actor actor;
      actor.rank = static_cast<int32_t>(r);
      actor.lane = static_cast<int32_t>(l);
      const auto id = static_cast<int32_t>(actors_.size());
      int64_t slices = 0;
      int32_t skew = 0;
      for (const Op& op : plan_.ranks[r].lanes[l].ops) {
        actor.slicing.push_back(SlicesOf(shape_.ChunkBytesMax(plan_, op.chunk), shape_.slicing[l]));
        actor.op_slices.push_back(std::min(actor.slicing.back().slices, shape_.slices_max));
        slices = std::max(slices, actor.op_slices.back());
        skew = std::max(skew, op.skew);
        for (int32_t i = 0; i < op.inputs + op.outputs; ++i) {
          const Operand& operand = plan_.InputsOf(op)[i];
          if (operand.kind != Kind::kChannel) continue;
          ChannelState& channel = channels_[static_cast<size_t>(operand.index)];
          (i < op.inputs ? channel.target_actor : channel.source_actor) = id;
        }
      }
      actor.iterations = slices + skew;
      actor.finished.assign(actor.op_slices.size(), 0);
      actor.done = actor.op_slices.empty();
      actors_of_rank_[r].push_back(id);
      actors_.push_back(std::move(actor));
    }
  }
}

const Op& Engine::OpOf(const Actor& actor) const {
  return plan_.ranks[static_cast<size_t>(actor.rank)].lanes[static_cast<size_t>(actor.lane)].ops[actor.position];
}

bool Engine::SkipToActiveOp(Actor* actor) const {
  for (; actor->iteration < actor->iterations; ++actor->iteration, actor->position = 0) {
    for (; actor->position < actor->op_slices.size(); ++actor->position) {
      const int64_t slice = SliceOf(*actor);
      if (slice >= 0 && slice < actor->op_slices[actor->position]) return true;
    }
  }
  actor->done = true;
  return false;
}

bool Engine::IsReady(const Actor& actor) const {
  const Op& op = OpOf(actor);
  for (int32_t i = 0; i < op.inputs; ++i) {
    const Operand& input = plan_.InputsOf(op)[i];
    if (input.kind != Kind::kChannel) continue;
    const ChannelState& channel = channels_[static_cast<size_t>(input.index)];
    if (channel.arrived == channel.claimed) return false;
  }
  for (int32_t i = 0; i < op.outputs; ++i) {
    const Operand& output = plan_.OutputsOf(op)[i];
    if (output.kind != Kind::kChannel) continue;
    const ChannelState& channel = channels_[static_cast<size_t>(output.index)];
    if (channel.issued - channel.released >= plan_.slot_count) return false;
  }
  for (int32_t i = 0; i < op.wait_count; ++i) {
    const Wait& wait = plan_.waits[static_cast<size_t>(op.waits + i)];
    const auto other = actors_of_rank_[static_cast<size_t>(actor.rank)][wait.lane.index()];
    const Actor& awaited = actors_[static_cast<size_t>(other)];
    const auto index = static_cast<size_t>(wait.op);
    if (awaited.finished[index] < std::min(SliceOf(actor) + 1, awaited.op_slices[index])) return false;
  }
  return true;
}

int64_t Engine::MessageBytes(const Actor& actor, const Op& op, int64_t slice) const {
  const int64_t bytes = shape_.ChunkBytes(plan_, op.chunk);
  const ChunkSlicing& slicing = actor.slicing[actor.position];
  return std::min(bytes, slicing.First(slice + 1)) - std::min(bytes, slicing.First(slice));
}

void Engine::Advance(int32_t id) {
  Actor& actor = actors_[static_cast<size_t>(id)];
  while (!actor.busy && !actor.done && SkipToActiveOp(&actor) && IsReady(actor)) StartOp(id);
}

void Engine::StartOp(int32_t id) {
  Actor& actor = actors_[static_cast<size_t>(id)];
  const Op& op = OpOf(actor);
  for (int32_t i = 0; i < op.inputs; ++i) {
    const Operand& input = plan_.InputsOf(op)[i];
    if (input.kind == Kind::kChannel) ++channels_[static_cast<size_t>(input.index)].claimed;
  }
  for (int32_t i = 0; i < op.outputs; ++i) {
    const Operand& output = plan_.OutputsOf(op)[i];
    if (output.kind == Kind::kChannel) ++channels_[static_cast<size_t>(output.index)].issued;
  }
  const int64_t slice = SliceOf(actor);
  double duration = shape_.op_overhead_us;
  if (shape_.lane_GBps > 0) {
    const auto bytes = static_cast<double>(MessageBytes(actor, op, slice));
    duration += bytes * std::max(op.inputs, op.outputs) / (shape_.lane_GBps * 1e3);
  }
  if (shape_.record) {
    op_intervals_.push_back(
        {Rank(actor.rank), LaneId(actor.lane), static_cast<int32_t>(actor.position), slice, now_, now_ + duration});
  }
  actor.busy = true;
  Push(now_ + duration, EventKind::kOpEnd, id);
}

void Engine::EndOp(int32_t id) {
  Actor& actor = actors_[static_cast<size_t>(id)];
  const Op& op = OpOf(actor);
  const int64_t bytes = MessageBytes(actor, op, SliceOf(actor));
  for (int32_t i = 0; i < op.inputs; ++i) {
    const Operand& input = plan_.InputsOf(op)[i];
    if (input.kind != Kind::kChannel) continue;
    const int32_t way = paths_.of_channel[static_cast<size_t>(input.index)];
    const double latency_us = way < 0 ? 0 : paths_.paths[static_cast<size_t>(way)].latency_us;
    Push(now_ + latency_us, EventKind::kRelease, input.index);
  }
  for (int32_t i = 0; i < op.outputs; ++i) {
    const auto operand = static_cast<size_t>(op.operands + op.inputs + i);
    const Operand& output = plan_.operands[operand];
    if (output.kind == Kind::kChannel) Enqueue(output.index, {bytes, paths_.of_operand[operand]});
  }
  ++actor.finished[actor.position];
  actor.busy = false;
  ++actor.position;
  Advance(id);
  if (!plan_.waits.empty()) WakeRank(actor.rank);
}

void Engine::WakeRank(int32_t rank) {
  for (const int32_t id : actors_of_rank_[static_cast<size_t>(rank)]) Advance(id);
}

void Engine::Enqueue(int32_t channel, Message message) {
  ChannelState& state = channels_[static_cast<size_t>(channel)];
  state.flowing ? state.queue.push(message) : StartFlow(channel, message);
}

void Engine::StartFlow(int32_t channel, Message message) {
  ChannelState& state = channels_[static_cast<size_t>(channel)];
  state.flowing = true;
  state.message = message;
  state.message_start = now_;
  state.left = static_cast<double>(message.bytes);
  state.since = now_;
  ++state.version;
  if (message.bytes == 0) {  // a signature alone
    Push(now_, EventKind::kFlowEnd, channel, state.version);
    return;
  }
  if (state.flow >= 0) {
    // The next message of a busy channel takes over the flow: no rate changes.
    Push(now_ + state.left / state.rate, EventKind::kFlowEnd, channel, state.version);
    return;
  }
  state.rate = 0;
  state.flow = rates_.Add(paths_.paths[static_cast<size_t>(message.path)].links);
  if (channel_of_flow_.size() <= static_cast<size_t>(state.flow)) {
    channel_of_flow_.resize(static_cast<size_t>(state.flow) + 1, -1);
  }
  channel_of_flow_[static_cast<size_t>(state.flow)] = channel;
  rates_stale_ = true;
}

void Engine::EndFlow(int32_t channel) {
  ChannelState& state = channels_[static_cast<size_t>(channel)];
  if (shape_.record) {
    message_intervals_.push_back({ChannelId(channel), state.message.bytes, state.message_start, now_});
  }
  // A short way does not overtake a long one: messages of a channel arrive in order.
  const double latency_us = paths_.paths[static_cast<size_t>(state.message.path)].latency_us;
  state.last_arrival = std::max(state.last_arrival, now_ + latency_us);
  Push(state.last_arrival, EventKind::kArrive, channel);
  state.flowing = false;
  const Message next = state.queue.empty() ? Message() : state.queue.front();
  const bool keeps_flow = next.bytes > 0 && next.path == state.message.path;
  if (!keeps_flow && state.flow >= 0) {
    rates_.Remove(state.flow);
    state.flow = -1;
    rates_stale_ = true;
  }
  if (state.queue.empty()) return;
  state.queue.pop();
  StartFlow(channel, next);
}

void Engine::UpdateRates() {
  rates_stale_ = false;
  for (const MaxMin::Flow flow : rates_.Update()) {
    const int32_t channel = channel_of_flow_[static_cast<size_t>(flow)];
    ChannelState& state = channels_[static_cast<size_t>(channel)];
    const double rate = rates_.RateOf(flow);
    MYCEL_CHECK_GT(rate, 0.0);
    if (rate == state.rate) continue;
    state.left = std::max(0.0, state.left - state.rate * (now_ - state.since));
    state.since = now_;
    state.rate = rate;
    Push(now_ + state.left / rate, EventKind::kFlowEnd, channel, ++state.version);
  }
}

void Engine::Push(double time, EventKind kind, int32_t id, int64_t version) {
  events_.push({time, order_++, kind, id, version});
}

void Engine::Handle(const Event& event) {
  ChannelState* channel = event.kind == EventKind::kOpEnd ? nullptr : &channels_[static_cast<size_t>(event.id)];
  switch (event.kind) {
    case EventKind::kOpEnd:
      return EndOp(event.id);
    case EventKind::kFlowEnd:
      return EndFlow(event.id);
    case EventKind::kArrive:
      ++channel->arrived;
      return Advance(channel->target_actor);
    case EventKind::kRelease:
      ++channel->released;
      return Advance(channel->source_actor);
  }
}

StatusOr<double> Engine::Run() {
  double end = 0;
  for (size_t id = 0; id < actors_.size(); ++id) Advance(static_cast<int32_t>(id));
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    MYCEL_CHECK_GE(event.time, now_);
    const bool outdated =
        event.kind == EventKind::kFlowEnd && event.version != channels_[static_cast<size_t>(event.id)].version;
    if (!outdated) {
      now_ = event.time;
      // Slots given back after the last op are bookkeeping, not part of the collective.
      if (event.kind != EventKind::kRelease) end = now_;
      Handle(event);
    }
    // Rates change once per instant: after its last event.
    if (rates_stale_ && (events_.empty() || events_.top().time > now_)) UpdateRates();
  }
  for (const Actor& actor : actors_) {
    if (!actor.done) return InternalError(Deadlock());
  }
  return end;
}

std::string Engine::Deadlock() const {
  std::string text = "the plan deadlocks:";
  int named = 0;
  for (const Actor& actor : actors_) {
    if (actor.done || ++named > 4) continue;
    text += " rank " + std::to_string(actor.rank) + " lane " + std::to_string(actor.lane) + " waits at op " +
            std::to_string(actor.position) + ", slice " + std::to_string(SliceOf(actor)) + ";";
  }
  return text + " run 'mycel verify' on it";
}

}  // namespace mycel::sim
