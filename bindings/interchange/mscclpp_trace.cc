#include "bindings/interchange/mscclpp_trace.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <tuple>

#include "bindings/interchange/symbolic_memory.h"
#include "bindings/interchange/wrong_plan.h"
#include "core/base/check.h"
#include "core/plan/contract.h"

namespace mycel::mscclpp {
namespace {

size_t U(int64_t value) { return static_cast<size_t>(value); }

struct Thread {
  int32_t rank = 0;
  int32_t block = 0;
  const Block* it = nullptr;
  size_t next = 0;       // op
  bool arrived = false;  // at the barrier that is next
  VectorClock clock;
};

/// Tokens of one direction of a channel, or of a semaphore; one block puts them, one takes them.
struct Tokens {
  std::deque<VectorClock> clocks;
  int32_t putter = -1;  // thread
  int32_t taker = -1;
  int32_t line = 0;  // of the last put
};

/// An operand of a chunk, and the rank in whose memory it lies.
struct Where {
  Rank rank;
  TraceOperand operand;
};

struct Move {
  SymbolicValue value;
  bool finish = false;
  std::vector<Where> inputs;
  std::vector<Where> outputs;
};

class Tracer {
 public:
  explicit Tracer(const ExecutionPlan& plan)
      : plan_(plan),
        contract_{plan.collective, plan.rank_count(), Rank()},
        units_(ChunksPerBlock(plan.collective, plan.gpus[0], plan.rank_count())),
        memory_(contract_, units_, ScratchOf(plan), plan.in_place) {}

  StatusOr<std::vector<TraceOp>> Run() {
    for (int32_t rank = 0; rank < plan_.rank_count(); ++rank) {
      const std::vector<Block>& blocks = plan_.gpus[U(rank)].blocks;
      lanes_ = std::max(lanes_, static_cast<int32_t>(blocks.size()));
      for (size_t b = 0; b < blocks.size(); ++b) {
        threads_.push_back({rank, static_cast<int32_t>(b), &blocks[b], 0, false, {}});
      }
      for (size_t i = 0; i < plan_.gpus[U(rank)].semaphores.size(); ++i) {
        semaphores_[{rank, static_cast<int32_t>(i)}].clocks.resize(U(plan_.gpus[U(rank)].semaphores[i]));
      }
    }
    for (Thread& thread : threads_) thread.clock.assign(threads_.size(), 0);
    for (auto& [key, tokens] : semaphores_) {
      for (VectorClock& clock : tokens.clocks) clock.assign(threads_.size(), 0);
    }
    bool moved = true;
    while (moved) {
      moved = false;
      for (size_t thread = 0; thread < threads_.size(); ++thread) {
        MYCEL_ASSIGN_OR_RETURN(const bool ran, TryOp(thread));
        moved |= ran;
      }
    }
    MYCEL_RETURN_IF_ERROR(CheckDone());
    if (plan_.in_place) memory_.AppendOwnCopies(0, &ops_);
    return std::move(ops_);
  }

 private:
  static std::vector<int32_t> ScratchOf(const ExecutionPlan& plan) {
    std::vector<int32_t> scratch;
    for (const Gpu& gpu : plan.gpus) scratch.push_back(gpu.scratch_chunks);
    return scratch;
  }

  bool IsDone(const Thread& thread) const { return thread.next == thread.it->ops.size(); }
  Tokens& TokensTo(const Thread& thread, ChannelType type, int32_t channel, bool outgoing);
  std::string ObstacleOf(const Thread& thread);
  StatusOr<bool> TryOp(size_t index);
  Status TakeTokens(size_t index, const Op& op);
  Status PutTokens(size_t index, const Op& op);
  bool PassBarrier(size_t index, const Op& op);
  Status MoveData(size_t index, const Op& op);
  StatusOr<Move> TraceChunk(size_t index, const Op& op, int32_t chunk);
  void Emit(const Thread& thread, const Op& op, const std::vector<Move>& moves);
  void EmitRun(const Thread& thread, const Op& op, const Move& move, const Chunk& chunk);
  Status CheckDone();

