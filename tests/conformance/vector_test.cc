// alltoallv by plan: what arrives, what ranks say who disagree, and plans that callers keep. Ranks are threads.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "core/plan/plan_json.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/lower/lower.h"
#include "scheduler/select/planners.h"
#include "tests/conformance/environment.h"
#include "tests/conformance/exchange.h"
#include "tests/conformance/relay_schedule.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

/// Communicators of one process.
class World {
 public:
  explicit World(int ranks) : comms_(static_cast<size_t>(ranks)) {
    EXPECT_EQ(mycelCommInitAll(comms_.data(), ranks, nullptr), mycelSuccess) << mycelGetLastError(nullptr);
  }
  ~World() {
    for (mycelComm_t comm : comms_) EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  mycelComm_t comm(int rank) const { return comms_[static_cast<size_t>(rank)]; }
  /// `body` on a thread per rank.
  template <typename Body>
  void Run(const Body& body) const {
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < comms_.size(); ++rank) {
      threads.emplace_back([&body, this, rank] { body(static_cast<int>(rank), comms_[rank]); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  void Exchange(const CountMatrix& matrix, mycelDataType_t type, uint64_t seed) const {
    Run([&](int rank, mycelComm_t comm) {
      EXPECT_EQ(CheckExchange(matrix, rank, type, seed, PlainExchange(comm)), "") << "rank " << rank;
    });
  }

 private:
  std::vector<mycelComm_t> comms_;
};

mycelCommStats StatsOf(mycelComm_t comm) {
  mycelCommStats stats;
  stats.size = sizeof(stats);
  EXPECT_EQ(mycelCommGetStats(comm, &stats), mycelSuccess);
  return stats;
}

struct Machine {
  const char* topology;
  int ranks;
  const char* planner;
};

std::vector<Machine> Machines() {
  std::vector<Machine> machines;
  for (const char* planner : {"direct", "auto", "fast"}) {
    // Taken up as soon as there is such a planner.
    if (std::string(planner) != "auto" && !FindPlanner(planner).ok()) continue;
    for (const auto& [topology, ranks] : {std::pair<const char*, int>{"servers-2x4", 8},
                                          {"servers-3x2", 6},
                                          {"servers-2x1", 2},
                                          {"servers-5x1", 5},
                                          {"dgx-a100-x2", 16}}) {
      machines.push_back({topology, ranks, planner});
    }
  }
  machines.push_back({"hypercube-3", 8, "flow"});
  machines.push_back({"mesh-3x3", 9, "flow"});
  return machines;
}

class ByPlan : public ::testing::TestWithParam<Machine> {};

TEST_P(ByPlan, EveryByteArrivesAndNoOtherChanges) {
  const Machine& machine = GetParam();
  const Environment environment({{"MYCEL_TOPO", machine.topology}, {"MYCEL_PLANNER", machine.planner}});
  const World world(machine.ranks);
  constexpr uint64_t kSeed = 20;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Rng rng(kSeed);
  const mycelDataType_t types[] = {mycelUint8, mycelInt32, mycelBfloat16, mycelDouble};
  uint64_t round = 0;
  for (const size_t most : {size_t{7}, size_t{900}, size_t{20000}}) {
    for (const NamedMatrix& sample : SampleMatrices(machine.ranks, most, &rng)) {
      SCOPED_TRACE(sample.name + ", counts up to " + std::to_string(most));
      world.Exchange(sample.matrix, types[round % 4], kSeed + round);
      ++round;
    }
  }
}

TEST_P(ByPlan, ARepeatedMatrixIsPlannedOnceAndAChangedOneAnew) {
  const Machine& machine = GetParam();
  const Environment environment({{"MYCEL_TOPO", machine.topology}, {"MYCEL_PLANNER", machine.planner}});
  const World world(machine.ranks);
  Rng rng(21);
  std::vector<CountMatrix> matrices;
  for (int i = 0; i < 3; ++i) {
    matrices.push_back(CountMatrix(machine.ranks));
    for (size_t& count : matrices.back().counts) count = rng.Below(50);
  }
  world.Exchange(matrices[0], mycelInt32, 1);
  const uint64_t with_one = StatsOf(world.comm(0)).plans_made;
  for (uint64_t again = 0; again < 3; ++again) world.Exchange(matrices[0], mycelInt32, again);
  EXPECT_EQ(StatsOf(world.comm(0)).plans_made, with_one);
  // Two matrices in turn; the second differs from the third in one pair only, which most ranks do not see.
  matrices[2] = matrices[1];
  matrices[2].At(0, 1) += 1;
  for (uint64_t turn = 0; turn < 4; ++turn) {
    world.Exchange(matrices[1], mycelInt32, turn);
    world.Exchange(matrices[2], mycelInt32, turn);
  }
  char text[300];
  EXPECT_EQ(mycelCommExplain(world.comm(0), "alltoallv", 1, mycelInt32, text, sizeof(text)), mycelSuccess);
  EXPECT_THAT(text, HasSubstr("3 known; the last one: planner "));
  for (int rank = 0; rank < machine.ranks; ++rank) {
    EXPECT_EQ(StatsOf(world.comm(rank)).plans_made, with_one + 2) << "rank " << rank;
  }
}

TEST_P(ByPlan, DispatchAndCombineBringEverythingBack) {
  const Machine& machine = GetParam();
  const Environment environment({{"MYCEL_TOPO", machine.topology}, {"MYCEL_PLANNER", machine.planner}});
  const World world(machine.ranks);
  Rng rng(22);
  world.Exchange(CountMatrix(machine.ranks), mycelFloat, 1);  // plans how counts are compared and gathered
  for (const NamedMatrix& sample : SampleMatrices(machine.ranks, 3000, &rng)) {
    SCOPED_TRACE(sample.name);
    const CountMatrix back = sample.matrix.Transposed();
    world.Run([&](int rank, mycelComm_t comm) {
      std::vector<size_t> row, column;
      for (size_t peer = 0; peer < back.ranks; ++peer) {
        row.push_back(sample.matrix.At(static_cast<size_t>(rank), peer));
        column.push_back(sample.matrix.At(peer, static_cast<size_t>(rank)));
      }
      mycelAllToAllvPlan_t plan = nullptr;
      const uint64_t before = StatsOf(comm).plans_made;
      ASSERT_EQ(mycelAllToAllvPlanCreate(&plan, row.data(), column.data(), mycelFloat, comm), mycelSuccess)
          << mycelGetLastError(comm);
      EXPECT_EQ(StatsOf(comm).plans_made, before + 1) << "one synthesis serves both directions";
      mycelStream_t stream = nullptr;
      ASSERT_EQ(mycelStreamCreate(&stream), mycelSuccess);
      for (uint64_t turn = 0; turn < 2; ++turn) {
        mycelStream_t on = turn == 0 ? nullptr : stream;
        EXPECT_EQ(CheckExchange(sample.matrix, rank, mycelFloat, turn, PlannedExchange(plan, mycelDispatch, on)), "");
        EXPECT_EQ(CheckExchange(back, rank, mycelFloat, turn + 9, PlannedExchange(plan, mycelCombine, on)), "");
      }
      EXPECT_EQ(mycelStreamDestroy(stream), mycelSuccess);
      EXPECT_EQ(StatsOf(comm).plans_made, before + 1);
      EXPECT_EQ(mycelAllToAllvPlanDestroy(plan), mycelSuccess);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, ByPlan, ::testing::ValuesIn(Machines()),
                         [](const ::testing::TestParamInfo<Machine>& test) {
                           std::string name = std::string(test.param.topology) + "_" + test.param.planner;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

// Servers and ranks a server from 1 to 6, by planner fast: half empty, one hot row, one hot column, counts that nothing
// divides.
TEST(EveryShape, OfServersBringsEveryByte) {
  constexpr uint64_t kSeed = 25;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Rng rng(kSeed);
  int shapes = 0;
  for (int servers = 1; servers <= 6; ++servers) {
    for (int ranks = 1; ranks <= 6; ++ranks) {
      const int n = servers * ranks;
      if (n > 12 && !(servers == 4 && ranks == 5) && !(servers == 6 && ranks == 6)) continue;
      const std::string topology = "servers-" + std::to_string(servers) + "x" + std::to_string(ranks);
      SCOPED_TRACE(topology);
      const Environment environment({{"MYCEL_TOPO", topology}, {"MYCEL_PLANNER", "fast"}, {"MYCEL_TIMEOUT", "60"}});
      const World world(n);
      uint64_t round = 0;
      for (const NamedMatrix& sample : SampleMatrices(n, 1009, &rng)) {
        if (n > 12 ? sample.name != "half empty" : sample.name != "half empty" && !sample.name.starts_with("one hot")) {
          continue;
        }
        SCOPED_TRACE(sample.name);
        world.Exchange(sample.matrix, mycelUint8, kSeed + round++);
      }
      ++shapes;
    }
  }
  EXPECT_EQ(shapes, 25);
}

TEST(ByPlanInGroups, OneThreadDrivesAllRanksAndStreamsKeepTheArrays) {
  const Environment environment({{"MYCEL_TOPO", "servers-2x2"}, {"MYCEL_PLANNER", "direct"}});
  const World world(4);
  CountMatrix matrix(4);
  for (size_t i = 0; i < 16; ++i) matrix.counts[i] = i * 7 % 5;
  // In a group the arrays may go before the call runs.
  std::vector<std::vector<int>> send(4), recv(4);
  mycelGroupStart();
  for (size_t rank = 0; rank < 4; ++rank) {
    std::vector<size_t> row, column, send_at, recv_at;
    size_t out = 0, in = 0;
    for (size_t peer = 0; peer < 4; ++peer) {
      row.push_back(matrix.At(rank, peer));
      column.push_back(matrix.At(peer, rank));
      send_at.push_back(out);
      recv_at.push_back(in);
      for (size_t k = 0; k < row.back(); ++k) send[rank].push_back(static_cast<int>(100 * rank + 10 * peer + k));
      out += row.back();
      in += column.back();
    }
    recv[rank].assign(in, -1);
    EXPECT_EQ(mycelAllToAllv(send[rank].data(), row.data(), send_at.data(), recv[rank].data(), column.data(),
                             recv_at.data(), mycelInt32, world.comm(static_cast<int>(rank)), nullptr),
              mycelSuccess);
    row.assign(4, 77), column.assign(4, 77), send_at.assign(4, 77), recv_at.assign(4, 77);
  }
  ASSERT_EQ(mycelGroupEnd(), mycelSuccess) << mycelGetLastError(nullptr);
  for (size_t rank = 0; rank < 4; ++rank) {
    std::vector<int> expected;
    for (size_t from = 0; from < 4; ++from) {
      for (size_t k = 0; k < matrix.At(from, rank); ++k) {
        expected.push_back(static_cast<int>(100 * from + 10 * rank + k));
      }
    }
    EXPECT_EQ(recv[rank], expected);
  }
}

TEST(WithoutAPlanner, MessagesServeAndKeptPlansSayWhy) {
  // Rank 1 of one server and rank 0 of the other share no rail: no planner without relays serves it.
  std::string pattern = (std::filesystem::temp_directory_path() / "mycel-rails-XXXXXX").string();
  const int file = mkstemp(pattern.data());
  ASSERT_GE(file, 0);
  const std::string text = R"({"format": "mycel-topology", "version": 1, "name": "rails",
      "nodes": [{"id": "a", "type": "rank", "rank": 0, "server": "s0"},
                {"id": "b", "type": "rank", "rank": 1, "server": "s0"},
                {"id": "c", "type": "rank", "rank": 2, "server": "s1"},
                {"id": "d", "type": "rank", "rank": 3, "server": "s1"}],
      "links": [{"from": "a", "to": "b", "bandwidth": 50}, {"from": "c", "to": "d", "bandwidth": 50},
                {"from": "a", "to": "c", "bandwidth": 5}, {"from": "b", "to": "d", "bandwidth": 5}]})";
  ASSERT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(file);
  const Environment environment({{"MYCEL_TOPO", pattern}, {"MYCEL_TIMEOUT", "20"}});
  const World world(4);
  CountMatrix matrix(4);
  for (size_t i = 0; i < 16; ++i) matrix.counts[i] = 10 * i;
  for (uint64_t turn = 0; turn < 3; ++turn) world.Exchange(matrix, mycelInt32, turn);
  world.Run([](int, mycelComm_t comm) {
    const std::vector<size_t> counts(4, 5);
    mycelAllToAllvPlan_t plan = nullptr;
    const mycelResult_t made = mycelAllToAllvPlanCreate(&plan, counts.data(), counts.data(), mycelInt32, comm);
    if (FindPlanner("fast").ok()) {
      EXPECT_EQ(made, mycelSuccess) << mycelGetLastError(comm);
    } else {
      EXPECT_EQ(made, mycelInvalidUsage);
      EXPECT_THAT(mycelGetLastError(comm), HasSubstr("no planner serves alltoallv on topology 'rails'"));
    }
    EXPECT_EQ(mycelAllToAllvPlanDestroy(plan), mycelSuccess);
  });
  std::filesystem::remove(pattern);
}

TEST(Disagreement, NamesThePairAndBothNumbersOnEveryRank) {
  const Environment environment({{"MYCEL_TOPO", "servers-2x4"}, {"MYCEL_PLANNER", "direct"}, {"MYCEL_TIMEOUT", "20"}});
  const World world(8);
  CountMatrix matrix(8);
  for (size_t& count : matrix.counts) count = 3;
  world.Exchange(matrix, mycelInt32, 1);
  world.Run([&](int rank, mycelComm_t comm) {
    std::vector<size_t> row(8, 3), column(8, 3), at(8, 0);
    for (size_t peer = 0; peer < 8; ++peer) at[peer] = peer * 5;
    if (rank == 2) column[5] = 4;
    std::vector<int> send(40, 1), recv(40, -1);
    EXPECT_EQ(mycelAllToAllv(send.data(), row.data(), at.data(), recv.data(), column.data(), at.data(), mycelInt32,
                             comm, nullptr),
              mycelInvalidUsage);
    EXPECT_THAT(mycelGetLastError(comm),
                HasSubstr("rank 5 sends 3 elements to rank 2, which expects 4 from it; sendcounts[2] at rank 5 and "
                          "recvcounts[5] at rank 2 must be equal"));
    EXPECT_EQ(recv, std::vector<int>(40, -1)) << "nothing has moved";
  });
}

TEST(Disagreement, OfTypesIsNamed) {
  const Environment environment({{"MYCEL_TOPO", "servers-2x1"}, {"MYCEL_PLANNER", "direct"}, {"MYCEL_TIMEOUT", "20"}});
  const World world(2);
  world.Run([&](int rank, mycelComm_t comm) {
    std::vector<size_t> counts(2, 3), at = {0, 3};
    std::vector<int> send(6), recv(6);
    EXPECT_EQ(mycelAllToAllv(send.data(), counts.data(), at.data(), recv.data(), counts.data(), at.data(),
                             rank == 0 ? mycelInt32 : mycelFloat, comm, nullptr),
              mycelInvalidUsage);
    EXPECT_THAT(mycelGetLastError(comm), HasSubstr("alltoallv(count 6, "));
    EXPECT_THAT(mycelGetLastError(comm), HasSubstr("disagrees"));
  });
}

TEST(Beyond, IsRefusedOnEveryRankAndTheCommunicatorStaysUsable) {
  const Environment environment({{"MYCEL_TOPO", "servers-2x2"}, {"MYCEL_PLANNER", "direct"}, {"MYCEL_TIMEOUT", "20"}});
  const World world(4);
  world.Run([&](int rank, mycelComm_t comm) {
    std::vector<size_t> row(4, 1), column(4, 1), at = {0, 1, 2, 3};
    if (rank == 1) row[3] = size_t{1} << 62;
    if (rank == 3) column[1] = size_t{1} << 62;
    std::vector<int> send(4), recv(4);
    EXPECT_EQ(mycelAllToAllv(send.data(), row.data(), at.data(), recv.data(), column.data(), at.data(), mycelInt32,
                             comm, nullptr),
              mycelInvalidArgument);
    EXPECT_THAT(mycelGetLastError(comm), HasSubstr("from rank 1 to rank 3"));
  });
  CountMatrix matrix(4);
  for (size_t& count : matrix.counts) count = 3;
  world.Exchange(matrix, mycelInt32, 1);
}

class PlanFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "mycel-vector-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// A verified plan over relays for `matrix` of 4-byte elements, as a file.
  std::string Write(const Topology& topology, const CountMatrix& matrix, Rng* rng) {
    std::vector<int64_t> demand;
    for (const size_t count : matrix.counts) demand.push_back(static_cast<int64_t>(count) * 4);
    LowerOptions options;
    options.slice_bytes = 1024;
    options.channel_bytes = 256 * 1024;
    const StatusOr<Schedule> schedule = RelaySchedule(topology, demand, rng);
    EXPECT_TRUE(schedule.ok()) << schedule.status();
    StatusOr<Plan> plan = Lower(*schedule, topology, options);
    EXPECT_TRUE(plan.ok()) << plan.status();
    EXPECT_TRUE(Verify(*plan).ok()) << Verify(*plan);
    std::string path = folder_ + "/plan.json";
    EXPECT_TRUE(WritePlanFile(*plan, path).ok());
    return path;
  }

  std::string folder_;
};

TEST_F(PlanFile, PlansOverRelaysRunByteForByte) {
  constexpr uint64_t kSeed = 23;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Rng rng(kSeed);
  for (const char* name : {"fullmesh-3", "servers-2x2", "servers-3x2"}) {
    const Topology topology = *GalleryTopology(name);
    for (const NamedMatrix& sample : SampleMatrices(topology.rank_count(), 4000, &rng)) {
      SCOPED_TRACE(std::string(name) + " " + sample.name);
      const Environment environment(
          {{"MYCEL_TOPO", name}, {"MYCEL_PLAN_FILE", Write(topology, sample.matrix, &rng)}, {"MYCEL_TIMEOUT", "30"}});
      const World world(topology.rank_count());
      for (uint64_t turn = 0; turn < 2; ++turn) world.Exchange(sample.matrix, mycelInt32, turn);
    }
  }
}

TEST_F(PlanFile, ForAnotherMatrixIsRefusedOnEveryRank) {
  Rng rng(24);
  const Topology topology = *GalleryTopology("servers-2x2");
  CountMatrix matrix(4);
  for (size_t& count : matrix.counts) count = 10;
  const Environment environment(
      {{"MYCEL_TOPO", "servers-2x2"}, {"MYCEL_PLAN_FILE", Write(topology, matrix, &rng)}, {"MYCEL_TIMEOUT", "20"}});
  const World world(4);
  world.Run([&](int, mycelComm_t comm) {
    std::vector<size_t> counts(4, 11), at = {0, 11, 22, 33};
    std::vector<int> send(44), recv(44);
    EXPECT_EQ(mycelAllToAllv(send.data(), counts.data(), at.data(), recv.data(), counts.data(), at.data(), mycelInt32,
                             comm, nullptr),
              mycelInvalidArgument);
    EXPECT_THAT(mycelGetLastError(comm), HasSubstr("this call has 44 bytes from rank 0 to rank 0, the plan 40"));
  });
  world.Exchange(matrix, mycelInt32, 1);
}

TEST(VectorHandles, AreCheckedAfterTheirEnd) {
  const Environment environment({{"MYCEL_PLANNER", "direct"}});
  mycelComm_t comm = nullptr;
  ASSERT_EQ(mycelCommInitAll(&comm, 1, nullptr), mycelSuccess);
  const size_t count = 5, at = 0;
  std::vector<int> send(5, 4), recv(5);
  mycelAllToAllvPlan_t plan = nullptr;
  EXPECT_EQ(mycelAllToAllvPlanCreate(nullptr, &count, &count, mycelInt32, comm), mycelInvalidArgument);
  EXPECT_EQ(mycelAllToAllvPlanCreate(&plan, &count, nullptr, mycelInt32, comm), mycelInvalidArgument);
  ASSERT_EQ(mycelAllToAllvPlanCreate(&plan, &count, &count, mycelInt32, comm), mycelSuccess) << mycelGetLastError(comm);
  const auto run = [&](mycelDirection_t direction, void* from) {
    return mycelAllToAllvPlanRun(plan, direction, from, &at, recv.data(), &at, nullptr);
  };
  EXPECT_EQ(run(mycelDispatch, send.data()), mycelSuccess);
  EXPECT_EQ(recv, send);
  EXPECT_EQ(run(static_cast<mycelDirection_t>(2), send.data()), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("direction 2"));
  EXPECT_EQ(run(mycelCombine, nullptr), mycelInvalidArgument);
  EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
  EXPECT_EQ(run(mycelDispatch, send.data()), mycelInvalidUsage);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("communicator was destroyed"));
  EXPECT_EQ(mycelAllToAllvPlanDestroy(plan), mycelSuccess);
  EXPECT_EQ(run(mycelDispatch, send.data()), mycelInvalidArgument);
  EXPECT_EQ(mycelAllToAllvPlanDestroy(plan), mycelInvalidArgument);
  EXPECT_EQ(mycelAllToAllvPlanDestroy(nullptr), mycelSuccess);
}

TEST(VectorHandles, RanksThatRunDifferentDirectionsAreToldApart) {
  const Environment environment({{"MYCEL_TOPO", "servers-2x1"}, {"MYCEL_PLANNER", "direct"}, {"MYCEL_TIMEOUT", "20"}});
  const World world(2);
  world.Run([&](int rank, mycelComm_t comm) {
    const std::vector<size_t> counts(2, 4), at = {0, 4};
    std::vector<int> send(8), recv(8);
    mycelAllToAllvPlan_t plan = nullptr;
    ASSERT_EQ(mycelAllToAllvPlanCreate(&plan, counts.data(), counts.data(), mycelInt32, comm), mycelSuccess);
    EXPECT_EQ(mycelAllToAllvPlanRun(plan, rank == 0 ? mycelDispatch : mycelCombine, send.data(), at.data(), recv.data(),
                                    at.data(), nullptr),
              mycelInvalidUsage);
    EXPECT_EQ(mycelAllToAllvPlanDestroy(plan), mycelSuccess);
  });
}

}  // namespace
}  // namespace mycel
