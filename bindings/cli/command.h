// A subcommand of `mycel`: declares its options, and runs once they are parsed.
#pragma once

#include <functional>
#include <vector>

#include "bindings/cli/exit_code.h"

namespace CLI {
class App;
}

namespace mycel::cli {

struct Command {
  CLI::App* app = nullptr;  // owned by the root
  std::function<ExitCode()> run;
};

/// One function for each file x_command.cc; `topo` declares several commands.
std::vector<Command> DeclareTopo(CLI::App& root);
std::vector<Command> DeclareDiscovery(CLI::App& topo);    // of `topo`, called by DeclareTopo
std::vector<Command> DeclareCalibration(CLI::App& topo);  // likewise
Command DeclareTopoDesign(CLI::App& topo);                // likewise
std::vector<Command> DeclarePlan(CLI::App& root);
Command DeclareShare(CLI::App& root);
std::vector<Command> DeclareVerify(CLI::App& root);
std::vector<Command> DeclareConvert(CLI::App& root);
std::vector<Command> DeclareSim(CLI::App& root);
std::vector<Command> DeclareParams(CLI::App& root);
std::vector<Command> DeclareInfo(CLI::App& root);
std::vector<Command> DeclareStatus(CLI::App& root);

}  // namespace mycel::cli