  std::string Name(const Thread& thread) const {
    return "gpu " + std::to_string(thread.rank) + " threadblock " + std::to_string(thread.block) + " op " +
           std::to_string(thread.next) + " (" + std::string(InfoOf(thread.it->ops[thread.next].type).name) + ")";
  }
  Status Wrong(const Thread& thread, const std::string& problem) const {
    return WrongPlan(plan_.file, thread.it->ops[thread.next].line, Name(thread) + " " + problem);
  }
  Rank OwnerOf(const Thread& thread, const Span& span) const {
    if (span.remote < 0) return Rank(thread.rank);
    return Rank(plan_.gpus[U(thread.rank)].remote_buffers[U(span.remote)].rank);
  }
  SymbolicMemory::Access AccessOf(size_t index, const Span& span, int32_t chunk) const {
    const Rank owner = OwnerOf(threads_[index], span);
    const auto area = span.buffer == Buffer::kInput    ? SymbolicMemory::Area::kInput
                      : span.buffer == Buffer::kOutput ? SymbolicMemory::Area::kOutput
                                                       : SymbolicMemory::Area::kScratch;
    return {owner, memory_.AddressOf(owner, area, span.index + chunk), static_cast<int32_t>(index),
            static_cast<int32_t>(threads_[index].next)};
  }
  std::string Describe(const Thread& thread, const Span& span, int32_t chunk) const {
    return std::string(NameOf(span.buffer)) + "[" + std::to_string(span.index + chunk) + "] of gpu " +
           std::to_string(OwnerOf(thread, span).value());
  }

