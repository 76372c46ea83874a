// D10, E11, F1, F2, G6: what the system refuses. A filter makes one system call fail on one rank: either every
// rank says so, or all of them do without; nobody waits for a deadline, and nothing is left.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "core/base/clock.h"
#include "tests/multiproc/rank_processes.h"
#include "tests/reports/exact_call.h"
#include "tests/reports/refuse_call.h"
#include "tests/reports/ways.h"

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
  return {{"memfd_create", SYS_memfd_create, ENOMEM},
          {"ftruncate", SYS_ftruncate, ENOSPC},
          {"fallocate", SYS_fallocate, ENOSPC},
          {"pidfd_open", SYS_pidfd_open, EMFILE},
          {"madvise", SYS_madvise, EINVAL},
          {"sched_getaffinity", SYS_sched_getaffinity, EPERM},
          {"process_vm_readv", SYS_process_vm_readv, ENOSYS},
          {"bind", SYS_bind, EACCES},
          {"listen", SYS_listen, EADDRINUSE},
          {"accept4", SYS_accept4, EMFILE, true},
          {"sendmsg", SYS_sendmsg, ENOBUFS, true},
          {"recvmsg", SYS_recvmsg, ENOMEM, true},
          {"socket", SYS_socket, EMFILE, true},
          {"sendto", SYS_sendto, ENOBUFS, true}};
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

}  // namespace
}  // namespace mycel::reports
