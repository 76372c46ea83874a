// The fingerprint of a plan: ranks compare it before they run, so that two different plans end in an error, not in
// wrong data. Names, the topology and routes do not count: they do not change what the ranks do to each other.
#include <bit>

#include "core/plan/plan.h"

namespace mycel {
namespace {

/// A 64-bit hash fed word by word, after xxHash64 (Yann Collet, public description).
class WordHash {
 public:
  void Add(uint64_t word) {
    state_ ^= std::rotl(word * kPrime2, 31) * kPrime1;
    state_ = std::rotl(state_, 27) * kPrime1 + kPrime4;
    ++words_;
  }
  void Add(int64_t word) { Add(static_cast<uint64_t>(word)); }
  /// Two 32-bit facts in one word.
  void Add(int32_t high, int32_t low) {
    Add((static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32) | static_cast<uint32_t>(low));
  }
  uint64_t Finish() const {
    uint64_t h = state_ ^ (words_ * 8);
    h = (h ^ (h >> 33)) * kPrime2;
    h = (h ^ (h >> 29)) * kPrime3;
    return h ^ (h >> 32);
  }

 private:
  static constexpr uint64_t kPrime1 = 0x9e3779b185ebca87U;
  static constexpr uint64_t kPrime2 = 0xc2b2ae3d27d4eb4fU;
  static constexpr uint64_t kPrime3 = 0x165667b19e3779f9U;
  static constexpr uint64_t kPrime4 = 0x85ebca77c2b2ae63U;
  uint64_t state_ = kPrime3;
  uint64_t words_ = 0;
};

void AddChunk(WordHash& hash, const Chunk& chunk) {
  hash.Add(static_cast<int64_t>(chunk.block));
  hash.Add(chunk.begin);
  hash.Add(chunk.end);
}

void AddOp(WordHash& hash, const Plan& plan, const Op& op) {
  AddChunk(hash, op.chunk);
  hash.Add(op.inputs, op.outputs);
  hash.Add(op.skew, (op.wait_count << 1) | (op.finish ? 1 : 0));
  for (int32_t i = 0; i < op.inputs + op.outputs; ++i) {
    const Operand& operand = plan.operands[static_cast<size_t>(op.operands + i)];
    hash.Add(static_cast<int32_t>(operand.kind), operand.index);
  }
  for (int32_t i = 0; i < op.wait_count; ++i) {
    const Wait& wait = plan.waits[static_cast<size_t>(op.waits + i)];
    hash.Add(wait.lane.value(), wait.op);
  }
}

}  // namespace

uint64_t HashOf(const Plan& plan) {
  WordHash hash;
  hash.Add(static_cast<int32_t>(plan.collective), plan.rank_count);
  hash.Add(plan.root.value(), static_cast<int32_t>(plan.protocol));
  hash.Add(plan.block_units.empty() ? plan.units_per_block : int64_t{0});
  hash.Add(static_cast<uint64_t>(plan.block_units.size()));
  for (int64_t units : plan.block_units) hash.Add(units);
  hash.Add(plan.slice_bytes);
  hash.Add(static_cast<int64_t>(plan.slot_count));
  hash.Add(static_cast<uint64_t>(plan.channels.size()));
  for (const Channel& channel : plan.channels) {
    hash.Add(channel.source.value(), channel.target.value());
    hash.Add(static_cast<int64_t>(channel.index));
  }
  for (const RankPlan& rank : plan.ranks) {
    hash.Add(static_cast<uint64_t>(rank.scratch.size()));
    for (const ScratchCell& cell : rank.scratch) AddChunk(hash, cell.chunk);
    hash.Add(static_cast<uint64_t>(rank.lanes.size()));
    for (const Lane& lane : rank.lanes) {
      hash.Add(static_cast<uint64_t>(lane.ops.size()));
      for (const Op& op : lane.ops) AddOp(hash, plan, op);
    }
  }
  return hash.Finish();
}

}  // namespace mycel
