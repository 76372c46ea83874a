// A: argument and count edges. Zero counts, empty ranks, primes, offsets, 64-bit displacements, in place from every
// root, messages to oneself, and handles that are none.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "core/base/rng.h"
#include "tests/conformance/exchange.h"
#include "tests/reports/exact_call.h"
#include "tests/reports/ways.h"

namespace mycel::reports {
namespace {

using ::testing::HasSubstr;

uint64_t OperationsOf(mycelComm_t comm) {
  mycelCommStats stats;
  stats.size = sizeof(stats);
  return mycelCommGetStats(comm, &stats) == mycelSuccess ? stats.operations : 0;
}

// A1, A3, J5: half of all legs empty, silent ranks, one rank alone; the operation number stays equal on all ranks.
TEST(ArgumentsAllToAllV, EmptyLegsArriveAndEveryRankCountsTheCall) {
  const NothingLeft nothing_left;
  for (const int n : {1, 2, 3, 4, 5, 8}) {
    for (const RanksLive live : {RanksLive::kLoopback, RanksLive::kSharedMemory, RanksLive::kProcesses}) {
      const Way way{live, "auto", n};
      ExpectRight(way, [n](mycelComm_t comm, int rank) -> std::string {
        Rng rng(static_cast<uint64_t>(n));  // equal on all ranks
        for (uint64_t round = 0; round < 4; ++round) {
          for (const NamedMatrix& sample : SampleMatrices(n, round == 3 ? 20'000 : 60, &rng)) {
            const std::string wrong = CheckExchange(sample.matrix, rank, mycelInt32, round, PlainExchange(comm));
            if (!wrong.empty()) return sample.name + ": " + wrong;
            const uint64_t mine = OperationsOf(comm);
            std::vector<uint64_t> all(static_cast<size_t>(n));
            if (mycelAllGather(&mine, all.data(), 1, mycelUint64, comm, nullptr) != mycelSuccess) return "allgather";
            if (std::count(all.begin(), all.end(), mine) != n) return sample.name + ": operation numbers differ";
          }
        }
        return {};
      });
    }
  }
}

// A2: nothing to send on one rank, something expected by the others: told to them, with the pair, and not waited for.
TEST(ArgumentsAllToAllV, ARankWithNothingThatOthersExpectDataFromIsNamed) {
  const NothingLeft nothing_left;
  struct Case {
    const char* topology;  // "": as messages; of several servers: by plan
    const char* says;
  };
  for (const Case& it : {Case{"", "rank 1"}, Case{"servers-3x1", "rank 1 sends 0 elements to rank "}}) {
    const Environment environment({{"MYCEL_TOPO", it.topology}});
    for (const RanksLive live : {RanksLive::kLoopback, RanksLive::kSharedMemory, RanksLive::kProcesses}) {
      const Way way{live, "auto", 3};
      const std::vector<std::string> said = RunOn(way, [](mycelComm_t comm, int rank) -> std::string {
        const std::vector<size_t> none(3, 0);
        const std::vector<size_t> some(3, 8);
        const std::vector<size_t> at = {0, 8, 16};
        std::vector<int> send(24), recv(24);
        // Rank 1 sends nothing and expects nothing; the others send it nothing and expect 8.
        const std::vector<size_t> out = rank == 1 ? none : std::vector<size_t>{8, 0, 8};
        const mycelResult_t result =
            mycelAllToAllv(send.data(), out.data(), at.data(), recv.data(), rank == 1 ? none.data() : some.data(),
                           at.data(), mycelInt32, comm, nullptr);
        const std::string text = mycelGetLastError(comm);
        return std::to_string(result) + " " + text;
      });
      for (const size_t rank : {0, 2}) {
        EXPECT_THAT(said[rank], HasSubstr(std::to_string(mycelInvalidUsage) + " ")) << way.Name();
        EXPECT_THAT(said[rank], HasSubstr(it.says)) << way.Name();
      }
    }
  }
}

// A4, A5: nothing at all, everywhere, of every type and operation; later calls work.
TEST(ArgumentsNothing, CountZeroWithNullBuffersIsFineForEveryCollectiveTypeAndOp) {
  const NothingLeft nothing_left;
  for (const Way& way : Ways(Planners(), {1, 2, 5})) {
    ExpectRight(way, [&way](mycelComm_t comm, int rank) -> std::string {
      for (const Collective collective : RegularCollectives()) {
        const std::vector<std::string> planners = PlannersFor(collective, way.ranks);
        if (std::find(planners.begin(), planners.end(), way.planner) == planners.end()) continue;
        const int root = InfoOf(collective).rooted ? way.ranks - 1 : -1;
        for (const DataType type : AllDataTypes()) {
          for (const ReduceOp op : ReduceOpsFor(type)) {
            if (!InfoOf(collective).reduces && op != ReduceOp::kSum) continue;
            const ExactCall empty{collective, type, op, 0, root};
            if (Call(empty, nullptr, nullptr, comm) != mycelSuccess) {
              return empty.Text() + ": " + mycelGetLastError(comm);
            }
          }
        }
        const std::string wrong =
            CheckCall({collective, DataType::kInt64, ReduceOp::kSum, 17, root}, comm, rank, way.ranks);
        if (!wrong.empty()) return "after nothing, " + wrong;
      }
      return {};
    });
  }
}

// A12, A13, A14, A16: in place and out of place, every root, one element and several; nothing else is written.
TEST(ArgumentsInPlace, EveryRootEveryRankCountAndNothingElseIsWritten) {
  const NothingLeft nothing_left;
  std::vector<Way> ways = Ways(Planners(), {2, 3});
  for (const int n : {1, 4, 5, 6, 7, 8}) {
    for (const std::string& planner : Planners()) ways.push_back({RanksLive::kLoopback, planner, n});
  }
  for (const Way& way : ways) {
    ExpectRight(way, [&way](mycelComm_t comm, int rank) -> std::string {
      for (const Collective collective : RegularCollectives()) {
        const std::vector<std::string> planners = PlannersFor(collective, way.ranks);
        if (std::find(planners.begin(), planners.end(), way.planner) == planners.end()) continue;
        const bool rooted = InfoOf(collective).rooted;
        for (int root = rooted ? 0 : -1; root < (rooted ? way.ranks : 0); ++root) {
          for (const bool in_place : {false, true}) {
            for (const size_t count : {1, 3001}) {
              ExactCall it{collective, DataType::kInt32, ReduceOp::kSum, count, root, in_place};
              it.seed = count;
              std::string wrong = CheckCall(it, comm, rank, way.ranks);
              if (!wrong.empty()) return wrong;
            }
          }
        }
      }
      return {};
    });
  }
}

// A12, A15: every overlap that is not the rule.
TEST(ArgumentsInPlace, ShiftedOverlapsAreRefusedWithTheRule) {
  const Way way{RanksLive::kLoopback, "auto", 3};
  ExpectRight(way, [](mycelComm_t comm, int rank) -> std::string {
    constexpr size_t kCount = 64;
    std::vector<int> memory(8 * kCount, 1);
    int* base = memory.data() + 2 * kCount;
    const auto refused = [](mycelResult_t result) {
      return result == mycelInvalidArgument &&
             std::string(mycelGetLastError(nullptr)).find("in-place rule") != std::string::npos;
    };
    for (const size_t shift : {size_t{1}, kCount / 2, kCount - 1}) {
      if (!refused(mycelAllReduce(base, base + shift, kCount, mycelInt32, mycelSum, comm, nullptr))) return "allreduce";
      if (!refused(mycelBroadcast(base, base + shift, kCount, mycelInt32, rank, comm, nullptr))) return "broadcast";
      if (!refused(mycelAllToAll(base, base + shift, kCount, mycelInt32, comm, nullptr))) return "alltoall";
      const int* mine = base + static_cast<size_t>(rank) * kCount;
      if (!refused(mycelAllGather(mine + shift, base, kCount, mycelInt32, comm, nullptr)) &&
          shift + static_cast<size_t>(rank) * kCount < 3 * kCount) {
        return "allgather";
      }
      if (!refused(mycelReduceScatter(base, base + static_cast<size_t>(rank) * kCount + shift, kCount, mycelInt32,
                                      mycelSum, comm, nullptr)) &&
          shift + static_cast<size_t>(rank) * kCount < 3 * kCount) {
        return "reduce_scatter";
      }
    }
    if (rank > 0) {  // equal pointers are the rule at rank 0 only
      if (!refused(mycelAllGather(base, base, kCount, mycelInt32, comm, nullptr))) return "equal allgather";
      if (!refused(mycelReduceScatter(base, base, kCount, mycelInt32, mycelSum, comm, nullptr))) return "equal scatter";
    }
    // Refused arguments leave the communicator usable, and exactly the rule works.
    return CheckCall({Collective::kAllGather, DataType::kInt32, ReduceOp::kSum, kCount, -1, true}, comm, rank, 3);
  });
}

// A18: counts that divide by nothing, by every planner.
TEST(ArgumentsCounts, PrimesOfEveryRankCountAndPlanner) {
  const NothingLeft nothing_left;
  std::vector<Way> ways;
  for (const std::string& planner : PlannersFor(Collective::kAllReduce, 2)) {
    for (int n = 2; n <= 8; ++n) ways.push_back({RanksLive::kLoopback, planner, n});
    for (const int n : {2, 3, 8}) {
      ways.push_back({RanksLive::kSharedMemory, planner, n});
      ways.push_back({RanksLive::kProcesses, planner, n});
    }
  }
  for (const Way& way : ways) {
    ExpectRight(way, [&way](mycelComm_t comm, int rank) -> std::string {
      for (const size_t count : {1, 2, 3, 5, 7, 1009, 65'537}) {
        std::string wrong =
            CheckCall({Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, count}, comm, rank, way.ranks);
        if (!wrong.empty()) return wrong;
      }
      return {};
    });
  }
  for (const RanksLive live : {RanksLive::kLoopback, RanksLive::kProcesses}) {
    ExpectRight({live, "auto", 3}, [](mycelComm_t comm, int rank) {
      std::vector<float> data(10'556'587, static_cast<float>(rank + 1));
      if (mycelAllReduce(data.data(), data.data(), data.size(), mycelFloat, mycelSum, comm, nullptr) != mycelSuccess) {
        return std::string(mycelGetLastError(comm));
      }
      const bool right = std::all_of(data.begin(), data.end(), [](float value) { return value == 6; });
      return std::string(right ? "" : "wrong sums");
    });
  }
}

// A19: an element's own alignment is enough, of each buffer for itself.
TEST(ArgumentsCounts, BuffersAtAnyOffsetEachForItself) {
  const NothingLeft nothing_left;
  constexpr uint64_t kSeed = 19;
  for (const RanksLive live : {RanksLive::kLoopback, RanksLive::kProcesses}) {
    ExpectRight({live, "auto", 3}, [](mycelComm_t comm, int rank) -> std::string {
      Rng rng(kSeed);
      for (const DataType type : {DataType::kInt8, DataType::kBfloat16, DataType::kFloat32, DataType::kFloat64}) {
        for (size_t shift = 0; shift < 32; ++shift) {
          for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter}) {
            ExactCall it{collective, type, ReduceOp::kSum, 300 + rng.Below(2000)};
            it.send_shift = shift;
            it.recv_shift = rng.Below(32);
            std::string wrong = CheckCall(it, comm, rank, 3);
            if (!wrong.empty()) return wrong;
          }
        }
      }
      return {};
    });
  }
}

/// Address space of which only the touched pages cost memory.
class SparseMemory {
 public:
  explicit SparseMemory(size_t bytes) : bytes_(bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory_ = memory == MAP_FAILED ? nullptr : static_cast<signed char*>(memory);
  }
  ~SparseMemory() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  signed char* get() const { return memory_; }

