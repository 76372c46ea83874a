// allgatherv, reduce_scatterv, gatherv and scatterv: every byte in its place and no other touched, for every planner,
// with empty blocks, gaps, any order of blocks, in place; and what ranks are told that disagree.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "core/base/rng.h"
#include "tests/conformance/ranks.h"

namespace mycel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kSeed = 45;
constexpr int32_t kPoison = 0x5A5A5A5A;

/// Counts of all ranks, and where a buffer with all blocks has them: in an order of its own, with gaps.
struct Layout {
  std::vector<size_t> counts;
  std::vector<size_t> at;
  size_t total = 0;  // elements of the buffer, gaps included
};

Layout RandomLayout(int n, size_t most, Rng& rng) {
  Layout layout;
  std::vector<size_t> order;
  for (int rank = 0; rank < n; ++rank) {
    layout.counts.push_back(rng.OneIn(3) ? 0 : rng.Below(most + 1));
    order.push_back(static_cast<size_t>(rank));
  }
  rng.Shuffle(order);
  layout.at.resize(static_cast<size_t>(n));
  size_t at = rng.Below(3);
  for (size_t rank : order) {
    // An empty block's displacement may be anything.
    layout.at[rank] = layout.counts[rank] == 0 ? ~size_t{0} : at;
    at += layout.counts[rank] + rng.Below(3);
  }
  layout.total = at;
  return layout;
}

int32_t ValueOf(int rank, size_t element) { return rank * 1'000'003 + static_cast<int32_t>(element); }

std::vector<int32_t> DataOf(int rank, size_t count) {
  std::vector<int32_t> data(count);
  for (size_t e = 0; e < count; ++e) data[e] = ValueOf(rank, e);
  return data;
}

/// A buffer of the layout with every rank's block where it belongs and poison elsewhere.
std::vector<int32_t> Gathered(const Layout& layout) {
  std::vector<int32_t> all(layout.total, kPoison);
  for (size_t rank = 0; rank < layout.counts.size(); ++rank) {
    const std::vector<int32_t> block = DataOf(static_cast<int>(rank), layout.counts[rank]);
    if (!block.empty()) std::copy(block.begin(), block.end(), all.begin() + static_cast<ptrdiff_t>(layout.at[rank]));
  }
  return all;
}

/// The layout with only the block of `rank` filled in.
std::vector<int32_t> OnlyOwn(const Layout& layout, int rank) {
  const auto me = static_cast<size_t>(rank);
  std::vector<int32_t> all(layout.total, kPoison);
  const std::vector<int32_t> block = DataOf(rank, layout.counts[me]);
  if (!block.empty()) std::copy(block.begin(), block.end(), all.begin() + static_cast<ptrdiff_t>(layout.at[me]));
  return all;
}

int32_t* BlockIn(std::vector<int32_t>& all, const Layout& layout, int rank) {
  const auto me = static_cast<size_t>(rank);
  return layout.counts[me] == 0 ? nullptr : all.data() + layout.at[me];
}

class BlockCounts : public ::testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  BlockCounts() : environment_({{"MYCEL_PLANNER", std::get<0>(GetParam())}}) {}
  int n() const { return std::get<1>(GetParam()); }
  /// `body(layout)` for layouts of several sizes; one of them has equal counts, one none at all.
  template <typename Body>
  void EachLayout(const Body& body) {
    Rng rng(kSeed);
    for (size_t most : {1, 5, 100, 3000, 70000}) {
      for (int round = 0; round < (most > 3000 ? 1 : 4); ++round) body(RandomLayout(n(), most, rng));
    }
    Layout equal;
    for (int rank = 0; rank < n(); ++rank) {
      equal.counts.push_back(999);
      equal.at.push_back(static_cast<size_t>(rank) * 999);
    }
    equal.total = 999 * static_cast<size_t>(n());
    body(equal);
    std::fill(equal.counts.begin(), equal.counts.end(), 0);
    body(equal);
  }

 private:
  const Environment environment_;
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(kSeed)};
};

