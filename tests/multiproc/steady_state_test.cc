// Steady state allocates nothing, takes no lock and makes no system call: this test counts them. malloc and
// pthread_mutex_lock are replaced for the whole process; system calls are counted by a seccomp filter that traps every
// call of the rank's thread once it is armed.
#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/multiproc/rank_processes.h"

namespace {

std::atomic<bool> g_counting{false};
std::atomic<uint64_t> g_allocations{0};
std::atomic<uint64_t> g_locks{0};
std::atomic<uint64_t> g_system_calls{0};
std::atomic<int> g_last_system_call{-1};

void Count(std::atomic<uint64_t>& counter) {
  if (g_counting.load(std::memory_order_relaxed)) counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);

void* malloc(size_t bytes) {
  Count(g_allocations);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  Count(g_allocations);
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  Count(g_allocations);
  return __libc_realloc(old, bytes);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto real = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  Count(g_locks);
  return real(mutex);
}
}

namespace mycel::testing {
namespace {

void OnSystemCall(int, siginfo_t* info, void*) {
  g_last_system_call.store(info->si_syscall, std::memory_order_relaxed);
  Count(g_system_calls);
}

/// From now on every system call of this thread but exit raises SIGSYS (and fails). Cannot be undone. poll is let
/// through uncounted: it asks whether a peer lives, once in many milliseconds of waiting for it, never per message.
/// process_vm_readv is the copy itself where direct reads are on; let through then.
bool TrapSystemCalls(bool direct_reads) {
  struct sigaction action = {};
  action.sa_sigaction = &OnSystemCall;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return false;
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_poll, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(direct_reads ? SYS_process_vm_readv : SYS_poll), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct Counts {
  uint64_t allocations;
  uint64_t locks;
  uint64_t system_calls;
  int last_system_call;
  bool right;
};

/// An uneven exchange of two ranks, and its plan.
class Exchange {
 public:
  Exchange(mycelComm_t comm, int rank, size_t count) : comm_(comm) {
    // Rank 0 sends itself nothing; the longest leg goes from 0 to 1.
    const size_t matrix[2][2] = {{0, count / 2}, {count / 4, 3}};
    for (size_t peer = 0; peer < 2; ++peer) {
      send_[peer] = matrix[rank][peer];
      recv_[peer] = matrix[peer][rank];
    }
    at_[1] = count / 2;
    made_ = mycelAllToAllvPlanCreate(&plan_, send_, recv_, mycelFloat, comm) == mycelSuccess;
  }
  bool Run(const float* send, float* recv) const {
    bool ok = made_;
    recv[at_[1]] = 0;
    ok &= mycelAllToAllv(send, send_, at_, recv, recv_, at_, mycelFloat, comm_, nullptr) == mycelSuccess;
    ok &= recv_[1] == 0 || recv[at_[1]] == 1.0F;
    ok &= mycelAllToAllvPlanRun(plan_, mycelDispatch, send, at_, recv, at_, nullptr) == mycelSuccess;
    ok &= mycelAllToAllvPlanRun(plan_, mycelCombine, send, at_, recv, at_, nullptr) == mycelSuccess;
    return ok;
  }

 private:
  mycelComm_t comm_;
  size_t send_[2];
  size_t recv_[2];
  size_t at_[2] = {0, 0};
  mycelAllToAllvPlan_t plan_ = nullptr;
  bool made_ = false;
};

bool RunAll(mycelComm_t comm, std::vector<float>& send, std::vector<float>& recv, size_t count) {
  bool ok = mycelAllReduce(send.data(), recv.data(), count, mycelFloat, mycelSum, comm, nullptr) == mycelSuccess;
  ok &= recv[count - 1] == 2.0F;
  ok &= mycelAllGather(send.data(), recv.data(), count / 2, mycelFloat, comm, nullptr) == mycelSuccess;
  ok &= mycelReduceScatter(send.data(), recv.data(), count / 2, mycelFloat, mycelSum, comm, nullptr) == mycelSuccess;
  ok &= mycelBroadcast(send.data(), recv.data(), count, mycelFloat, 1, comm, nullptr) == mycelSuccess;
  ok &= mycelAllToAll(send.data(), recv.data(), count / 2, mycelFloat, comm, nullptr) == mycelSuccess;
  ok &= mycelBarrier(comm, nullptr) == mycelSuccess;
  return ok;
}

/// How alltoallv goes depends on the planner and on how many servers there are.
struct Way {
  const char* topology;
  const char* planner;
};

class SteadyState : public ::testing::TestWithParam<std::tuple<bool, Way>> {};

TEST_P(SteadyState, AllocatesNothingLocksNothingAndMakesNoSystemCall) {
  const auto& [direct_reads, way] = GetParam();
  setenv("MYCEL_TOPO", way.topology, 1);
  setenv("MYCEL_PLANNER", way.planner, 1);
  setenv("MYCEL_DIRECT", direct_reads ? "auto" : "off", 1);
  setenv("MYCEL_WAIT", "spin", 1);  // with fewer free cores than ranks any other mode yields, which is a system call
  setenv("MYCEL_TIMEOUT", "60", 1);
  auto* shared = static_cast<Counts*>(
      mmap(nullptr, 2 * sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  const auto outcomes = RunRanks(2, [shared, direct_reads = direct_reads](mycelComm_t comm, int rank) {
    const std::vector<size_t> sizes = {2, 256, 4096, 65536, 1 << 20};
    std::vector<float> send(1 << 20, 1.0F);
    std::vector<float> recv(1 << 20);
    bool right = true;
    std::vector<Exchange> exchanges;
    for (size_t count : sizes) exchanges.emplace_back(comm, rank, count);
    const auto run_all = [&] {
      for (size_t i = 0; i < sizes.size(); ++i) {
        right &= RunAll(comm, send, recv, sizes[i]);
        right &= exchanges[i].Run(send.data(), recv.data());
      }
    };
    run_all();  // plans, bounds and maps everything
    if (!TrapSystemCalls(direct_reads)) return 1;
    g_allocations = g_locks = g_system_calls = 0;
    g_counting = true;
    for (int i = 0; i < 8; ++i) run_all();
    g_counting = false;
    shared[rank] = {g_allocations.load(), g_locks.load(), g_system_calls.load(), g_last_system_call.load(), right};
    _exit(0);  // the communicator cannot be destroyed without system calls
    return 0;
  });
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(outcomes[static_cast<size_t>(rank)].exit_code, 0) << outcomes[static_cast<size_t>(rank)].note;
    EXPECT_TRUE(shared[rank].right);
    EXPECT_EQ(shared[rank].allocations, 0U);
    EXPECT_EQ(shared[rank].locks, 0U);
    EXPECT_EQ(shared[rank].system_calls, 0U) << "the last one was number " << shared[rank].last_system_call;
  }
  munmap(shared, 2 * sizeof(Counts));
  unsetenv("MYCEL_TOPO");
  unsetenv("MYCEL_PLANNER");
}

INSTANTIATE_TEST_SUITE_P(DirectReads, SteadyState,
                         ::testing::Combine(::testing::Bool(),
                                            // Messages; plans; counts compared, then messages.
                                            ::testing::Values(Way{"host-2", "auto"}, Way{"servers-2x1", "direct"},
                                                              Way{"servers-2x1", "auto"})));

TEST(SteadyStateCounters, Count) {
  g_counting = true;
  const uint64_t allocations = g_allocations;
  const uint64_t locks = g_locks;
  std::free(std::malloc(10));
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  g_counting = false;
  EXPECT_EQ(g_allocations, allocations + 1);
  EXPECT_EQ(g_locks, locks + 1);
  const auto outcomes = RunRanks(1, [](mycelComm_t, int) {
    if (!TrapSystemCalls(false)) return 1;
    g_system_calls = 0;
    g_counting = true;
    getppid();
    _exit(g_system_calls == 1 && g_last_system_call == SYS_getppid ? 0 : 2);
    return 3;
  });
  EXPECT_EQ(outcomes[0].exit_code, 0);
}

}  // namespace
}  // namespace mycel::testing
