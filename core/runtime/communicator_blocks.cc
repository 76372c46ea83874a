// allgatherv, reduce_scatterv, gatherv and scatterv.
//
// Every rank knows all counts of an allgatherv and a reduce_scatterv, and a plan does not depend on counts: the plans
// of allgather and reduce_scatter serve, bound to blocks of unlike length. Slices are cut by the longest block, so that
// all ranks cut alike; shorter blocks have shorter slices. Equal counts are exactly the regular collective. The bound
// program of a set of counts is kept; where its blocks lie is said anew for each call. The signature holds a hash of
// the counts: ranks that mean others disagree.
//
// Only the root knows the counts of a gatherv and a scatterv: each pair has its own message (communicator_points.cc),
// whose size both sides must know alike.
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/runtime/communicator.h"

namespace mycel {
namespace {

constexpr size_t kBlockCallsMax = 64;  // sets of counts that are kept; a program with more starts over

uint64_t HashOfCounts(const size_t* counts, int32_t rank_count) {
  uint64_t hash = 0x9e3779b97f4a7c15U;
  for (int32_t rank = 0; rank < rank_count; ++rank) {
    hash ^= counts[rank];
    hash *= 0xbf58476d1ce4e5b9U;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

StatusOr<Communicator::BlockCall*> Communicator::MakeBlocks(const CollectiveCall& call, const CallKey& key) {
  MYCEL_RETURN_IF_ERROR(CheckSettings(call));
  auto made = std::make_unique<BlockCall>();
  const auto n = static_cast<size_t>(parts_.rank_count);
  made->counts.assign(call.vector->recv_counts, call.vector->recv_counts + n);
  size_t at = 0;
  for (const size_t count : made->counts) {
    made->packed_at.push_back(at);
    at += count;
  }
  const size_t bytes = at * SizeOf(call.type);
  MYCEL_ASSIGN_OR_RETURN(CachedPlan * plan, plans_.Find(PlanKeyOf(call, static_cast<int64_t>(bytes))));
  MYCEL_ASSIGN_OR_RETURN(made->program, BindBlocks(plan->program, call.type, made->counts, data_channels()));
  made->plan = plan;
  made->kernel = KernelFor(call);
  made->base_signature = MixSignature(CallSignature(key), plan->program.plan_hash);
  made->stream_outputs = bytes > parts_.cache_bytes;
  if (block_calls_.size() >= kBlockCallsMax) block_calls_.clear();
  return block_calls_.insert_or_assign(key, std::move(made)).first->second.get();
}

StatusOr<Communicator::BlockCall*> Communicator::LookUpBlocks(const CollectiveCall& call, uint64_t counts_key) {
  const CallKey key = KeyOf(call, counts_key);
  const auto known = block_calls_.find(key);
  if (known != block_calls_.end() &&
      std::equal(known->second->counts.begin(), known->second->counts.end(), call.vector->recv_counts)) {
    return known->second.get();
  }
  return Planned([&] { return MakeBlocks(call, key); });
}

Status Communicator::StartBlocks(const CollectiveCall& call) {
  const bool gathers = call.collective == Collective::kAllGather;
  if (!gathers && call.collective != Collective::kReduceScatter) return StartRootedBlocks(call);
  const uint64_t counts_key = HashOfCounts(call.vector->recv_counts, parts_.rank_count);
  current_.call.counts_hash = static_cast<uint32_t>(counts_key >> 32);
  current_.agreement = CallSignature(KeyOf(call, counts_key)) + SequenceSalt();
  PostOnBoard(current_.call, current_.agreement);
  StatusOr<BlockCall*> found = LookUpBlocks(call, counts_key);
  blocks_ = found.ok() ? *found : nullptr;
  if (found.ok() && blocks_->plan->agreed) [[likely]]
    return RunBlocks();
  const uint64_t elements =
      std::accumulate(call.vector->recv_counts, call.vector->recv_counts + parts_.rank_count, uint64_t{0});
  return AgreeOn(PlanKeyOf(call, static_cast<int64_t>(elements * SizeOf(call.type))), found.status(),
                 found.ok() ? blocks_->plan : nullptr, &Communicator::RunBlocks);
}

Status Communicator::RunBlocks() {
  const CollectiveCall& call = current_.call;
  const bool gathers = call.collective == Collective::kAllGather;
  BlockCall& blocks = *blocks_;
  vectors_.last_move.planner = blocks.plan->planner;
  vectors_.last_move.plan_hash = blocks.plan->program.plan_hash;
  vectors_.last_move.SetProgram(*blocks.program);
  const size_t own_at = 0;  // the buffer that holds this rank's block alone
  PlaceBlocks(gathers ? &own_at : blocks.packed_at.data(), gathers ? call.vector->recv_at : &own_at, SizeOf(call.type),
              blocks.program.get());
  MYCEL_RETURN_IF_ERROR(SetOperands(call, blocks.kernel));
  current_.launch.stream_outputs = blocks.stream_outputs;
  return Begin(*blocks.program, blocks.base_signature + SequenceSalt(), SizeOf(call.type));
}

Status Communicator::StartRootedBlocks(const CollectiveCall& call) {
  // Nothing of the counts: a rank knows its own only. The messages carry them.
  current_.agreement = CallSignature(KeyOf(call, 0)) + SequenceSalt();
  PostOnBoard(call, current_.agreement);
  vectors_.legs.clear();
  AppendLegs(call, parts_.rank.value(), parts_.rank_count, &vectors_.legs);
  const Status built = BuildPoints(vectors_.legs, point_index());
  if (!built.ok()) return Fail(built);
  vectors_.last_move = CallFacts();
  vectors_.last_move.planner = "none";
  vectors_.last_move.SetProgram(points_);
  current_.launch.kernel = nullptr;
  current_.launch.stream_outputs = false;
  return Begin(points_, current_.agreement, 1);
}

}  // namespace mycel