TEST_P(BlockCounts, AllGathervInAndOutOfPlace) {
  const Ranks ranks(n());
  EachLayout([&](const Layout& layout) {
    ranks.Each([&](int rank, mycelComm_t comm) {
      const std::vector<int32_t> send = DataOf(rank, layout.counts[static_cast<size_t>(rank)]);
      // Where blocks lie is each rank's own affair: the odd ranks shift theirs.
      Layout mine = layout;
      for (size_t& at : mine.at) at += at == ~size_t{0} ? 0 : static_cast<size_t>(rank % 2);
      mine.total += static_cast<size_t>(rank % 2);
      std::vector<int32_t> recv(mine.total, kPoison);
      EXPECT_EQ(mycelAllGatherv(send.data(), send.size(), recv.data(), mine.counts.data(), mine.at.data(), mycelInt32,
                                comm, nullptr),
                mycelSuccess)
          << mycelGetLastError(comm);
      EXPECT_TRUE(recv == Gathered(mine));
      std::vector<int32_t> both = OnlyOwn(mine, rank);
      EXPECT_EQ(mycelAllGatherv(BlockIn(both, mine, rank), send.size(), both.data(), mine.counts.data(), mine.at.data(),
                                mycelInt32, comm, nullptr),
                mycelSuccess)
          << mycelGetLastError(comm);
      EXPECT_TRUE(both == Gathered(mine));
    });
  });
}

TEST_P(BlockCounts, ReduceScattervInAndOutOfPlace) {
  const Ranks ranks(n());
  EachLayout([&](const Layout& layout) {
    const size_t total = std::accumulate(layout.counts.begin(), layout.counts.end(), size_t{0});
    std::vector<int32_t> sum(total);
    for (size_t e = 0; e < total; ++e) {
      uint32_t value = 0;
      for (int rank = 0; rank < n(); ++rank) value += static_cast<uint32_t>(ValueOf(rank, e));
      sum[e] = static_cast<int32_t>(value);
    }
    ranks.Each([&](int rank, mycelComm_t comm) {
      const auto me = static_cast<size_t>(rank);
      const auto first =
          static_cast<ptrdiff_t>(std::accumulate(layout.counts.begin(), layout.counts.begin() + rank, size_t{0}));
      const auto mine = static_cast<ptrdiff_t>(layout.counts[me]);
      std::vector<int32_t> send = DataOf(rank, total);
      std::vector<int32_t> recv(layout.counts[me] + 2, kPoison);
      EXPECT_EQ(
          mycelReduceScatterv(send.data(), recv.data() + 1, layout.counts.data(), mycelInt32, mycelSum, comm, nullptr),
          mycelSuccess)
          << mycelGetLastError(comm);
      EXPECT_TRUE(std::equal(sum.begin() + first, sum.begin() + first + mine, recv.begin() + 1));
      EXPECT_TRUE(recv.front() == kPoison && recv.back() == kPoison);
      EXPECT_TRUE(send == DataOf(rank, total));
      EXPECT_EQ(mycelReduceScatterv(send.data(), send.data() + first, layout.counts.data(), mycelInt32, mycelSum, comm,
                                    nullptr),
                mycelSuccess)
          << mycelGetLastError(comm);
      std::vector<int32_t> expected = DataOf(rank, total);
      std::copy(sum.begin() + first, sum.begin() + first + mine, expected.begin() + first);
      EXPECT_TRUE(send == expected);
    });
  });
}

TEST_P(BlockCounts, GathervAndScattervFromEveryRoot) {
  const Ranks ranks(n());
  EachLayout([&](const Layout& layout) {
    for (int root = 0; root < n(); ++root) {
      ranks.Each([&](int rank, mycelComm_t comm) {
        const size_t count = layout.counts[static_cast<size_t>(rank)];
        const bool is_root = rank == root;
        const std::vector<int32_t> send = DataOf(rank, count);
        std::vector<int32_t> all(is_root ? layout.total : 0, kPoison);
        const size_t* counts = is_root ? layout.counts.data() : nullptr;
        const size_t* at = is_root ? layout.at.data() : nullptr;
        EXPECT_EQ(mycelGatherv(send.data(), count, is_root ? all.data() : nullptr, counts, at, mycelInt32, root, comm,
                               nullptr),
                  mycelSuccess)
            << mycelGetLastError(comm);
        if (is_root) {
          EXPECT_TRUE(all == Gathered(layout));
        }
        std::vector<int32_t> recv(count + 1, kPoison);
        EXPECT_EQ(mycelScatterv(is_root ? all.data() : nullptr, counts, at, recv.data(), count, mycelInt32, root, comm,
                                nullptr),
                  mycelSuccess)
            << mycelGetLastError(comm);
        EXPECT_TRUE(std::equal(send.begin(), send.end(), recv.begin()) && recv.back() == kPoison);
        // In place at the root, whose block stays where it is.
        std::vector<int32_t> both = is_root ? OnlyOwn(layout, rank) : send;
        int32_t* own = is_root ? BlockIn(both, layout, rank) : both.data();
        EXPECT_EQ(mycelGatherv(own, count, both.data(), counts, at, mycelInt32, root, comm, nullptr), mycelSuccess)
            << mycelGetLastError(comm);
        EXPECT_TRUE(both == (is_root ? Gathered(layout) : send));
        EXPECT_EQ(mycelScatterv(both.data(), counts, at, own, count, mycelInt32, root, comm, nullptr), mycelSuccess)
            << mycelGetLastError(comm);
        EXPECT_TRUE(both == (is_root ? Gathered(layout) : send));
      });
    }
  });
}

