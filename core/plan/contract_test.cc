#include "core/plan/contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace mycel {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int32_t kRanks = 4;

Contract ContractFor(Collective collective) { return {collective, kRanks, Rank(2)}; }

TEST(Contract, PlacesAndBlocksAreInverse) {
  for (const CollectiveInfo& info : AllCollectives()) {
    const Contract contract = ContractFor(info.collective);
    for (Rank rank : Ids<Rank>(kRanks)) {
      const std::vector<int32_t> send = contract.SendBlocks(rank);
      const std::vector<int32_t> recv = contract.RecvBlocks(rank);
      for (int32_t block = 0; block < contract.BlockCount(); ++block) {
        const auto at_send = std::find(send.begin(), send.end(), block);
        const auto at_recv = std::find(recv.begin(), recv.end(), block);
        EXPECT_EQ(contract.SendPlace(rank, block), at_send == send.end() ? -1 : at_send - send.begin()) << info.name;
        EXPECT_EQ(contract.RecvPlace(rank, block), at_recv == recv.end() ? -1 : at_recv - recv.begin()) << info.name;
      }
    }
  }
}

TEST(Contract, ContributorsAreTheRanksThatHoldTheBlockAtTheStart) {
  for (const CollectiveInfo& info : AllCollectives()) {
    const Contract contract = ContractFor(info.collective);
    for (int32_t block = 0; block < contract.BlockCount(); ++block) {
      std::vector<Rank> holders;
      for (Rank rank : Ids<Rank>(kRanks)) {
        if (contract.SendPlace(rank, block) >= 0) holders.push_back(rank);
      }
      EXPECT_EQ(contract.Contributors(block), holders) << info.name;
      EXPECT_EQ(holders.size(), info.reduces ? size_t{kRanks} : size_t{1}) << info.name;
    }
  }
}

TEST(Contract, EveryBlockIsWantedSomewhere) {
  for (const CollectiveInfo& info : AllCollectives()) {
    const Contract contract = ContractFor(info.collective);
    for (int32_t block = 0; block < contract.BlockCount(); ++block) {
      int wanted = 0;
      for (Rank rank : Ids<Rank>(kRanks)) wanted += contract.RecvPlace(rank, block) >= 0 ? 1 : 0;
      EXPECT_GE(wanted, 1) << info.name;
    }
  }
}

TEST(Contract, LayoutsOfEachCollective) {
  const Rank me(1);
  const Rank root(2);
  EXPECT_THAT(ContractFor(Collective::kAllGather).SendBlocks(me), ElementsAre(1));
  EXPECT_THAT(ContractFor(Collective::kAllGather).RecvBlocks(me), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ContractFor(Collective::kReduceScatter).SendBlocks(me), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ContractFor(Collective::kReduceScatter).RecvBlocks(me), ElementsAre(1));
  EXPECT_THAT(ContractFor(Collective::kAllReduce).SendBlocks(me), ElementsAre(0));
  EXPECT_THAT(ContractFor(Collective::kAllReduce).RecvBlocks(me), ElementsAre(0));
  EXPECT_THAT(ContractFor(Collective::kBroadcast).SendBlocks(me), IsEmpty());
  EXPECT_THAT(ContractFor(Collective::kBroadcast).SendBlocks(root), ElementsAre(0));
  EXPECT_THAT(ContractFor(Collective::kReduce).RecvBlocks(me), IsEmpty());
  EXPECT_THAT(ContractFor(Collective::kReduce).RecvBlocks(root), ElementsAre(0));
  EXPECT_THAT(ContractFor(Collective::kAllToAll).SendBlocks(me), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(ContractFor(Collective::kAllToAll).RecvBlocks(me), ElementsAre(1, 5, 9, 13));
  EXPECT_THAT(ContractFor(Collective::kGather).SendBlocks(me), ElementsAre(1));
  EXPECT_THAT(ContractFor(Collective::kGather).RecvBlocks(me), IsEmpty());
  EXPECT_THAT(ContractFor(Collective::kGather).RecvBlocks(root), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ContractFor(Collective::kScatter).SendBlocks(root), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ContractFor(Collective::kScatter).RecvBlocks(me), ElementsAre(1));
  EXPECT_THAT(ContractFor(Collective::kAllToAllV).SendBlocks(me), ElementsAre(4, 5, 6, 7));
}

// The in-place rule lays the two buffers over each other. Where a block is in both, it must fall on itself, except in
// all-to-all, whose send and receive blocks differ by nature.
TEST(Contract, InPlaceBlocksFallOnThemselves) {
  for (const CollectiveInfo& info : AllCollectives()) {
    if (info.send == Layout::kFromMe) continue;
    const Contract contract = ContractFor(info.collective);
    for (Rank rank : Ids<Rank>(kRanks)) {
      for (int32_t block = 0; block < contract.BlockCount(); ++block) {
        const int32_t send = contract.SendPlace(rank, block);
        const int32_t recv = contract.RecvPlace(rank, block);
        if (send < 0 || recv < 0) continue;
        EXPECT_EQ(send, recv + contract.InPlaceOffset(rank)) << info.name << " rank " << rank << " block " << block;
      }
    }
  }
  EXPECT_EQ(ContractFor(Collective::kAllToAll).InPlaceOffset(Rank(3)), 0);
}

TEST(Contract, TheSmallerBufferLiesInsideTheLargerOne) {
  for (const CollectiveInfo& info : AllCollectives()) {
    const Contract contract = ContractFor(info.collective);
    for (Rank rank : Ids<Rank>(kRanks)) {
      const auto send = static_cast<int64_t>(contract.SendBlocks(rank).size());
      const auto recv = static_cast<int64_t>(contract.RecvBlocks(rank).size());
      EXPECT_EQ(contract.SendHoldsRecv(rank), send > recv) << info.name;
      if (send == 0 || recv == 0) continue;
      const int64_t offset = contract.InPlaceOffset(rank);
      EXPECT_EQ(std::max(send, offset + recv) - std::min<int64_t>(0, offset), std::max(send, recv)) << info.name;
    }
  }
}

}  // namespace
}  // namespace mycel
