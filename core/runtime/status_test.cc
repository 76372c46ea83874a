// The status page from outside its writer: pages are found in /proc, entries come and go without growing, foreign pages
// are refused, forked children own nothing; and the sentences that follow from many ranks.
#include "core/runtime/status_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/runtime/flight.h"
#include "core/runtime/init_log.h"
#include "core/runtime/operation_word.h"
#include "core/runtime/output_file.h"
#include "core/runtime/status_rows.h"
#include "core/runtime/status_scan.h"

namespace mycel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Seen {
  std::vector<StatusRow> rows;
  int unreadable = 0;
};

Seen Look(pid_t pid = getpid()) {
  Seen seen;
  ScanStatusPage(
      pid,
      [](void* context, const StatusProcess& process, const StatusEntry* entry) {
        auto& into = *static_cast<Seen*>(context);
        if (entry == nullptr) {
          ++into.unreadable;
        } else {
          into.rows.push_back(RowOf(process, *entry));
        }
      },
      &seen);
  return seen;
}

/// An allreduce of `count` floats.
uint64_t AllReduceWord() {
  OperationWord what;
  what.collective = static_cast<uint32_t>(Collective::kAllReduce);
  what.type = DataType::kFloat32;
  return what.Pack();
}

std::string PhaseOf(const StatusRow& row) {
  char buffer[64];
  FixedText text(buffer, sizeof(buffer));
  AppendPhase(row, &text);
  return std::string(text.view());
}

TEST(OperationWord, KeepsWhatItIsGiven) {
  for (const int32_t root : {-1, 0, 7, 4095}) {
    OperationWord what;
    what.collective = kBoardSendRecv;
    what.type = DataType::kBfloat16;
    what.op = ReduceOp::kAvg;
    what.root = root;
    what.planner = 13;
    const OperationWord back = OperationWord::Unpack(what.Pack());
    EXPECT_EQ(back.collective, what.collective);
    EXPECT_EQ(back.type, what.type);
    EXPECT_EQ(back.op, what.op);
    EXPECT_EQ(back.root, root);
    EXPECT_EQ(back.planner, 13U);
  }
  EXPECT_EQ(WaitWord::Unpack(WaitWord{WaitKind::kRoom, 4095}.Pack()).rank, 4095);
  EXPECT_EQ(WaitWord::Unpack(WaitWord().Pack()).rank, -1);
}

TEST(StatusPage, ShowsAnEntryWhileItsOwnerLives) {
  EXPECT_THAT(Look().rows, IsEmpty());
  {
    InitLog log(3, 8);
    log.Begin("meet");
    const Seen meeting = Look();
    ASSERT_EQ(meeting.rows.size(), 1U);
    EXPECT_EQ(meeting.rows[0].state, EntryState::kInit);
    EXPECT_STREQ(meeting.rows[0].phase, "meet");
    EXPECT_EQ(meeting.rows[0].pid, getpid());
    log.Identify(0xabc, "training", "shm", 1);
    StatusOwner owner = log.Done(14);
    owner->state.store(static_cast<uint32_t>(EntryState::kLive), std::memory_order_release);
    FlightRecord& flight = BeginFlight(*owner.get(), 17, AllReduceWord(), 1000, 5000);
    StatusRow row = Look().rows.at(0);
    EXPECT_EQ(row.rank, 3);
    EXPECT_EQ(row.rank_count, 8);
    EXPECT_EQ(row.communicator, 0xabcU);
    EXPECT_STREQ(row.name, "training");
    EXPECT_EQ(row.operation, 17U);
    EXPECT_TRUE(row.running);
    EXPECT_EQ(row.since_ns, 5000U);
    EXPECT_EQ(PhaseOf(row), "running");
    owner->planning.store(1, std::memory_order_relaxed);
    EXPECT_EQ(PhaseOf(Look().rows.at(0)), "planning");
    EndFlight(flight, 6000, FlightOutcome::kDone);
    row = Look().rows.at(0);
    EXPECT_FALSE(row.running);
    EXPECT_EQ(row.since_ns, 6000U);
    EXPECT_EQ(PhaseOf(row), "idle");
  }
  EXPECT_THAT(Look().rows, IsEmpty());
}

