// Status page: where a process says what its communicators do, for `mycel status` and SIGUSR2 (status_scan.h).
//
// One memory file (memfd) per process, named kStatusFileName. Nobody needs to know it beforehand and nothing is left of
// it: other processes of the user find it among the descriptors in /proc, and it is gone with the process, however that
// ends. One descriptor per process is open for it while there are communicators, however many.
//
//   StatusHeader    4096 bytes
//   StatusEntry[]   4096 bytes for each communicator of this process (one rank's side)
//
// An entry has one writer, the thread inside the communicator (the creating thread before). Stores are relaxed but for
// those that publish an entry or a record; readers take a copy and may see a mix of two moments, which a table for
// people can bear. Readers refuse another version or vocabulary than their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/status.h"
#include "core/spi/board.h"

namespace mycel {

inline constexpr char kStatusFileName[] = "mycel-status";
inline constexpr uint64_t kStatusMagic = 0x7461'7473'6c63'796dULL;  // "myclstat"
inline constexpr uint32_t kStatusVersion = 2;
inline constexpr uint32_t kStatusEntriesMax = 1024;
inline constexpr uint32_t kFlightRecords = 64;

/// A fingerprint of the names that numbers in entries stand for: collectives, types, operations.
uint64_t StatusVocabulary();

struct StatusHeader {
  std::atomic<uint64_t> magic;  // release, last: publishes the rest
  uint32_t version;
  uint32_t entry_bytes;
  uint64_t vocabulary;
  int32_t pid;  // as the process sees itself
  uint32_t entry_count;
  std::atomic<uint32_t> entries_used;  // no entry from here on was ever used
  char program[64];
};
static_assert(sizeof(StatusHeader) <= 4096);

enum class EntryState : uint32_t { kFree = 0, kInit = 1, kLive = 2, kFailed = 3 };

/// One operation of the flight recorder. 40 bytes.
struct FlightRecord {
  std::atomic<uint64_t> operation;  // sequence number of the collective; of messages: of the collective before them
  std::atomic<uint64_t> what;       // OperationWord
  std::atomic<uint64_t> count;      // as RankBoard::count
  std::atomic<uint64_t> start_ns;   // CLOCK_MONOTONIC; of short operations CLOCK_MONOTONIC_COARSE
  std::atomic<uint64_t> end;        // 0 while it runs, else its end (a multiple of 4 ns) + FlightOutcome
};
static_assert(sizeof(FlightRecord) == 40);

enum class FlightOutcome : uint64_t { kRuns = 0, kDone = 1, kFailed = 2, kRefused = 3 };

struct InitPhase {
  char name[16];
  std::atomic<uint64_t> ns;
};

struct alignas(128) StatusEntry {
  static constexpr size_t kPhases = 5;
  static constexpr size_t kPlanners = 15;
  static constexpr size_t kPlannerBytes = 24;

  // Written while the entry is made.
  std::atomic<uint32_t> state;  // EntryState; release
  int32_t rank;
  int32_t rank_count;
  std::atomic<uint32_t> phase_count;  // phases of init begun so far; release: publishes the name
  uint64_t communicator;              // equal on all its ranks, 0 until they have agreed
  uint64_t made_ns;                   // start of the creation
  char name[64];
  char transport[16];
  uint64_t timeout_ns;
  // From here on by the thread inside.
  std::atomic<uint64_t> flights;        // operations begun; the last is in records[(flights - 1) % kFlightRecords]
  std::atomic<uint32_t> waits;          // WaitWord, as RankBoard::waits
  std::atomic<uint32_t> error;          // 0, or 1 + StatusCode of the sticky error; release: publishes error_text
  std::atomic<uint64_t> wait_since_ns;  // since when nothing has moved, where `waits` says something
  std::atomic<uint32_t> planner_count;  // release: publishes the name
  std::atomic<uint32_t> planning;       // 1: inside an operation, making its plan
  InitPhase phases[kPhases];
  char planners[kPlanners][kPlannerBytes];  // planner i + 1 of OperationWord; 0: none, or more than fit
  char error_text[768];
  FlightRecord records[kFlightRecords];
};
static_assert(sizeof(StatusEntry) <= 4096);
inline constexpr size_t kStatusEntryBytes = 4096;

/// Fills a text field, cut off and terminated.
template <size_t N>
void SetField(char (&field)[N], std::string_view text) {
  const size_t length = text.size() < N ? text.size() : N - 1;
  std::memcpy(field, text.data(), length);
  std::memset(field + length, 0, N - length);
}
template <size_t N>
std::string_view FieldText(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

/// An entry of this process's page; given back at the end. Where the system refuses a page (a warning says so) or all
/// entries are taken, the entry is memory that nobody else sees. Any thread.
class StatusOwner {
 public:
  StatusOwner() = default;
  static StatusOwner Take(int32_t rank, int32_t rank_count);
  /// One that nobody else sees.
  static StatusOwner Hidden(int32_t rank, int32_t rank_count);
  ~StatusOwner() { Release(); }
  StatusOwner(StatusOwner&& other) noexcept;
  StatusOwner& operator=(StatusOwner&& other) noexcept;

  StatusEntry* get() const { return entry_; }
  StatusEntry* operator->() const { return entry_; }
  explicit operator bool() const { return entry_ != nullptr; }

 private:
  static StatusOwner Filled(StatusEntry* entry, bool shown, int32_t rank, int32_t rank_count);
  void Release();

  StatusEntry* entry_ = nullptr;
  bool shown_ = false;  // in the page, else on the heap
};

/// The page's descriptor in this process, or -1: for tests.
int StatusFileOfThisProcess();

/// CLOCK_MONOTONIC to a tick of the kernel (1 to 10 ms), for a quarter of the price.
inline uint64_t CoarseNowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t ExactNowNs() { return static_cast<uint64_t>(NowNs()); }

/// An operation begins.
inline FlightRecord& BeginFlight(StatusEntry& entry, uint64_t operation, uint64_t what, uint64_t count,
                                 uint64_t start_ns) {
  // relaxed: the only writer.
  const uint64_t flight = entry.flights.load(std::memory_order_relaxed);
  FlightRecord& record = entry.records[flight % kFlightRecords];
  record.operation.store(operation, std::memory_order_relaxed);
  record.what.store(what, std::memory_order_relaxed);
  record.count.store(count, std::memory_order_relaxed);
  record.start_ns.store(start_ns, std::memory_order_relaxed);
  record.end.store(0, std::memory_order_relaxed);
  // release: publishes the record; its partner is whoever reads the page in another process.
  entry.flights.store(flight + 1, std::memory_order_release);
  return record;
}

inline void EndFlight(FlightRecord& record, uint64_t end_ns, FlightOutcome outcome) {
  // release: as above.
  record.end.store((end_ns & ~uint64_t{3}) | static_cast<uint64_t>(outcome), std::memory_order_release);
}

}  // namespace mycel
