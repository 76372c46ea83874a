// `mycel status`: what every rank on this machine is doing, read from the status pages of the user's processes
// (core/runtime/status_page.h). Needs nobody's help and disturbs nobody.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bindings/cli/command.h"
#include "bindings/cli/terminal.h"
#include "core/base/clock.h"
#include "core/base/hex.h"
#include "core/base/host_name.h"
#include "core/runtime/flight.h"
#include "core/runtime/status_rows.h"
#include "core/runtime/status_scan.h"

namespace mycel::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  bool json = false;
  bool flights = false;
  std::string wanted;  // pid, or name of a communicator or program; empty: all
};

/// A rank with what the table has no room for.
struct Member {
  StatusRow row;
  std::string error;
  std::vector<Flight> flights;
  std::vector<std::string> flight_texts;
  std::vector<std::string> planners;  // of flights
  std::vector<std::pair<std::string, uint64_t>> phases;
};

struct Foreign {
  int32_t pid;
  std::string program;
  uint32_t version;
};

struct Picture {
  std::vector<Member> members;
  std::vector<Foreign> foreign;
  StatusCounts counts;
};

void Keep(void* context, const StatusProcess& process, const StatusEntry* entry) {
  auto& picture = *static_cast<Picture*>(context);
  if (entry == nullptr) {
    picture.foreign.push_back({process.pid, std::string(FieldText(process.program)), process.version});
    return;
  }
  Member member;
  member.row = RowOf(process, *entry);
  if (entry->error.load(std::memory_order_relaxed) != 0) member.error = FieldText(entry->error_text);
  member.flights = FlightsOf(*entry);
  for (const Flight& flight : member.flights) {
    member.flight_texts.push_back(Describe(*entry, flight));
    member.planners.emplace_back(PlannerOf(*entry, flight.what.planner));
  }
  const uint32_t phases = std::min<uint32_t>(entry->phase_count.load(std::memory_order_relaxed), StatusEntry::kPhases);
  for (uint32_t i = 0; i < phases; ++i) {
    member.phases.emplace_back(FieldText(entry->phases[i].name), entry->phases[i].ns.load(std::memory_order_relaxed));
  }
  picture.members.push_back(std::move(member));
}

bool Matches(const StatusRow& row, const std::string& wanted) {
  return wanted.empty() || wanted == std::to_string(row.pid) || wanted == FieldText(row.name) ||
         wanted == FieldText(row.program) || (row.communicator != 0 && wanted == Hex(row.communicator));
}

/// Whole communicators: those of which a rank is wanted.
std::vector<StatusRow> WantedRows(const Picture& picture, const std::string& wanted) {
  std::vector<StatusRow> rows;
  for (const Member& member : picture.members) rows.push_back(member.row);
  SortRows(rows);
  std::vector<StatusRow> kept;
  for (size_t at = 0; at < rows.size();) {
    const std::span<const StatusRow> group(rows.data() + at, GroupSize(std::span(rows).subspan(at)));
    const bool any =
        std::any_of(group.begin(), group.end(), [&](const StatusRow& row) { return Matches(row, wanted); });
    if (any) kept.insert(kept.end(), group.begin(), group.end());
    at += group.size();
  }
  return kept;
}

const Member& MemberOf(const Picture& picture, const StatusRow& row) {
  return *std::find_if(picture.members.begin(), picture.members.end(), [&row](const Member& member) {
    return member.row.pid == row.pid && member.row.communicator == row.communicator && member.row.rank == row.rank;
  });
}

double Seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::string PhaseText(const StatusRow& row) {
  char buffer[64];
  FixedText text(buffer, sizeof(buffer));
  AppendPhase(row, &text);
  return std::string(text.view());
}

std::vector<std::string> Verdicts(std::span<const StatusRow> group) {
  std::vector<std::string> verdicts;
  Diagnose(
      group,
      [](void* to, std::string_view sentence) { static_cast<std::vector<std::string>*>(to)->emplace_back(sentence); },
      &verdicts);
  return verdicts;
}

