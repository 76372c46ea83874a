#include "core/runtime/status_rows.h"

#include <algorithm>

#include "core/runtime/operation_word.h"

namespace mycel {
namespace {

constexpr size_t kLineMax = 512;
constexpr uint64_t kTimeMask = ~uint64_t{3};

bool SameCommunicator(const StatusRow& a, const StatusRow& b) {
  // Ranks that still meet do not know each other.
  return a.communicator == b.communicator && (a.communicator != 0 || (a.pid == b.pid && a.rank == b.rank));
}

/// Row of a rank, or null.
const StatusRow* RowOfRank(std::span<const StatusRow> group, int32_t rank) {
  const auto found = std::lower_bound(group.begin(), group.end(), rank,
                                      [](const StatusRow& row, int32_t wanted) { return row.rank < wanted; });
  return found != group.end() && found->rank == rank ? &*found : nullptr;
}

/// "rank 3" or "ranks 0-2, 5" of the ranks that `wanted` picks; nothing when there is none.
template <typename Wanted>
size_t AppendRanks(int32_t rank_count, Wanted&& wanted, FixedText* text) {
  size_t found = 0;
  for (int32_t rank = 0; rank < rank_count; ++rank) found += wanted(rank) ? 1 : 0;
  if (found == 0) return 0;
  *text << (found == 1 ? "rank " : "ranks ");
  const char* separator = "";
  for (int32_t first = 0; first < rank_count; ++first) {
    if (!wanted(first)) continue;
    int32_t last = first;
    while (last + 1 < rank_count && wanted(last + 1)) ++last;
    *text << separator << first;
    if (last > first) *text << (last == first + 1 ? ", " : "-") << last;
    separator = ", ";
    first = last;
  }
  return found;
}

bool Stopped(const StatusRow& row) { return row.process_state == 'T' || row.process_state == 't'; }

/// Where the ranks of a circle of waits begin to repeat: the least rank of the circle that `start` is in, or -1.
int32_t CircleOf(std::span<const StatusRow> group, const StatusRow& start) {
  const StatusRow* row = &start;
  int32_t least = start.rank;
  for (size_t steps = 0; steps < group.size(); ++steps) {
    if (row->waits.kind == WaitKind::kNothing) return -1;
    row = RowOfRank(group, row->waits.rank);
    if (row == nullptr) return -1;
    if (row == &start) return least;
    least = std::min(least, row->rank);
  }
  return -1;
}

void AppendWait(const StatusRow& row, FixedText* text) {
  *text << "rank " << row.rank << " waits for ";
  if (row.waits.kind == WaitKind::kMessage) {
    *text << "a message of rank " << row.waits.rank;
  } else {
    *text << "rank " << row.waits.rank << " to receive";
  }
}

/// A table's columns, in bytes from the line's beginning.
constexpr size_t kPidColumn = 7;
constexpr size_t kPhaseColumn = 16;
constexpr size_t kOperationColumn = 36;
constexpr size_t kSinceColumn = 47;
constexpr size_t kWaitsColumn = 57;
constexpr size_t kWhatColumn = 72;

void AppendRow(const StatusRow& row, uint64_t now_ns, FixedText* line) {
  *line << "  " << row.rank;
  line->PadTo(0, kPidColumn) << row.pid;
  AppendPhase(row, &line->PadTo(0, kPhaseColumn));
  line->PadTo(0, kOperationColumn) << row.operation;
  line->PadTo(0, kSinceColumn);
  if (row.since_ns != 0) line->Duration(now_ns > row.since_ns ? now_ns - row.since_ns : 0);
  line->PadTo(0, kWaitsColumn);
  if (row.waits.kind != WaitKind::kNothing) *line << "rank " << row.waits.rank;
  line->PadTo(0, kWhatColumn);
  if (row.flights > 0) AppendOperation(row.what, row.count, line);
}

}  // namespace

StatusRow RowOf(const StatusProcess& process, const StatusEntry& entry) {
  // relaxed throughout: this is a copy, or a picture of one moment (status_page.h).
  constexpr auto kRelaxed = std::memory_order_relaxed;
  StatusRow row;
  row.communicator = entry.communicator;
  row.rank = entry.rank;
  row.rank_count = entry.rank_count;
  row.pid = process.pid;
  row.process_state = process.state;
  row.state = static_cast<EntryState>(entry.state.load(kRelaxed));
  std::memcpy(row.name, entry.name, sizeof(row.name));
  std::memcpy(row.transport, entry.transport, sizeof(row.transport));
  std::memcpy(row.program, process.program, sizeof(row.program));
  if (row.state == EntryState::kInit) {
    const uint32_t phases = std::min<uint32_t>(entry.phase_count.load(kRelaxed), StatusEntry::kPhases);
    uint64_t begun = entry.made_ns;
    for (uint32_t i = 0; i + 1 < phases; ++i) begun += entry.phases[i].ns.load(kRelaxed);
    row.since_ns = begun;
    if (phases > 0) std::memcpy(row.phase, entry.phases[phases - 1].name, sizeof(row.phase));
    return row;
  }
  row.flights = entry.flights.load(kRelaxed);
  if (row.flights == 0) return row;
  const FlightRecord& record = entry.records[(row.flights - 1) % kFlightRecords];
  row.operation = record.operation.load(kRelaxed);
  row.what = OperationWord::Unpack(record.what.load(kRelaxed));
  row.count = record.count.load(kRelaxed);
  const uint64_t end = record.end.load(kRelaxed);
  row.running = end == 0;
  row.since_ns = row.running ? record.start_ns.load(kRelaxed) : end & kTimeMask;
  if (!row.running) return row;
  row.planning = entry.planning.load(kRelaxed) != 0;
  row.waits = WaitWord::Unpack(entry.waits.load(kRelaxed));
  if (row.waits.kind != WaitKind::kNothing) row.since_ns = entry.wait_since_ns.load(kRelaxed);
  return row;
}

void SortRows(std::span<StatusRow> rows) {
  std::sort(rows.begin(), rows.end(), [](const StatusRow& a, const StatusRow& b) {
    if (a.communicator != b.communicator) return a.communicator < b.communicator;
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.pid < b.pid;
  });
}

size_t GroupSize(std::span<const StatusRow> rows) {
  size_t size = 1;
  while (size < rows.size() && SameCommunicator(rows[0], rows[size])) ++size;
  return size;
}

void AppendPhase(const StatusRow& row, FixedText* text) {
  if (Stopped(row)) {
    *text << (row.process_state == 'T' ? "stopped, " : "traced, ");
  }
  switch (row.state) {
    case EntryState::kFree:
      *text << "gone";
      return;
    case EntryState::kInit:
      *text << "init: " << FieldText(row.phase);
      return;
    case EntryState::kFailed:
      *text << "failed";
      return;
    case EntryState::kLive:
      *text << (row.planning ? "planning" : row.running ? "running" : "idle");
  }
}

void Diagnose(std::span<const StatusRow> group, void (*say)(void* context, std::string_view sentence), void* context) {
  char buffer[kLineMax];
  FixedText text(buffer, sizeof(buffer));
  const auto flush = [&] {
    say(context, text.view());
    text.Clear();
  };
  const int32_t rank_count = group[0].rank_count;
  if (group[0].communicator == 0) return;
  const auto picks = [&](auto&& wanted) {
    return [&group, wanted](int32_t rank) {
      const StatusRow* row = RowOfRank(group, rank);
      return row != nullptr && wanted(*row);
    };
  };
  if (AppendRanks(
          rank_count, [&](int32_t rank) { return RowOfRank(group, rank) == nullptr; }, &text) > 0) {
    text << " cannot be seen: ended, on another host, or of another user";
    flush();
  }
  if (AppendRanks(rank_count, picks(Stopped), &text) > 0) {
    text << " stopped by a signal or a debugger";
    flush();
  }
  if (AppendRanks(rank_count, picks([](const StatusRow& row) { return row.state == EntryState::kFailed; }), &text) >
      0) {
    text << " failed";
    flush();
  }
  // Who has not come to the operation that others are blocked in.
  uint64_t newest = 0;
  for (const StatusRow& row : group) {
    if (row.state == EntryState::kLive && row.running && row.waits.kind != WaitKind::kNothing && !row.messages()) {
      newest = std::max(newest, row.operation);
    }
  }
  const auto behind =
      picks([newest](const StatusRow& row) { return row.state == EntryState::kLive && row.operation < newest; });
  if (newest > 0 && AppendRanks(rank_count, behind, &text) > 0) {
    text << " not yet at operation " << newest << ", which ";
    const auto waiting = picks([newest](const StatusRow& row) {
      return row.state == EntryState::kLive && row.running && row.operation == newest;
    });
    AppendRanks(rank_count, waiting, &text);
    text << " called";
    flush();
  }
  for (const StatusRow& row : group) {
    if (CircleOf(group, row) != row.rank) continue;
    const StatusRow* at = &row;
    do {
      if (at != &row) text << ", ";
      AppendWait(*at, &text);
      at = RowOfRank(group, at->waits.rank);
    } while (at != nullptr && at != &row);
    text << ": a circle";
    flush();
  }
}

void WriteStatusTable(std::span<const StatusRow> sorted, uint64_t now_ns,
                      void (*write)(void* context, std::string_view line), void* context) {
  char buffer[kLineMax];
  FixedText line(buffer, sizeof(buffer));
  const auto flush = [&] {
    write(context, line.view());
    write(context, "\n");
    line.Clear();
  };
  while (!sorted.empty()) {
    const std::span<const StatusRow> group = sorted.first(GroupSize(sorted));
    const StatusRow& first = group[0];
    line << "communicator ";
    if (first.communicator == 0) {
      line << "(its ranks have not met yet)";
    } else {
      line << FieldText(first.name) << " (";
      line.Hex(first.communicator, 16) << ")";
    }
    line << ", " << group.size() << " of " << first.rank_count << (first.rank_count == 1 ? " rank" : " ranks")
         << " here";
    if (first.transport[0] != '\0') line << ", " << FieldText(first.transport);
    line << ", " << FieldText(first.program);
    flush();
    line << "  rank";
    line.PadTo(0, kPidColumn) << "pid";
    line.PadTo(0, kPhaseColumn) << "phase";
    line.PadTo(0, kOperationColumn) << "operation";
    line.PadTo(0, kSinceColumn) << "since";
    line.PadTo(0, kWaitsColumn) << "waits for";
    line.PadTo(0, kWhatColumn) << "what";
    flush();
    for (const StatusRow& row : group) {
      AppendRow(row, now_ns, &line);
      flush();
    }
    struct Indented {
      void (*write)(void*, std::string_view);
      void* context;
    } indented = {write, context};
    Diagnose(
        group,
        [](void* to, std::string_view sentence) {
          const auto& out = *static_cast<const Indented*>(to);
          out.write(out.context, "  > ");
          out.write(out.context, sentence);
          out.write(out.context, "\n");
        },
        &indented);
    sorted = sorted.subspan(group.size());
  }
}

}  // namespace mycel