  const ExecutionPlan& plan_;
  const Contract contract_;
  const int64_t units_;
  SymbolicMemory memory_;
  int32_t lanes_ = 1;
  std::vector<Thread> threads_;
  // (source, target, type, which of the channels between the two)
  std::map<std::tuple<int32_t, int32_t, ChannelType, int32_t>, Tokens> channels_;
  std::map<std::pair<int32_t, int32_t>, Tokens> semaphores_;  // by rank and number
  std::vector<TraceOp> ops_;
};

Tokens& Tracer::TokensTo(const Thread& thread, ChannelType type, int32_t channel, bool outgoing) {
  const std::vector<int32_t>& peers = plan_.gpus[U(thread.rank)].channels[static_cast<size_t>(type)];
  const int32_t peer = peers[U(channel)];
  const auto occurrence = static_cast<int32_t>(std::count(peers.begin(), peers.begin() + channel, peer));
  if (outgoing) return channels_[{thread.rank, peer, type, occurrence}];
  return channels_[{peer, thread.rank, type, occurrence}];
}

std::string Tracer::ObstacleOf(const Thread& thread) {
  const Op& op = thread.it->ops[thread.next];
  if (op.type == OpType::kWait || op.type == OpType::kRelaxedWait) {
    for (const int32_t channel : op.channels) {
      if (!TokensTo(thread, op.channel_type, channel, false).clocks.empty()) continue;
      const int32_t peer = plan_.gpus[U(thread.rank)].channels[static_cast<size_t>(op.channel_type)][U(channel)];
      return "a signal from gpu " + std::to_string(peer) + " on " + std::string(NameOf(op.channel_type)) + " channel " +
             std::to_string(channel);
    }
  }
  if (op.type == OpType::kSemAcquire) {
    for (const int32_t semaphore : op.semaphores) {
      if (semaphores_[{thread.rank, semaphore}].clocks.empty()) return "semaphore " + std::to_string(semaphore);
    }
  }
  if (op.type == OpType::kBarrier && thread.arrived) return "barrier " + std::to_string(op.barrier);
  return "";
}

StatusOr<bool> Tracer::TryOp(size_t index) {
  Thread& thread = threads_[index];
  if (IsDone(thread) || !ObstacleOf(thread).empty()) return false;
  const Op& op = thread.it->ops[thread.next];
  if (op.type == OpType::kBarrier) {
    thread.arrived = true;
    return PassBarrier(index, op);
  }
  MYCEL_RETURN_IF_ERROR(TakeTokens(index, op));
  if (!op.sources.empty()) MYCEL_RETURN_IF_ERROR(MoveData(index, op));
  thread.clock[index] = static_cast<int32_t>(thread.next) + 1;
  MYCEL_RETURN_IF_ERROR(PutTokens(index, op));
  ++thread.next;
  return true;
}

Status Tracer::TakeTokens(size_t index, const Op& op) {
  Thread& thread = threads_[index];
  const auto take = [&](Tokens& tokens, bool relaxed) -> Status {
    if (tokens.taker >= 0 && tokens.taker != static_cast<int32_t>(index)) {
      return Wrong(thread, "waits where another block waits too, so which gets the signal is luck; give each its own");
    }
    tokens.taker = static_cast<int32_t>(index);
    if (!relaxed) JoinClock(tokens.clocks.front(), &thread.clock);
    tokens.clocks.pop_front();
    return OkStatus();
  };
  if (op.type == OpType::kWait || op.type == OpType::kRelaxedWait) {
    for (const int32_t channel : op.channels) {
      MYCEL_RETURN_IF_ERROR(take(TokensTo(thread, op.channel_type, channel, false), op.type == OpType::kRelaxedWait));
    }
  }
  if (op.type == OpType::kSemAcquire) {
    for (const int32_t semaphore : op.semaphores) {
      MYCEL_RETURN_IF_ERROR(take(semaphores_[{thread.rank, semaphore}], false));
    }
  }
  return OkStatus();
}

Status Tracer::PutTokens(size_t index, const Op& op) {
  Thread& thread = threads_[index];
  const auto put = [&](Tokens& tokens, bool relaxed) -> Status {
    if (tokens.putter >= 0 && tokens.putter != static_cast<int32_t>(index)) {
      return Wrong(thread, "signals where another block signals too, so whose comes first is luck; give each its own");
    }
    tokens.putter = static_cast<int32_t>(index);
    tokens.line = op.line;
    tokens.clocks.push_back(relaxed ? VectorClock(threads_.size(), 0) : thread.clock);
    return OkStatus();
  };
  const bool relaxed = op.type == OpType::kRelaxedSignal;
  if (relaxed || op.type == OpType::kSignal || op.type == OpType::kPutSignal || op.type == OpType::kPutSignalFlush) {
    for (const int32_t channel : op.channels) {
      MYCEL_RETURN_IF_ERROR(put(TokensTo(thread, op.channel_type, channel, true), relaxed));
    }
  }
  if (op.type == OpType::kSemRelease) {
    for (const int32_t semaphore : op.semaphores) {
      MYCEL_RETURN_IF_ERROR(put(semaphores_[{thread.rank, semaphore}], false));
    }
  }
  return OkStatus();
}

/// The last block to arrive lets all go on, each knowing what the others did.
bool Tracer::PassBarrier(size_t index, const Op& op) {
  std::vector<size_t> here;
  for (size_t other = 0; other < threads_.size(); ++other) {
    const Thread& thread = threads_[other];
    if (thread.rank != threads_[index].rank || IsDone(thread) || !thread.arrived) continue;
    if (thread.it->ops[thread.next].barrier == op.barrier) here.push_back(other);
  }
  if (here.size() < U(op.barrier_blocks)) return true;  // arriving is progress
  VectorClock all(threads_.size(), 0);
  for (const size_t other : here) {
    threads_[other].clock[other] = static_cast<int32_t>(threads_[other].next) + 1;
    JoinClock(threads_[other].clock, &all);
  }
  for (const size_t other : here) {
    threads_[other].clock = all;
    threads_[other].arrived = false;
    ++threads_[other].next;
  }
  return true;
}

Status Tracer::MoveData(size_t index, const Op& op) {
  std::vector<Move> moves;
  for (int32_t chunk = 0; chunk < op.sources.front().size; ++chunk) {
    // In place, a copy from input to output may be one of a chunk onto itself, which touches nothing.
    if (op.type == OpType::kCopy &&
        AccessOf(index, op.sources[0], chunk).address == AccessOf(index, op.targets[0], chunk).address) {
      continue;
    }
    MYCEL_ASSIGN_OR_RETURN(Move move, TraceChunk(index, op, chunk));
    moves.push_back(std::move(move));
  }
  Emit(threads_[index], op, moves);
  return OkStatus();
}

StatusOr<Move> Tracer::TraceChunk(size_t index, const Op& op, int32_t chunk) {
  const Thread& thread = threads_[index];
  Move move;
  for (size_t i = 0; i < op.sources.size(); ++i) {
    const SymbolicMemory::Access access = AccessOf(index, op.sources[i], chunk);
    Where where{access.rank, {}};
    const StatusOr<SymbolicValue> value = memory_.Read(access, thread.clock, &where.operand);
    if (!value.ok()) {
      return Wrong(thread, StatusMessage(value.status()) + " at " + Describe(thread, op.sources[i], chunk) +
                               "; order the two by signal and wait");
    }
    move.inputs.push_back(where);
    if (i == 0) {
      move.value = *value;
      continue;
    }
    const StatusOr<SymbolicValue> sum = memory_.Reduce(move.value, *value);
    if (!sum.ok()) return Wrong(thread, StatusMessage(sum.status()));
    move.value = *sum;
  }
  move.finish = memory_.Finish(&move.value);
  for (const Span& target : op.targets) {
    const SymbolicMemory::Access access = AccessOf(index, target, chunk);
    Where where{access.rank, {}};
    const Status written = memory_.Write(access, thread.clock, move.value, &where.operand);
    if (!written.ok()) {
      return Wrong(thread, StatusMessage(written) + " at " + Describe(thread, target, chunk) +
                               "; order the two by signal and wait");
    }
    move.outputs.push_back(where);
  }
  return move;
}

bool Continues(const std::vector<Where>& before, const std::vector<Where>& now, int64_t distance) {
  for (size_t i = 0; i < now.size(); ++i) {
    TraceOperand expected = before[i].operand;
    if (expected.kind == TraceOperand::Kind::kScratch) expected.place += distance;
    if (before[i].rank != now[i].rank || expected != now[i].operand) return false;
  }
  return true;
}

void Tracer::Emit(const Thread& thread, const Op& op, const std::vector<Move>& moves) {
  size_t first = 0;
  for (size_t i = 1; i <= moves.size(); ++i) {
    const auto distance = static_cast<int64_t>(i - first);
    if (i < moves.size() && moves[i].value.block == moves[first].value.block &&
        moves[i].value.unit == moves[first].value.unit + distance && moves[i].finish == moves[first].finish &&
        Continues(moves[first].inputs, moves[i].inputs, distance) &&
        Continues(moves[first].outputs, moves[i].outputs, distance)) {
      continue;
    }
    const SymbolicValue& value = moves[first].value;
    EmitRun(thread, op, moves[first], {value.block, value.unit, value.unit + distance});
    first = i;
  }
}

/// The owners of remote sources send, the block's rank computes, the owners of remote targets store.
void Tracer::EmitRun(const Thread& thread, const Op& op, const Move& move, const Chunk& chunk) {
  const Rank me(thread.rank);
  TraceOp main{me, thread.block, chunk, {}, {}, move.finish};
  std::vector<TraceOp> stores;
  // Several spans of one peer need a channel each.
  std::map<std::pair<bool, Rank>, int32_t> uses;
  const auto message = [&](bool out, Rank peer) {
    TraceOperand operand;
    operand.kind = TraceOperand::Kind::kMessage;
    operand.peer = peer;
    operand.index = thread.block + lanes_ * uses[{out, peer}]++;
    return operand;
  };
  for (const Where& input : move.inputs) {
    if (input.rank == me) {
      main.inputs.push_back(input.operand);
      continue;
    }
    const TraceOperand from = message(false, input.rank);
    TraceOperand to = from;
    to.peer = me;
    ops_.push_back({input.rank, thread.block, chunk, {input.operand}, {to}, false});
    main.inputs.push_back(from);
  }
  for (const Where& output : move.outputs) {
    if (output.rank == me) {
      main.outputs.push_back(output.operand);
      continue;
    }
    TraceOperand to = message(true, output.rank);
    TraceOperand from = to;
    from.peer = me;
    to.route = op.route;
    main.outputs.push_back(to);
    stores.push_back({output.rank, thread.block, chunk, {from}, {output.operand}, false});
  }
  ops_.push_back(std::move(main));
  for (TraceOp& store : stores) ops_.push_back(std::move(store));
}

Status Tracer::CheckDone() {
  constexpr int kShownMax = 4;
  std::string stuck;
  int shown = 0;
  int32_t line = 0;
  for (const Thread& thread : threads_) {
    if (IsDone(thread)) continue;
    if (line == 0) line = thread.it->ops[thread.next].line;
    if (++shown > kShownMax) continue;
    stuck += (stuck.empty() ? "" : "; ") + Name(thread) + " waits for " + ObstacleOf(thread);
  }
  if (shown > kShownMax) stuck += "; and " + std::to_string(shown - kShownMax) + " more";
  if (shown > 0) return WrongPlan(plan_.file, line, "deadlock: " + stuck);
  for (const auto& [key, tokens] : channels_) {
    if (tokens.clocks.empty()) continue;
    return WrongPlan(plan_.file, tokens.line,
                     "gpu " + std::to_string(std::get<0>(key)) + " signals gpu " + std::to_string(std::get<1>(key)) +
                         " on a " + std::string(NameOf(std::get<2>(key))) + " channel more often than that waits");
  }
  return OkStatus();
}

}  // namespace

StatusOr<Trace> TraceOf(const ExecutionPlan& plan) {
  // Clocks are as wide as there are blocks; tokens on their way keep one each.
  constexpr size_t kBlocksMax = 1 << 12;
  size_t blocks = 0;
  for (const Gpu& gpu : plan.gpus) blocks += gpu.blocks.size();
  if (blocks > kBlocksMax) {
    return InvalidArgument(plan.file + ": has " + std::to_string(blocks) + " threadblocks; at most " +
                           std::to_string(kBlocksMax) + " can be checked");
  }
  Trace trace;
  trace.collective = plan.collective;
  trace.rank_count = plan.rank_count();
  trace.units_per_block = ChunksPerBlock(plan.collective, plan.gpus[0], plan.rank_count());
  trace.protocol = plan.is_ll ? Protocol::kInline : Protocol::kSlot;
  trace.made_by = "mscclpp/" + plan.name.substr(0, 200);
  trace.notes = plan.notes;
  std::vector<int32_t> scratch;
  for (const Gpu& gpu : plan.gpus) scratch.push_back(gpu.scratch_chunks);
  MYCEL_RETURN_IF_ERROR(SymbolicMemory::CheckSize({plan.collective, plan.rank_count(), Rank()}, trace.units_per_block,
                                                  scratch, plan.file));
  MYCEL_ASSIGN_OR_RETURN(trace.ops, Tracer(plan).Run());
  return trace;
}

}  // namespace mycel::mscclpp
