// D10, E11, F1, F2, G6: what the system refuses. A filter makes one system call fail on one rank: either every
// rank says so, or all of them do without; nobody waits for a deadline, and nothing is left.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "core/base/clock.h"
#include "tests/multiproc/rank_processes.h"
#include "tests/reports/exact_call.h"
#include "tests/reports/refuse_call.h"
#include "tests/reports/ways.h"

namespace {

// Allocations of this process by operator new until one is refused; 0: none will be.
std::atomic<int64_t> g_allocations_left{0};
std::atomic<bool> g_allocation_refused{false};

void* Allocate(size_t bytes) {
  if (g_allocations_left.load(std::memory_order_relaxed) > 0 && g_allocations_left.fetch_sub(1) == 1) {
    g_allocation_refused = true;
    return nullptr;
  }
  return std::malloc(bytes > 0 ? bytes : 1);
}

}  // namespace

// Of the whole program, libmycel included. Not inlined: the compiler would see new and free meet.
[[gnu::noinline]] void* operator new(size_t bytes) {
  void* memory = Allocate(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace mycel::reports {
namespace {

using testing::kInitFailed;
using testing::Note;
using testing::RankOutcome;
using testing::RunOptions;
using testing::RunRanks;

int CheckSome(mycelComm_t comm, int rank, int ranks) {
  std::string wrong;
  for (const size_t count : {size_t{7}, size_t{1} << 17}) {
    for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather}) {
      if (wrong.empty()) wrong = CheckCall({collective, DataType::kInt32, ReduceOp::kSum, count}, comm, rank, ranks);
    }
  }
  if (!wrong.empty()) Note(wrong);
  return wrong.empty() ? 0 : 1;
}

struct Refusal {
  const char* name;
  long number;
  int error;
  bool mute = false;  // the rank cannot reach the others to tell them: they end at the deadline
};

std::vector<Refusal> Refusals() {
  return {
    {"memfd_create", SYS_memfd_create, ENOMEM}, {"ftruncate", SYS_ftruncate, ENOSPC},
        {"fallocate", SYS_fallocate, ENOSPC}, {"pidfd_open", SYS_pidfd_open, EMFILE}, {"madvise", SYS_madvise, EINVAL},
#if !defined(__SANITIZE_ADDRESS__)  // which insists on it
        {"sched_getaffinity", SYS_sched_getaffinity, EPERM},
#endif
        {"process_vm_readv", SYS_process_vm_readv, ENOSYS}, {"bind", SYS_bind, EACCES},
        {"listen", SYS_listen, EADDRINUSE}, {"accept4", SYS_accept4, EMFILE, true},
        {"sendmsg", SYS_sendmsg, ENOBUFS, true}, {"recvmsg", SYS_recvmsg, ENOMEM, true},
        {"socket", SYS_socket, EMFILE, true}, {
      "sendto", SYS_sendto, ENOBUFS, true
    }
  };
}

// D10, G6: each system call of creation is refused to one rank: all ranks report it or all go on, at once.
TEST(ResourcesSystemCalls, EachRefusedToOneRankIsAnErrorOfAllOrOfNone) {
  for (const Refusal& refusal : Refusals()) {
    for (const int victim : {0, 1}) {
      SCOPED_TRACE(std::string(refusal.name) + " on rank " + std::to_string(victim));
      const NothingLeft nothing_left;
      const Environment environment({{"MYCEL_TIMEOUT", refusal.mute ? "0.5" : "30"}});
      const int64_t start = NowNs();
      RunOptions options;
      options.before_init = [&](int rank) {
        if (rank == victim && !RefuseSystemCall(refusal.number, refusal.error)) _exit(99);
      };
      const auto outcomes = RunRanks(
          3, [](mycelComm_t comm, int rank) { return CheckSome(comm, rank, 3); }, options);
      EXPECT_LT(NowNs() - start, 20 * kNsPerSecond) << "waited for the deadline, or beyond it";
      const bool works = outcomes[static_cast<size_t>(victim)].exit_code == 0;
      for (const RankOutcome& outcome : outcomes) {
        EXPECT_EQ(outcome.exit_code, works ? 0 : kInitFailed) << outcome.note << " signal " << outcome.signal;
        EXPECT_EQ(outcome.note.empty(), works);
      }
      if (std::getenv("REPORTS_VERBOSE") != nullptr) {
        std::printf("%s on rank %d: %s\n", refusal.name, victim, works ? "works" : "refused");
        for (const RankOutcome& outcome : outcomes) std::printf("    %s\n", outcome.note.c_str());
      }
    }
  }
}

// E11 (limits that are too low are named: tests beside the bootstrap and shm): eight ranks need few descriptors.
TEST(ResourcesDescriptors, SixtyFourAreEnoughForEightRanks) {
  const NothingLeft nothing_left;
  const Environment environment({{"MYCEL_TIMEOUT", "60"}});
  RunOptions options;
  options.before_init = [](int) {
    const rlimit wanted{64, 64};
    setrlimit(RLIMIT_NOFILE, &wanted);
  };
  const auto outcomes = RunRanks(
      8, [](mycelComm_t comm, int rank) { return CheckSome(comm, rank, 8); }, options);
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
}

/// A /dev/shm of one MiB for this process and its children, where namespaces are allowed.
void UseSmallSharedMemory() {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return;
  mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1m");
}

// F1, F2: a small /dev/shm does not matter, for nothing lies in it, while the communicator lives either.
TEST(ResourcesSharedMemory, ASmallDevShmDoesNotMatter) {
  const NothingLeft nothing_left;
  const Environment environment({{"MYCEL_TIMEOUT", "60"}});
  const std::set<std::string> before = SharedMemoryFiles();
  RunOptions options;
  options.before_init = [](int rank) {
    if (rank != 0) UseSmallSharedMemory();  // rank 0 looks at the machine's
  };
  const auto outcomes = RunRanks(
      3,
      [&before](mycelComm_t comm, int rank) {
        const int code = CheckSome(comm, rank, 3);
        if (code != 0 || rank != 0 || SharedMemoryFiles() == before) return code;
        Note("there are new files in /dev/shm");
        return 2;
      },
      options);
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
}

constexpr int kThrown = 79;      // something came through the C border
constexpr int kNotRefused = 78;  // exit code: there were fewer allocations

/// The `nth` allocation of this process from now on is refused; 0: none.
void RefuseAllocation(int64_t nth) {
  g_allocation_refused = false;
  g_allocations_left = nth;
}

/// Whether it has been; from now on none is.
bool AllocationWasRefused() {
  g_allocations_left = 0;
  return g_allocation_refused;
}

/// One call of each kind, without an allocation of our own. The first error.
mycelResult_t CallEach(mycelComm_t comm, int rank) {
  static float send[30'000];
  static float recv[30'000];
  mycelResult_t result = mycelAllReduce(send, recv, 10, mycelFloat, mycelSum, comm, nullptr);
  if (result == mycelSuccess) result = mycelAllReduce(send, recv, 30'000, mycelFloat, mycelSum, comm, nullptr);
  if (result == mycelSuccess) result = mycelBcast(send, 100, mycelFloat, 2, comm, nullptr);
  const size_t counts[3] = {1, 2, 3};
  const size_t received[3] = {counts[rank], counts[rank], counts[rank]};
  const size_t at[3] = {0, 100, 200};
  if (result == mycelSuccess) {
    result = mycelAllToAllv(send, counts, at, recv, received, at, mycelFloat, comm, nullptr);
  }
  if (result == mycelSuccess) {
    mycelGroupStart();
    mycelSend(send, 7, mycelFloat, (rank + 1) % 3, comm, nullptr);
    mycelRecv(recv, 7, mycelFloat, (rank + 2) % 3, comm, nullptr);
    result = mycelGroupEnd();
  }
  return result == mycelSuccess ? mycelBarrier(comm, nullptr) : result;
}

/// Functions of the C API on a communicator of one rank, good calls and refused ones; what they make they end.
using OneFunction = mycelResult_t (*)(mycelComm_t comm);

mycelResult_t FirstError(std::initializer_list<mycelResult_t> results) {
  for (const mycelResult_t result : results) {
    if (result != mycelSuccess) return result;
  }
  return mycelSuccess;
}

float send[64];
float recv[64];
const size_t count[1] = {3};
const size_t at[1] = {1};
const std::pair<const char*, OneFunction> kFunctions[] = {
    {"stats",
     [](mycelComm_t comm) {
       mycelCommStats stats;
       stats.size = sizeof(stats);
       return mycelCommGetStats(comm, &stats);
     }},
    {"query",
     [](mycelComm_t comm) {
       mycelCallInfo info;
       info.size = sizeof(info);
       return mycelCommQueryLast(comm, &info);
     }},
    {"explain",
     [](mycelComm_t comm) {
       char text[256];
       return mycelCommExplain(comm, "allgather", 12345, mycelFloat, text, sizeof(text));
     }},
    {"unique id",
     [](mycelComm_t) {
       mycelUniqueId id;
       return mycelGetUniqueId(&id);
     }},
    {"bad type",
     [](mycelComm_t comm) { return mycelAllReduce(send, recv, 1, mycelDataType_t(77), mycelSum, comm, nullptr); }},
    {"overlap",
     [](mycelComm_t comm) { return mycelAllReduce(send, send + 1, 8, mycelFloat, mycelSum, comm, nullptr); }},
    {"allgatherv",
     [](mycelComm_t comm) { return mycelAllGatherv(send, 3, recv, count, at, mycelFloat, comm, nullptr); }},
    {"bad allgatherv",
     [](mycelComm_t comm) { return mycelAllGatherv(send, 2, recv, count, at, mycelFloat, comm, nullptr); }},
    {"reduce_scatterv",
     [](mycelComm_t comm) { return mycelReduceScatterv(send, recv, count, mycelFloat, mycelMax, comm, nullptr); }},
    {"gatherv", [](mycelComm_t comm) { return mycelGatherv(send, 3, recv, count, at, mycelFloat, 0, comm, nullptr); }},
    {"scatterv",
     [](mycelComm_t comm) { return mycelScatterv(send, count, at, recv, 3, mycelFloat, 0, comm, nullptr); }},
    {"alltoallv",
     [](mycelComm_t comm) { return mycelAllToAllv(send, count, at, recv, count, at, mycelFloat, comm, nullptr); }},
    {"kept plan",
     [](mycelComm_t comm) {
       mycelAllToAllvPlan_t plan = nullptr;
       const mycelResult_t made = mycelAllToAllvPlanCreate(&plan, count, count, mycelFloat, comm);
       if (made != mycelSuccess) return made;
       const mycelResult_t ran = mycelAllToAllvPlanRun(plan, mycelDispatch, send, at, recv, at, nullptr);
       return FirstError({ran, mycelAllToAllvPlanDestroy(plan)});
     }},
    {"group",
     [](mycelComm_t comm) {
       mycelGroupStart();
       mycelSend(send, 3, mycelFloat, 0, comm, nullptr);
       mycelRecv(recv, 3, mycelFloat, 0, comm, nullptr);
       mycelAllReduce(send, recv, 3, mycelFloat, mycelSum, comm, nullptr);
       return mycelGroupEnd();
     }},
    {"call config",
     [](mycelComm_t comm) {
       mycelCallConfig_t config = MYCEL_CALL_CONFIG_INITIALIZER;
       config.planner = "ring";
       const mycelResult_t begun = mycelCallConfigStart(&config);
       if (begun != mycelSuccess) return begun;
       const mycelResult_t ran = mycelAllReduce(send, recv, 3, mycelFloat, mycelSum, comm, nullptr);
       return FirstError({ran, mycelCallConfigEnd()});
     }},
    {"operation",
     [](mycelComm_t comm) {
       mycelRedOp_t op = mycelSum;
       const mycelResult_t made = mycelRedOpCreatePreMulSum(&op, send, mycelFloat, mycelScalarHostImmediate, comm);
       if (made != mycelSuccess) return made;
       const mycelResult_t ran = mycelAllReduce(send, recv, 3, mycelFloat, op, comm, nullptr);
       return FirstError({ran, mycelRedOpDestroy(op, comm)});
     }},
    {"stream",
     [](mycelComm_t comm) {
       mycelStream_t stream = nullptr;
       const mycelResult_t made = mycelStreamCreate(&stream);
       if (made != mycelSuccess) return made;
       const mycelResult_t ran = mycelAllReduce(send, recv, 3, mycelFloat, mycelSum, comm, stream);
       return FirstError({ran, mycelStreamSynchronize(stream), mycelStreamDestroy(stream)});
     }},
    {"window",
     [](mycelComm_t comm) {
       mycelWindow_t window = nullptr;
       const mycelResult_t made = mycelCommWindowRegister(comm, recv, sizeof(recv), &window, MYCEL_WIN_DEFAULT);
       return made != mycelSuccess ? made : mycelCommWindowDeregister(comm, window);
     }},
    {"memory",
     [](mycelComm_t) {
       void* memory = nullptr;
       const mycelResult_t made = mycelMemAlloc(&memory, 4096);
       return made != mycelSuccess ? made : mycelMemFree(memory);
     }},
    {"split",
     [](mycelComm_t comm) {
       mycelComm_t child = nullptr;
       const mycelResult_t made = mycelCommSplit(comm, 0, 0, &child, nullptr);
       return made != mycelSuccess ? made : mycelCommDestroy(child);
     }},
};

// Whatever allocation is refused: no function throws into its caller's C, and each tells of it or does without.
TEST(ResourcesMemory, NoFunctionThrowsThroughTheBorder) {
  int failures = 0;
  for (const auto& [name, function] : kFunctions) {
    bool struck = true;
    for (int64_t nth = 1; struck; ++nth) {
      SCOPED_TRACE(std::string(name) + ", allocation " + std::to_string(nth));
      ASSERT_LT(nth, 5000);
      mycelComm_t comm = nullptr;
      ASSERT_EQ(mycelCommInitAll(&comm, 1, nullptr), mycelSuccess);
      float value = 1;
      ASSERT_EQ(mycelAllReduce(&value, &value, 1, mycelFloat, mycelSum, comm, nullptr), mycelSuccess);
      mycelResult_t result = mycelSuccess;
      bool thrown = false;
      RefuseAllocation(nth);
      try {
        result = function(comm);
      } catch (const std::exception&) {
        thrown = true;
      }
      struck = AllocationWasRefused();
      EXPECT_FALSE(thrown);
      if (struck) {
        EXPECT_THAT(result, ::testing::AnyOf(mycelSuccess, mycelSystemError, mycelInvalidArgument, mycelInvalidUsage));
        failures += result == mycelSystemError ? 1 : 0;
      }
      mycelCommAbort(comm);
    }
  }
  EXPECT_GT(failures, 50);
}

// D10: memory is refused to one rank once, at every allocation in turn (some of them here, all with REPORTS_SCALE=10):
// of creating a communicator and of calls. No process dies of it, and every rank ends with an error or with success. A
// rank that has not joined yet cannot tell anybody: the others end at the deadline.
TEST(ResourcesMemory, AnyAllocationRefusedToOneRankIsAnError) {
  const NothingLeft nothing_left;
  const Environment environment({{"MYCEL_TIMEOUT", "1"}});
  const bool all = Scaled(1) >= 10;
  bool refused = true;
  for (int64_t nth = all ? 1 : 25; refused; nth += all ? 1 : nth / 2) {
    SCOPED_TRACE("allocation " + std::to_string(nth));
    const int64_t start = NowNs();
    RunOptions options;
    options.before_init = [nth](int rank) { RefuseAllocation(rank == 1 ? nth : 0); };
    const auto outcomes = RunRanks(
        3,
        [](mycelComm_t comm, int rank) {
          mycelResult_t result = mycelSuccess;
          try {
            result = CallEach(comm, rank);
          } catch (const std::exception& thrown) {
            return kThrown;
          }
          const bool struck = AllocationWasRefused();
          if (result != mycelSuccess) Note(mycelGetLastError(comm));
          return result == mycelSuccess && rank == 1 && !struck ? kNotRefused : static_cast<int>(result);
        },
        options);
    EXPECT_LT(NowNs() - start, 20 * kNsPerSecond);
    refused = outcomes[1].exit_code != kNotRefused;
    for (const RankOutcome& outcome : outcomes) {
      EXPECT_EQ(outcome.signal, 0) << outcome.note;
      // A refusal may be survived by the rank, but then by all.
      const bool fine = outcome.exit_code == 0 || outcome.exit_code == kNotRefused;
      EXPECT_EQ(fine, outcomes[1].exit_code == 0 || outcomes[1].exit_code == kNotRefused)
          << outcome.exit_code << " " << outcome.note << " beside " << outcomes[1].exit_code << " " << outcomes[1].note;
    }
  }
}

}  // namespace
}  // namespace mycel::reports
