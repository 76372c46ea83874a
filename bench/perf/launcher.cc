#include "bench/perf/launcher.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "core/base/clock.h"
#include "core/base/wait.h"

namespace mycel::perf {
namespace {

constexpr size_t kSlotBytes = 4096;

std::string RanksOf(int process, int ranks_per_process) {
  const int first = process * ranks_per_process;
  if (ranks_per_process == 1) return "rank " + std::to_string(first);
  return "the process of ranks " + std::to_string(first) + " to " + std::to_string(first + ranks_per_process - 1);
}

// The page of memory that the processes share: a barrier and one slot per process.
struct Page {
  alignas(128) std::atomic<uint32_t> arrived{0};  // processes in the current barrier; the last one resets it
  alignas(128) std::atomic<uint32_t> round{0};    // barriers passed; writer: the last to arrive
  alignas(128) std::atomic<int32_t> failed{-1};   // the first process known to have failed; writers: anyone, once

  void Fail(int32_t process) {
    int32_t nobody = -1;
    // relaxed: a word of its own, nothing is published with it.
    failed.compare_exchange_strong(nobody, process, std::memory_order_relaxed);
  }

  char* slot(int process) { return reinterpret_cast<char*>(this + 1) + static_cast<size_t>(process) * kSlotBytes; }
};

class LocalJob final : public Job {
 public:
  LocalJob(Page* page, int rank, int size, int ranks_per_process)
      : Job(rank, size), page_(page), ranks_per_process_(ranks_per_process) {}

  Status AllGather(const void* mine, size_t bytes, void* everyone) override {
    char* all = static_cast<char*>(everyone);
    size_t done = 0;
    do {
      const size_t piece = std::min(kSlotBytes, bytes - done);
      std::memcpy(page_->slot(rank_), static_cast<const char*>(mine) + done, piece);
      MYCEL_RETURN_IF_ERROR(Barrier());
      for (int r = 0; r < size_; ++r) {
        std::memcpy(all + static_cast<size_t>(r) * bytes + done, page_->slot(r), piece);
      }
      // The slots may be written again only when everybody has read them.
      MYCEL_RETURN_IF_ERROR(Barrier());
      done += piece;
    } while (done < bytes);
    return OkStatus();
  }

  void Fail() override { page_->Fail(rank_); }

  std::string Description() const override { return std::to_string(size_) + " local processes"; }

 private:
  Status Barrier() {
    // relaxed: only compared; the acq_rel add below orders it.
    const uint32_t round = page_->round.load(std::memory_order_relaxed);
    // acq_rel: publishes this process's slot to the last to arrive, who passes all slots on by the release of `round`.
    if (page_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<uint32_t>(size_)) {
      // relaxed: nobody arrives for the next round before seeing `round` change.
      page_->arrived.store(0, std::memory_order_relaxed);
      page_->round.store(round + 1, std::memory_order_release);
      return OkStatus();
    }
    WaitPolicy policy;
    policy.oversubscribed = true;  // this barrier is not timed: leave the core to whoever is late
    Waiter waiter(policy, nullptr);
    while (!Passed(round)) {
      if (const int failed = FailedProcess(); failed >= 0) {
        return RemoteError(RanksOf(failed, ranks_per_process_) + " died or failed while this process waited for it");
      }
      waiter.Pause();
    }
    return OkStatus();
  }

  // acquire: pairs with the release in Barrier; the slots of all processes are visible afterwards.
  bool Passed(uint32_t round) const { return page_->round.load(std::memory_order_acquire) != round; }
  // relaxed: see Page::Fail.
  int FailedProcess() const { return page_->failed.load(std::memory_order_relaxed); }

  Page* page_;
  int ranks_per_process_;
};

// The parent's side.
class Children {
 public:
  Children(std::string program, int procs, int ranks_per_process)
      : program_(std::move(program)), ranks_per_process_(ranks_per_process), pids_(static_cast<size_t>(procs), -1) {}

