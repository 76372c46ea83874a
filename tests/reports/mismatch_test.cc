// B: ranks that disagree about a call. Every rank gets the error, and its text has what both sides called.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "core/base/clock.h"
#include "tests/reports/exact_call.h"
#include "tests/reports/ways.h"

namespace mycel::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// One rank calls `odd`, the others `rest`.
struct Disagreement {
  const char* name;
  ExactCall odd;
  ExactCall rest;
  const char* odd_says;
  const char* rest_says;
};

ExactCall AllReduceOf(size_t count, DataType type = DataType::kFloat32, ReduceOp op = ReduceOp::kSum) {
  return {Collective::kAllReduce, type, op, count};
}

std::vector<Disagreement> Disagreements() {
  const auto broadcast = [](size_t count, int root) {
    return ExactCall{Collective::kBroadcast, DataType::kFloat32, ReduceOp::kSum, count, root};
  };
  return {
      {"count", AllReduceOf(1001), AllReduceOf(1000), "allreduce(count 1001, float, sum)",
       "allreduce(count 1000, float, sum)"},
      {"one_of_many", AllReduceOf(1), AllReduceOf(100'000), "allreduce(count 1, float, sum)",
       "allreduce(count 100000, float, sum)"},
      {"nothing", AllReduceOf(0), AllReduceOf(1000), "allreduce(count 0, float, sum)",
       "allreduce(count 1000, float, sum)"},
      {"type", AllReduceOf(1000, DataType::kInt32), AllReduceOf(1000), "allreduce(count 1000, int32, sum)",
       "allreduce(count 1000, float, sum)"},
      {"op", AllReduceOf(1000, DataType::kFloat32, ReduceOp::kMax), AllReduceOf(1000),
       "allreduce(count 1000, float, max)", "allreduce(count 1000, float, sum)"},
      {"collective", broadcast(1000, 0), AllReduceOf(1000), "broadcast(count 1000, float, root 0)",
       "allreduce(count 1000, float, sum)"},
      {"root", broadcast(1000, 1), broadcast(1000, 0), "broadcast(count 1000, float, root 1)",
       "broadcast(count 1000, float, root 0)"},
      {"gathers",
       {Collective::kReduceScatter, DataType::kFloat32, ReduceOp::kSum, 64},
       {Collective::kAllGather, DataType::kFloat32, ReduceOp::kSum, 64},
       "reduce_scatter(count 64, float, sum)",
       "allgather(count 64, float)"},
  };
}

/// "<result> <text>" of this rank after the call and, when that went through, the barrier after it.
std::string ResultOf(const ExactCall& it, mycelComm_t comm, int ranks) {
  std::vector<double> send((it.count + 1) * static_cast<size_t>(ranks), 1);
  std::vector<double> recv((it.count + 1) * static_cast<size_t>(ranks));
  mycelResult_t result = Call(it, send.data(), recv.data(), comm);
  // A rank that only sends may be done before the others look; the next call must tell it.
  if (result == mycelSuccess) result = mycelBarrier(comm, nullptr);
  const std::string said = std::to_string(result) + " " + mycelGetLastError(comm);
  return mycelCommAbort(comm) == mycelSuccess ? said : said + " and cannot be aborted";
}

void ExpectBothSidesEverywhere(const Way& way, const Disagreement& it, int odd_rank) {
  SCOPED_TRACE(way.Name() + ", " + it.name);
  const std::vector<std::string> said = RunOn(
      way, [&](mycelComm_t comm, int rank) { return ResultOf(rank == odd_rank ? it.odd : it.rest, comm, way.ranks); });
  for (size_t rank = 0; rank < said.size(); ++rank) {
    EXPECT_THAT(said[rank], StartsWith(std::to_string(mycelInvalidUsage) + " ")) << "rank " << rank;
    EXPECT_THAT(said[rank], HasSubstr("operation ")) << "rank " << rank;
    EXPECT_THAT(said[rank], HasSubstr(it.odd_says)) << "rank " << rank;
    EXPECT_THAT(said[rank], HasSubstr(it.rest_says)) << "rank " << rank;
  }
}

// B1, B2, B5, B8: every kind of disagreement, by every planner, wherever the ranks live.
TEST(MismatchOfArguments, BothSidesAreInTheTextOfEveryRank) {
  const NothingLeft nothing_left;
  for (const std::string& planner : Planners()) {
    for (const Disagreement& it : Disagreements()) {
      // The chooser's planner at every rank count, the others at some.
      for (int n = 2; n <= 8; n += planner == "auto" ? 1 : 3)
        ExpectBothSidesEverywhere({RanksLive::kLoopback, planner, n}, it, n - 1);
      for (const int n : {2, 4}) ExpectBothSidesEverywhere({RanksLive::kSharedMemory, planner, n}, it, 1);
      for (const int n : {2, 3}) ExpectBothSidesEverywhere({RanksLive::kProcesses, planner, n}, it, 0);
    }
  }
}

// B3: two operations in the wrong order on one rank.
TEST(MismatchOfOrder, BothOperationsAreNamed) {
  const NothingLeft nothing_left;
  for (const Way& way : Ways({"auto", "ring", "direct"}, {2, 3})) {
    const std::vector<std::string> said = RunOn(way, [&way](mycelComm_t comm, int rank) -> std::string {
      std::vector<float> data(1000, 1);
      mycelResult_t result = mycelSuccess;
      for (int call = 0; call < 2 && result == mycelSuccess; ++call) {
        const bool reduces = (call == 0) == (rank == 0);
        result = reduces ? mycelAllReduce(data.data(), data.data(), data.size(), mycelFloat, mycelSum, comm, nullptr)
                         : mycelBcast(data.data(), data.size(), mycelFloat, way.ranks - 1, comm, nullptr);
      }
      if (result == mycelSuccess) result = mycelBarrier(comm, nullptr);
      return std::to_string(result) + " " + mycelGetLastError(comm);
    });
    for (const std::string& text : said) {
      EXPECT_THAT(text, StartsWith(std::to_string(mycelInvalidUsage) + " ")) << way.Name();
      EXPECT_THAT(text, HasSubstr("allreduce(count 1000")) << way.Name();
      EXPECT_THAT(text, HasSubstr("broadcast(count 1000")) << way.Name();
    }
  }
}

}  // namespace
}  // namespace mycel::reports
