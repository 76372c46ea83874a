#include "tests/multiproc/rank_processes.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/base/check.h"
#include "core/base/clock.h"

namespace mycel::testing {
namespace {

constexpr size_t kNoteBytes = 4096;
char* g_note = nullptr;  // this child's

/// The unique id lives in the process that makes it: rank 0 makes it and hands it to the others through pipes.
struct IdPipes {
  std::vector<int> read_end;
  std::vector<int> write_end;
};

IdPipes MakePipes(int n) {
  IdPipes pipes;
  for (int i = 0; i < n; ++i) {
    int fds[2];
    MYCEL_CHECK_EQ(pipe(fds), 0);
    pipes.read_end.push_back(fds[0]);
    pipes.write_end.push_back(fds[1]);
  }
  return pipes;
}

int ChildMain(int n, int rank, const IdPipes& pipes, const RankBody& body, const RunOptions& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (options.before_init) options.before_init(rank);
  mycelUniqueId id;
  if (rank == 0) {
    if (mycelGetUniqueId(&id) != mycelSuccess) {
      Note(mycelGetLastError(nullptr));
      return kInitFailed;
    }
    for (int peer = 1; peer < n; ++peer) {
      if (write(pipes.write_end[static_cast<size_t>(peer)], &id, sizeof(id)) != sizeof(id)) return kInitFailed;
    }
  } else {
    // Else nobody would learn that rank 0 ended before it wrote.
    for (const int fd : pipes.write_end) close(fd);
  }
  if (rank != 0 && read(pipes.read_end[static_cast<size_t>(rank)], &id, sizeof(id)) != sizeof(id)) {
    Note("no unique id arrived");
    return kInitFailed;
  }
  mycelComm_t comm = nullptr;
  if (mycelCommInitRank(&comm, n, id, rank) != mycelSuccess) {
    Note(mycelGetLastError(nullptr));
    return kInitFailed;
  }
  const int code = body(comm, rank);
  mycelCommDestroy(comm);
  return code;
}

}  // namespace

void Note(const std::string& text) {
  if (g_note != nullptr) std::snprintf(g_note, kNoteBytes, "%s", text.c_str());
}

std::vector<RankOutcome> RunRanks(int n, const RankBody& body, const RunOptions& options) {
  const auto count = static_cast<size_t>(n);
  void* notes = mmap(nullptr, kNoteBytes * count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  MYCEL_CHECK(notes != MAP_FAILED);
  const IdPipes pipes = MakePipes(n);
  std::fflush(nullptr);
  std::vector<RankOutcome> outcomes(count);
  std::vector<pid_t> pids;
  for (int rank = 0; rank < n; ++rank) {
    const pid_t pid = fork();
    MYCEL_CHECK_GE(pid, 0);
    if (pid == 0) {
      g_note = static_cast<char*>(notes) + kNoteBytes * static_cast<size_t>(rank);
      const int code = ChildMain(n, rank, pipes, body, options);
      std::fflush(nullptr);
      _exit(code);
    }
    outcomes[static_cast<size_t>(rank)].pid = pid;
    pids.push_back(pid);
  }
  for (int fd : pipes.read_end) close(fd);
  for (int fd : pipes.write_end) close(fd);
  if (options.meanwhile) options.meanwhile(pids);

  const Deadline deadline = Deadline::After(SecondsToNs(options.timeout_s));
  size_t alive = count;
  std::vector<bool> reaped(count, false);
  while (alive > 0) {
    for (size_t i = 0; i < count; ++i) {
      int status = 0;
      if (reaped[i] || waitpid(pids[i], &status, WNOHANG) != pids[i]) continue;
      reaped[i] = true;
      --alive;
      if (WIFEXITED(status)) outcomes[i].exit_code = WEXITSTATUS(status);
      if (WIFSIGNALED(status)) outcomes[i].signal = WTERMSIG(status);
    }
    if (deadline.Passed()) {
      for (size_t i = 0; i < count; ++i) {
        if (!reaped[i]) kill(pids[i], SIGKILL);
      }
    }
    const timespec pause{0, 1'000'000};
    if (alive > 0) nanosleep(&pause, nullptr);
  }
  for (size_t i = 0; i < count; ++i) outcomes[i].note = static_cast<char*>(notes) + kNoteBytes * i;
  munmap(notes, kNoteBytes * count);
  return outcomes;
}

}  // namespace mycel::testing
