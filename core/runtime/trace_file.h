// MYCEL_TRACE: a communicator's timeline as a file for ui.perfetto.dev or chrome://tracing (JSON trace event format).
//
// A rank is a process of the timeline; its tracks are the operations and the lanes, with a slice for each step and each
// wait. Times are CLOCK_MONOTONIC in microseconds, so ranks of one machine line up. Ranks add to one file, each when
// its communicator is destroyed or fails; a file of an earlier run is replaced.
#pragma once

#include <cstdint>
#include <string>

#include "core/runtime/status_page.h"
#include "core/spi/step_trace.h"

namespace mycel {

/// Writes the events and forgets them. `pattern` as MYCEL_TRACE. A file that cannot be written is a warning.
void WriteTrace(const std::string& pattern, const StatusEntry& entry, StepTrace* trace);

}  // namespace mycel
