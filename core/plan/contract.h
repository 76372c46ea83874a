// Contract: which logical blocks a collective talks about, where they lie in each rank's buffers, who holds what before
// and who must hold what after. The verifier, the interpreter, the runtime and the data checks all ask here.
//
// Logical blocks. allreduce, broadcast, reduce: block 0, `count` elements. allgather, reduce_scatter, gather, scatter:
// block r for rank r. alltoall(v): block i * n + j for the data of i meant for j.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/plan/collective.h"

namespace mycel {

/// A collective with the facts its layouts depend on.
struct Contract {
  Collective collective = Collective::kAllReduce;
  int32_t rank_count = 0;
  Rank root;

  int32_t BlockCount() const;
  /// Place (0, 1, ...) of `block` in the rank's send or recv buffer, -1 when that buffer does not hold it.
  int32_t SendPlace(Rank rank, int32_t block) const;
  int32_t RecvPlace(Rank rank, int32_t block) const;
  /// Blocks in the buffer, in place order; empty when the rank has no such buffer.
  std::vector<int32_t> SendBlocks(Rank rank) const;
  std::vector<int32_t> RecvBlocks(Rank rank) const;
  /// Ranks whose contribution a finished copy of `block` must hold, each exactly once: all ranks when the collective
  /// reduces, else the one rank that has it at the start.
  std::vector<Rank> Contributors(int32_t block) const;
  /// Place offset of the in-place rule, in blocks: recv == send + this many blocks (NCCL's pointer rules):
  /// 0 for one-block layouts; allgather/gather: send == recv + rank blocks, hence -rank; reduce_scatter/scatter: rank.
  /// In-place alltoall means recv == send.
  int64_t InPlaceOffset(Rank rank) const;
  /// In place one memory holds both buffers, the larger one's. True: the receive buffer lies inside the send buffer (or
  /// the rank has no receive buffer); false: the reverse, or they are the same.
  bool SendHoldsRecv(Rank rank) const;
};

}  // namespace mycel
