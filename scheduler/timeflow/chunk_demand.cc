#include "scheduler/timeflow/chunk_demand.h"

#include <algorithm>
#include <utility>

#include "core/plan/contract.h"

namespace mycel::timeflow {
namespace {

/// The collective that copies what `collective` reduces, or sums up where it copies.
Collective Copying(Collective collective) {
  switch (collective) {
    case Collective::kReduceScatter:
    case Collective::kAllReduce:
      return Collective::kAllGather;
    case Collective::kReduce:
      return Collective::kBroadcast;
    default:
      return collective;
  }
}

/// Bytes of a block of the copying collective; of alltoallv the widest one's.
int64_t WidestBytes(const PlanRequest& request, int32_t rank_count) {
  if (request.collective == Collective::kAllToAllV) {
    return *std::max_element(request.demand.begin(), request.demand.end());
  }
  const bool one_block = request.collective == Collective::kBroadcast || request.collective == Collective::kReduce;
  return one_block ? request.bytes : (request.bytes + rank_count - 1) / rank_count;
}

}  // namespace

ChunkDemand ChunkDemandOf(const PlanRequest& request, int32_t rank_count, int32_t chunks) {
  const Contract contract{Copying(request.collective), rank_count, request.root};
  const bool all_reduce = request.collective == Collective::kAllReduce;
  const bool varies = request.collective == Collective::kAllToAllV;
  ChunkDemand demand;
  if (varies) demand.block_units = request.demand;
  demand.units_per_block = all_reduce ? int64_t{chunks} * rank_count : chunks;
  const int64_t widest = WidestBytes(request, rank_count);
  demand.chunk_bytes = (widest + chunks - 1) / chunks;
  for (int32_t block = 0; block < contract.BlockCount(); ++block) {
    Item item;
    item.source = contract.Contributors(block).front().value();
    for (const Rank rank : Ids<Rank>(rank_count)) {
      if (rank.value() != item.source && contract.RecvPlace(rank, block) >= 0) item.targets.push_back(rank.value());
    }
    const int64_t units = varies ? request.demand[static_cast<size_t>(block)] : chunks;
    const int64_t step = varies ? std::max<int64_t>(1, demand.chunk_bytes) : 1;
    for (int64_t begin = 0; begin < units; begin += step) {
      Chunk chunk{block, begin, std::min(units, begin + step)};
      if (all_reduce) chunk = {0, block * units + begin, block * units + begin + 1};
      if (item.targets.empty()) {
        demand.own.push_back({chunk, Rank(item.source), 0, {}, {}, 0});
        continue;
      }
      demand.items.push_back(item);
      demand.chunks.push_back(chunk);
    }
  }
  return demand;
}

}  // namespace mycel::timeflow
