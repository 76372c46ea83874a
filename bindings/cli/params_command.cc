// `mycel params`: every MYCEL_ variable with its value, where that comes from, and what is allowed.
#include <CLI/CLI.hpp>

#include "bindings/cli/command.h"
#include "bindings/cli/terminal.h"
#include "core/base/env.h"

namespace mycel::cli {
namespace {

ExitCode RunParams() {
  Table table({"variable", "value", "origin", "allowed"}, "");
  Status refused;
  for (const EnvSetting& setting : DescribeEnv()) {
    const EnvVariable& row = EnvRow(setting.variable);
    const Tone tone = !setting.status.ok() ? Tone::kBad : setting.from_environment ? Tone::kStrong : Tone::kPlain;
    table.Add({std::string(row.name), Cell(setting.value.empty() ? "-" : setting.value, tone),
               Cell(setting.from_environment ? "environment" : "default", tone), EnvAllowed(row)});
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
  return {{app, RunParams}};
}

}  // namespace mycel::cli