TEST_P(BlockCounts, InGroupsAndOnStreamsWithArraysThatChangeAfterwards) {
  const Ranks ranks(n());
  Rng rng(kSeed);
  const Layout layout = RandomLayout(n(), 500, rng);
  ranks.Each([&](int rank, mycelComm_t comm) {
    const auto me = static_cast<size_t>(rank);
    mycelStream_t stream = nullptr;
    ASSERT_EQ(mycelStreamCreate(&stream), mycelSuccess);
    Layout passed = layout;
    const std::vector<int32_t> send = DataOf(rank, layout.counts[me]);
    std::vector<int32_t> recv(layout.total, kPoison);
    std::vector<int32_t> gathered(layout.total, kPoison);
    const size_t total = std::accumulate(layout.counts.begin(), layout.counts.end(), size_t{0});
    const std::vector<int32_t> ones(total, 1);
    std::vector<int32_t> reduced(layout.counts[me], kPoison);
    EXPECT_EQ(mycelGroupStart(), mycelSuccess);
    EXPECT_EQ(mycelAllGatherv(send.data(), send.size(), recv.data(), passed.counts.data(), passed.at.data(), mycelInt32,
                              comm, stream),
              mycelSuccess);
    EXPECT_EQ(
        mycelReduceScatterv(ones.data(), reduced.data(), passed.counts.data(), mycelInt32, mycelSum, comm, stream),
        mycelSuccess);
    EXPECT_EQ(mycelGroupEnd(), mycelSuccess);
    EXPECT_EQ(mycelGatherv(send.data(), send.size(), gathered.data(), passed.counts.data(), passed.at.data(),
                           mycelInt32, 0, comm, stream),
              mycelSuccess);
    passed.counts.assign(passed.counts.size(), 1 << 20);
    passed.at.assign(passed.at.size(), 1 << 20);
    EXPECT_EQ(mycelStreamSynchronize(stream), mycelSuccess) << mycelGetLastError(comm);
    EXPECT_TRUE(recv == Gathered(layout));
    EXPECT_EQ(reduced, std::vector<int32_t>(layout.counts[me], n()));
    if (rank == 0) {
      EXPECT_TRUE(gathered == Gathered(layout));
    }
    EXPECT_EQ(mycelStreamDestroy(stream), mycelSuccess);
  });
}

