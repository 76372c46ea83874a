// `mycel`: looks at topologies, makes plans, proves and simulates them. One file per subcommand: x_command.cc.
#include <CLI/CLI.hpp>
#include <vector>

#include "bindings/cli/arguments.h"
#include "bindings/cli/command.h"
#include "core/base/build_info.h"
#include "core/base/env.h"

namespace mycel::cli {
namespace {

std::vector<Command> DeclareAll(CLI::App& root) {
  std::vector<Command> all;
  for (const auto declare : {DeclareTopo, DeclarePlan, DeclareVerify, DeclareSim, DeclareConvert, DeclareParams,
                             DeclareInfo, DeclareStatus}) {
    for (Command& command : declare(root)) all.push_back(std::move(command));
  }
  all.push_back(DeclareShare(root));
  return all;
}

int Run(int argc, char** argv) {
  CLI::App root("Collective communication that computes its schedule.", "mycel");
  root.set_version_flag("--version", "mycel " + std::string(GetBuildInfo().version));
  root.require_subcommand(1);
  root.footer(
      "T is a name of `mycel topo list` or a topology file. Sizes: 8, 16K, 64M, 1G (powers of 1024).\n"
      "Exit codes: 0 done, 1 the answer is no, 2 usage, 3 bad input, 4 impossible.\n"
      "Try: mycel plan --topo ring8 --collective allgather --explain");
  const std::vector<Command> commands = DeclareAll(root);
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ReportParseError(root, error);
  }
  WarnOfUnknownEnv();
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return kDefect;  // not reached: require_subcommand
}

}  // namespace
}  // namespace mycel::cli

int main(int argc, char** argv) { return mycel::cli::Run(argc, argv); }
