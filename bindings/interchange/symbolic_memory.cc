#include "bindings/interchange/symbolic_memory.h"

#include <algorithm>

#include "core/base/check.h"

namespace mycel {

void JoinClock(const VectorClock& other, VectorClock* clock) {
  for (size_t i = 0; i < clock->size(); ++i) (*clock)[i] = std::max((*clock)[i], other[i]);
}

Status SymbolicMemory::CheckSize(const Contract& contract, int64_t units_per_block, const std::vector<int32_t>& scratch,
                                 const std::string& file) {
  constexpr int64_t kCellsMax = int64_t{1} << 23;
  const int64_t blocks_max = contract.collective == Collective::kAllReduce ? 1 : contract.rank_count;
  int64_t cells = 2 * blocks_max * units_per_block * contract.rank_count;
  for (const int32_t chunks : scratch) cells += chunks;
  if (cells <= kCellsMax) return OkStatus();
  return InvalidArgument(file + ": has " + std::to_string(cells) + " chunks in all buffers of all gpus; at most " +
                         std::to_string(kCellsMax) + " can be followed, so cut buffers into fewer chunks");
}

SymbolicMemory::SymbolicMemory(const Contract& contract, int64_t units_per_block, const std::vector<int32_t>& scratch,
                               bool in_place)
    : contract_(contract),
      units_(units_per_block),
      reduces_(InfoOf(contract.collective).reduces),
      sets_(contract.rank_count) {
  MYCEL_CHECK_EQ(scratch.size(), static_cast<size_t>(contract.rank_count));
  ranks_.resize(scratch.size());
  for (Rank rank : Ids<Rank>(contract.rank_count)) {
    RankMemory& memory = ranks_[rank.index()];
    const int64_t input = InputChunks(rank);
    const int64_t output = OutputChunks(rank);
    const int64_t offset = contract.InPlaceOffset(rank) * units_;  // recv == send + offset
    memory.input = 0;
    memory.output = input;
    memory.scratch = input + output;
    if (in_place) {
      memory.input = std::max<int64_t>(0, -offset);
      memory.output = std::max<int64_t>(0, offset);
      memory.scratch = std::max(input, output);
    }
    memory.cells.resize(static_cast<size_t>(memory.scratch + scratch[rank.index()]));
    int64_t address = memory.input;
    for (const int32_t block : contract.SendBlocks(rank)) {
      for (int64_t unit = 0; unit < units_; ++unit, ++address) {
        memory.cells[static_cast<size_t>(address)].value = {block, unit, sets_.Single(rank), false};
      }
    }
  }
}

int64_t SymbolicMemory::InputChunks(Rank rank) const {
  return static_cast<int64_t>(contract_.SendBlocks(rank).size()) * units_;
}

int64_t SymbolicMemory::OutputChunks(Rank rank) const {
  return static_cast<int64_t>(contract_.RecvBlocks(rank).size()) * units_;
}

int64_t SymbolicMemory::AddressOf(Rank rank, Area area, int64_t offset) const {
  const RankMemory& memory = ranks_[rank.index()];
  const int64_t first = area == Area::kInput ? memory.input : area == Area::kOutput ? memory.output : memory.scratch;
  MYCEL_CHECK(offset >= 0 && first + offset < static_cast<int64_t>(memory.cells.size()));
  return first + offset;
}

StatusOr<SymbolicValue> SymbolicMemory::Read(const Access& access, const VectorClock& clock, TraceOperand* operand) {
  Cell& cell = CellOf(access);
  if (cell.value.block < 0) return InvalidArgument("reads what nothing has written");
  if (cell.writer.thread >= 0 && cell.writer.thread != access.thread &&
      clock[static_cast<size_t>(cell.writer.thread)] <= cell.writer.step) {
    return InvalidArgument("reads " + Describe(cell.value) + " while another block may still be writing it");
  }
  const auto known = std::find_if(cell.readers.begin(), cell.readers.end(),
                                  [&](const Touch& touch) { return touch.thread == access.thread; });
  if (known != cell.readers.end()) {
    known->step = access.step;
  } else {
    cell.readers.push_back({access.thread, access.step});
  }
  *operand = {};
  operand->kind = cell.home;
  if (cell.home == TraceOperand::Kind::kScratch) operand->place = access.address;
  return cell.value;
}

Status SymbolicMemory::Write(const Access& access, const VectorClock& clock, const SymbolicValue& value,
                             TraceOperand* operand) {
  Cell& cell = CellOf(access);
  const auto is_over = [&](const Touch& touch) {
    return touch.thread < 0 || touch.thread == access.thread || clock[static_cast<size_t>(touch.thread)] > touch.step;
  };
  if (!is_over(cell.writer)) {
    return InvalidArgument("writes " + Describe(value) + " where another block may still be writing " +
                           Describe(cell.value));
  }
  for (const Touch& reader : cell.readers) {
    if (is_over(reader)) continue;
    return InvalidArgument("writes " + Describe(value) + " over " + Describe(cell.value) +
                           ", which another block may still be reading");
  }
  const int32_t place = contract_.RecvPlace(access.rank, value.block);
  const bool is_recv =
      place >= 0 && AddressOf(access.rank, Area::kOutput, place * units_ + value.unit) == access.address;
  cell.value = value;
  cell.home = is_recv ? TraceOperand::Kind::kRecv : TraceOperand::Kind::kScratch;
  cell.writer = {access.thread, access.step};
  cell.readers.clear();
  *operand = {};
  operand->kind = cell.home;
  if (!is_recv) operand->place = access.address;
  return OkStatus();
}

StatusOr<SymbolicValue> SymbolicMemory::Reduce(const SymbolicValue& a, const SymbolicValue& b) {
  if (!reduces_) {
    return InvalidArgument("reduces, but " + std::string(NameOf(contract_.collective)) + " reduces nothing");
  }
  if (a.block != b.block || a.unit != b.unit) {
    return InvalidArgument("adds " + Describe(b) + " to " + Describe(a));
  }
  const int32_t set = sets_.Unite(a.set, b.set);
  if (set < 0) {
    return InvalidArgument("adds the contribution of rank " + std::to_string(sets_.CommonRank(a.set, b.set)) + " to " +
                           Describe(a) + " twice");
  }
  return SymbolicValue{a.block, a.unit, set, false};
}

bool SymbolicMemory::Finish(SymbolicValue* value) const {
  if (!reduces_ || value->finished || value->set != sets_.all()) return false;
  value->finished = true;
  return true;
}

std::string SymbolicMemory::Describe(const SymbolicValue& value) {
  return "block " + std::to_string(value.block) + " chunk " + std::to_string(value.unit);
}

void SymbolicMemory::AppendOwnCopies(int32_t lane, std::vector<TraceOp>* ops) const {
  for (Rank rank : Ids<Rank>(contract_.rank_count)) {
    for (const int32_t block : contract_.RecvBlocks(rank)) {
      if (contract_.SendPlace(rank, block) < 0) continue;
      for (int64_t unit = 0; unit < units_; ++unit) {
        const int64_t place = contract_.RecvPlace(rank, block) * units_ + unit;
        const auto address = static_cast<size_t>(AddressOf(rank, Area::kOutput, place));
        const Cell& cell = ranks_[rank.index()].cells[address];
        if (cell.home != TraceOperand::Kind::kSend || cell.value.block != block || cell.value.unit != unit) continue;
        const bool extends = !ops->empty() && ops->back().rank == rank && ops->back().lane == lane &&
                             ops->back().chunk.block == block && ops->back().chunk.end == unit &&
                             ops->back().inputs == std::vector<TraceOperand>{{}} && ops->back().outputs.size() == 1 &&
                             ops->back().outputs[0].kind == TraceOperand::Kind::kRecv;
        if (extends) {
          ops->back().chunk.end = unit + 1;
          continue;
        }
        TraceOp op;
        op.rank = rank;
        op.lane = lane;
        op.chunk = {block, unit, unit + 1};
        op.inputs.push_back({});
        op.outputs.push_back({TraceOperand::Kind::kRecv, -1, Rank(), 0, -1});
        op.finish = reduces_ && contract_.rank_count == 1;
        ops->push_back(std::move(op));
      }
    }
  }
}

}  // namespace mycel