TEST(StatusPage, EntriesAreUsedAgainAndOnesBeyondThePageAreHidden) {
  {
    const StatusOwner kept = StatusOwner::Take(0, 1);
    const int file = StatusFileOfThisProcess();
    for (int i = 0; i < 5000; ++i) StatusOwner::Take(0, 1);
    EXPECT_EQ(StatusFileOfThisProcess(), file);
    EXPECT_EQ(Look().rows.size(), 1U);
  }
  EXPECT_EQ(StatusFileOfThisProcess(), -1);  // nothing is left
  SetLogLevel(LogLevel::kNone);
  std::vector<StatusOwner> owners;
  for (uint32_t i = 0; i < kStatusEntriesMax + 3; ++i)
    owners.push_back(StatusOwner::Take(static_cast<int32_t>(i), 4096));
  SetLogLevel(LogLevel::kWarn);
  EXPECT_EQ(Look().rows.size(), kStatusEntriesMax);
  owners.clear();
  EXPECT_THAT(Look().rows, IsEmpty());
}

TEST(StatusPage, AForkedChildOwnsNothingOfItsParents) {
  const StatusOwner mine = StatusOwner::Take(0, 2);
  int ready[2];
  int go[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(go), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    const bool empty = Look().rows.empty();
    const StatusOwner own = StatusOwner::Take(1, 2);
    (void)!write(ready[1], "", 1);
    (void)!read(go[0], &byte, 1);
    _exit(empty && Look().rows.size() == 1 ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const Seen of_child = Look(child);
  ASSERT_EQ(of_child.rows.size(), 1U);
  EXPECT_EQ(of_child.rows[0].rank, 1);
  EXPECT_EQ(of_child.rows[0].pid, child);
  ASSERT_EQ(Look().rows.size(), 1U);
  EXPECT_EQ(Look().rows[0].rank, 0);
  ASSERT_EQ(write(go[1], "", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (const int fd : {ready[0], ready[1], go[0], go[1]}) close(fd);
}

TEST(StatusPage, PagesOfAnotherVersionOrVocabularyAreRefused) {
  const StatusOwner mine = StatusOwner::Take(0, 1);  // so that the process has a page of its own too
  StatusHeader header{};
  header.version = kStatusVersion;
  header.entry_bytes = kStatusEntryBytes;
  header.vocabulary = StatusVocabulary();
  header.pid = getpid();
  header.entries_used = 1;
  const int fd = memfd_create(kStatusFileName, MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  const auto unreadable = [&] {
    EXPECT_EQ(pwrite(fd, &header, sizeof(header), 0), static_cast<ssize_t>(sizeof(header)));
    return Look().unreadable;
  };
  EXPECT_EQ(unreadable(), 0);  // no magic: not a page yet
  header.magic = kStatusMagic;
  EXPECT_EQ(unreadable(), 0);
  header.version = kStatusVersion + 1;
  EXPECT_EQ(unreadable(), 1);
  header.version = kStatusVersion;
  header.vocabulary ^= 1;
  EXPECT_EQ(unreadable(), 1);
  EXPECT_EQ(Look().rows.size(), 1U);
  close(fd);
}

TEST(StatusPage, MayBeReadWhileItsOwnerWrites) {
  StatusOwner owner = StatusOwner::Take(0, 2);
  owner->state.store(static_cast<uint32_t>(EntryState::kLive), std::memory_order_release);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t i = 1; !stop.load(std::memory_order_relaxed); ++i) {
      EndFlight(BeginFlight(*owner.get(), i, AllReduceWord(), i, i * 8), i * 8 + 4, FlightOutcome::kDone);
    }
  });
  uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    const StatusRow row = Look().rows.at(0);
    EXPECT_GE(row.flights, last);
    last = row.flights;
  }
  stop = true;
  writer.join();
}

TEST(Flight, TheLastOperationsAreKeptInOrder) {
  StatusOwner owner = StatusOwner::Hidden(1, 2);
  OperationWord what = OperationWord::Unpack(AllReduceWord());
  what.planner = PlannerNumber("direct/two-shot", owner.get());
  EXPECT_EQ(PlannerNumber("direct/two-shot", owner.get()), what.planner);
  for (uint64_t i = 1; i <= 100; ++i) {
    FlightRecord& record = BeginFlight(*owner.get(), i, what.Pack(), 8, 1'000'000 * i);
    if (i < 100) EndFlight(record, 1'000'000 * i + 12'000, FlightOutcome::kDone);
  }
  const std::vector<Flight> flights = FlightsOf(*owner.get());
  ASSERT_EQ(flights.size(), kFlightRecords);
  EXPECT_EQ(flights.front().operation, 100 - kFlightRecords + 1);
  EXPECT_EQ(Describe(*owner.get(), flights[0]),
            "operation 37 allreduce(count 8, float, sum), direct/two-shot, done after 12 us");
  EXPECT_EQ(Describe(*owner.get(), flights.back()),
            "operation 100 allreduce(count 8, float, sum), direct/two-shot, running");
}

TEST(Flight, MorePlannersThanFitAreNoPlanner) {
  StatusOwner owner = StatusOwner::Hidden(0, 1);
  for (size_t i = 0; i < StatusEntry::kPlanners; ++i) {
    EXPECT_EQ(PlannerNumber("planner" + std::to_string(i), owner.get()), i + 1);
  }
  EXPECT_EQ(PlannerNumber("one more", owner.get()), 0U);
  EXPECT_EQ(PlannerOf(*owner.get(), 0), "");
  EXPECT_EQ(PlannerOf(*owner.get(), 2), "planner1");
}

/// A rank that has finished, or is in, operation `operation`.
StatusRow Rank(int32_t rank, uint64_t operation, bool running, WaitWord waits = WaitWord()) {
  StatusRow row;
  row.communicator = 1;
  row.rank = rank;
  row.rank_count = 4;
  row.pid = 100 + rank;
  row.process_state = 'S';
  row.state = EntryState::kLive;
  row.running = running;
  row.operation = operation;
  row.flights = operation;
  row.what = OperationWord::Unpack(AllReduceWord());
  row.waits = waits;
  return row;
}

std::vector<std::string> VerdictsOf(const std::vector<StatusRow>& rows) {
  std::vector<std::string> verdicts;
  Diagnose(
      rows,
      [](void* to, std::string_view sentence) { static_cast<std::vector<std::string>*>(to)->emplace_back(sentence); },
      &verdicts);
  return verdicts;
}

TEST(Verdicts, NameWhoIsBehindMissingStoppedOrInACircle) {
  const WaitWord for_2{WaitKind::kMessage, 2};
  EXPECT_THAT(VerdictsOf({Rank(0, 9, true), Rank(1, 9, true), Rank(2, 9, true), Rank(3, 9, true)}), IsEmpty());
  // Nobody waits long: ranks apart by an operation are healthy.
  EXPECT_THAT(VerdictsOf({Rank(0, 9, true), Rank(1, 8, false), Rank(2, 9, true), Rank(3, 9, true)}), IsEmpty());
  EXPECT_THAT(VerdictsOf({Rank(0, 9, true, for_2), Rank(1, 9, true, for_2), Rank(2, 8, false), Rank(3, 9, true)}),
              ElementsAre("rank 2 not yet at operation 9, which ranks 0, 1, 3 called"));
  EXPECT_THAT(VerdictsOf({Rank(0, 9, true, for_2), Rank(3, 9, true)}),
              ElementsAre("ranks 1, 2 cannot be seen: ended, on another host, or of another user"));
  EXPECT_THAT(VerdictsOf({Rank(0, 9, true, {WaitKind::kMessage, 3}), Rank(1, 9, true, {WaitKind::kMessage, 0}),
                          Rank(2, 9, true), Rank(3, 9, true, {WaitKind::kRoom, 0})}),
              ElementsAre("rank 0 waits for a message of rank 3, rank 3 waits for rank 0 to receive: a circle"));
  std::vector<StatusRow> rows = {Rank(0, 9, true), Rank(1, 9, true), Rank(2, 9, true), Rank(3, 9, true)};
  rows[1].process_state = 'T';
  rows[3].state = EntryState::kFailed;
  EXPECT_THAT(VerdictsOf(rows), ElementsAre("rank 1 stopped by a signal or a debugger", "rank 3 failed"));
}

TEST(Table, HasALineForEachRankAndIsSortedByCommunicator) {
  std::vector<StatusRow> rows = {Rank(3, 9, false), Rank(0, 9, true), Rank(1, 9, true)};
  rows[2].communicator = 0;
  rows[2].state = EntryState::kInit;
  SetField(rows[2].phase, "meet");
  SortRows(rows);
  std::string text;
  WriteStatusTable(
      rows, 3'000'000'000, [](void* to, std::string_view line) { static_cast<std::string*>(to)->append(line); }, &text);
  EXPECT_THAT(text, testing::StartsWith("communicator (its ranks have not met yet), 1 of 4 ranks here"));
  EXPECT_THAT(text, HasSubstr("init: meet"));
  EXPECT_THAT(text, HasSubstr("(0000000000000001), 2 of 4 ranks here"));
  EXPECT_THAT(text, testing::ContainsRegex("\n  0 +100 +running +9 +allreduce"));
  EXPECT_THAT(text, HasSubstr("\n  > ranks 1, 2 cannot be seen"));
}

TEST(InitLog, PhasesAreInformationAndAWarningWhenSlow) {
  const auto logged = [](uint64_t slow_ns, LogLevel level) {
    SetLogLevel(level);
    testing::internal::CaptureStderr();
    {
      InitLog log(0, 2, slow_ns);
      log.Begin("meet");
      log.Begin("connect");
      log.Identify(0x1234'5678'9abc'def0, "", "shm", 1);
      const StatusOwner owner = log.Done(14);
      EXPECT_EQ(FieldText(owner->name), "comm-12345678");
    }
    const std::string text = testing::internal::GetCapturedStderr();
    SetLogLevel(LogLevel::kWarn);
    return text;
  };
  const char* phases =
      "communicator comm-12345678 of 2 rank\\(s\\) made in [0-9.]+ ms: meet [0-9.]+ ms, connect [0-9.]+ ms; 14 "
      "messages";
  EXPECT_EQ(logged(InitLog::kSlowNs, LogLevel::kWarn), "");
  EXPECT_THAT(logged(InitLog::kSlowNs, LogLevel::kInfo), testing::ContainsRegex("INFO  " + std::string(phases)));
  const std::string slow = logged(0, LogLevel::kWarn);
  EXPECT_THAT(slow, testing::ContainsRegex("WARN  " + std::string(phases)));
  EXPECT_THAT(slow, HasSubstr("; slow: most of it in "));
}

TEST(OutputFile, NamesAreMadeOfTheRank) {
  EXPECT_EQ(ExpandFileName("a.%r.%c.json", 3, 0x10), "a.3.0000000000000010.json");
  EXPECT_EQ(ExpandFileName("100%%-%x%", 3, 0), "100%-%x%");
  EXPECT_EQ(ExpandFileName("%p", 3, 0), std::to_string(getpid()));
}

}  // namespace
}  // namespace mycel
