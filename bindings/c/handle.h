// mycelComm: what a mycelComm_t points to. Handles are recycled and never returned to the system, so that use after
// destroy is an error and not a crash, also when it races with the destroy.
//
// One thread at a time is inside a communicator (Inside). A communicator ends in three steps: `magic` is taken away
// (one thread wins, later callers are refused), the winner waits until nobody is inside, and the communicator goes.
// Work that streams still hold for it finds another `generation` and is refused.
//
// A handle whose communicator is made in the background is kMycelStarting; the thread that makes it turns it into
// kMycelLive or kMycelUnstarted. Whoever takes the magic away before that has ended it: the thread notices and cleans
// up.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "bindings/c/device_choice.h"
#include "bindings/c/mycel.h"
#include "bindings/c/stream.h"
#include "core/base/mutex.h"
#include "core/base/status.h"
#include "core/runtime/communicator.h"

namespace mycel {
struct Composed;
struct Lineage;
}  // namespace mycel

inline constexpr uint64_t kMycelHandle = 0x6d7963656c2d6864ULL;     // "mycel-hd"
inline constexpr uint64_t kMycelLive = 0x6d7963656c2d6f6bULL;       // "mycel-ok"
inline constexpr uint64_t kMycelFinalized = 0x6d7963656c2d6669ULL;  // live, but takes no operation any more
inline constexpr uint64_t kMycelStarting = 0x6d7963656c2d7374ULL;   // there is no communicator yet
inline constexpr uint64_t kMycelUnstarted = 0x6d7963656c2d6e6fULL;  // and there will be none: see start_error

namespace mycel {
/// Held from TakeTickets until the operation is in its stream. Goes before the mutex of a handle.
Mutex& TicketMutex();
}  // namespace mycel

struct mycelComm {
  const uint64_t made_here = kMycelHandle;  // tells a handle that has ended from memory that never was one
  std::atomic<uint64_t> magic{0};
  std::atomic<uint32_t> busy{0};        // 1: a thread is inside
  std::atomic<uint64_t> generation{0};  // of the communicator; a handle stands for many, one after another
  // Written before magic, constant while it is there.
  int32_t rank = 0;
  int32_t rank_count = 0;
  bool plans_vectors = false;  // CommunicatorParts::plans_vectors
  mycel::DeviceChoice device;  // the host, or a GPU: then calls go into its streams
  bool blocking = true;        // false: operations with a NULL stream are queued on own_stream
  uint32_t process_generation = 0;
  mycel::Mutex mutex;
  mycel::Condition changed;  // queued reached 0, or serving moved
  // Exchanged under both `busy` and `mutex`: whoever holds one of them may use it.
  std::unique_ptr<mycel::Communicator> communicator;
  std::unique_ptr<mycel::HostStream> own_stream ABSL_GUARDED_BY(mycel::TicketMutex());  // null when blocking
  std::shared_ptr<const mycel::Lineage> lineage ABSL_GUARDED_BY(mutex);
  mycel::Status start_error ABSL_GUARDED_BY(mutex);  // why there is no communicator
  mycel::Status async_error ABSL_GUARDED_BY(mutex);  // of an operation on own_stream; not told yet
  std::atomic<int32_t> queued{0};                    // operations on streams that have not finished; of this generation
  uint64_t next_ticket ABSL_GUARDED_BY(mycel::TicketMutex()) = 0;  // of the next stream operation
  uint64_t serving ABSL_GUARDED_BY(mutex) = 0;                     // ticket whose turn it is
};

namespace mycel {

mycelComm* NewHandle(Composed composed);
/// A handle for a communicator that is being made (kMycelStarting); the caller sees to it that FinishStart is called.
mycelComm* ReserveHandle();
/// Ends the start: the handle is live, or says why not. When it was ended meanwhile: cleans up.
void FinishStart(mycelComm* handle, StatusOr<Composed> composed);
/// At the end of the process: makes all starts end soon.
void GiveUpAllStarts();
/// Grows by one in every forked child: a communicator belongs to the process that made it.
uint32_t ProcessGeneration();
/// Begins counting, if nobody did: before anything that belongs to a process is made.
void WatchForks();

/// What a function needs of a handle.
enum class Needs : uint8_t {
  kOperations,    // a communicator that takes operations
  kCommunicator,  // one that may have been finalized
  kHandle,        // one that may still be in the making, or have failed to be made
};
/// OK, or InvalidArgument / InvalidUsage saying what is wrong with the handle, or why its creation failed. `function`
/// begins the text.
Status CheckHandle(const mycelComm* handle, const char* function, Needs needs = Needs::kOperations);

/// window.cc: the communicator's windows are over.
void ForgetWindows(const mycelComm* comm, uint64_t generation);

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
/// stop, and leaves one that does not stop within a second to end by itself. The error of a handle that has ended
/// already; an abort that meets another thread's destroy helps it and is OK.
Status EndCommunicator(mycelComm* handle, bool aborted, const char* function);
/// Stops what runs and tells the peers, as an abort does, but keeps the communicator. Again is harmless.
Status RevokeCommunicator(mycelComm* handle, const char* function);
/// The communicator's sticky error, or that of its creation. Any thread, without waiting for its turn.
Status ErrorOf(mycelComm* handle);
/// The same, or else an error that left the communicator usable, which is told once.
Status TakeAsyncError(mycelComm* handle);
/// What its descendants take from it; null when it has ended since the caller's check.
std::shared_ptr<const Lineage> LineageOf(mycelComm* handle);
/// Operations are refused from here on; those that are queued still run.
void TakeNoMoreOperations(mycelComm* handle);

/// Stream operations of one communicator run in the order in which they were queued, whatever their streams: each has a
/// ticket. Generation and ticket name the operation.
struct Ticket {
  mycelComm* handle;
  uint64_t generation;
  uint64_t number;
};
/// Tickets for one operation on several communicators, and `queue` called before anybody else takes one, so that no two
/// operations wait for each other.
std::vector<Ticket> TakeTickets(const std::vector<mycelComm*>& handles) ABSL_EXCLUSIVE_LOCKS_REQUIRED(TicketMutex());
/// Of an operation that never came into its stream; TicketMutex is still held.
void ReturnTickets(const std::vector<Ticket>& tickets) ABSL_EXCLUSIVE_LOCKS_REQUIRED(TicketMutex());
/// Waits until all operations with earlier tickets are done.
void AwaitTurn(const Ticket& ticket);
void TurnDone(const Ticket& ticket);
/// TurnDone in two steps, for work that goes on after it needs the communicator no more: the next may have its turn; it
/// is over.
void PassTurn(const Ticket& ticket);
void TurnOver(const Ticket& ticket);
/// For mycelCommGetAsyncError: the first error of an operation that nobody waits for.
void NoteAsyncError(const Ticket& ticket, const Status& status);
/// Waits until no stream operation of the communicator is queued or running.
void AwaitStreams(mycelComm* handle);

}  // namespace mycel
