// v-collectives by plan between processes: direct reads of the peers' memory and slots, and who says what when counts
// disagree or a rank dies in the middle.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/exchange.h"
#include "tests/multiproc/rank_processes.h"

namespace mycel::testing {
namespace {

using ::testing::HasSubstr;

void Use(const char* topology, const char* planner, const char* direct) {
  setenv("MYCEL_TOPO", topology, 1);
  setenv("MYCEL_PLANNER", planner, 1);
  setenv("MYCEL_DIRECT", direct, 1);
  setenv("MYCEL_TIMEOUT", "30", 1);
}

class VectorProcesses : public ::testing::TestWithParam<const char*> {};

TEST_P(VectorProcesses, EveryByteArrives) {
  Use("servers-2x2", "direct", GetParam());
  constexpr uint64_t kSeed = 40;
  const auto outcomes = RunRanks(4, [](mycelComm_t comm, int rank) {
    Rng rng(kSeed);
    // Large enough for direct reads and many slices.
    for (const size_t most : {size_t{50}, size_t{200'000}}) {
      for (const NamedMatrix& sample : SampleMatrices(4, most, &rng)) {
        for (uint64_t turn = 0; turn < 2; ++turn) {
          const std::string wrong = CheckExchange(sample.matrix, rank, mycelInt32, turn, PlainExchange(comm));
          if (wrong.empty()) continue;
          Note(sample.name + ": " + wrong);
          return 1;
        }
      }
    }
    return 0;
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << "seed " << kSeed << outcome.note;
}

/// allgatherv and reduce_scatterv (of ranks' own factors) of blocks that are large, small and empty.
std::string CheckBlocks(mycelComm_t comm, int rank, size_t scale) {
  const std::vector<size_t> counts = {scale, 0, 3 * scale + 1, scale / 2};
  const std::vector<size_t> at = {0, 0, scale, 4 * scale + 1};
  const size_t total = 4 * scale + 1 + scale / 2;
  const auto me = static_cast<size_t>(rank);
  std::vector<int32_t> all(total, -1);
  for (size_t e = 0; e < counts[me]; ++e) all[at[me] + e] = rank;
  if (mycelAllGatherv(all.data() + at[me], counts[me], all.data(), counts.data(), at.data(), mycelInt32, comm,
                      nullptr) != mycelSuccess) {
    return mycelGetLastError(comm);
  }
  for (size_t source = 0; source < counts.size(); ++source) {
    for (size_t e = 0; e < counts[source]; ++e) {
      if (all[at[source] + e] != static_cast<int32_t>(source)) return "allgatherv: wrong data";
    }
  }
  int32_t factor = rank + 1;
  mycelRedOp_t op = mycelSum;
  if (mycelRedOpCreatePreMulSum(&op, &factor, mycelInt32, mycelScalarHostImmediate, comm) != mycelSuccess) {
    return mycelGetLastError(nullptr);
  }
  std::vector<int32_t> mine(counts[me]);
  if (mycelReduceScatterv(all.data(), mine.data(), counts.data(), mycelInt32, op, comm, nullptr) != mycelSuccess) {
    return mycelGetLastError(comm);
  }
  for (const int32_t value : mine) {
    if (value != 10 * rank) return "reduce_scatterv: wrong data";
  }
  return mycelRedOpDestroy(op, comm) == mycelSuccess ? "" : mycelGetLastError(nullptr);
}

TEST_P(VectorProcesses, BlocksOfUnlikeCounts) {
  Use("host-4", "auto", GetParam());
  const auto outcomes = RunRanks(4, [](mycelComm_t comm, int rank) {
    for (const size_t scale : {size_t{4}, size_t{1000}, size_t{300'000}}) {
      const std::string wrong = CheckBlocks(comm, rank, scale);
      if (wrong.empty()) continue;
      Note(wrong);
      return 1;
    }
    return 0;
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
}

INSTANTIATE_TEST_SUITE_P(DirectReads, VectorProcesses, ::testing::Values("auto", "off"));

TEST(VectorDisagreement, IsNamedByEveryProcess) {
  Use("servers-2x2", "direct", "auto");
  const auto outcomes = RunRanks(4, [](mycelComm_t comm, int rank) {
    CountMatrix matrix(4);
    for (size_t& count : matrix.counts) count = 1000;
    if (rank == 3) matrix.At(0, 3) = 999;  // what rank 3 believes
    const std::string wrong = CheckExchange(matrix, rank, mycelInt32, 1, PlainExchange(comm));
    Note(mycelGetLastError(comm));
    return wrong.empty() ? 0 : 1;
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.note, HasSubstr("rank 0 sends 1000 elements to rank 3, which expects 999 from it"));
  }
}

TEST(VectorDeath, IsNamedByTheOthers) {
  Use("servers-3x1", "direct", "auto");
  RunOptions options;
  options.meanwhile = [](const std::vector<pid_t>& pids) {
    usleep(500'000);
    kill(pids[1], SIGKILL);
  };
  const auto outcomes = RunRanks(
      3,
      [](mycelComm_t comm, int rank) {
        CountMatrix matrix(3);
        for (size_t& count : matrix.counts) count = 20'000;
        for (uint64_t turn = 0; turn < 1'000'000; ++turn) {
          matrix.At(0, 2) = turn % 3;  // old matrices and new ones
          if (CheckExchange(matrix, rank, mycelInt32, turn, PlainExchange(comm)).empty()) continue;
          Note(mycelGetLastError(comm));
          return 1;
        }
        return 0;
      },
      options);
  for (const size_t rank : {0, 2}) {
    EXPECT_EQ(outcomes[rank].exit_code, 1);
    EXPECT_THAT(outcomes[rank].note, HasSubstr("rank 1 (pid "));
    EXPECT_THAT(outcomes[rank].note, HasSubstr("alltoallv(count "));
  }
}

}  // namespace
}  // namespace mycel::testing
