// What every bootstrap must do: one body of tests, one line per bootstrap at the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/conformance/rank_runner.h"
#include "transport/bootstrap/in_process.h"
#include "transport/bootstrap/tcp.h"

namespace mycel {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;

/// What a rank calls to join.
using Join = std::function<StatusOr<std::unique_ptr<Bootstrap>>(Rank)>;

struct Backend {
  std::string name;
  RanksAre ranks_are = RanksAre::kThreads;
  std::function<Join(int32_t rank_count)> make;  // called once per communicator, before its ranks start
};

class BootstrapConformance : public testing::TestWithParam<Backend> {
 protected:
  /// Runs `body` for each rank with a bootstrap that it has joined.
  static void Run(int32_t rank_count, const std::function<void(const RankContext&, std::unique_ptr<Bootstrap>)>& body) {
    const Join join = GetParam().make(rank_count);
    RunRanks(GetParam().ranks_are, rank_count, [&](const RankContext& context) {
      StatusOr<std::unique_ptr<Bootstrap>> joined = join(context.rank);
      ASSERT_TRUE(joined.ok()) << joined.status();
      EXPECT_EQ((*joined)->rank(), context.rank);
      EXPECT_EQ((*joined)->rank_count(), context.rank_count);
      body(context, *std::move(joined));
    });
  }
};

/// What `rank` brings in `round`: sometimes nothing, sometimes much, any bytes.
std::string ValueOf(Rank rank, int round) {
  static constexpr size_t kSizes[] = {0, 1, 17, 1000, 70'000};
  const size_t bytes = kSizes[static_cast<size_t>(rank.value() + round) % 5];
  return std::string(bytes, static_cast<char>(rank.value() * 16 + round));
}

void ExchangeRounds(const RankContext& context, Bootstrap& bootstrap, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const auto all = bootstrap.AllGather(ValueOf(context.rank, round), InSeconds(60));
    ASSERT_TRUE(all.ok()) << all.status();
    ASSERT_EQ(all->size(), static_cast<size_t>(context.rank_count));
    for (Rank rank : Ids<Rank>(context.rank_count)) EXPECT_TRUE((*all)[rank.index()] == ValueOf(rank, round));
  }
}

// Of a rank, however many there are: messages grow as the ranks do, no faster.
TEST_P(BootstrapConformance, AnExchangeIsOneMessageEachWay) {
  for (const int32_t ranks : {2, 7}) {
    Run(ranks, [](const RankContext& context, std::unique_ptr<Bootstrap> bootstrap) {
      const int64_t before = bootstrap->messages();
      ExchangeRounds(context, *bootstrap, 5);
      EXPECT_EQ(bootstrap->messages() - before, 10);
    });
  }
}

TEST_P(BootstrapConformance, ValuesComeInRankOrder) {
  Run(5, [](const RankContext& context, std::unique_ptr<Bootstrap> bootstrap) {
    ExchangeRounds(context, *bootstrap, 20);
    EXPECT_TRUE(bootstrap->Barrier(InSeconds(60)).ok());
  });
}

TEST_P(BootstrapConformance, OneRankMeetsItself) {
  Run(1,
      [](const RankContext& context, std::unique_ptr<Bootstrap> bootstrap) { ExchangeRounds(context, *bootstrap, 3); });
}

TEST_P(BootstrapConformance, SixteenRanks) {
  Run(16,
      [](const RankContext& context, std::unique_ptr<Bootstrap> bootstrap) { ExchangeRounds(context, *bootstrap, 5); });
}

TEST_P(BootstrapConformance, LateRanksAreNamedAtTheDeadline) {
  Run(4, [](const RankContext& context, std::unique_ptr<Bootstrap> bootstrap) {
    const bool late = context.rank == Rank(1) || context.rank == Rank(2);
    if (!late) {
      const SteadyTime start = steady_clock::now();
      const Status status = bootstrap->AllGather("x", InSeconds(context.rank == Rank(0) ? 0.3 : 30)).status();
      EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
      EXPECT_THAT(StatusMessage(status), HasSubstr("ranks 1 and 2"));
      EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(10));
    }
    context.Meet();
    EXPECT_FALSE(bootstrap->AllGather("x", InSeconds(30)).ok()) << "the others have given up";
    EXPECT_FALSE(bootstrap->AllGather("x", InSeconds(30)).ok()) << "an error is final";
    context.Meet();
  });
}

TEST_P(BootstrapConformance, ALeaverIsNamed) {
  Run(3, [](const RankContext& context, std::unique_ptr<Bootstrap> bootstrap) {
    ExchangeRounds(context, *bootstrap, 2);
    if (context.rank == Rank(2)) {
      bootstrap.reset();
    } else {
      const Status status = bootstrap->AllGather("x", InSeconds(30)).status();
      EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
      EXPECT_THAT(StatusMessage(status), HasSubstr("rank 2 "));
      EXPECT_THAT(StatusMessage(status), HasSubstr(" left"));
    }
    context.Meet();
  });
}

TEST_P(BootstrapConformance, FastRanksMayLeaveAtOnce) {
  // Whoever has its table is done, however slow the others are.
  for (int i = 0; i < 20; ++i) {
    Run(3, [](const RankContext& context, std::unique_ptr<Bootstrap> bootstrap) {
      ExchangeRounds(context, *bootstrap, 1);
    });
  }
}

TEST_P(BootstrapConformance, DescriptorsAreNotInherited) {
  const std::vector<int> known = InheritableDescriptors({});
  Run(2, [&](const RankContext& context, std::unique_ptr<Bootstrap> bootstrap) {
    EXPECT_THAT(InheritableDescriptors(known), testing::IsEmpty());
    context.Meet();
    bootstrap.reset();
  });
}

std::vector<Backend> Backends() {
  const auto in_process = [](int32_t rank_count) -> Join {
    const auto meeting = Meeting::Make(rank_count);
    return [meeting](Rank rank) { return meeting->Join(rank); };
  };
  const auto tcp = [](int32_t rank_count) -> Join {
    const StatusOr<UniqueId> id = MakeUniqueId("");
    EXPECT_TRUE(id.ok()) << id.status();
    return [rank_count, id](Rank rank) { return JoinTcp(id.value(), rank, rank_count, InSeconds(60)); };
  };
  return {{"InProcess", RanksAre::kThreads, in_process},
          {"TcpThreads", RanksAre::kThreads, tcp},
          {"TcpProcesses", RanksAre::kProcesses, tcp}};
}

INSTANTIATE_TEST_SUITE_P(Bootstraps, BootstrapConformance, testing::ValuesIn(Backends()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace mycel
