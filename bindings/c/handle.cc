#include "bindings/c/handle.h"

#include <pthread.h>

#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "core/base/wait.h"

namespace mycel {
namespace {

std::atomic<uint32_t> g_generation{1};

void CountFork() { g_generation.fetch_add(1, std::memory_order_relaxed); }

/// Handles that may be used again. Leaked on purpose: a stale pointer must stay readable.
struct HandlePool {
  std::mutex mutex;
  std::deque<mycelComm> all;
  std::deque<mycelComm*> free;
};

/// So many ended handles are kept back before one is used again: a stale pointer stays recognisable as long as that.
constexpr size_t kEndedKept = 64;

HandlePool& Pool() {
  static auto* pool = [] {
    pthread_atfork(nullptr, nullptr, &CountFork);
    return new HandlePool();
  }();
  return *pool;
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

}  // namespace

uint32_t ProcessGeneration() { return g_generation.load(std::memory_order_relaxed); }

mycelComm* NewHandle(std::unique_ptr<Communicator> communicator) {
  HandlePool& pool = Pool();
  const std::lock_guard<std::mutex> lock(pool.mutex);
  mycelComm* handle = nullptr;
  if (pool.free.size() <= kEndedKept) {
    handle = &pool.all.emplace_back();
  } else {
    handle = pool.free.front();
    pool.free.pop_front();
  }
  handle->rank = communicator->rank().value();
  handle->rank_count = communicator->rank_count();
  handle->plans_vectors = communicator->plans_vectors();
  handle->process_generation = ProcessGeneration();
  {
    const std::lock_guard<std::mutex> fields(handle->mutex);
    handle->communicator = std::move(communicator);
  }
  // release: a thread that sees the magic sees the communicator.
  handle->magic.store(kMycelLive, std::memory_order_release);
  return handle;
}

Status CheckHandle(const mycelComm* handle, const char* function) {
  if (handle == nullptr) [[unlikely]]
    return InvalidArgument(std::string(function) + ": the communicator is NULL");
  // acquire: pairs with the release in NewHandle.
  if (handle->magic.load(std::memory_order_acquire) != kMycelLive) [[unlikely]]
    return Ended(function);
  if (handle->process_generation != ProcessGeneration()) [[unlikely]] {
    return InvalidUsage(std::string(function) +
                        ": the communicator was created in another process (before fork); create it after fork");
  }
  return OkStatus();
}

Inside::Inside(mycelComm* handle, const char* function, std::optional<uint64_t> generation) {
  const auto ended = [&] {
    return handle->magic.load(std::memory_order_acquire) != kMycelLive ||
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
  bool stopped = false;
  if (aborted) {
    // Also one that another thread is destroying: that thread may wait for the operation that we stop.
    const std::lock_guard<std::mutex> lock(handle->mutex);
    stopped = handle->communicator != nullptr;
    if (stopped) handle->communicator->Abort();
  }
  uint64_t live = kMycelLive;
  // acq_rel: one thread wins; what happened under the magic is visible to it.
  if (!handle->magic.compare_exchange_strong(live, 0, std::memory_order_acq_rel)) {
    return stopped ? OkStatus() : Ended(function);
  }
  Occupy(handle, [] { return false; });
  if (aborted) handle->communicator->TellAborted();
  std::unique_ptr<Communicator> communicator;
  {
    const std::lock_guard<std::mutex> tickets(TicketMutex());
    const std::lock_guard<std::mutex> lock(handle->mutex);
    communicator = std::move(handle->communicator);
    // What streams still hold belongs to the past.
    handle->generation.fetch_add(1, std::memory_order_relaxed);
    handle->queued.store(0, std::memory_order_relaxed);
    handle->next_ticket = 0;
    handle->serving = 0;
    handle->changed.notify_all();
  }
  communicator.reset();
  Vacate(handle);
  HandlePool& pool = Pool();
  const std::lock_guard<std::mutex> lock(pool.mutex);
  pool.free.push_back(handle);
  return OkStatus();
}

Status ErrorOf(mycelComm* handle) {
  const std::lock_guard<std::mutex> lock(handle->mutex);
  return handle->communicator == nullptr ? OkStatus() : handle->communicator->error();
}

std::mutex& TicketMutex() {
  static std::mutex mutex;
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
  std::unique_lock<std::mutex> lock(handle->mutex);
  handle->changed.wait(lock, [&] {
    return handle->generation.load(std::memory_order_relaxed) != ticket.generation || handle->serving == ticket.number;
  });
}

void TurnDone(const Ticket& ticket) {
  mycelComm* handle = ticket.handle;
  const std::lock_guard<std::mutex> lock(handle->mutex);
  if (handle->generation.load(std::memory_order_relaxed) != ticket.generation) return;
  ++handle->serving;
  // release: whoever sees 0 sees what the operation wrote; pairs with the acquire in AwaitStreams.
  handle->queued.fetch_sub(1, std::memory_order_release);
  handle->changed.notify_all();
}

void AwaitStreams(mycelComm* handle) {
  // acquire: pairs with the release in TurnDone.
  if (handle->queued.load(std::memory_order_acquire) == 0) [[likely]]
    return;
  std::unique_lock<std::mutex> lock(handle->mutex);
  handle->changed.wait(lock, [handle] { return handle->queued.load(std::memory_order_acquire) == 0; });
}

}  // namespace mycel
