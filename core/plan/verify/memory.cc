#include "core/plan/verify/memory.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"

namespace mycel::verify {
namespace {

constexpr int32_t kSegmentsMax = 1 << 25;
size_t U(int32_t value) { return static_cast<size_t>(value); }

}  // namespace

StatusOr<MemoryMap> MemoryMap::Make(const FlatPlan& flat, const BlockBorders& borders, bool in_place) {
  MemoryMap map(flat, borders);
  MYCEL_RETURN_IF_ERROR(map.PlaceSlots(in_place));
  return map;
}

BlockBorders::BlockBorders(const FlatPlan& flat) {
  const Plan& plan = flat.plan;
  const int32_t blocks = flat.contract.BlockCount();
  const auto reads_memory = [&](const Op& op) {
    const Operand* inputs = plan.InputsOf(op);
    return std::any_of(inputs, inputs + op.inputs,
                       [](const Operand& input) { return input.kind != Operand::Kind::kChannel; });
  };
  first.assign(U(blocks) + 1, 0);
  const auto for_each_border = [&](const auto& with) {
    for (int32_t block = 0; block < blocks; ++block) {
      with(block, int64_t{0});
      with(block, plan.UnitsOf(block));
    }
    for (const Op* op : flat.ops) {
      if (!reads_memory(*op)) continue;
      with(op->chunk.block, op->chunk.begin);
      with(op->chunk.block, op->chunk.end);
    }
    for (const RankPlan& rank : plan.ranks) {
      for (const ScratchCell& cell : rank.scratch) {
        with(cell.chunk.block, cell.chunk.begin);
        with(cell.chunk.block, cell.chunk.end);
      }
    }
  };
  for_each_border([&](int32_t block, int64_t) { ++first[U(block) + 1]; });
  for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  units.resize(U(first.back()));
  std::vector<int32_t> next(first.begin(), first.end() - 1);
  for_each_border([&](int32_t block, int64_t unit) { units[U(next[U(block)]++)] = unit; });
  // Sort each block's borders and close the gaps that repetitions leave.
  auto out = units.begin();
  for (int32_t block = 0; block < blocks; ++block) {
    const auto begin = units.begin() + first[U(block)];
    const auto end = units.begin() + first[U(block) + 1];
    first[U(block)] = static_cast<int32_t>(out - units.begin());
    std::sort(begin, end);
    out = std::copy(begin, std::unique(begin, end), out);
  }
  first.back() = static_cast<int32_t>(out - units.begin());
  units.erase(out, units.end());
}

Status MemoryMap::PlaceSlots(bool in_place) {
  for (Rank rank : Ids<Rank>(flat_->plan.rank_count)) {
    MYCEL_RETURN_IF_ERROR(PlaceBuffers(rank, in_place));
    ranks_.back().scratch = static_cast<int32_t>(slot_first_.size());
    for (const ScratchCell& cell : flat_->plan.ranks[rank.index()].scratch) {
      MYCEL_RETURN_IF_ERROR(AddSlot(cell.chunk.block, -1, cell.chunk.begin, cell.chunk.end));
    }
  }
  slot_first_.push_back(segment_count());
  return OkStatus();
}

Status MemoryMap::PlaceBuffers(Rank rank, bool in_place) {
  const std::vector<int32_t> send = flat_->contract.SendBlocks(rank);
  const std::vector<int32_t> recv = flat_->contract.RecvBlocks(rank);
  const auto send_count = static_cast<int32_t>(send.size());
  const auto recv_count = static_cast<int32_t>(recv.size());
  // Places of the two buffers on one line: recv place 0 lies `offset` behind send place 0.
  int32_t offset = send_count;
  if (in_place && send_count > 0 && recv_count > 0) {
    offset = static_cast<int32_t>(flat_->contract.InPlaceOffset(rank));
  }
  const int32_t low = std::min(0, offset);
  const auto first = static_cast<int32_t>(slot_first_.size());
  ranks_.push_back({first - low, first + offset - low, 0});
  for (int32_t at = low; at < std::max(send_count, offset + recv_count); ++at) {
    const int32_t sent = at >= 0 && at < send_count ? send[U(at)] : -1;
    const int32_t received = at >= offset && at < offset + recv_count ? recv[U(at - offset)] : -1;
    const int32_t block = sent >= 0 ? sent : received;
    if (block < 0) return InternalError("verify: the in-place rule leaves a hole between the buffers");
    MYCEL_RETURN_IF_ERROR(AddSlot(block, received == block ? -1 : received, 0, flat_->plan.UnitsOf(block)));
  }
  return OkStatus();
}

Status MemoryMap::AddSlot(int32_t block, int32_t other_block, int64_t begin, int64_t end) {
  slot_first_.push_back(segment_count());
  slot_begin_.push_back(begin);
  const auto first = static_cast<std::ptrdiff_t>(ends_.size());
  for (const int32_t one : {block, other_block}) {
    if (one < 0) continue;
    for (int32_t i = borders_->first[U(one)]; i < borders_->first[U(one) + 1]; ++i) {
      const int64_t border = borders_->units[U(i)];
      if (border > begin && border <= end) ends_.push_back(border);
    }
  }
  if (other_block >= 0) {
    std::sort(ends_.begin() + first, ends_.end());
    ends_.erase(std::unique(ends_.begin() + first, ends_.end()), ends_.end());
  }
  if (segment_count() <= kSegmentsMax) return OkStatus();
  return InvalidArgument("plan: its memory falls into more than " + std::to_string(kSegmentsMax) +
                         " pieces, too many to verify; use fewer chunks or ranks");
}

SegmentRange MemoryMap::Part(int32_t slot, int64_t begin, int64_t end) const {
  const auto first = ends_.begin() + slot_first_[U(slot)];
  const auto last = ends_.begin() + slot_first_[U(slot) + 1];
  // Segment i begins where i - 1 ends: the part starts behind the last end <= begin.
  const auto from = begin == slot_begin_[U(slot)] ? first : std::upper_bound(first, last, begin);
  const auto to = end == begin ? from : std::lower_bound(from, last, end) + 1;
  return {static_cast<int32_t>(from - ends_.begin()), static_cast<int32_t>(to - ends_.begin())};
}

SegmentRange MemoryMap::RangeOf(Rank rank, const Operand& operand, const Chunk& chunk) const {
  const RankSlots& slots = ranks_[rank.index()];
  int32_t slot = slots.scratch + operand.index;
  if (operand.kind == Operand::Kind::kSend) slot = slots.send + flat_->contract.SendPlace(rank, chunk.block);
  if (operand.kind == Operand::Kind::kRecv) slot = slots.recv + flat_->contract.RecvPlace(rank, chunk.block);
  MYCEL_CHECK(operand.kind != Operand::Kind::kChannel);
  return Part(slot, chunk.begin, chunk.end);
}

SegmentRange MemoryMap::SendRange(Rank rank, int32_t block) const {
  return Part(ranks_[rank.index()].send + flat_->contract.SendPlace(rank, block), 0, flat_->plan.UnitsOf(block));
}

SegmentRange MemoryMap::RecvRange(Rank rank, int32_t block) const {
  return Part(ranks_[rank.index()].recv + flat_->contract.RecvPlace(rank, block), 0, flat_->plan.UnitsOf(block));
}

}  // namespace mycel::verify
