// G: what stays. Communicators that come and go, and calls without end, leave descriptors, mappings, threads and memory
// as they were.
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__)
// sanitizer/allocator_interface.h, which not every compiler package has.
extern "C" size_t __sanitizer_get_current_allocated_bytes();
#endif

#include "bindings/c/mycel.h"
#include "tests/conformance/exchange.h"
#include "tests/conformance/rank_runner.h"
#include "tests/multiproc/rank_processes.h"
#include "tests/reports/exact_call.h"
#include "tests/reports/ways.h"

namespace mycel::reports {
namespace {

using testing::Note;
using testing::RunRanks;

/// Bytes that the allocator has given out.
size_t AllocatedBytes() {
#if defined(__SANITIZE_ADDRESS__)
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#endif
}

size_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0;
  size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

int32_t AllMappings() {
  std::ifstream file("/proc/self/maps");
  int32_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

/// What a process holds.
struct Holdings {
  int32_t descriptors;
  int32_t segments;  // shared memory of communicators
  int32_t mappings;
  int32_t threads;
  size_t resident;
  size_t allocated;

  static Holdings Now() {
    return {OpenDescriptorCount(), MappingCount(), AllMappings(), ThreadCount(), ResidentBytes(), AllocatedBytes()};
  }
  /// What has grown since `before` by more than noise; empty when nothing has.
  std::string GrownSince(const Holdings& before) const {
    constexpr size_t kNoiseBytes = size_t{1} << 20;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr int32_t kMappingNoise = 100;
    constexpr size_t kResidentNoiseBytes = size_t{512} << 20;  // quarantine and shadow
#else
    constexpr int32_t kMappingNoise = 8;
    constexpr size_t kResidentNoiseBytes = size_t{4} << 20;
#endif
    const auto text = [](const char* what, auto now, auto then) {
      return std::string(what) + " " + std::to_string(then) + " -> " + std::to_string(now) + "; ";
    };
    std::string grown;
    if (descriptors > before.descriptors) grown += text("descriptors", descriptors, before.descriptors);
    if (segments > before.segments) grown += text("segments", segments, before.segments);
    if (mappings > before.mappings + kMappingNoise) grown += text("mappings", mappings, before.mappings);
    if (threads > before.threads) grown += text("threads", threads, before.threads);
    if (resident > before.resident + kResidentNoiseBytes) grown += text("resident", resident, before.resident);
    if (allocated > before.allocated + kNoiseBytes) grown += text("allocated", allocated, before.allocated);
    return grown;
  }
};

/// allreduce, alltoallv and a rooted call on four ranks.
std::string UseOnce(mycelComm_t comm, int rank, uint64_t seed) {
  std::string wrong = CheckCall({Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 1000}, comm, rank, 4);
  if (!wrong.empty()) return wrong;
  CountMatrix matrix(4);
  for (size_t i = 0; i < matrix.counts.size(); ++i) matrix.counts[i] = (i * 7 + seed) % 50;
  wrong = CheckExchange(matrix, rank, mycelInt32, seed, PlainExchange(comm));
  if (!wrong.empty()) return wrong;
  return CheckCall({Collective::kReduce, DataType::kInt32, ReduceOp::kMax, 10, static_cast<int>(seed % 4)}, comm, rank,
                   4);
}

// G1: made, used and destroyed many times by four processes (1000 with REPORTS_SCALE=10).
TEST(LeaksOfCommunicators, ProcessesHoldNoMoreAfterManyThanAfterAFew) {
  const NothingLeft nothing_left;
  const Environment environment({{"MYCEL_TIMEOUT", "60"}});
  const int rounds = Scaled(100);
  const auto outcomes = RunRanks(4, [rounds](mycelComm_t first, int rank) {
    Holdings early = Holdings::Now();
    for (int round = 0; round < rounds; ++round) {
      // The next unique id travels over the first communicator.
      mycelUniqueId id;
      if (rank == round % 4 && mycelGetUniqueId(&id) != mycelSuccess) return 1;
      if (mycelBcast(&id, sizeof(id), mycelUint8, round % 4, first, nullptr) != mycelSuccess) return 2;
      mycelComm_t comm = nullptr;
      if (mycelCommInitRank(&comm, 4, id, rank) != mycelSuccess) {
        Note(mycelGetLastError(nullptr));
        return 3;
      }
      const std::string wrong = UseOnce(comm, rank, static_cast<uint64_t>(round));
      if (!wrong.empty()) {
        Note(wrong);
        return 4;
      }
      if (mycelCommDestroy(comm) != mycelSuccess || mycelBarrier(first, nullptr) != mycelSuccess) return 5;
      if (round == 9) early = Holdings::Now();
    }
    // A rendezvous ends a moment after its last rank.
    std::string grown;
    for (int tries = 0; tries < 200; ++tries) {
      grown = Holdings::Now().GrownSince(early);
      if (grown.empty()) return 0;
      usleep(10'000);
    }
    Note(grown);
    return 6;
  });
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
}

// G1: the same by threads of one process.
TEST(LeaksOfCommunicators, AProcessOfThreadsHoldsNoMoreAfterManyThanAfterAFew) {
  const NothingLeft nothing_left;
  for (const RanksLive live : {RanksLive::kLoopback, RanksLive::kSharedMemory}) {
    Holdings early = Holdings::Now();
    const int rounds = Scaled(40);
    for (int round = 0; round < rounds; ++round) {
      ExpectRight({live, "auto", 4},
                  [round](mycelComm_t comm, int rank) { return UseOnce(comm, rank, static_cast<uint64_t>(round)); });
      if (round == 9) early = Holdings::Now();
    }
    std::string grown;
    for (int tries = 0; tries < 200; ++tries) {
      grown = Holdings::Now().GrownSince(early);
      if (grown.empty()) break;
      usleep(10'000);
    }
    EXPECT_EQ(grown, "");
  }
}

// G2: many small operations of four processes, with messages and exchanges between (a million with REPORTS_SCALE=20).
TEST(LeaksOfOperations, ManySmallOnesLeaveMemoryFlat) {
  const NothingLeft nothing_left;
  const Environment environment({{"MYCEL_TIMEOUT", "120"}});
  const int operations = Scaled(50'000);
  const auto outcomes = RunRanks(
      4,
      [operations](mycelComm_t comm, int rank) {
        std::vector<int> data(16);
        Holdings early = Holdings::Now();
        for (int i = 0; i < operations; ++i) {
          const auto count = static_cast<size_t>(1 + i % 16);
          for (size_t k = 0; k < count; ++k) data[k] = i % 1000 + rank + static_cast<int>(k);
          if (mycelAllReduce(data.data(), data.data(), count, mycelInt32, mycelSum, comm, nullptr) != mycelSuccess) {
            Note(mycelGetLastError(comm));
            return 1;
          }
          for (size_t k = 0; k < count; ++k) {
            if (data[k] != 4 * (i % 1000 + static_cast<int>(k)) + 6) return 2;
          }
          if (i % 100 == 0 && !UseOnce(comm, rank, static_cast<uint64_t>(i)).empty()) return 3;
          if (i == operations / 10) early = Holdings::Now();
        }
        const std::string grown = Holdings::Now().GrownSince(early);
        Note(grown);
        return grown.empty() ? 0 : 4;
      },
      {.timeout_s = 600, .meanwhile = nullptr, .before_init = nullptr});
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
}

// G4: a communicator of one rank, in use.
TEST(LeaksOfCommunicators, OneRankHoldsLessThan64KiB) {
  const auto use = [] {
    mycelComm_t comm = nullptr;
    EXPECT_EQ(mycelCommInitAll(&comm, 1, nullptr), mycelSuccess);
    EXPECT_EQ(CheckCall({Collective::kAllReduce, DataType::kFloat32, ReduceOp::kAvg, 1000}, comm, 0, 1), "");
    return comm;
  };
  mycelCommDestroy(use());  // what the process keeps once and for all
  constexpr size_t kCommunicators = 16;
  const size_t before = AllocatedBytes();
  std::vector<mycelComm_t> comms;
  for (size_t i = 0; i < kCommunicators; ++i) comms.push_back(use());
  EXPECT_LT((AllocatedBytes() - before) / kCommunicators, size_t{64} << 10);
  for (mycelComm_t comm : comms) EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
}

// G3, G6: a creation that fails, on one rank or on all, leaves nothing, and the next one works.
TEST(LeaksOfFailures, ACreationThatFailsLeavesNothing) {
  const NothingLeft nothing_left;
  for (const char* variable : {"MYCEL_TOPO", "MYCEL_PLAN_FILE", "MYCEL_TIMEOUT", "MYCEL_PAYLOAD_BYTES"}) {
    for (int round = 0; round < 20; ++round) {
      const Environment environment({{variable, "no such thing"}});
      std::vector<mycelComm_t> comms(3);
      EXPECT_NE(mycelCommInitAll(comms.data(), 3, nullptr), mycelSuccess) << variable;
    }
  }
  ExpectRight({RanksLive::kLoopback, "auto", 4}, [](mycelComm_t comm, int rank) { return UseOnce(comm, rank, 1); });
}

}  // namespace
}  // namespace mycel::reports