  // False when fork fails; the children that exist are then killed.
  bool Start(Page* page, const sigset_t& child_mask, const std::function<int(Job&)>& body) {
    const pid_t parent = getpid();
    std::fflush(nullptr);  // or the children would print the buffer again
    for (size_t p = 0; p < pids_.size(); ++p) {
      const pid_t pid = fork();
      if (pid < 0) {
        std::fprintf(stderr, "%s: cannot start process %zu of %zu: %s\n", program_.c_str(), p, pids_.size(),
                     std::strerror(errno));
        KillAll();
        return false;
      }
      if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);  // the parent died before the line above
        sigprocmask(SIG_SETMASK, &child_mask, nullptr);
        LocalJob job(page, static_cast<int>(p), static_cast<int>(pids_.size()), ranks_per_process_);
        const int code = body(job);
        std::fflush(nullptr);
        _exit(code);
      }
      pids_[p] = pid;
      ++running_;
    }
    return true;
  }

  // Takes the exit status of every child that has ended, and tells of the first failures.
  void Reap(Page* page) {
    int status = 0;
    for (pid_t pid; running_ > 0 && (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto at = std::find(pids_.begin(), pids_.end(), pid);
      if (at == pids_.end()) continue;
      --running_;
      *at = -1;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
      const int process = static_cast<int>(at - pids_.begin());
      Tell(process, pid, status);
      if (exit_code_ == 0) exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
      page->Fail(process);
    }
  }

  void KillAll() {
    for (pid_t& pid : pids_) {
      if (pid > 0) kill(pid, SIGKILL);
    }
    for (pid_t& pid : pids_) {
      if (pid > 0) waitpid(pid, nullptr, 0);
      pid = -1;
    }
    running_ = 0;
  }

  std::string Running() const {
    std::string names;
    for (size_t p = 0; p < pids_.size(); ++p) {
      if (pids_[p] > 0) names += (names.empty() ? "" : ", ") + RanksOf(static_cast<int>(p), ranks_per_process_);
    }
    return names;
  }

  int running() const { return running_; }
  int exit_code() const { return exit_code_; }

 private:
  void Tell(int process, pid_t pid, int status) const {
    const std::string who = RanksOf(process, ranks_per_process_);
    if (WIFSIGNALED(status)) {
      std::fprintf(stderr, "%s: %s (pid %d) was killed by signal %d (%s)\n", program_.c_str(), who.c_str(), pid,
                   WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (exit_code_ == 0) {
      // One line is enough when all ranks end with the same error.
      std::fprintf(stderr, "%s: %s (pid %d) ended with exit code %d\n", program_.c_str(), who.c_str(), pid,
                   WEXITSTATUS(status));
    }
  }

  std::string program_;
  int ranks_per_process_;
  std::vector<pid_t> pids_;  // -1: ended
  int running_ = 0;
  int exit_code_ = 0;
};

// Waits for children to end or for a request to stop; returns the exit code.
int Supervise(Children& children, Page* page, const sigset_t& signals, const std::string& program, int grace_s) {
  Deadline deadline = Deadline::Never();
  while (true) {
    children.Reap(page);
    if (children.running() == 0) return children.exit_code();
    if (children.exit_code() != 0 && deadline == Deadline::Never()) deadline = Deadline::After(grace_s * kNsPerSecond);
    if (deadline.Passed()) {
      std::fprintf(stderr, "%s: %s did not end within %d s of the first failure: killed\n", program.c_str(),
                   children.Running().c_str(), grace_s);
      children.KillAll();
      return children.exit_code();
    }
    const timespec period{0, 200'000'000};
    const int signal = sigtimedwait(&signals, nullptr, &period);
    if (signal > 0 && signal != SIGCHLD) {
      std::fprintf(stderr, "%s: stopped by signal %d (%s)\n", program.c_str(), signal, strsignal(signal));
      children.KillAll();
      return 128 + signal;
    }
  }
}

}  // namespace

int RunLocalProcesses(const std::string& program, int procs, int ranks_per_process, int grace_s,
                      const std::function<int(Job&)>& body) {
  const size_t bytes = sizeof(Page) + static_cast<size_t>(procs) * kSlotBytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "%s: no %zu bytes of shared memory: %s\n", program.c_str(), bytes, std::strerror(errno));
    return 1;
  }
  Page* page = new (memory) Page;

  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, &before);

  Children children(program, procs, ranks_per_process);
  const int code = children.Start(page, before, body) ? Supervise(children, page, signals, program, grace_s) : 1;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  munmap(memory, bytes);
  return code;
}

}  // namespace mycel::perf
