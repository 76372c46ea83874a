#include "bindings/c/handle.h"

#include <pthread.h>

#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "bindings/c/background.h"
#include "bindings/c/compose.h"
#include "bindings/c/guard.h"
#include "core/base/clock.h"
#include "core/base/wait.h"

namespace mycel {
namespace {

std::atomic<uint32_t> g_generation{1};

/// Handles that may be used again. Leaked on purpose: a stale pointer must stay readable.
struct HandlePool {
  Mutex mutex;
  std::deque<mycelComm> all ABSL_GUARDED_BY(mutex);
  std::deque<mycelComm*> free ABSL_GUARDED_BY(mutex);
};

/// So many ended handles are kept back before one is used again: a stale pointer stays recognisable as long as that.
constexpr size_t kEndedKept = 64;

void BeforeFork();
void AfterFork();
void AfterForkInChild();

HandlePool& Pool() {
  static auto* pool = [] {
    pthread_atfork(&BeforeFork, &AfterFork, &AfterForkInChild);
    return new HandlePool();
  }();
  return *pool;
}

/// A child of fork makes communicators of its own: no lock may stay with a thread that it does not have.
void BeforeFork() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  Pool().mutex.Lock();
  TicketMutex().Lock();
}

void AfterFork() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  TicketMutex().Unlock();
  Pool().mutex.Unlock();
}

void AfterForkInChild() {
  g_generation.fetch_add(1, std::memory_order_relaxed);
  AfterFork();
}

Status Ended(const char* function) {
  return InvalidArgument(std::string(function) + ": the communicator was destroyed, aborted or never created");
}

/// Spins, then yields, then sleeps until nobody is inside, or `give_up` says so.
template <typename F>
bool Occupy(mycelComm* handle, F&& give_up) {
  // acquire: pairs with the release in Vacate; the state left by the thread before us is visible.
  if (handle->busy.exchange(1, std::memory_order_acquire) == 0) return true;
  Waiter waiter(WaitPolicy(), nullptr);
  while (handle->busy.exchange(1, std::memory_order_acquire) != 0) {
    if (give_up()) return false;
    waiter.Pause();
  }
  return true;
}

void Vacate(mycelComm* handle) {
  // release: hands our state to the next thread that comes in.
  handle->busy.store(0, std::memory_order_release);
}

Status OtherProcess(const char* function) {
  return InvalidUsage(std::string(function) +
                      ": the communicator was created in another process (before fork); create it after fork");
}

bool HasCommunicator(uint64_t magic) { return magic == kMycelLive || magic == kMycelFinalized; }

/// CheckHandle for a handle that is not simply live.
Status CheckUncommon(const mycelComm& handle, uint64_t magic, const char* function, Needs needs) {
  switch (magic) {
    case kMycelFinalized:
      if (needs != Needs::kOperations) return OkStatus();
      return InvalidUsage(std::string(function) +
                          ": the communicator was finalized; only mycelCommDestroy and mycelCommAbort may follow");
    case kMycelStarting:
      if (needs == Needs::kHandle) return OkStatus();
      return InvalidUsage(std::string(function) +
                          ": the communicator is still being created; poll mycelCommGetAsyncError until it is not "
                          "mycelInProgress");
    case kMycelUnstarted:
      return needs == Needs::kHandle ? OkStatus() : ErrorOf(const_cast<mycelComm*>(&handle));
    default:
      return Ended(function);
  }
}

/// One that nobody else has.
mycelComm* TakeHandle() {
  HandlePool& pool = Pool();
  const MutexLock lock(pool.mutex);
  mycelComm* handle = nullptr;
  if (pool.free.size() <= kEndedKept) {
    handle = &pool.all.emplace_back();
  } else {
    handle = pool.free.front();
    pool.free.pop_front();
  }
  handle->process_generation = ProcessGeneration();
  return handle;
}

