#include "bench/perf/demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <numeric>

namespace mycel::perf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A file that goes away with the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    const int fd = mkstemp(path_);
    EXPECT_GE(fd, 0);
    EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(fd);
  }
  ~TemporaryFile() { std::remove(path_); }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/mycel_demand_XXXXXX";
};

std::string ErrorOf(const std::string& spec, size_t ranks) {
  return StatusMessage(Demand::Parse(spec, ranks).status());
}

TEST(Demand, UniformBlocksAreThoseOfAllToAll) {
  const Demand demand = *Demand::Parse("gen:uniform", 3);
  EXPECT_THAT(demand.Scaled(1001 * 4, 4), testing::Each(332u));
}

TEST(Demand, ZipfIsTheSameForTheSameSeedAndNobodySendsToItself) {
  const Demand a = *Demand::Parse("gen:zipf:1.2:7", 4);
  const Demand b = *Demand::Parse("gen:zipf:1.2:7", 4);
  const Demand c = *Demand::Parse("gen:zipf:1.2:8", 4);
  EXPECT_EQ(a.Scaled(1 << 20, 4), b.Scaled(1 << 20, 4));
  EXPECT_NE(a.Scaled(1 << 20, 4), c.Scaled(1 << 20, 4));
  const std::vector<size_t> matrix = a.Scaled(1 << 20, 4);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(matrix[i * 4 + i], 0u);
}

TEST(Demand, TheBusiestRankGetsTheSize) {
  const Demand demand = *Demand::Parse("gen:zipf:0.8:3", 8);
  const size_t busiest = Demand::Busiest(demand.Scaled(1 << 20, 4), 8) * 4;
  EXPECT_LE(busiest, size_t{1} << 20);
  EXPECT_GE(busiest, (size_t{1} << 20) - 8 * 4);  // at most one element lost per peer
}

TEST(Demand, FileGivesItsOwnNumbers) {
  const TemporaryFile file("# bytes\n0, 1000000007,3\n5,0,7\n\n11,13,0\n");
  const Demand demand = *Demand::Parse(file.path(), 3);
  EXPECT_TRUE(demand.has_own_size());
  EXPECT_EQ(demand.own_bytes(), 1000000020u);  // column of rank 1
  EXPECT_THAT(demand.Scaled(demand.own_bytes(), 1), ElementsAre(0, 1000000007, 3, 5, 0, 7, 11, 13, 0));
}

TEST(Demand, TokensGoToTheirExperts) {
  constexpr size_t kRanks = 4;
  const Demand even = *Demand::Parse("gen:moe:16,2,500,128,0", kRanks);
  EXPECT_TRUE(even.has_own_size());
  const std::vector<size_t> matrix = even.Scaled(even.own_bytes(), 1);
  for (size_t i = 0; i < kRanks; ++i) {
    // Every rank sends every copy of its tokens, in whole tokens.
    EXPECT_EQ(std::accumulate(&matrix[i * kRanks], &matrix[i * kRanks] + kRanks, size_t{0}), 500u * 2 * 128);
    for (size_t j = 0; j < kRanks; ++j) {
      EXPECT_EQ(matrix[i * kRanks + j] % 128, 0u);
      EXPECT_NEAR(static_cast<double>(matrix[i * kRanks + j]), 250 * 128, 60 * 128);
    }
  }
  // A popular expert draws everybody's tokens to one rank.
  const Demand skewed = *Demand::Parse("gen:moe:16,2,500,128,1.5", kRanks);
  EXPECT_GT(skewed.own_bytes(), 2 * even.own_bytes() * 9 / 10);
  // Every token goes to every expert.
  const Demand all = *Demand::Parse("gen:moe:4,4,10,8,3", kRanks);
  EXPECT_THAT(all.Scaled(all.own_bytes(), 1), testing::Each(80u));
}

TEST(Demand, BadMixturesNameTheField) {
  EXPECT_THAT(ErrorOf("gen:moe:16,2,500,128", 4), HasSubstr("HIDDEN is not a whole number"));
  EXPECT_THAT(ErrorOf("gen:moe:0,2,500,128,1", 4), HasSubstr("EXPERTS is not a whole number from 1 to 65536"));
  EXPECT_THAT(ErrorOf("gen:moe:16,-2,500,128,1", 4), HasSubstr("TOPK is not"));
  EXPECT_THAT(ErrorOf("gen:moe:16,2,many,128,1", 4), HasSubstr("TOKENS is not"));
  EXPECT_THAT(ErrorOf("gen:moe:16,2,500,128,x", 4), HasSubstr("SKEW is not"));
  EXPECT_THAT(ErrorOf("gen:moe:16,17,500,128,1", 4), HasSubstr("TOPK is larger than EXPERTS"));
  EXPECT_THAT(ErrorOf("gen:moe:65536,1024,1000000,8,1", 4), HasSubstr("use fewer tokens"));
}

TEST(Demand, BadSpecsNameThePlaceAndTheCure) {
  EXPECT_THAT(ErrorOf("gen:zipf", 4), HasSubstr("gen:zipf:S:SEED"));
  EXPECT_THAT(ErrorOf("gen:zipf:x:1", 4), HasSubstr("gen:zipf:S:SEED"));
  EXPECT_THAT(ErrorOf("gen:zipf:1.2:", 4), HasSubstr("gen:zipf:S:SEED"));
  EXPECT_THAT(ErrorOf("gen:zipf:1.2:-4", 4), HasSubstr("whole number"));
  EXPECT_THAT(ErrorOf("gen:random", 4), HasSubstr("gen:uniform"));
  EXPECT_THAT(ErrorOf("no/such/file.csv", 4), HasSubstr("no/such/file.csv"));
  const TemporaryFile word("0,1\n2,many\n");
  EXPECT_THAT(ErrorOf(word.path(), 2), HasSubstr(word.path() + ":2: 'many'"));
  const TemporaryFile short_row("0,1\n2\n");
  EXPECT_THAT(ErrorOf(short_row.path(), 2), HasSubstr(":2: 1 entries for 2 ranks"));
  const TemporaryFile few("0,1\n");
  EXPECT_THAT(ErrorOf(few.path(), 2), HasSubstr("1 rows for 2 ranks"));
  const TemporaryFile many("0,1\n1,0\n1,1\n");
  EXPECT_THAT(ErrorOf(many.path(), 2), HasSubstr(":3: more than 2 rows"));
  const TemporaryFile negative("0,-1\n1,0\n");
  EXPECT_THAT(ErrorOf(negative.path(), 2), HasSubstr(":1: '-1'"));
}

TEST(Demand, RanksAgreeOnWhoSendsWhatToWhom) {
  const std::vector<size_t> matrix = (*Demand::Parse("gen:zipf:1:5", 4)).Scaled(4096, 4);
  std::vector<PairCounts> views;
  for (size_t r = 0; r < 4; ++r) views.push_back(Demand::ForRank(matrix, 4, r));
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_EQ(views[i].send[j], views[j].recv[i]);
      EXPECT_EQ(views[i].send_at[j], views[j].SendAt(i, j));
    }
  }
}

}  // namespace
}  // namespace mycel::perf
