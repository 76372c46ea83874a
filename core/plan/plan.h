// Plan: a schedule lowered to chunk ops, for all ranks at once. Plain data; verified after every pass.
//
// Model
//  * Each rank has lanes; a lane is a loop over slices of its body of ops. Iteration t runs the body in order; op o
//    handles slice s = t - o.skew when 0 <= s < slices. Lanes of one rank run concurrently (a GPU gives each a thread
//    block, the host walks them round-robin).
//  * An op reads `inputs`, reduces them IN THE GIVEN ORDER when there are several, and writes the result to all
//    `outputs`: one read, any fan-out. An operand is a place in memory or a channel. All operands of an op carry the
//    op's chunk.
//  * A channel is ONE directed slot ring between two ranks, used by one lane on each side, of the same number, so that
//    both cut slices alike; messages are FIFO. Slot count and slot size are the plan's.
//  * A plan is independent of the element count: slice and chunk boundaries are computed at launch (see Slicing).
//  * Protocol::kDirect: a message refers to the memory its op wrote, or, if it wrote none, to its only input. The
//    consumer reads that memory until its own op is done, so the producer may overwrite it only after that.
//
// Invariants (verify.h proves them)
//  1. Every output element ends with each contribution exactly once (contract.h), also when run in place.
//  2. No op reads what nobody wrote; no two ops race on a byte.
//  3. No deadlock with `slot_count` slots per channel, for any slice count.
//  4. Both sides of a channel agree on the sequence of messages.
//  5. `finish` marks exactly the ops whose result holds all contributions of a reducing collective (avg divides there).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/int128.h"
#include "core/base/status.h"
#include "core/plan/collective.h"
#include "core/plan/protocol.h"
#include "core/plan/schedule.h"
#include "core/plan/slicing.h"

namespace mycel {

struct Operand {
  enum class Kind : uint8_t { kSend, kRecv, kScratch, kChannel };
  Kind kind = Kind::kSend;
  int32_t index = -1;  // kScratch: cell; kChannel: ChannelId; kSend/kRecv: -1 (the place follows from the chunk)
  int32_t route = -1;  // output kChannel: index into Plan::routes, -1 = direct link
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// "Slice s of op `op` in lane `lane` of the same rank is done before mine starts"; where that op has fewer slices, its
/// last one. Both lanes have the same widest chunk, so that slice s of equally wide chunks means the same bytes.
struct Wait {
  LaneId lane;
  int32_t op = 0;
  friend bool operator==(const Wait&, const Wait&) = default;
};

/// Operands lie in Plan::operands: inputs at [operands, operands + inputs), outputs right after.
struct Op {
  Chunk chunk;
  int32_t operands = 0;
  int32_t inputs = 0;
  int32_t outputs = 0;
  int32_t skew = 0;
  int32_t waits = 0;  // first entry in Plan::waits
  int32_t wait_count = 0;
  bool finish = false;
};

struct Lane {
  std::vector<Op> ops;
};

/// Temporary memory of a rank, as large as its chunk.
struct ScratchCell {
  Chunk chunk;
};

struct RankPlan {
  std::vector<Lane> lanes;
  std::vector<ScratchCell> scratch;
};

struct Channel {
  Rank source;
  Rank target;
  int32_t index = 0;  // tells several channels between the same two ranks apart; lane number in our lowerings
};

struct Plan {
  Collective collective = Collective::kAllReduce;
  int32_t rank_count = 0;
  Rank root;
  int64_t units_per_block = 1;
  std::vector<int64_t> block_units;  // v-collectives only
  std::string planner;               // who made the schedule, with its variant: "ring", "direct/two-shot"
  std::string topology;              // name; routes refer to its nodes
  uint64_t topology_hash = 0;
  Protocol protocol = Protocol::kSlot;
  int64_t slice_bytes = 65536;  // a slice never exceeds this; the slot size
  int32_t slot_count = 8;       // slots of each channel's ring, 1..kSlotCountMax
  std::vector<Route> routes;
  std::vector<Rails> rails;  // by route, where NameRails has been asked; else empty
  std::vector<Channel> channels;
  std::vector<RankPlan> ranks;
  std::vector<Operand> operands;
  std::vector<Wait> waits;

  int64_t UnitsOf(int32_t block) const {
    return block_units.empty() ? units_per_block : block_units[static_cast<size_t>(block)];
  }
  const Operand* InputsOf(const Op& op) const { return operands.data() + op.operands; }
  const Operand* OutputsOf(const Op& op) const { return operands.data() + op.operands + op.inputs; }
};

/// "inline", "slot", "direct".
std::string_view NameOf(Protocol protocol);
StatusOr<Protocol> ParseProtocol(std::string_view name);

/// Appends ops with their operands; the only way our passes write into a plan.
class PlanBuilder {
 public:
  explicit PlanBuilder(Plan* plan) : plan_(plan) {}
  /// Room for so many operands.
  void Reserve(size_t operands) { plan_->operands.reserve(operands); }
  /// The channel (source, target, index), created at first use.
  ChannelId ChannelFor(Rank source, Rank target, int32_t index);
  Op& Add(Rank rank, LaneId lane, const Chunk& chunk, const std::vector<Operand>& inputs,
          const std::vector<Operand>& outputs, int32_t skew);
  int32_t AddScratch(Rank rank, const Chunk& chunk);

 private:
  void Grow();
  size_t PlaceOf(Rank source, Rank target, int32_t index) const;

  Plan* plan_;
  std::vector<int32_t> table_;  // hash table of channels, -1: free; a power of two, at most half full
};

/// Readable text, one op a line, stable order, no floats.
std::string ToText(const Plan& plan);
/// 64-bit fingerprint of everything that decides what the ranks do to each other (not names, not routes); equal on all
/// ranks or an error.
uint64_t HashOf(const Plan& plan);

}  // namespace mycel