/// Before the magic says that there is a communicator.
void Fill(mycelComm* handle, Composed composed) {
  handle->rank = composed.communicator->rank().value();
  handle->rank_count = composed.communicator->rank_count();
  handle->plans_vectors = composed.communicator->plans_vectors();
  handle->device = composed.lineage->device;
  // On a GPU no call blocks for its end anyway.
  handle->blocking = composed.lineage->config.is_blocking() || handle->device.driver != nullptr;
  const MutexLock tickets(TicketMutex());
  if (!handle->blocking) handle->own_stream = std::make_unique<HostStream>();
  const MutexLock fields(handle->mutex);
  handle->lineage = std::move(composed.lineage);
  handle->communicator = std::move(composed.communicator);
}

/// The last step of an end, by the thread that took the magic away and occupies the handle.
void Reclaim(mycelComm* handle) {
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<HostStream> stream;
  {
    const MutexLock tickets(TicketMutex());
    const MutexLock lock(handle->mutex);
    communicator = std::move(handle->communicator);
    stream = std::move(handle->own_stream);
    handle->lineage.reset();
    handle->start_error = OkStatus();
    handle->async_error = OkStatus();
    // What streams still hold belongs to the past.
    handle->generation.fetch_add(1, std::memory_order_relaxed);
    handle->queued.store(0, std::memory_order_relaxed);
    handle->next_ticket = 0;
    handle->serving = 0;
    handle->changed.NotifyAll();
  }
  communicator.reset();
  ForgetWindows(handle, handle->generation.load(std::memory_order_relaxed) - 1);
  Vacate(handle);
  // Its worker may wait for its turn inside, to find that there is none.
  stream.reset();
  HandlePool& pool = Pool();
  const MutexLock lock(pool.mutex);
  pool.free.push_back(handle);
}

/// Whether an operation may run: also where its communicator has ended, which it will find.
bool HasTurn(const mycelComm& handle, const Ticket& ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(handle.mutex) {
  return handle.generation.load(std::memory_order_relaxed) != ticket.generation || handle.serving == ticket.number;
}

bool HasQueued(const mycelComm& handle) {
  // acquire: pairs with the release in TurnOver.
  return handle.queued.load(std::memory_order_acquire) != 0;
}

/// So long an abort waits for the thread inside: it notices within a millisecond, unless it is making a plan.
constexpr int64_t kAbortNs = 800'000'000;

}  // namespace

void WatchForks() { Pool(); }

uint32_t ProcessGeneration() { return g_generation.load(std::memory_order_relaxed); }

mycelComm* NewHandle(Composed composed) {
  mycelComm* handle = TakeHandle();
  Fill(handle, std::move(composed));
  // release: a thread that sees the magic sees the communicator.
  handle->magic.store(kMycelLive, std::memory_order_release);
  return handle;
}

mycelComm* ReserveHandle() {
  mycelComm* handle = TakeHandle();
  // release: as in NewHandle.
  handle->magic.store(kMycelStarting, std::memory_order_release);
  return handle;
}

void FinishStart(mycelComm* handle, StatusOr<Composed> composed) {
  Status status = composed.status();
  if (status.ok()) {
    status = Guarded("creating the communicator", [&] {
      Fill(handle, *std::move(composed));
      return OkStatus();
    });
  }
  const uint64_t next = status.ok() ? kMycelLive : kMycelUnstarted;
  if (!status.ok()) {
    const MutexLock lock(handle->mutex);
    handle->communicator.reset();
    handle->start_error = status;
  }
  uint64_t starting = kMycelStarting;
  // release: as in NewHandle. Lost against whoever ended the handle: then nobody else has it.
  if (handle->magic.compare_exchange_strong(starting, next, std::memory_order_release, std::memory_order_relaxed)) {
    return;
  }
  Occupy(handle, [] { return false; });
  Reclaim(handle);
}

