#include "bindings/interchange/msccl_trace.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <tuple>

#include "bindings/interchange/symbolic_memory.h"
#include "bindings/interchange/wrong_plan.h"
#include "core/base/check.h"

namespace mycel::msccl {
namespace {

size_t U(int64_t value) { return static_cast<size_t>(value); }

/// A thread block on its way.
struct Thread {
  int32_t rank = 0;
  int32_t block = 0;
  const Block* it = nullptr;
  size_t next = 0;  // step
  VectorClock clock;
};

struct Message {
  std::vector<SymbolicValue> values;
  VectorClock clock;
  int32_t line = 0;
};

struct Connection {
  bool has_sender = false;
  bool has_receiver = false;
  int32_t sent = 0;
  std::deque<Message> messages;
};

/// One chunk of a step, traced.
struct Move {
  SymbolicValue value;
  bool finish = false;
  std::vector<TraceOperand> inputs;
  std::vector<TraceOperand> outputs;
};

class Tracer {
 public:
  Tracer(const Algorithm& algorithm, bool in_place)
      : algorithm_(algorithm),
        in_place_(in_place),
        contract_{algorithm.collective, algorithm.rank_count(), Rank()},
        units_(ChunksPerBlock(algorithm.collective, algorithm.chunk_count, algorithm.rank_count())),
        memory_(contract_, units_, ScratchOf(algorithm), in_place) {}

  StatusOr<std::vector<TraceOp>> Run() {
    MYCEL_RETURN_IF_ERROR(PlaceThreads());
    bool moved = true;
    while (moved) {
      moved = false;
      // What only reads goes first: in place, data leave before others overwrite them, where the file lets both happen.
      for (const bool reads_only : {true, false}) {
        for (size_t thread = 0; thread < threads_.size(); ++thread) {
          bool ran = true;
          while (ran) {
            MYCEL_ASSIGN_OR_RETURN(ran, TryStep(thread, reads_only));
            moved |= ran;
            ran = ran && reads_only;
          }
        }
      }
    }
    MYCEL_RETURN_IF_ERROR(CheckDone());
    if (in_place_) memory_.AppendOwnCopies(0, &ops_);
    return std::move(ops_);
  }

 private:
  static std::vector<int32_t> ScratchOf(const Algorithm& algorithm) {
    std::vector<int32_t> scratch;
    for (const Gpu& gpu : algorithm.gpus) scratch.push_back(gpu.scratch_chunks);
    return scratch;
  }

  Status PlaceThreads();
  Connection& ConnectionOf(int32_t source, int32_t target, int32_t channel) {
    return connections_[{source, target, channel}];
  }
  Connection& InOf(const Thread& thread) { return ConnectionOf(thread.it->recv, thread.rank, thread.it->channel); }
  Connection& OutOf(const Thread& thread) { return ConnectionOf(thread.rank, thread.it->send, thread.it->channel); }
  bool IsDone(const Thread& thread) const { return thread.next == thread.it->steps.size(); }
  bool DependencyIsDone(const Thread& thread, const Step& step) const;
  /// What the step waits for; empty when it may run.
  std::string ObstacleOf(const Thread& thread);
  StatusOr<bool> TryStep(size_t index, bool reads_only);
  StatusOr<Move> TraceChunk(size_t index, const Step& step, int32_t chunk, const Message* message);
  StatusOr<SymbolicValue> ReadPlace(size_t index, const Place& place, int32_t chunk, Move* move);
  void Emit(const Thread& thread, const std::vector<Move>& moves);
  Status CheckDone();

  std::string Name(const Thread& thread, size_t step) const { return DescribeStep(thread.rank, U(thread.block), step); }
  Status Wrong(const Thread& thread, const std::string& problem) const {
    const Step& step = thread.it->steps[thread.next];
    return WrongPlan(algorithm_.file, step.line,
                     std::string(in_place_ ? "run in place, " : "") + Name(thread, thread.next) + " (" +
                         std::string(InfoOf(step.type).name) + ") " + problem);
  }
  SymbolicMemory::Access AccessOf(size_t index, const Place& place, int32_t chunk) const {
    const Thread& thread = threads_[index];
    const auto area = place.buffer == Buffer::kInput    ? SymbolicMemory::Area::kInput
                      : place.buffer == Buffer::kOutput ? SymbolicMemory::Area::kOutput
                                                        : SymbolicMemory::Area::kScratch;
    return {Rank(thread.rank), memory_.AddressOf(Rank(thread.rank), area, place.offset + chunk),
            static_cast<int32_t>(index), static_cast<int32_t>(thread.next)};
  }

