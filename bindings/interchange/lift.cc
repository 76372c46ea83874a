#include "bindings/interchange/lift.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "bindings/interchange/lift_skews.h"
#include "core/base/check.h"
#include "core/plan/contract.h"
#include "core/plan/structure.h"
#include "core/plan/verify/deadlock.h"
#include "core/plan/verify/flat_plan.h"
#include "core/plan/verify/messages.h"

namespace mycel {
namespace {

constexpr int32_t kSlotsWanted = 8;
constexpr int64_t kSliceBytes = 64 * 1024;
constexpr int64_t kInlineSliceBytes = 4 * 1024;
constexpr int64_t kRingBytes = 512 * 1024;  // what a channel has room for by default (MYCEL_PAYLOAD_BYTES)

/// Units of one block at which chunks begin or end.
using Borders = std::set<int64_t>;

/// Cuts chunks so that any two of a block that overlap are equal, and none has more than `units_max` units. Blocks of
/// an alltoall share memory in place, so they share borders.
std::vector<TraceOp> CutAtBorders(const Trace& trace, int64_t units_max) {
  const bool shared = trace.collective == Collective::kAllToAll;
  std::map<int32_t, Borders> borders;
  for (const TraceOp& op : trace.ops) borders[shared ? 0 : op.chunk.block].insert({op.chunk.begin, op.chunk.end});
  for (auto& [block, own] : borders) {
    Borders finer;
    for (auto at = own.begin(); std::next(at) != own.end(); ++at) {
      if (*std::next(at) - *at <= units_max) continue;
      for (int64_t unit = *at + units_max; unit < *std::next(at); unit += units_max) finer.insert(unit);
    }
    own.merge(finer);
  }
  std::vector<TraceOp> cut;
  cut.reserve(trace.ops.size());
  for (const TraceOp& op : trace.ops) {
    const Borders& own = borders[shared ? 0 : op.chunk.block];
    for (auto from = own.find(op.chunk.begin); *from < op.chunk.end; ++from) {
      TraceOp& part = cut.emplace_back(op);
      part.chunk.begin = *from;
      part.chunk.end = *std::next(from);
      for (std::vector<TraceOperand>* operands : {&part.inputs, &part.outputs}) {
        for (TraceOperand& operand : *operands) {
          if (operand.kind == TraceOperand::Kind::kScratch) operand.place += *from - op.chunk.begin;
        }
      }
    }
  }
  return cut;
}

/// Where a chunk lies when run in place: (rank, place of its block counted from the start of the send buffer, begin).
using InPlaceKey = std::tuple<Rank, int64_t, int64_t>;
InPlaceKey InPlaceKeyOf(const Contract& contract, const TraceOp& op, bool is_send) {
  const int64_t place = is_send ? contract.SendPlace(op.rank, op.chunk.block)
                                : contract.RecvPlace(op.rank, op.chunk.block) + contract.InPlaceOffset(op.rank);
  return {op.rank, place, op.chunk.begin};
}

/// Makes ops that are right out of place right in place too: a result that would fall on input which is still to be
/// read goes to scratch, and is copied to its place when all is done.
void StageResults(const Contract& contract, std::vector<TraceOp>* ops) {
  constexpr int64_t kStagedPlaces = int64_t{1} << 40;  // beyond the addresses of any file's own scratch
  std::map<InPlaceKey, size_t> last_read;              // of the input there
  for (size_t i = 0; i < ops->size(); ++i) {
    for (const TraceOperand& input : (*ops)[i].inputs) {
      if (input.kind == TraceOperand::Kind::kSend) last_read[InPlaceKeyOf(contract, (*ops)[i], true)] = i;
    }
  }
  std::set<InPlaceKey> staged;
  for (size_t i = 0; i < ops->size(); ++i) {
    for (const TraceOperand& output : (*ops)[i].outputs) {
      if (output.kind != TraceOperand::Kind::kRecv) continue;
      const InPlaceKey key = InPlaceKeyOf(contract, (*ops)[i], false);
      const auto read = last_read.find(key);
      if (read == last_read.end() || read->second <= i) continue;
      // A copy of a chunk onto itself harms nobody.
      const bool onto_itself = (*ops)[i].inputs.size() == 1 && !(*ops)[i].finish &&
                               (*ops)[i].inputs[0].kind == TraceOperand::Kind::kSend &&
                               InPlaceKeyOf(contract, (*ops)[i], true) == key;
      if (!onto_itself) staged.insert(key);
    }
  }
  if (staged.empty()) return;
  std::map<InPlaceKey, size_t> last_write;
  for (size_t i = 0; i < ops->size(); ++i) {
    TraceOp& op = (*ops)[i];
    for (std::vector<TraceOperand>* operands : {&op.inputs, &op.outputs}) {
      for (TraceOperand& operand : *operands) {
        if (operand.kind != TraceOperand::Kind::kRecv) continue;
        const InPlaceKey key = InPlaceKeyOf(contract, op, false);
        if (staged.count(key) == 0) continue;
        operand = {TraceOperand::Kind::kScratch, kStagedPlaces + contract.RecvPlace(op.rank, op.chunk.block), Rank(), 0,
                   -1};
        if (operands == &op.outputs) last_write[key] = i;
      }
    }
  }
  for (const auto& [key, writer] : last_write) {
    TraceOp copy;
    copy.rank = (*ops)[writer].rank;
    copy.lane = (*ops)[writer].lane;
    copy.chunk = (*ops)[writer].chunk;
    copy.inputs.push_back(
        {TraceOperand::Kind::kScratch, kStagedPlaces + contract.RecvPlace(copy.rank, copy.chunk.block), Rank(), 0, -1});
    copy.outputs.push_back({TraceOperand::Kind::kRecv, -1, Rank(), 0, -1});
    ops->push_back(std::move(copy));
  }
}

class Lifter {
 public:
  Lifter(const Trace& trace, std::vector<TraceOp> ops)
      : trace_(trace), ops_(std::move(ops)), contract_{trace.collective, trace.rank_count, trace.root} {}

