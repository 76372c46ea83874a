#include "core/plan/contract.h"

#include <limits>

#include "core/base/check.h"

namespace mycel {
namespace {

/// Place of `block` under `layout` on `rank`, -1 when it is not there.
int32_t PlaceOf(const Contract& contract, Layout layout, Rank rank, int32_t block) {
  const int32_t n = contract.rank_count;
  switch (layout) {
    case Layout::kOne:
      return 0;
    case Layout::kOneAtRoot:
      return rank == contract.root ? 0 : -1;
    case Layout::kMine:
      return block == rank.value() ? 0 : -1;
    case Layout::kAll:
      return block;
    case Layout::kAllAtRoot:
      return rank == contract.root ? block : -1;
    case Layout::kFromMe:
      return block / n == rank.value() ? block % n : -1;
    case Layout::kToMe:
      return block % n == rank.value() ? block / n : -1;
  }
  return -1;
}

/// The blocks of `layout` on `rank`, in place order.
std::vector<int32_t> BlocksOf(const Contract& contract, Layout layout, Rank rank) {
  const int32_t n = contract.rank_count;
  std::vector<int32_t> blocks;
  switch (layout) {
    case Layout::kOneAtRoot:
      if (rank != contract.root) break;
      [[fallthrough]];
    case Layout::kOne:
      blocks.push_back(0);
      break;
    case Layout::kMine:
      blocks.push_back(rank.value());
      break;
    case Layout::kAllAtRoot:
      if (rank != contract.root) break;
      [[fallthrough]];
    case Layout::kAll:
      for (int32_t block = 0; block < n; ++block) blocks.push_back(block);
      break;
    case Layout::kFromMe:
      for (int32_t j = 0; j < n; ++j) blocks.push_back(rank.value() * n + j);
      break;
    case Layout::kToMe:
      for (int32_t i = 0; i < n; ++i) blocks.push_back(i * n + rank.value());
      break;
  }
  return blocks;
}

bool IsMany(Layout layout) { return layout == Layout::kAll || layout == Layout::kAllAtRoot; }

}  // namespace

int32_t Contract::BlockCount() const {
  const CollectiveInfo& info = InfoOf(collective);
  switch (info.send) {
    case Layout::kOne:
    case Layout::kOneAtRoot:
      return 1;
    case Layout::kMine:
    case Layout::kAll:
    case Layout::kAllAtRoot:
      return rank_count;
    case Layout::kFromMe:
    case Layout::kToMe:
      MYCEL_CHECK_LE(static_cast<int64_t>(rank_count) * rank_count, std::numeric_limits<int32_t>::max());
      return rank_count * rank_count;
  }
  return 0;
}

int32_t Contract::SendPlace(Rank rank, int32_t block) const {
  return PlaceOf(*this, InfoOf(collective).send, rank, block);
}

int32_t Contract::RecvPlace(Rank rank, int32_t block) const {
  return PlaceOf(*this, InfoOf(collective).recv, rank, block);
}

std::vector<int32_t> Contract::SendBlocks(Rank rank) const { return BlocksOf(*this, InfoOf(collective).send, rank); }

std::vector<int32_t> Contract::RecvBlocks(Rank rank) const { return BlocksOf(*this, InfoOf(collective).recv, rank); }

std::vector<Rank> Contract::Contributors(int32_t block) const {
  const CollectiveInfo& info = InfoOf(collective);
  std::vector<Rank> ranks;
  if (info.reduces) {
    for (Rank rank : Ids<Rank>(rank_count)) ranks.push_back(rank);
    return ranks;
  }
  switch (info.send) {
    case Layout::kOneAtRoot:
    case Layout::kAllAtRoot:
      ranks.push_back(root);
      break;
    case Layout::kMine:
      ranks.push_back(Rank(block));
      break;
    case Layout::kFromMe:
      ranks.push_back(Rank(block / rank_count));
      break;
    case Layout::kOne:
    case Layout::kAll:
    case Layout::kToMe:
      MYCEL_CHECK(false);  // every rank would hold the block at the start: only reductions may say so
  }
  return ranks;
}

int64_t Contract::InPlaceOffset(Rank rank) const {
  const CollectiveInfo& info = InfoOf(collective);
  if (info.send == Layout::kMine && IsMany(info.recv)) return -rank.value();
  if (IsMany(info.send) && info.recv == Layout::kMine) return rank.value();
  return 0;
}

bool Contract::SendHoldsRecv(Rank rank) const { return SendBlocks(rank).size() > RecvBlocks(rank).size(); }

}  // namespace mycel