std::string NameOfCase(const ::testing::TestParamInfo<std::tuple<const char*, int>>& info) {
  return std::string(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Planners, BlockCounts,
                         ::testing::Combine(::testing::ValuesIn(PlannersHere()), ::testing::Values(1, 2, 3, 5)),
                         NameOfCase);

TEST(BlockCountsPlans, EqualCountsRunTheRegularPlan) {
  const Ranks ranks(3);
  ranks.Each([](int, mycelComm_t comm) {
    const auto plans = [comm] {
      mycelCommStats stats;
      stats.size = sizeof stats;
      EXPECT_EQ(mycelCommGetStats(comm, &stats), mycelSuccess);
      return stats.plans_made;
    };
    const std::vector<size_t> counts = {100, 100, 100};
    const std::vector<size_t> uneven = {300, 0, 0};  // as much in all
    const std::vector<size_t> at = {0, 300, 300};
    const std::vector<size_t> apart = {0, 100, 200};
    std::vector<int32_t> send(300), recv(300);
    EXPECT_EQ(mycelAllGather(send.data(), recv.data(), 100, mycelInt32, comm, nullptr), mycelSuccess);
    const uint64_t made = plans();
    EXPECT_EQ(mycelAllGatherv(send.data(), 100, recv.data(), counts.data(), apart.data(), mycelInt32, comm, nullptr),
              mycelSuccess);
    int rank = 0;
    EXPECT_EQ(mycelCommUserRank(comm, &rank), mycelSuccess);
    EXPECT_EQ(mycelAllGatherv(send.data(), uneven[static_cast<size_t>(rank)], recv.data(), uneven.data(), at.data(),
                              mycelInt32, comm, nullptr),
              mycelSuccess);
    EXPECT_EQ(plans(), made);
  });
}

// ---- Disagreement --------------------------------------------------------------------------------------------------

TEST(BlockCountsMismatch, CountsOfAllGathervMustAgreeOnEveryRank) {
  for (const bool same_sum : {false, true}) {
    const Ranks ranks(3);
    ranks.Each([same_sum](int rank, mycelComm_t comm) {
      std::vector<size_t> counts = {4, 4, 4};
      // Rank 2 has another idea of ranks 0 and 1.
      if (rank == 2) counts = same_sum ? std::vector<size_t>{3, 5, 4} : std::vector<size_t>{9, 4, 4};
      const std::vector<size_t> at = {0, 20, 40};
      std::vector<int32_t> send(12), recv(60);
      EXPECT_EQ(mycelAllGatherv(send.data(), 4, recv.data(), counts.data(), at.data(), mycelInt32, comm, nullptr),
                mycelInvalidUsage);
      EXPECT_THAT(mycelGetLastError(comm), AllOf(HasSubstr("allgatherv(count "), HasSubstr(" in all, counts #")));
    });
  }
}

TEST(BlockCountsMismatch, CountsOfReduceScattervMustAgreeOnEveryRank) {
  const Ranks ranks(3);
  ranks.Each([](int rank, mycelComm_t comm) {
    const std::vector<size_t> counts = {4, 4, rank == 1 ? size_t{5} : size_t{4}};
    std::vector<int32_t> send(16), recv(16);
    EXPECT_EQ(mycelReduceScatterv(send.data(), recv.data(), counts.data(), mycelInt32, mycelSum, comm, nullptr),
              mycelInvalidUsage);
    EXPECT_THAT(mycelGetLastError(comm), AllOf(HasSubstr("reduce_scatterv(count 12 in all"), HasSubstr("count 13")));
  });
}

TEST(BlockCountsMismatch, APairOfGathervIsNamedWithBothSizes) {
  const Ranks ranks(3);
  ranks.Each([](int rank, mycelComm_t comm) {
    const std::vector<size_t> counts = {4, 4, 4};
    const std::vector<size_t> at = {0, 4, 8};
    std::vector<int32_t> send(12), recv(12);
    const mycelResult_t result = mycelGatherv(send.data(), rank == 2 ? 5 : 4, recv.data(), counts.data(), at.data(),
                                              mycelInt32, 0, comm, nullptr);
    if (rank == 0) {
      EXPECT_EQ(result, mycelInvalidUsage);
      EXPECT_THAT(mycelGetLastError(comm),
                  AllOf(HasSubstr("rank 2 disagrees: it sent 20 bytes"), HasSubstr("expects 16")));
    } else {
      // A rank that only sent is told in its next call.
      EXPECT_EQ(mycelBarrier(comm, nullptr), mycelInvalidUsage) << result;
    }
  });
}

TEST(BlockCountsMismatch, ScattervAgainstGathervAndTheRegularOnes) {
  const Ranks ranks(2);
  ranks.Each([](int rank, mycelComm_t comm) {
    const std::vector<size_t> counts = {4, 4};
    const std::vector<size_t> at = {0, 4};
    std::vector<int32_t> send(8), recv(8);
    const mycelResult_t result =
        rank == 0 ? mycelAllGather(send.data(), recv.data(), 4, mycelInt32, comm, nullptr)
                  : mycelAllGatherv(send.data(), 4, recv.data(), counts.data(), at.data(), mycelInt32, comm, nullptr);
    EXPECT_EQ(result, mycelInvalidUsage);
    EXPECT_THAT(mycelGetLastError(comm),
                AllOf(HasSubstr("allgather(count 4, int32)"), HasSubstr("allgatherv(count 8 in all")));
  });
}

// ---- Arguments -----------------------------------------------------------------------------------------------------

TEST(BlockCountsArguments, AreRefusedByNameAndNothingStays) {
  const Ranks ranks(1);
  mycelComm_t comm = ranks.comm(0);
  std::vector<int32_t> a(16), b(16);
  const size_t four = 4;
  const size_t zero = 0;
  const size_t huge = ~size_t{0};
  const auto refused = [](mycelResult_t result, const char* text) {
    EXPECT_EQ(result, mycelInvalidArgument);
    EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr(text));
  };
  refused(mycelAllGatherv(a.data(), 4, b.data(), nullptr, &zero, mycelInt32, comm, nullptr), "recvcounts is NULL");
  refused(mycelAllGatherv(a.data(), 4, b.data(), &four, nullptr, mycelInt32, comm, nullptr), "rdispls is NULL");
  refused(mycelAllGatherv(nullptr, 4, b.data(), &four, &zero, mycelInt32, comm, nullptr), "sendbuff is NULL");
  refused(mycelAllGatherv(a.data(), 4, nullptr, &four, &zero, mycelInt32, comm, nullptr), "recvbuff is NULL");
  refused(mycelAllGatherv(a.data(), 5, b.data(), &four, &zero, mycelInt32, comm, nullptr),
          "sendcount is 5, but recvcounts[0], this rank's, is 4");
  refused(mycelAllGatherv(a.data(), huge, b.data(), &huge, &zero, mycelInt32, comm, nullptr), "recvcounts[0]");
  refused(mycelAllGatherv(a.data(), 4, b.data(), &four, &huge, mycelInt32, comm, nullptr), "rdispls[0]");
  refused(mycelAllGatherv(a.data(), 4, a.data() + 1, &four, &zero, mycelInt32, comm, nullptr), "overlaps the block");
  refused(mycelReduceScatterv(a.data(), b.data(), nullptr, mycelInt32, mycelSum, comm, nullptr), "recvcounts is NULL");
  refused(mycelReduceScatterv(a.data(), a.data() + 2, &four, mycelInt32, mycelSum, comm, nullptr), "in-place rule");
  refused(mycelReduceScatterv(a.data(), b.data(), &four, mycelFloat, mycelBand, comm, nullptr), "not for float");
  refused(mycelReduceScatterv(a.data(), b.data(), &huge, mycelInt32, mycelSum, comm, nullptr), "2^62 bytes");
  refused(mycelGatherv(a.data(), 4, b.data(), &four, &zero, mycelInt32, 1, comm, nullptr), "root 1 is not a rank");
  refused(mycelGatherv(a.data(), 3, b.data(), &four, &zero, mycelInt32, 0, comm, nullptr), "sendcount is 3");
  refused(mycelScatterv(a.data(), &four, &zero, b.data(), 3, mycelInt32, 0, comm, nullptr), "recvcount is 3");
  refused(mycelScatterv(a.data(), nullptr, &zero, b.data(), 4, mycelInt32, 0, comm, nullptr), "sendcounts is NULL");
  refused(mycelScatterv(a.data(), &four, &zero, a.data() + 3, 4, mycelInt32, 0, comm, nullptr), "overlaps");
  EXPECT_EQ(mycelAllGatherv(nullptr, 0, nullptr, &zero, &huge, mycelInt32, comm, nullptr), mycelSuccess);
  EXPECT_EQ(mycelReduceScatterv(nullptr, nullptr, &zero, mycelInt32, mycelSum, comm, nullptr), mycelSuccess);
}

TEST(BlockCountsArguments, BlocksMustNotOverlapEachOther) {
  const Ranks ranks(2);
  // Refused before anybody waits, hence on each rank alone.
  const std::vector<size_t> counts = {4, 4};
  const std::vector<size_t> at = {3, 0};
  std::vector<int32_t> send(4), recv(8);
  EXPECT_EQ(mycelAllGatherv(send.data(), 4, recv.data(), counts.data(), at.data(), mycelInt32, ranks.comm(0), nullptr),
            mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("the blocks of ranks 1 and 0 overlap in recvbuff; see rdispls[0]"));
}

}  // namespace
}  // namespace mycel
