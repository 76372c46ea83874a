// Options that several subcommands share, and the checks of their values. A wrong value is a usage error that quotes
// it and lists what is allowed, with the nearest name first.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/plan/collective.h"
#include "core/topo/topology.h"

namespace mycel::cli {

/// "'rng' is no planner; did you mean ring? Planners: auto ring direct".
std::string UnknownName(std::string_view value, std::string_view noun, const std::vector<std::string_view>& known);

/// "64M" into *bytes.
CLI::Option* AddBytes(CLI::App* app, int64_t* bytes, const std::string& text);
/// A whole number from `least` to `most` into *value.
CLI::Option* AddNumber(CLI::App* app, const std::string& name, int64_t* value, int64_t least, int64_t most,
                       const std::string& text);
/// A gallery name or a file; read later, by LoadTopology.
CLI::Option* AddTopology(CLI::App* app, std::string* name);
CLI::Option* AddCollective(CLI::App* app, std::optional<Collective>* collective);
CLI::Option* AddPlanner(CLI::App* app, std::string* planner);
CLI::Option* AddJson(CLI::App* app, bool* json);

/// Prints what is wrong with a command line that CLI11 refused (or the help that it asked for); returns the exit code.
int ReportParseError(const CLI::App& root, const CLI::ParseError& error);

}  // namespace mycel::cli
