#include "bindings/c/background.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "bindings/c/guard.h"
#include "bindings/c/handle.h"
#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "transport/bootstrap/rendezvous.h"

namespace mycel {
namespace {

/// Leaked on purpose: threads may outlive static destructors.
struct Running {
  Mutex mutex;
  Condition changed;
  int count ABSL_GUARDED_BY(mutex) = 0;
  uint32_t process ABSL_GUARDED_BY(mutex) = 0;
  void (*at_exit)() ABSL_GUARDED_BY(mutex) = nullptr;
};

Running& Threads() {
  static auto* running = new Running();
  return *running;
}

/// Its destructor is the end of the process.
class Exit {
 public:
  // Creations meet at this object, so it must go after us.
  Exit() { RendezvousHost::OfProcess(); }
  ~Exit() {
    Running& running = Threads();
    const MutexLock lock(running.mutex);
    // A child of fork has none of its parent's threads.
    if (running.count == 0 || running.process != ProcessGeneration()) return;
    running.at_exit();
    const Deadline until = Deadline::After(kNsPerSecond);
    while (running.count != 0 && running.changed.WaitUntil(running.mutex, until)) {
    }
  }
  Exit(const Exit&) = delete;
  Exit& operator=(const Exit&) = delete;
};

void* Main(void* argument) {
  pthread_setname_np(pthread_self(), "mycel-create");
  {
    const std::unique_ptr<std::function<void()>> work(static_cast<std::function<void()>*>(argument));
    (*work)();
  }
  Running& running = Threads();
  const MutexLock lock(running.mutex);
  --running.count;
  running.changed.NotifyAll();
  return nullptr;
}

}  // namespace

Status RunInBackground(std::function<void()> work, void (*at_exit)()) {
  static const Exit at_end;
  auto kept = std::make_unique<std::function<void()>>(std::move(work));
  Running& running = Threads();
  const MutexLock lock(running.mutex);
  if (running.process != ProcessGeneration()) running.count = 0;
  running.process = ProcessGeneration();
  running.at_exit = at_exit;
  // The program's signal handlers run in its own threads only.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int error = pthread_create(&thread, nullptr, &Main, kept.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    return SystemError("the system gives no thread to create a communicator in the background (" + ErrnoText(error) +
                       "); raise the limit (ulimit -u), or set config.blocking to 1");
  }
  // Whoever runs `work` owns it now.
  (void)kept.release();
  ++running.count;
  pthread_detach(thread);
  return OkStatus();
}

}  // namespace mycel
