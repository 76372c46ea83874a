// Runs the built `mycel` for tests.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rational.h"

namespace mycel::cli {

struct CliResult {
  int exit_code = -1;  // -1: it did not exit by itself
  std::string out;
  std::string err;
};

/// `environment` is added to this process's; MYCEL_ variables of this process do not reach it, and no plans
/// are kept unless it says where.
CliResult RunCli(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment = {});

/// Fails the test unless the exit code is `exit_code` and standard error holds every one of `said`; nothing may be on
/// standard output.
void ExpectRefused(const std::vector<std::string>& arguments, int exit_code, const std::vector<std::string>& said);

/// The output of a command that must succeed, as JSON.
nlohmann::ordered_json RunJson(const std::vector<std::string>& arguments);
std::vector<std::string> KeysOf(const nlohmann::ordered_json& object);
/// A fraction in a JSON text.
Rational FractionOf(const nlohmann::ordered_json& text);

/// A path in this test program's own folder, which lives as long as the program.
std::string TempPath(const std::string& name);
std::string WriteTemp(const std::string& name, const std::string& text);

}  // namespace mycel::cli