  StatusOr<Plan> Run() {
    WriteHead();
    PlaceOps();
    FindHazards();
    WriteOps();
    MYCEL_RETURN_IF_ERROR(ChooseSlots());
    return std::move(plan_);
  }

  /// Waits join lanes whose widest chunks are equal. Where they are not: the width to which all chunks must be cut,
  /// that of the narrowest lane that waits or is waited for. 0 where they are.
  int64_t WidthForWaits() {
    PlaceOps();
    FindHazards();
    std::vector<int64_t> widest;
    for (const TraceOp& op : ops_) {
      if (widest.size() <= U(op.lane)) widest.resize(U(op.lane) + 1, 0);
      widest[U(op.lane)] = std::max(widest[U(op.lane)], op.chunk.units());
    }
    int64_t least = std::numeric_limits<int64_t>::max();
    bool fits = true;
    for (size_t i = 0; i < ops_.size(); ++i) {
      for (const size_t other : waits_[i]) {
        const int64_t mine = widest[U(ops_[i].lane)];
        const int64_t theirs = widest[U(ops_[other].lane)];
        fits = fits && mine == theirs;
        least = std::min({least, mine, theirs});
      }
    }
    return fits ? 0 : least;
  }

 private:
  static size_t U(int64_t value) { return static_cast<size_t>(value); }
  void WriteHead();
  void PlaceOps();
  void FindHazards();
  void WriteOps();
  Operand OperandOf(const TraceOp& op, const TraceOperand& operand, bool is_output);
  Status ChooseSlots();
  bool TrySlots(bool skewed, int32_t slots);

  /// What an operand occupies, in place: (rank, scratch address or place in the buffers, block of scratch, begin).
  using Key = std::tuple<int32_t, bool, int64_t, int32_t, int64_t>;
  Key KeyOf(const TraceOp& op, const TraceOperand& operand) const {
    if (operand.kind == TraceOperand::Kind::kScratch) {
      return {op.rank.value(), true, operand.place, op.chunk.block, op.chunk.begin};
    }
    const auto [rank, place, begin] = InPlaceKeyOf(contract_, op, operand.kind == TraceOperand::Kind::kSend);
    return {rank.value(), false, place, 0, begin};
  }