void GiveUpAllStarts() {
  HandlePool& pool = Pool();
  const MutexLock lock(pool.mutex);
  for (mycelComm& handle : pool.all) {
    uint64_t starting = kMycelStarting;
    // relaxed: the thread that starts it only needs to see that the word has changed.
    handle.magic.compare_exchange_strong(starting, 0, std::memory_order_relaxed);
  }
}

Status CheckHandle(const mycelComm* handle, const char* function, Needs needs) {
  if (handle == nullptr) [[unlikely]]
    return InvalidArgument(std::string(function) + ": the communicator is NULL");
  // acquire: pairs with the release in NewHandle.
  const uint64_t magic = handle->magic.load(std::memory_order_acquire);
  if (magic != kMycelLive) [[unlikely]] {
    MYCEL_RETURN_IF_ERROR(CheckUncommon(*handle, magic, function, needs));
  }
  if (handle->process_generation != ProcessGeneration()) [[unlikely]]
    return OtherProcess(function);
  return OkStatus();
}

Inside::Inside(mycelComm* handle, const char* function, std::optional<uint64_t> generation) {
  const auto ended = [&] {
    return !HasCommunicator(handle->magic.load(std::memory_order_acquire)) ||
           (generation && handle->generation.load(std::memory_order_relaxed) != *generation);
  };
  if (Occupy(handle, ended)) {
    handle_ = handle;
    if (!ended()) [[likely]]
      return;
    // Ended between the caller's check, or the queueing, and our turn.
    Leave();
  }
  status_ = !generation ? Ended(function)
                        : AbortedError(std::string(function) +
                                       ": the communicator was aborted or destroyed before this operation began");
}

void Inside::Leave() {
  if (handle_ != nullptr) Vacate(std::exchange(handle_, nullptr));
}

Status EndCommunicator(mycelComm* handle, bool aborted, const char* function) {
  if (handle->made_here != kMycelHandle) return Ended(function);
  uint64_t magic = handle->magic.load(std::memory_order_acquire);
  // The parent's communicator is not this process's to end, nor its board to write on.
  if (magic != 0 && handle->process_generation != ProcessGeneration()) return OtherProcess(function);
  // The thread that is making it sees to the rest. acq_rel: one thread wins.
  if (magic == kMycelStarting && handle->magic.compare_exchange_strong(magic, 0, std::memory_order_acq_rel)) {
    return OkStatus();
  }
  if (magic == kMycelUnstarted && handle->magic.compare_exchange_strong(magic, 0, std::memory_order_acq_rel)) {
    Occupy(handle, [] { return false; });
    Reclaim(handle);
    return OkStatus();
  }
  bool stopped = false;
  if (aborted) {
    // Also one that another thread is destroying: that thread may wait for the operation that we stop.
    const MutexLock lock(handle->mutex);
    stopped = handle->communicator != nullptr;
    if (stopped) handle->communicator->Abort();
  }
  magic = handle->magic.load(std::memory_order_relaxed);
  do {
    if (!HasCommunicator(magic)) return stopped ? OkStatus() : Ended(function);
    // acq_rel: one thread wins; what happened under the magic is visible to it.
  } while (!handle->magic.compare_exchange_strong(magic, 0, std::memory_order_acq_rel, std::memory_order_relaxed));
  if (!aborted) {
    Occupy(handle, [] { return false; });
    Reclaim(handle);
    return OkStatus();
  }
  const auto finish = [handle] {
    Occupy(handle, [] { return false; });
    handle->communicator->TellAborted();
    Reclaim(handle);
  };
  const Deadline late = Deadline::After(kAbortNs);
  if (Occupy(handle, [late] { return late.Passed(); })) {
    handle->communicator->TellAborted();
    Reclaim(handle);
  } else if (!RunInBackground(finish, &GiveUpAllStarts).ok()) {
    finish();
  }
  return OkStatus();
}

