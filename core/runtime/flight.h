// Flight recorder: the last operations of a communicator, kept on its status page, in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/operation_word.h"
#include "core/runtime/status_page.h"

namespace mycel {

/// An operation of so many bytes takes long enough for two looks at the clock.
inline constexpr uint64_t kTimedBytes = 64 * 1024;

/// One record, copied.
struct Flight {
  uint64_t operation = 0;
  OperationWord what;
  uint64_t count = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;  // 0 while it runs
  FlightOutcome outcome = FlightOutcome::kRuns;
};

/// Oldest first.
std::vector<Flight> FlightsOf(const StatusEntry& entry);
/// "done", "failed", "refused", "running".
std::string_view NameOf(FlightOutcome outcome);
/// Of OperationWord::planner; empty: none.
std::string_view PlannerOf(const StatusEntry& entry, uint32_t planner);
/// The number for `planner` in OperationWord, entered where it is new; 0 when the table is full. By the entry's writer.
uint32_t PlannerNumber(std::string_view planner, StatusEntry* entry);

/// "operation 17 allreduce(count 8, float, sum), direct/two-shot, took 12 us".
std::string Describe(const StatusEntry& entry, const Flight& flight);

/// On a communicator's first error: its last operations into MYCEL_FLIGHT_FILE if that is set, and the latest of them
/// at INFO. A file that cannot be written is a warning.
void DumpFlights(const StatusEntry& entry, std::string_view error);

}  // namespace mycel
