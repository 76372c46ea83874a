// Status rows: one line about one rank, and the table and the verdicts that follow from many. Shared by `mycel status`
// and the signal handler, so nothing in here allocates or locks.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/fixed_text.h"
#include "core/runtime/operation_word.h"
#include "core/runtime/status_scan.h"

namespace mycel {

/// One rank of one communicator, as last seen. Plain data.
struct StatusRow {
  uint64_t communicator = 0;  // 0 while its ranks meet: then `made_ns` and the process tell it apart
  int32_t rank = 0;
  int32_t rank_count = 0;
  int32_t pid = 0;
  char process_state = '?';  // StatusProcess::state
  EntryState state = EntryState::kInit;
  bool running = false;    // inside an operation
  bool planning = false;   // and making its plan
  uint64_t operation = 0;  // the current or last collective; of messages: the one before them
  uint64_t flights = 0;    // operations begun, messages included
  OperationWord what;      // of the last flight; only where flights > 0
  uint64_t count = 0;
  uint64_t since_ns = 0;  // CLOCK_MONOTONIC: in this operation, idle, or in this phase of init since
  WaitWord waits;         // where it is blocked for a millisecond and more
  char name[64] = {};     // of the communicator
  char phase[16] = {};    // of init, while state is kInit
  char transport[16] = {};
  char program[64] = {};

  bool messages() const { return flights > 0 && what.collective == kBoardSendRecv; }
};

StatusRow RowOf(const StatusProcess& process, const StatusEntry& entry);

/// Orders by communicator, then rank.
void SortRows(std::span<StatusRow> rows);
/// The rows of the communicator that rows[0] belongs to, in sorted rows.
size_t GroupSize(std::span<const StatusRow> rows);

/// "running", "planning", "idle", "init: connect", "failed", "stopped".
void AppendPhase(const StatusRow& row, FixedText* text);
/// What the ranks of one communicator (sorted) show together: one sentence each, passed to `say`. Ranks that are
/// missing here, that are behind, that wait for each other in a circle, that are stopped or failed.
void Diagnose(std::span<const StatusRow> group, void (*say)(void* context, std::string_view sentence), void* context);
/// The table with its verdicts, in pieces of at most a line.
void WriteStatusTable(std::span<const StatusRow> sorted, uint64_t now_ns,
                      void (*write)(void* context, std::string_view line), void* context);

}  // namespace mycel
