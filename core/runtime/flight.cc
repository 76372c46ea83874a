#include "core/runtime/flight.h"

#include <unistd.h>

#include <algorithm>

#include "core/base/env.h"
#include "core/base/fixed_text.h"
#include "core/base/hex.h"
#include "core/base/host_name.h"
#include "core/base/log.h"
#include "core/runtime/output_file.h"

namespace mycel {
namespace {

constexpr size_t kLoggedFlights = 8;

std::string Json(const StatusEntry& entry, const Flight& flight) {
  std::string json = "{\"operation\": " + std::to_string(flight.operation) + ", \"what\": ";
  AppendJsonString(OperationText(flight.what, flight.count), &json);
  json += ", \"planner\": ";
  AppendJsonString(PlannerOf(entry, flight.what.planner), &json);
  json += ", \"start_ns\": " + std::to_string(flight.start_ns) +
          ", \"end_ns\": " + (flight.end_ns == 0 ? "null" : std::to_string(flight.end_ns)) + ", \"outcome\": ";
  AppendJsonString(NameOf(flight.outcome), &json);
  return json + "}";
}

std::string Json(const StatusEntry& entry, const std::vector<Flight>& flights, std::string_view error) {
  std::string json = "{\"format\": \"mycel-flight\", \"version\": 1, \"communicator\": ";
  AppendJsonString(Hex(entry.communicator), &json);
  json += ", \"name\": ";
  AppendJsonString(FieldText(entry.name), &json);
  json += ", \"rank\": " + std::to_string(entry.rank) + ", \"ranks\": " + std::to_string(entry.rank_count) +
          ", \"pid\": " + std::to_string(getpid()) + ", \"host\": ";
  AppendJsonString(HostName(), &json);
  json += ", \"error\": ";
  AppendJsonString(error, &json);
  json += ", \"operations\": [";
  const char* separator = "\n  ";
  for (const Flight& flight : flights) {
    json += separator + Json(entry, flight);
    separator = ",\n  ";
  }
  return json + "]}";
}

}  // namespace

std::vector<Flight> FlightsOf(const StatusEntry& entry) {
  std::vector<Flight> flights;
  // acquire: pairs with the release in BeginFlight where the reader is a thread of the writer's process.
  const uint64_t begun = entry.flights.load(std::memory_order_acquire);
  for (uint64_t i = begun - std::min<uint64_t>(begun, kFlightRecords); i < begun; ++i) {
    const FlightRecord& record = entry.records[i % kFlightRecords];
    Flight flight;
    flight.operation = record.operation.load(std::memory_order_relaxed);
    flight.what = OperationWord::Unpack(record.what.load(std::memory_order_relaxed));
    flight.count = record.count.load(std::memory_order_relaxed);
    flight.start_ns = record.start_ns.load(std::memory_order_relaxed);
    const uint64_t end = record.end.load(std::memory_order_relaxed);
    flight.end_ns = end & ~uint64_t{3};
    flight.outcome = static_cast<FlightOutcome>(end & 3);
    flights.push_back(flight);
  }
  return flights;
}

std::string_view NameOf(FlightOutcome outcome) {
  switch (outcome) {
    case FlightOutcome::kRuns:
      return "running";
    case FlightOutcome::kDone:
      return "done";
    case FlightOutcome::kFailed:
      return "failed";
    case FlightOutcome::kRefused:
      return "refused";
  }
  return "?";
}

std::string_view PlannerOf(const StatusEntry& entry, uint32_t planner) {
  // acquire: pairs with the release in PlannerNumber.
  const uint32_t known =
      std::min<uint32_t>(entry.planner_count.load(std::memory_order_acquire), StatusEntry::kPlanners);
  return planner == 0 || planner > known ? std::string_view() : FieldText(entry.planners[planner - 1]);
}

uint32_t PlannerNumber(std::string_view planner, StatusEntry* entry) {
  planner = planner.substr(0, StatusEntry::kPlannerBytes - 1);
  const uint32_t known = entry->planner_count.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < known; ++i) {
    if (FieldText(entry->planners[i]) == planner) return i + 1;
  }
  if (known == StatusEntry::kPlanners) return 0;
  SetField(entry->planners[known], planner);
  // release: publishes the name.
  entry->planner_count.store(known + 1, std::memory_order_release);
  return known + 1;
}

std::string Describe(const StatusEntry& entry, const Flight& flight) {
  char buffer[kOperationTextMax + 128];
  FixedText text(buffer, sizeof(buffer));
  text << "operation " << flight.operation << ' ';
  AppendOperation(flight.what, flight.count, &text);
  const std::string_view planner = PlannerOf(entry, flight.what.planner);
  if (!planner.empty()) text << ", " << planner;
  text << ", " << NameOf(flight.outcome);
  if (flight.end_ns > flight.start_ns) text << " after ";
  if (flight.end_ns > flight.start_ns) text.Duration(flight.end_ns - flight.start_ns);
  return std::string(text.view());
}

void DumpFlights(const StatusEntry& entry, std::string_view error) {
  const StatusOr<std::string> pattern = EnvText(Env::kFlightFile);
  const bool to_file = pattern.ok() && !pattern->empty();
  if (!to_file && !LogEnabled(LogLevel::kInfo)) return;
  const std::vector<Flight> flights = FlightsOf(entry);
  for (size_t i = flights.size() - std::min(flights.size(), kLoggedFlights); i < flights.size(); ++i) {
    MYCEL_LOG(kInfo) << "flight recorder: " << Describe(entry, flights[i]);
  }
  if (!to_file) return;
  const std::string path = ExpandFileName(*pattern, entry.rank, entry.communicator);
  const Status written = AppendToJsonArray(path, "", Json(entry, flights, error));
  if (!written.ok()) MYCEL_LOG(kWarn) << "MYCEL_FLIGHT_FILE: " << StatusMessage(written);
}

}  // namespace mycel