  const Trace& trace_;
  std::vector<TraceOp> ops_;
  const Contract contract_;
  Plan plan_;
  std::vector<int32_t> body_place_;         // of each op, in its rank's lane
  std::vector<std::vector<size_t>> waits_;  // of each op: ops of other lanes
  std::vector<Precedence> precedences_;     // between ops of one lane that touch the same memory
  std::map<Key, int32_t> cells_;
};

void Lifter::WriteHead() {
  plan_.collective = trace_.collective;
  plan_.rank_count = trace_.rank_count;
  plan_.root = trace_.root;
  plan_.units_per_block = trace_.units_per_block;
  plan_.block_units = trace_.block_units;
  plan_.planner = trace_.notes.present ? trace_.notes.planner : trace_.made_by;
  plan_.topology = trace_.notes.present ? trace_.notes.topology : "unknown";
  plan_.topology_hash = trace_.notes.topology_hash;
  plan_.routes = trace_.notes.routes;
  plan_.protocol = trace_.protocol;
}

void Lifter::PlaceOps() {
  std::map<std::pair<Rank, int32_t>, int32_t> next;
  body_place_.clear();
  for (const TraceOp& op : ops_) body_place_.push_back(next[{op.rank, op.lane}]++);
}

/// Equal keys have equal ranges: chunks that overlap were cut to be equal.
void Lifter::FindHazards() {
  struct Touches {
    int64_t writer = -1;
    std::vector<size_t> readers;  // since
  };
  std::map<Key, Touches> memory;
  waits_.assign(ops_.size(), {});
  precedences_.clear();
  const auto after = [&](size_t later, size_t earlier) {
    if (later == earlier) return;
    if (ops_[later].lane == ops_[earlier].lane) {
      precedences_.push_back({earlier, later});
      return;
    }
    // Waits are few, and with skews none of them follows from another: keep all that differ.
    std::vector<size_t>& known = waits_[later];
    if (std::find(known.begin(), known.end(), earlier) != known.end()) return;
    waits_[later].push_back(earlier);
  };
  for (size_t i = 0; i < ops_.size(); ++i) {
    for (const TraceOperand& input : ops_[i].inputs) {
      if (input.kind == TraceOperand::Kind::kMessage) continue;
      Touches& touches = memory[KeyOf(ops_[i], input)];
      if (touches.writer >= 0) after(i, U(touches.writer));
      touches.readers.push_back(i);
    }
    for (const TraceOperand& output : ops_[i].outputs) {
      if (output.kind == TraceOperand::Kind::kMessage) continue;
      Touches& touches = memory[KeyOf(ops_[i], output)];
      if (touches.writer >= 0) after(i, U(touches.writer));
      // Run in place, a copy of a chunk onto itself changes nothing, so readers of the source need not be over.
      const bool onto_itself = ops_[i].inputs.size() == 1 && !ops_[i].finish &&
                               ops_[i].inputs[0].kind != TraceOperand::Kind::kMessage &&
                               KeyOf(ops_[i], ops_[i].inputs[0]) == KeyOf(ops_[i], output);
      if (!onto_itself) {
        for (const size_t reader : touches.readers) after(i, reader);
        touches.readers.clear();
      }
      touches.writer = static_cast<int64_t>(i);
    }
  }
}

Operand Lifter::OperandOf(const TraceOp& op, const TraceOperand& operand, bool is_output) {
  Operand out;
  switch (operand.kind) {
    case TraceOperand::Kind::kSend:
      out.kind = Operand::Kind::kSend;
      break;
    case TraceOperand::Kind::kRecv:
      out.kind = Operand::Kind::kRecv;
      break;
    case TraceOperand::Kind::kScratch: {
      out.kind = Operand::Kind::kScratch;
      std::vector<ScratchCell>& cells = plan_.ranks[op.rank.index()].scratch;
      const auto [at, is_new] = cells_.try_emplace(KeyOf(op, operand), static_cast<int32_t>(cells.size()));
      if (is_new) cells.push_back({op.chunk});
      out.index = at->second;
      break;
    }
    case TraceOperand::Kind::kMessage:
      out.kind = Operand::Kind::kChannel;
      if (is_output) out.route = operand.route;
      break;
  }
  return out;
}

void Lifter::WriteOps() {
  int32_t lanes = 1;
  for (const TraceOp& op : ops_) lanes = std::max(lanes, op.lane + 1);
  plan_.ranks.resize(U(trace_.rank_count));
  for (RankPlan& rank : plan_.ranks) rank.lanes.resize(U(lanes));
  PlanBuilder builder(&plan_);
  for (size_t i = 0; i < ops_.size(); ++i) {
    const TraceOp& op = ops_[i];
    std::vector<Operand> inputs;
    std::vector<Operand> outputs;
    for (const TraceOperand& operand : op.inputs) {
      inputs.push_back(OperandOf(op, operand, false));
      if (operand.kind != TraceOperand::Kind::kMessage) continue;
      inputs.back().index = builder.ChannelFor(operand.peer, op.rank, operand.index).value();
    }
    for (const TraceOperand& operand : op.outputs) {
      outputs.push_back(OperandOf(op, operand, true));
      if (operand.kind != TraceOperand::Kind::kMessage) continue;
      outputs.back().index = builder.ChannelFor(op.rank, operand.peer, operand.index).value();
    }
    const auto first_wait = static_cast<int32_t>(plan_.waits.size());
    for (const size_t other : waits_[i]) plan_.waits.push_back({LaneId(ops_[other].lane), body_place_[other]});
    Op& written = builder.Add(op.rank, LaneId(op.lane), op.chunk, inputs, outputs, 0);
    written.finish = op.finish;
    written.waits = first_wait;
    written.wait_count = static_cast<int32_t>(waits_[i].size());
  }
}

/// Whether the plan cannot deadlock with so many slots; leaves it as it was tried.
bool Lifter::TrySlots(bool skewed, int32_t slots) {
  plan_.slot_count = slots;
  const verify::FlatPlan flat(plan_);
  const StatusOr<verify::Messages> messages = verify::MatchMessages(flat);
  // Whoever calls verifies the plan, and then hears what does not match.
  if (!messages.ok()) return !skewed;
  return verify::CheckNoDeadlock(flat, *messages).ok();
}

Status Lifter::ChooseSlots() {
  MYCEL_RETURN_IF_ERROR(CheckStructure(plan_));
  bool fits = false;
  const std::vector<int32_t> skews = SkewsOf(ops_, precedences_);
  for (const bool skewed : {true, false}) {
    if (skewed && skews.empty()) continue;
    for (size_t i = 0; i < ops_.size(); ++i) {
      Lane& lane = plan_.ranks[ops_[i].rank.index()].lanes[U(ops_[i].lane)];
      lane.ops[U(body_place_[i])].skew = skewed ? skews[i] : 0;
    }
    for (int32_t slots = kSlotsWanted; !fits && slots <= kSlotCountMax; slots *= 2) fits = TrySlots(skewed, slots);
    if (fits) break;
  }
  if (!fits) {
    return Impossible("a channel of the plan would need more than " + std::to_string(kSlotCountMax) +
                      " slots: too many messages wait in a connection at once; let receives follow sends sooner");
  }
  int64_t slice_bytes = plan_.protocol == Protocol::kInline ? kInlineSliceBytes : kSliceBytes;
  if (trace_.slice_bytes > 0) slice_bytes = trace_.slice_bytes;
  const bool in_slots = plan_.protocol != Protocol::kDirect;
  plan_.slice_bytes = in_slots ? std::min(slice_bytes, kRingBytes / plan_.slot_count / 64 * 64) : slice_bytes;
  return OkStatus();
}

}  // namespace

StatusOr<Plan> LiftTrace(const Trace& trace) {
  const Contract contract{trace.collective, trace.rank_count, trace.root};
  const bool has_in_place = trace.block_units.empty();  // v-collectives have no such form
  std::vector<TraceOp> ops = CutAtBorders(trace, std::numeric_limits<int64_t>::max());
  if (has_in_place) StageResults(contract, &ops);
  const int64_t width = Lifter(trace, ops).WidthForWaits();
  if (width > 0) {
    ops = CutAtBorders(trace, width);
    if (has_in_place) StageResults(contract, &ops);
  }
  return Lifter(trace, std::move(ops)).Run();
}

}  // namespace mycel