Status RevokeCommunicator(mycelComm* handle, const char* function) {
  MYCEL_RETURN_IF_ERROR(CheckHandle(handle, function, Needs::kCommunicator));
  {
    const MutexLock lock(handle->mutex);
    if (handle->communicator == nullptr) return Ended(function);
    handle->communicator->Abort("revoked");
  }
  // Where somebody is inside who does not stop at once, that thread tells the peers itself when it fails.
  const Deadline late = Deadline::After(kAbortNs);
  const auto ended = [&] { return !HasCommunicator(handle->magic.load(std::memory_order_acquire)); };
  if (!Occupy(handle, [&] { return ended() || late.Passed(); })) return OkStatus();
  if (!ended()) handle->communicator->TellAborted();
  Vacate(handle);
  return OkStatus();
}

Status ErrorOf(mycelComm* handle) {
  const MutexLock lock(handle->mutex);
  return handle->communicator == nullptr ? handle->start_error : handle->communicator->error();
}

Status TakeAsyncError(mycelComm* handle) {
  Status error = ErrorOf(handle);
  const MutexLock lock(handle->mutex);
  if (error.ok()) error = handle->async_error;
  handle->async_error = OkStatus();
  return error;
}

std::shared_ptr<const Lineage> LineageOf(mycelComm* handle) {
  const MutexLock lock(handle->mutex);
  return handle->lineage;
}

void TakeNoMoreOperations(mycelComm* handle) {
  uint64_t live = kMycelLive;
  // relaxed: nothing is published; an end that comes first stays.
  handle->magic.compare_exchange_strong(live, kMycelFinalized, std::memory_order_relaxed);
}

Mutex& TicketMutex() {
  static Mutex mutex;
  return mutex;
}

std::vector<Ticket> TakeTickets(const std::vector<mycelComm*>& handles) {
  std::vector<Ticket> tickets;
  tickets.reserve(handles.size());
  for (mycelComm* handle : handles) {
    handle->queued.fetch_add(1, std::memory_order_relaxed);
    tickets.push_back({handle, handle->generation.load(std::memory_order_relaxed), handle->next_ticket++});
  }
  return tickets;
}

void ReturnTickets(const std::vector<Ticket>& tickets) {
  for (const Ticket& ticket : tickets) {
    --ticket.handle->next_ticket;
    ticket.handle->queued.fetch_sub(1, std::memory_order_relaxed);
  }
}

void AwaitTurn(const Ticket& ticket) {
  mycelComm* handle = ticket.handle;
  const MutexLock lock(handle->mutex);
  while (!HasTurn(*handle, ticket)) handle->changed.Wait(handle->mutex);
}

void PassTurn(const Ticket& ticket) {
  mycelComm* handle = ticket.handle;
  const MutexLock lock(handle->mutex);
  if (handle->generation.load(std::memory_order_relaxed) != ticket.generation) return;
  ++handle->serving;
  handle->changed.NotifyAll();
}

void TurnOver(const Ticket& ticket) {
  mycelComm* handle = ticket.handle;
  const MutexLock lock(handle->mutex);
  if (handle->generation.load(std::memory_order_relaxed) != ticket.generation) return;
  // release: whoever sees 0 sees what the operation wrote; pairs with the acquire in AwaitStreams.
  handle->queued.fetch_sub(1, std::memory_order_release);
  handle->changed.NotifyAll();
}

void TurnDone(const Ticket& ticket) {
  PassTurn(ticket);
  TurnOver(ticket);
}

void NoteAsyncError(const Ticket& ticket, const Status& status) {
  const MutexLock lock(ticket.handle->mutex);
  if (ticket.handle->generation.load(std::memory_order_relaxed) != ticket.generation) return;
  if (ticket.handle->async_error.ok()) ticket.handle->async_error = status;
}

void AwaitStreams(mycelComm* handle) {
  if (!HasQueued(*handle)) [[likely]]
    return;
  const MutexLock lock(handle->mutex);
  while (HasQueued(*handle)) handle->changed.Wait(handle->mutex);
}

}  // namespace mycel
