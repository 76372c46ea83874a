// mycelComm: what a mycelComm_t points to. Handles are recycled and never returned to the system, so that use after
// destroy is an error and not a crash, also when it races with the destroy.
//
// One thread at a time is inside a communicator (Inside). A communicator ends in three steps: `magic` is taken away
// (one thread wins, later callers are refused), the winner waits until nobody is inside, and the communicator goes.
// Work that streams still hold for it finds another `generation` and is refused.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "bindings/c/mycel.h"
#include "core/base/status.h"
#include "core/runtime/communicator.h"

inline constexpr uint64_t kMycelLive = 0x6d7963656c2d6f6bULL;    // "mycel-ok"
inline constexpr uint64_t kMycelHandle = 0x6d7963656c2d6864ULL;  // "mycel-hd"

struct mycelComm {
  const uint64_t made_here = kMycelHandle;  // tells a handle that has ended from memory that never was one
  std::atomic<uint64_t> magic{0};
  std::atomic<uint32_t> busy{0};        // 1: a thread is inside
  std::atomic<uint64_t> generation{0};  // of the communicator; a handle stands for many, one after another
  // Written before magic, constant while it is there.
  int32_t rank = 0;
  int32_t rank_count = 0;
  bool plans_vectors = false;  // CommunicatorParts::plans_vectors
  uint32_t process_generation = 0;
  // Exchanged under both `busy` and `mutex`: whoever holds one of them may use it.
  std::unique_ptr<mycel::Communicator> communicator;
  std::atomic<int32_t> queued{0};  // operations on streams that have not finished; of this generation
  uint64_t next_ticket = 0;        // of the next stream operation; guarded by the mutex of TakeTickets
  uint64_t serving = 0;            // ticket whose turn it is; guarded by `mutex`
  std::mutex mutex;
  std::condition_variable changed;  // queued reached 0, or serving moved
};

namespace mycel {

mycelComm* NewHandle(std::unique_ptr<Communicator> communicator);
/// Grows by one in every forked child: a communicator belongs to the process that made it.
uint32_t ProcessGeneration();

/// OK, or InvalidArgument / InvalidUsage saying what is wrong with the handle. `function` begins the text.
Status CheckHandle(const mycelComm* handle, const char* function);

/// Keeps the calling thread alone in a communicator while it lives.
class Inside {
 public:
  Inside() = default;
  /// Waits for its turn. Check status() before use: the communicator may have ended, or (with `generation`) be another.
  Inside(mycelComm* handle, const char* function, std::optional<uint64_t> generation = std::nullopt);
  ~Inside() { Leave(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  Inside(Inside&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), status_(std::move(other.status_)) {}
  Inside& operator=(Inside&&) = delete;

  const Status& status() const { return status_; }
  Communicator& communicator() const { return *handle_->communicator; }
  void Leave();

 private:
  mycelComm* handle_ = nullptr;
  Status status_;
};

/// Ends the communicator: waits for whoever is inside; with `aborted`, tells the running operation and the peers to
/// stop. The error of a handle that has ended already; an abort that meets another thread's destroy helps it and is OK.
Status EndCommunicator(mycelComm* handle, bool aborted, const char* function);
/// The communicator's sticky error. Any thread, without waiting for its turn.
Status ErrorOf(mycelComm* handle);

/// Stream operations of one communicator run in the order in which they were queued, whatever their streams: each has a
/// ticket. Generation and ticket name the operation.
struct Ticket {
  mycelComm* handle;
  uint64_t generation;
  uint64_t number;
};
/// Tickets for one operation on several communicators, and `queue` called before anybody else takes one, so that no two
/// operations wait for each other.
std::vector<Ticket> TakeTickets(const std::vector<mycelComm*>& handles);
/// Of an operation that never came into its stream; TicketMutex is still held.
void ReturnTickets(const std::vector<Ticket>& tickets);
/// Held from TakeTickets until the operation is in its stream.
std::mutex& TicketMutex();
/// Waits until all operations with earlier tickets are done.
void AwaitTurn(const Ticket& ticket);
void TurnDone(const Ticket& ticket);
/// Waits until no stream operation of the communicator is queued or running.
void AwaitStreams(mycelComm* handle);

}  // namespace mycel
