#include "core/runtime/trace_file.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <vector>

#include "core/base/hex.h"
#include "core/base/host_name.h"
#include "core/base/log.h"
#include "core/runtime/operation_word.h"
#include "core/runtime/output_file.h"

namespace mycel {
namespace {

/// The first communicator that this process traced names the run: the same number in all its processes.
uint64_t RunOf(uint64_t communicator) {
  static std::atomic<uint64_t> run{0};
  uint64_t known = 0;
  // relaxed: the number publishes nothing but itself.
  return run.compare_exchange_strong(known, communicator, std::memory_order_relaxed) ? communicator : known;
}

/// A process number of the timeline. Ranks of the run's first communicator have theirs; others, whose ranks are other
/// processes, come after.
uint64_t TrackOf(uint64_t communicator, uint64_t run, int32_t rank) {
  const uint64_t group = communicator == run ? 0 : 1 + communicator % 500'000;
  return group * 4096 + static_cast<uint64_t>(rank);
}

class Writer {
 public:
  Writer(const StatusEntry& entry, uint64_t run) : track_(TrackOf(entry.communicator, run, entry.rank)) {}

  void Name(const char* what, int32_t thread, const std::string& name) {
    Begin(what, "M", thread);
    json_ += ", \"args\": {\"name\": ";
    AppendJsonString(name, &json_);
    json_ += "}}";
  }

  void Add(const TraceEvent& event) {
    const char* separator = ", \"args\": {";
    const auto argument = [&](const char* key, uint64_t value) {
      json_ += separator + ("\"" + std::string(key) + "\": ") + std::to_string(value);
      separator = ", ";
    };
    const auto rank = [&](const char* key, int32_t value) {
      if (value >= 0) argument(key, static_cast<uint64_t>(value));
    };
    Begin(NameOf(event), "X", event.lane + 1);
    json_ += ", \"ts\": " + Microseconds(event.start_ns) + ", \"dur\": " + Microseconds(event.end_ns - event.start_ns);
    argument("operation", event.operation);
    if (event.kind != TraceKind::kOperation) argument("slice", event.what);
    if (event.kind == TraceKind::kStep) argument("bytes", event.amount);
    rank("from", event.from);
    rank("to", event.to);
    json_ += "}}";
  }

  const std::string& json() const { return json_; }

 private:
  void Begin(const std::string& name, const char* phase, int32_t thread) {
    if (!json_.empty()) json_ += ",\n";
    json_ += "{\"name\": ";
    AppendJsonString(name, &json_);
    json_ += ", \"ph\": \"" + std::string(phase) + "\", \"pid\": " + std::to_string(track_) +
             ", \"tid\": " + std::to_string(thread);
  }

  static std::string Microseconds(int64_t ns) {
    char text[32];
    std::snprintf(text, sizeof(text), "%lld.%03d", static_cast<long long>(ns / 1000), static_cast<int>(ns % 1000));
    return text;
  }

  static std::string NameOf(const TraceEvent& event) {
    switch (event.kind) {
      case TraceKind::kOperation:
        return OperationText(OperationWord::Unpack(event.what), event.amount);
      case TraceKind::kWait:
        return event.from >= 0 ? "wait for " + std::to_string(event.from)
               : event.to >= 0 ? "wait for room at " + std::to_string(event.to)
                               : "wait";
      case TraceKind::kStep:
        break;
    }
    std::string name = event.from >= 0 ? "recv " + std::to_string(event.from) : "";
    const auto add = [&name](const std::string& part) { name += (name.empty() ? "" : " ") + part; };
    if (event.reduces) add("reduce");
    if (event.to >= 0) add("send " + std::to_string(event.to));
    return name.empty() ? "copy" : name;
  }

  const uint64_t track_;
  std::string json_;
};

}  // namespace

void WriteTrace(const std::string& pattern, const StatusEntry& entry, StepTrace* trace) {
  const std::vector<TraceEvent> events = trace->Events();
  if (events.empty()) return;
  const uint64_t run = RunOf(entry.communicator);
  Writer writer(entry, run);
  writer.Name("process_name", 0,
              "rank " + std::to_string(entry.rank) + " of " + std::string(FieldText(entry.name)) + " (pid " +
                  std::to_string(getpid()) + " on " + HostName() + ")");
  int32_t lanes = 0;
  for (const TraceEvent& event : events) lanes = std::max(lanes, event.lane + 1);
  writer.Name("thread_name", 0, "operations");
  for (int32_t lane = 0; lane < lanes; ++lane) writer.Name("thread_name", lane + 1, "lane " + std::to_string(lane));
  for (const TraceEvent& event : events) writer.Add(event);
  if (trace->dropped() > 0) {
    MYCEL_LOG(kWarn) << "MYCEL_TRACE: the timeline lacks the first " << trace->dropped() << " of "
                     << trace->dropped() + events.size() << " events";
  }
  trace->Clear();
  const std::string first =
      "{\"name\": \"mycel_run\", \"ph\": \"M\", \"pid\": 0, \"tid\": 0, \"args\": {\"name\": \"" + Hex(run) + "\"}}";
  const Status written =
      AppendToJsonArray(ExpandFileName(pattern, entry.rank, entry.communicator), first, writer.json());
  if (!written.ok()) MYCEL_LOG(kWarn) << "MYCEL_TRACE: " << StatusMessage(written);
}

}  // namespace mycel