 private:
  const size_t bytes_;
  signed char* memory_ = nullptr;
};

// A6, J7: displacements beyond 2^31 elements, as messages and by plan.
TEST(ArgumentsCounts, DisplacementsBeyond2To31) {
  constexpr size_t kFar = (size_t{1} << 31) + 5;
  constexpr size_t kCount = 16;
  for (const char* topology : {"", "servers-2x1"}) {
    const Environment environment({{"MYCEL_TOPO", topology}});
    for (const RanksLive live : {RanksLive::kLoopback, RanksLive::kProcesses}) {
      ExpectRight({live, "auto", 2}, [](mycelComm_t comm, int rank) -> std::string {
        const SparseMemory send(size_t{5} << 30);
        const SparseMemory recv(size_t{5} << 30);
        if (send.get() == nullptr || recv.get() == nullptr) return "no address space";
        const size_t counts[2] = {kCount, kCount};
        const size_t at[2] = {kFar, 2 * kFar};
        for (size_t peer = 0; peer < 2; ++peer) {
          std::memset(send.get() + at[peer], 10 * rank + static_cast<int>(peer) + 1, kCount);
        }
        if (mycelAllToAllv(send.get(), counts, at, recv.get(), counts, at, mycelInt8, comm, nullptr) != mycelSuccess) {
          return mycelGetLastError(comm);
        }
        for (size_t peer = 0; peer < 2; ++peer) {
          for (size_t i = 0; i < kCount; ++i) {
            if (recv.get()[at[peer] + i] != static_cast<int>(10 * peer) + rank + 1) return "wrong data";
          }
          if (recv.get()[at[peer] + kCount] != 0 || recv.get()[at[peer] - 1] != 0) return "wrote beside the leg";
        }
        return {};
      });
    }
  }
}

// A6: more than 2^24 elements here, more than 2^31 (4.3 GB of memory) with REPORTS_SCALE=10.
TEST(ArgumentsCounts, AllReduceOfVeryManyElements) {
  const size_t count = (size_t{1} << (Scaled(1) >= 10 ? 31 : 24)) + 3;
  ExpectRight({RanksLive::kProcesses, "auto", 2}, [count](mycelComm_t comm, int rank) -> std::string {
    std::vector<uint8_t> data(count, static_cast<uint8_t>(rank + 1));
    if (mycelAllReduce(data.data(), data.data(), count, mycelUint8, mycelSum, comm, nullptr) != mycelSuccess) {
      return mycelGetLastError(comm);
    }
    return static_cast<size_t>(std::count(data.begin(), data.end(), 3)) == count ? "" : "wrong sums";
  });
}

// J6: blocks that would be received over each other are refused by name, in any order; apart or empty they arrive.
TEST(ArgumentsAllToAllV, OverlappingReceiveBlocksAreRefusedAndNothingElseIs) {
  ExpectRight({RanksLive::kLoopback, "auto", 3}, [](mycelComm_t comm, int rank) -> std::string {
    const std::vector<float> send(30, static_cast<float>(rank));
    std::vector<float> recv(30, -1);
    const size_t counts[3] = {4, 4, 4};
    const auto exchange = [&](const size_t(&at)[3]) {
      return mycelAllToAllv(send.data(), counts, at, recv.data(), counts, at, mycelFloat, comm, nullptr);
    };
    if (exchange({20, 3, 0}) != mycelInvalidArgument) return "blocks 1 and 2 overlap, and that is not refused";
    const std::string said = mycelGetLastError(nullptr);
    if (said.find("the blocks of ranks 2 and 1 overlap in recvbuff; see rdispls[1]") == std::string::npos) return said;
    if (exchange({0, 4, 4}) != mycelInvalidArgument) return "equal places are not refused";
    if (exchange({20, 4, 0}) != mycelSuccess) return mycelGetLastError(comm);
    for (size_t i = 0; i < recv.size(); ++i) {
      const float want = i < 4 ? 2.0F : i < 8 ? 1.0F : i >= 20 && i < 24 ? 0.0F : -1.0F;
      if (recv[i] != want) return "element " + std::to_string(i) + " is wrong";
    }
    return "";
  });
}

// A10: messages to oneself among others, in any order, several of different sizes that match in order.
TEST(ArgumentsSelf, MessagesToOneselfMixWithOthersInAGroup) {
  const NothingLeft nothing_left;
  for (const int n : {1, 2, 3, 4}) {
    for (const RanksLive live : {RanksLive::kLoopback, RanksLive::kSharedMemory, RanksLive::kProcesses}) {
      ExpectRight({live, "auto", n}, [n](mycelComm_t comm, int rank) -> std::string {
        constexpr size_t kMessages = 4;
        Rng rng(static_cast<uint64_t>(rank) + 7);  // every rank its own order
        for (size_t round = 0; round < 20; ++round) {
          struct Half {
            size_t peer;
            bool sends;
          };
          std::vector<Half> halves;
          const auto peers = static_cast<size_t>(n);
          for (size_t peer = 0; peer < peers; ++peer) {
            for (size_t message = 0; message < kMessages; ++message) {
              halves.push_back({peer, true});
              halves.push_back({peer, false});
            }
          }
          rng.Shuffle(halves);
          const auto size_of = [&](size_t from, size_t to, size_t message) {
            return (from * 7 + to * 3 + message * 501 + round) % 1700;
          };
          const auto value_of = [&](size_t from, size_t to, size_t message) {
            return static_cast<int>(from * 1000 + to * 100 + message * 10 + round % 10);
          };
          std::vector<std::vector<int>> out(peers * kMessages), in(peers * kMessages);
          std::vector<size_t> next_out(peers), next_in(peers);
          const auto me = static_cast<size_t>(rank);
          mycelGroupStart();
          for (const Half& half : halves) {
            const size_t message = half.sends ? next_out[half.peer]++ : next_in[half.peer]++;
            const size_t slot = half.peer * kMessages + message;
            const auto peer = static_cast<int>(half.peer);
            if (half.sends) {
              out[slot].assign(size_of(me, half.peer, message), value_of(me, half.peer, message));
              mycelSend(out[slot].data(), out[slot].size(), mycelInt32, peer, comm, nullptr);
            } else {
              in[slot].assign(size_of(half.peer, me, message), -1);
              mycelRecv(in[slot].data(), in[slot].size(), mycelInt32, peer, comm, nullptr);
            }
          }
          if (mycelGroupEnd() != mycelSuccess) return mycelGetLastError(comm);
          for (size_t peer = 0; peer < peers; ++peer) {
            for (size_t message = 0; message < kMessages; ++message) {
              const std::vector<int> want(size_of(peer, me, message), value_of(peer, me, message));
              if (in[peer * kMessages + message] != want) return "message from rank " + std::to_string(peer);
            }
          }
        }
        return {};
      });
    }
  }
}

// A10: half of a message to oneself is an error at the group's end, and the peers hear of it.
TEST(ArgumentsSelf, AnUnmatchedHalfIsAnErrorAtTheGroupsEnd) {
  for (const RanksLive live : {RanksLive::kLoopback, RanksLive::kProcesses}) {
    const std::vector<std::string> said = RunOn({live, "auto", 2}, [](mycelComm_t comm, int rank) -> std::string {
      int value = 1;
      if (rank == 0) {
        mycelGroupStart();
        mycelRecv(&value, 1, mycelInt32, 0, comm, nullptr);
        const mycelResult_t result = mycelGroupEnd();
        return std::to_string(result) + " " + mycelGetLastError(nullptr);
      }
      const mycelResult_t result = mycelRecv(&value, 1, mycelInt32, 0, comm, nullptr);
      return std::to_string(result) + " " + mycelGetLastError(comm);
    });
    EXPECT_THAT(said[0], HasSubstr(std::to_string(mycelInvalidUsage) + " "));
    EXPECT_THAT(said[0], HasSubstr("put both halves in one group"));
    EXPECT_THAT(said[1], HasSubstr("rank 0 failed"));
  }
}

// A21: whatever is passed as a communicator: destroyed, never made, zeros, bytes of something else.
TEST(ArgumentsHandles, WhatIsNoCommunicatorIsRefusedByEveryFunction) {
  std::vector<mycelComm_t> comms(1);
  ASSERT_EQ(mycelCommInitAll(comms.data(), 1, nullptr), mycelSuccess);
  ASSERT_EQ(mycelCommDestroy(comms[0]), mycelSuccess);
  alignas(64) static unsigned char zeros[4096];
  alignas(64) static unsigned char bytes[4096];
  std::memset(bytes, 0x5a, sizeof(bytes));
  for (void* pointer : {static_cast<void*>(comms[0]), static_cast<void*>(zeros), static_cast<void*>(bytes)}) {
    auto* comm = static_cast<mycelComm_t>(pointer);
    float data[4] = {};
    const size_t counts[4] = {};
    int number = 0;
    mycelResult_t state = mycelSuccess;
    mycelCommStats stats;
    stats.size = sizeof(stats);
    char text[64];
    mycelAllToAllvPlan_t plan = nullptr;
    const mycelResult_t results[] = {
        mycelAllReduce(data, data, 1, mycelFloat, mycelSum, comm, nullptr),
        mycelAllGather(data, data, 1, mycelFloat, comm, nullptr),
        mycelReduceScatter(data, data, 1, mycelFloat, mycelSum, comm, nullptr),
        mycelBroadcast(data, data, 1, mycelFloat, 0, comm, nullptr),
        mycelBcast(data, 1, mycelFloat, 0, comm, nullptr),
        mycelReduce(data, data, 1, mycelFloat, mycelSum, 0, comm, nullptr),
        mycelAllToAll(data, data, 1, mycelFloat, comm, nullptr),
        mycelGather(data, data, 1, mycelFloat, 0, comm, nullptr),
        mycelScatter(data, data, 1, mycelFloat, 0, comm, nullptr),
        mycelAllToAllv(data, counts, counts, data, counts, counts, mycelFloat, comm, nullptr),
        mycelAllToAllvPlanCreate(&plan, counts, counts, mycelFloat, comm),
        mycelBarrier(comm, nullptr),
        mycelSend(data, 1, mycelFloat, 0, comm, nullptr),
        mycelRecv(data, 1, mycelFloat, 0, comm, nullptr),
        mycelCommCount(comm, &number),
        mycelCommUserRank(comm, &number),
        mycelCommGetAsyncError(comm, &state),
        mycelCommGetStats(comm, &stats),
        mycelCommExplain(comm, "allreduce", 1, mycelFloat, text, sizeof(text)),
        mycelCommFinalize(comm),
        mycelCommAbort(comm),
        mycelCommDestroy(comm)};
    for (const mycelResult_t result : results) EXPECT_EQ(result, mycelInvalidArgument) << &result - results;
    EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("destroyed, aborted or never created"));
  }
}

}  // namespace
}  // namespace mycel::reports