  const Algorithm& algorithm_;
  const bool in_place_;
  const Contract contract_;
  const int64_t units_;
  SymbolicMemory memory_;
  std::vector<Thread> threads_;
  std::vector<size_t> first_thread_;  // of each rank
  std::map<std::tuple<int32_t, int32_t, int32_t>, Connection> connections_;
  std::map<std::pair<size_t, int32_t>, VectorClock> done_;  // of steps with dependents that are over
  std::vector<TraceOp> ops_;
};

Status Tracer::PlaceThreads() {
  int64_t dependents = 0;
  for (int32_t rank = 0; rank < algorithm_.rank_count(); ++rank) {
    first_thread_.push_back(threads_.size());
    const std::vector<Block>& blocks = algorithm_.gpus[U(rank)].blocks;
    for (size_t b = 0; b < blocks.size(); ++b) {
      threads_.push_back({rank, static_cast<int32_t>(b), &blocks[b], 0, {}});
      for (const Step& step : blocks[b].steps) dependents += step.has_dependents ? 1 : 0;
      if (blocks[b].send >= 0) ConnectionOf(rank, blocks[b].send, blocks[b].channel).has_sender = true;
      if (blocks[b].recv >= 0) ConnectionOf(blocks[b].recv, rank, blocks[b].channel).has_receiver = true;
    }
  }
  // Clocks are as wide as there are threads, and steps with dependents keep one each.
  constexpr int64_t kClockWordsMax = int64_t{1} << 28;
  if (static_cast<int64_t>(threads_.size()) * (static_cast<int64_t>(threads_.size()) + dependents) > kClockWordsMax) {
    return InvalidArgument(algorithm_.file + ": " + std::to_string(threads_.size()) + " thread blocks with " +
                           std::to_string(dependents) + " dependencies are too many to check; use fewer");
  }
  for (Thread& thread : threads_) thread.clock.assign(threads_.size(), 0);
  return OkStatus();
}

bool Tracer::DependencyIsDone(const Thread& thread, const Step& step) const {
  if (step.dep_block < 0) return true;
  return threads_[first_thread_[U(thread.rank)] + U(step.dep_block)].next > U(step.dep_step);
}

std::string Tracer::ObstacleOf(const Thread& thread) {
  const Step& step = thread.it->steps[thread.next];
  const StepInfo& info = InfoOf(step.type);
  const std::string channel = " on chan " + std::to_string(thread.it->channel);
  if (!DependencyIsDone(thread, step)) {
    return "step " + std::to_string(step.dep_step) + " of tb " + std::to_string(step.dep_block);
  }
  if (info.receives && InOf(thread).messages.empty()) {
    return "a message from gpu " + std::to_string(thread.it->recv) + channel +
           (InOf(thread).has_sender ? "" : ", where no block sends to it");
  }
  if (info.sends && OutOf(thread).messages.size() >= U(FifoSlotsOf(algorithm_.proto))) {
    return "gpu " + std::to_string(thread.it->send) + " to take one of " +
           std::to_string(FifoSlotsOf(algorithm_.proto)) + " messages" + channel +
           (OutOf(thread).has_receiver ? "" : ", where no block receives from it");
  }
  return "";
}

StatusOr<bool> Tracer::TryStep(size_t index, bool reads_only) {
  Thread& thread = threads_[index];
  if (IsDone(thread)) return false;
  const Step& step = thread.it->steps[thread.next];
  const StepInfo& info = InfoOf(step.type);
  if (reads_only == info.writes || !ObstacleOf(thread).empty()) return false;
  if (step.dep_block >= 0) {
    const size_t other = first_thread_[U(thread.rank)] + U(step.dep_block);
    if (other != index) JoinClock(done_.at({other, step.dep_step}), &thread.clock);
  }
  const Message* message = nullptr;
  if (info.receives) {
    message = &InOf(thread).messages.front();
    JoinClock(message->clock, &thread.clock);
    if (message->values.size() != U(step.count)) {
      return Wrong(thread, "receives cnt=\"" + std::to_string(step.count) + "\" chunks, but the message sent at line " +
                               std::to_string(message->line) + " has " + std::to_string(message->values.size()));
    }
  }
  std::vector<Move> moves;
  // In place, a copy from input to output may be one of a chunk onto itself, which touches nothing.
  const bool onto_itself = step.type == StepType::kCopy &&
                           AccessOf(index, step.source, 0).address == AccessOf(index, step.target, 0).address;
  for (int32_t chunk = 0; chunk < step.count && !onto_itself; ++chunk) {
    MYCEL_ASSIGN_OR_RETURN(Move move, TraceChunk(index, step, chunk, message));
    moves.push_back(std::move(move));
  }
  Emit(thread, moves);
  if (info.receives) InOf(thread).messages.pop_front();
  thread.clock[index] = static_cast<int32_t>(thread.next) + 1;
  if (info.sends) {
    Message out;
    for (const Move& move : moves) out.values.push_back(move.value);
    out.clock = thread.clock;
    out.line = step.line;
    OutOf(thread).messages.push_back(std::move(out));
    ++OutOf(thread).sent;
  }
  if (step.has_dependents) done_[{index, static_cast<int32_t>(thread.next)}] = thread.clock;
  ++thread.next;
  return true;
}

StatusOr<SymbolicValue> Tracer::ReadPlace(size_t index, const Place& place, int32_t chunk, Move* move) {
  TraceOperand operand;
  StatusOr<SymbolicValue> value = memory_.Read(AccessOf(index, place, chunk), threads_[index].clock, &operand);
  if (!value.ok()) {
    return Wrong(threads_[index], StatusMessage(value.status()) + " at " + std::string(NameOf(place.buffer)) + "[" +
                                      std::to_string(place.offset + chunk) + "]; order the two by depid and deps");
  }
  move->inputs.push_back(operand);
  return value;
}

StatusOr<Move> Tracer::TraceChunk(size_t index, const Step& step, int32_t chunk, const Message* message) {
  const Thread& thread = threads_[index];
  const StepInfo& info = InfoOf(step.type);
  Move move;
  if (info.reads_too) {
    MYCEL_ASSIGN_OR_RETURN(move.value, ReadPlace(index, step.target, chunk, &move));
  }
  if (info.reads) {
    MYCEL_ASSIGN_OR_RETURN(const SymbolicValue value, ReadPlace(index, step.source, chunk, &move));
    if (info.reads_too) {
      const StatusOr<SymbolicValue> sum = memory_.Reduce(move.value, value);
      if (!sum.ok()) return Wrong(thread, StatusMessage(sum.status()));
      move.value = *sum;
    } else {
      move.value = value;
    }
  }
  if (message != nullptr) {
    const SymbolicValue& value = message->values[U(chunk)];
    move.inputs.push_back({TraceOperand::Kind::kMessage, -1, Rank(thread.it->recv), thread.it->channel, -1});
    if (info.reads) {
      const StatusOr<SymbolicValue> sum = memory_.Reduce(move.value, value);
      if (!sum.ok()) return Wrong(thread, StatusMessage(sum.status()));
      move.value = *sum;
    } else {
      move.value = value;
    }
  }
  move.finish = memory_.Finish(&move.value);
  if (info.writes) {
    TraceOperand operand;
    const Status written = memory_.Write(AccessOf(index, step.target, chunk), thread.clock, move.value, &operand);
    if (!written.ok()) {
      return Wrong(thread, StatusMessage(written) + " at " + std::string(NameOf(step.target.buffer)) + "[" +
                               std::to_string(step.target.offset + chunk) + "]; order the two by depid and deps");
    }
    move.outputs.push_back(operand);
  }
  if (info.sends) {
    move.outputs.push_back({TraceOperand::Kind::kMessage, -1, Rank(thread.it->send), thread.it->channel, step.route});
  }
  return move;
}

bool Continues(const std::vector<TraceOperand>& before, const std::vector<TraceOperand>& now, int64_t distance) {
  for (size_t i = 0; i < now.size(); ++i) {
    TraceOperand expected = before[i];
    if (expected.kind == TraceOperand::Kind::kScratch) expected.place += distance;
    if (expected != now[i]) return false;
  }
  return true;
}

/// Neighbouring chunks of a step that are neighbours in their block too make one op.
void Tracer::Emit(const Thread& thread, const std::vector<Move>& moves) {
  size_t first = 0;
  for (size_t i = 1; i <= moves.size(); ++i) {
    const auto distance = static_cast<int64_t>(i - first);
    if (i < moves.size() && moves[i].value.block == moves[first].value.block &&
        moves[i].value.unit == moves[first].value.unit + distance && moves[i].finish == moves[first].finish &&
        Continues(moves[first].inputs, moves[i].inputs, distance) &&
        Continues(moves[first].outputs, moves[i].outputs, distance)) {
      continue;
    }
    const Move& move = moves[first];
    const Chunk chunk{move.value.block, move.value.unit, move.value.unit + distance};
    ops_.push_back({Rank(thread.rank), thread.it->channel, chunk, move.inputs, move.outputs, move.finish});
    first = i;
  }
}

Status Tracer::CheckDone() {
  constexpr int kShownMax = 4;
  std::string stuck;
  int shown = 0;
  const Step* first = nullptr;
  for (const Thread& thread : threads_) {
    if (IsDone(thread)) continue;
    if (first == nullptr) first = &thread.it->steps[thread.next];
    if (++shown > kShownMax) continue;
    stuck += (stuck.empty() ? "" : "; ") + Name(thread, thread.next) + " waits for " + ObstacleOf(thread);
  }
  if (shown > kShownMax) stuck += "; and " + std::to_string(shown - kShownMax) + " more";
  if (first != nullptr) return WrongPlan(algorithm_.file, first->line, "deadlock: " + stuck);
  for (const auto& [key, connection] : connections_) {
    if (connection.messages.empty()) continue;
    const auto& [source, target, channel] = key;
    return WrongPlan(algorithm_.file, connection.messages.front().line,
                     "gpu " + std::to_string(source) + " sends " + std::to_string(connection.sent) +
                         " messages to gpu " + std::to_string(target) + " on chan " + std::to_string(channel) +
                         ", which receives " +
                         std::to_string(connection.sent - static_cast<int32_t>(connection.messages.size())));
  }
  return OkStatus();
}

}  // namespace

StatusOr<Trace> TraceOf(const Algorithm& algorithm) {
  MYCEL_CHECK(Serves(algorithm.collective));
  Trace trace;
  trace.collective = algorithm.collective;
  trace.rank_count = algorithm.rank_count();
  trace.units_per_block = ChunksPerBlock(algorithm.collective, algorithm.chunk_count, algorithm.rank_count());
  trace.protocol = algorithm.proto == Proto::kLl ? Protocol::kInline : Protocol::kSlot;
  trace.made_by = "msccl/" + algorithm.name.substr(0, 200);
  trace.notes = algorithm.notes;
  std::vector<int32_t> scratch;
  for (const Gpu& gpu : algorithm.gpus) scratch.push_back(gpu.scratch_chunks);
  MYCEL_RETURN_IF_ERROR(SymbolicMemory::CheckSize({algorithm.collective, algorithm.rank_count(), Rank()},
                                                  trace.units_per_block, scratch, algorithm.file));
  if (algorithm.in_place) {
    MYCEL_ASSIGN_OR_RETURN(trace.ops, Tracer(algorithm, true).Run());
  }
  if (algorithm.out_of_place) {
    MYCEL_ASSIGN_OR_RETURN(trace.ops, Tracer(algorithm, false).Run());
  }
  return trace;
}

}  // namespace mycel::msccl
