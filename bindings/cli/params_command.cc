// `mycel params`: every MYCEL_ variable with its value, where that comes from, and what is allowed.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "bindings/cli/command.h"
#include "bindings/cli/terminal.h"
#include "core/base/env.h"

namespace mycel::cli {
namespace {

struct Options {
  bool json = false;
  bool markdown = false;
};

const char* OriginOf(const EnvSetting& setting) { return setting.from_environment ? "environment" : "default"; }

ExitCode PrintJson() {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const EnvSetting& setting : DescribeEnv()) {
    const EnvVariable& row = EnvRow(setting.variable);
    nlohmann::ordered_json entry;
    entry["name"] = row.name;
    entry["value"] = setting.value;
    entry["origin"] = OriginOf(setting);
    entry["default"] = row.fallback;
    entry["allowed"] = EnvAllowed(row);
    entry["text"] = row.text;
    entry["error"] = nullptr;
    if (!setting.status.ok()) entry["error"] = StatusMessage(setting.status);
    json.push_back(std::move(entry));
  }
  return Print(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

/// The reference page, the same on every machine: core/base/VARIABLES.md is this text, and a test holds it so.
ExitCode PrintMarkdown() {
  std::string text =
      "# Environment variables\n\n"
      "Written by `mycel params --markdown` from `core/base/env.def`; do not edit. `mycel params` shows the values in "
      "force\nand where they come from. A bad value is an error that says what is allowed; an unknown `MYCEL_` name is "
      "warned about\nwith the nearest known one.\n\n"
      "| variable | default | allowed | meaning |\n|---|---|---|---|\n";
  const auto cell = [](std::string_view value) {
    std::string escaped;
    for (const char c : value) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
    return escaped;
  };
  for (const EnvVariable& row : EnvVariables()) {
    text += "| `" + std::string(row.name) + "` | " + (row.fallback.empty() ? "(empty)" : cell(row.fallback)) + " | " +
            cell(EnvAllowed(row)) + " | " + cell(row.text) + " |\n";
  }
  return Print(text);
}

ExitCode RunParams(const Options& options) {
  if (options.markdown) return PrintMarkdown();
  if (options.json) return PrintJson();
  Table table({"variable", "value", "origin", "allowed"}, "");
  Status refused;
  for (const EnvSetting& setting : DescribeEnv()) {
    const EnvVariable& row = EnvRow(setting.variable);
    const Tone tone = !setting.status.ok() ? Tone::kBad : setting.from_environment ? Tone::kStrong : Tone::kPlain;
    table.Add({std::string(row.name), Cell(setting.value.empty() ? "-" : setting.value, tone),
               Cell(OriginOf(setting), tone), EnvAllowed(row)});
    table.AddNote(std::string(row.text));
    if (refused.ok()) refused = setting.status;
  }
  const ExitCode printed = Print(table.ToText());
  if (printed != kDone || refused.ok()) return printed;
  return Fail(refused);
}

}  // namespace

std::vector<Command> DeclareParams(CLI::App& root) {
  CLI::App* app = root.add_subcommand("params", "show every MYCEL_ variable: value, origin, what is allowed");
  const auto options = std::make_shared<Options>();
  app->add_flag("--json", options->json, "print JSON");
  app->add_flag("--markdown", options->markdown, "print the reference page, without values")->excludes("--json");
  return {{app, [options] { return RunParams(*options); }}};
}

}  // namespace mycel::cli
