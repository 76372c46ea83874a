// A validated call of the public API, and how error texts name it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/collective.h"
#include "core/plan/types.h"
#include "core/runtime/call_settings.h"
#include "core/runtime/dynamic_op.h"
#include "core/spi/board.h"

namespace mycel {

struct VectorPlan;
struct VectorPair;

/// What a v-collective has beside its buffers: arrays of rank_count numbers, in elements, that live until the call has
/// ended.
///   alltoallv        counts and displacements (an exchange), counts and `make` (plans it in both directions and moves
///                    nothing), or displacements and `plan` (runs what was made)
///   allgatherv       recv_counts, recv_at          gatherv    the same, at the root; none elsewhere
///   reduce_scatterv  recv_counts of all ranks      scatterv   send_counts, send_at at the root; none elsewhere
struct VectorArrays {
  const size_t* send_counts = nullptr;
  const size_t* send_at = nullptr;
  const size_t* recv_counts = nullptr;
  const size_t* recv_at = nullptr;
  VectorPair* make = nullptr;
  VectorPlan* plan = nullptr;
};

/// One collective; `count` as in the C API (per-block for allgather, reduce_scatter, alltoall, gather, scatter).
/// V-collectives: `collective` is the regular one (but kAllToAllV) and `vector` is set; `count` is what this rank sends
/// in all (alltoallv), what all have together (allgatherv, reduce_scatterv, at the root of gatherv and scatterv), or
/// this rank's part (elsewhere).
struct CollectiveCall {
  Collective collective = Collective::kAllReduce;
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;  // kSum where nothing is reduced
  bool barrier = false;          // an allreduce of nothing
  uint32_t internal = 0;         // an allgather of our own: kBoardSplit, kBoardWindow
  int32_t root = -1;             // -1 where there is none
  const void* send = nullptr;
  void* recv = nullptr;
  uint64_t count = 0;
  const VectorArrays* vector = nullptr;    // v-collectives
  const DynamicOp* dynamic = nullptr;      // op is one of its kinds
  const CallSettings* settings = nullptr;  // the call's own; null: the communicator's
  void* stream = nullptr;                  // on a StreamDevice: where it runs
  uint32_t counts_hash = 0;                // allgatherv, reduce_scatterv: of all counts; filled in by the communicator
};

/// A rank's operand order matters: a user's operation that does not commute, and averages of integers, which are the
/// exact quotient only if no partial sum is cut to the type on its way.
inline bool NeedsRankOrder(const CollectiveCall& call) {
  if (call.op == ReduceOp::kUser) return !call.dynamic->commutes;
  return call.op == ReduceOp::kAvg && KindOf(call.type) != TypeKind::kFloating;
}

/// One half of a point-to-point message, or of an alltoallv leg.
struct PointCall {
  bool sends = false;
  DataType type = DataType::kUint8;
  int32_t peer = -1;
  void* buffer = nullptr;  // not written when `sends`
  uint64_t count = 0;
};

/// The messages of a v-collective without a plan: one out and one in per peer for alltoallv, rotated, so that no rank
/// is everybody's first target; those between the root and the others for gatherv and scatterv. Empty legs are messages
/// too: they carry the agreement.
void AppendLegs(const CollectiveCall& call, int32_t rank, int32_t rank_count, std::vector<PointCall>* legs);

/// What stands for the call on a board (RankBoard::collective).
uint32_t BoardNumberOf(const CollectiveCall& call);

/// "allreduce(count 1000, float, sum)".
std::string Describe(const CollectiveCall& call);
/// The same for what a rank's board says it is doing.
std::string Describe(const RankBoard& board);
/// The same for a call that a rank has made.
std::string Describe(const CallRecord& call);

/// 32 bits that differ, with all likelihood, between different operations: travels in every slot header.
constexpr uint32_t MixSignature(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9E3779B97F4A7C15ULL ^ b;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 32;
  return static_cast<uint32_t>(x);
}

}  // namespace mycel