Json MemberJson(const Member& member, std::span<const StatusRow> group, uint64_t now_ns, bool flights) {
  const StatusRow& row = member.row;
  Json json;
  json["rank"] = row.rank;
  json["pid"] = row.pid;
  json["program"] = FieldText(row.program);
  json["process_state"] = std::string(1, row.process_state);
  json["phase"] = PhaseText(row);
  json["operation"] = row.operation;
  json["what"] = row.flights == 0 ? std::string() : OperationText(row.what, row.count);
  json["running"] = row.running;
  json["since_s"] = row.since_ns == 0 || now_ns < row.since_ns ? 0.0 : Seconds(now_ns - row.since_ns);
  json["waits_for"] = nullptr;
  if (row.waits.kind != WaitKind::kNothing) {
    Json waits;
    waits["rank"] = row.waits.rank;
    waits["for"] = row.waits.kind == WaitKind::kMessage ? "message" : "receive";
    waits["its_operation"] = nullptr;
    for (const StatusRow& peer : group) {
      if (peer.rank == row.waits.rank) waits["its_operation"] = peer.operation;
    }
    json["waits_for"] = std::move(waits);
  }
  json["error"] = member.error.empty() ? Json() : Json(member.error);
  Json phases = Json::object();
  for (const auto& [name, ns] : member.phases) phases[name] = Seconds(ns);
  json["init_s"] = std::move(phases);
  if (!flights) return json;
  json["flights"] = Json::array();
  for (size_t i = 0; i < member.flights.size(); ++i) {
    const Flight& flight = member.flights[i];
    Json entry;
    entry["operation"] = flight.operation;
    entry["what"] = OperationText(flight.what, flight.count);
    entry["planner"] = member.planners[i];
    entry["outcome"] = NameOf(flight.outcome);
    entry["start_s"] = Seconds(flight.start_ns);
    entry["end_s"] = flight.end_ns == 0 ? Json() : Json(Seconds(flight.end_ns));
    json["flights"].push_back(std::move(entry));
  }
  return json;
}

std::string ToJson(const Picture& picture, const std::vector<StatusRow>& rows, const Options& options,
                   uint64_t now_ns) {
  Json json;
  json["format"] = "mycel-status";
  json["version"] = 1;
  json["host"] = HostName();
  json["communicators"] = Json::array();
  for (size_t at = 0; at < rows.size();) {
    const std::span<const StatusRow> group(rows.data() + at, GroupSize(std::span(rows).subspan(at)));
    at += group.size();
    Json communicator;
    communicator["id"] = Hex(group[0].communicator);
    communicator["name"] = FieldText(group[0].name);
    communicator["ranks"] = group[0].rank_count;
    communicator["transport"] = FieldText(group[0].transport);
    communicator["members"] = Json::array();
    for (const StatusRow& row : group) {
      communicator["members"].push_back(MemberJson(MemberOf(picture, row), group, now_ns, options.flights));
    }
    communicator["verdicts"] = Verdicts(group);
    json["communicators"].push_back(std::move(communicator));
  }
  json["unreadable"] = Json::array();
  for (const Foreign& foreign : picture.foreign) {
    json["unreadable"].push_back({{"pid", foreign.pid}, {"program", foreign.program}, {"version", foreign.version}});
  }
  json["processes_not_allowed"] = picture.counts.closed;
  // A name is what the user gave; it need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ToText(const Picture& picture, const std::vector<StatusRow>& rows, const Options& options,
                   uint64_t now_ns) {
  std::string text;
  WriteStatusTable(
      rows, now_ns, [](void* to, std::string_view line) { static_cast<std::string*>(to)->append(line); }, &text);
  for (const StatusRow& row : rows) {
    const Member& member = MemberOf(picture, row);
    if (!member.error.empty()) text += "  rank " + std::to_string(row.rank) + " failed: " + member.error + "\n";
    if (!options.flights) continue;
    text += "  last operations of rank " + std::to_string(row.rank) + ":\n";
    for (const std::string& flight : member.flight_texts) text += "    " + flight + "\n";
  }
  if (rows.empty()) {
    text += options.wanted.empty() ? "no communicator on this machine that this user may see\n"
                                   : "no communicator of '" + options.wanted + "' here\n";
  }
  for (const Foreign& foreign : picture.foreign) {
    text += "pid " + std::to_string(foreign.pid) + " (" + foreign.program + ") runs another version of Mycel (status " +
            std::to_string(foreign.version) + ", this is " + std::to_string(kStatusVersion) +
            "): use the mycel command that belongs to it\n";
  }
  if (picture.counts.closed > 0 && rows.empty()) {
    text += Counted(picture.counts.closed, "process") + " of other users not looked into\n";
  }
  return Printable(text);
}

ExitCode RunStatus(const Options& options) {
  Picture picture;
  picture.counts = ScanStatusPages(&Keep, &picture);
  const std::vector<StatusRow> rows = WantedRows(picture, options.wanted);
  const auto now_ns = static_cast<uint64_t>(NowNs());
  const ExitCode printed =
      Print(options.json ? ToJson(picture, rows, options, now_ns) : ToText(picture, rows, options, now_ns));
  if (printed != kDone) return printed;
  return !options.wanted.empty() && rows.empty() ? kNo : kDone;
}

}  // namespace

std::vector<Command> DeclareStatus(CLI::App& root) {
  CLI::App* app = root.add_subcommand("status", "show what every rank on this machine is doing and waits for");
  const auto options = std::make_shared<Options>();
  app->add_flag("--json", options->json, "print JSON");
  app->add_flag("--flights", options->flights, "also the last 64 operations of each rank");
  app->add_option("which", options->wanted, "a process id, or the name of a communicator or program; else all");
  return {{app, [options] { return RunStatus(*options); }}};
}

}  // namespace mycel::cli
