// The environment, read in one place: every MYCEL_ variable is a row of env.def, with its type, default and range.
// Values are read when asked for (callers keep what they need often), and a bad one is InvalidArgument naming the
// variable, the value and what is allowed. Any thread may call, as long as nobody changes the environment meanwhile.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace mycel {

enum class Env : uint8_t {
#define MYCEL_ENV(enumerator, ...) enumerator,
#include "core/base/env.def"
};

enum class EnvKind : uint8_t { kText, kChoice, kInteger, kReal, kBytes };

/// One row of the table; see env.def for the meaning of the fields.
struct EnvVariable {
  std::string_view name;
  EnvKind kind;
  std::string_view fallback;
  double least;
  double most;
  std::string_view choices;
  std::string_view text;
};

/// All rows, in the order of Env.
std::span<const EnvVariable> EnvVariables();
const EnvVariable& EnvRow(Env variable);
/// What a value may be, in words: "one of auto|on|off", "a number from 0.001 to 1000000000".
std::string EnvAllowed(const EnvVariable& row);

/// The values. The kind of the row must be the one asked for (else the process stops). Unset and empty mean the
/// default.
StatusOr<std::string> EnvText(Env variable);
/// The choice in the table's own spelling.
StatusOr<std::string> EnvChoice(Env variable);
/// kInteger and kBytes.
StatusOr<int64_t> EnvInteger(Env variable);
StatusOr<double> EnvReal(Env variable);

/// The folder for what is worth keeping between runs: MYCEL_CACHE_DIR, else $XDG_CACHE_HOME/mycel, else ~/.cache/mycel.
/// It need not exist. Empty: nothing is to be kept (the variable says "off", or the user has no home).
std::string CacheFolder();

/// A variable with its value as of now, for `mycel params`.
struct EnvSetting {
  Env variable;
  std::string value;              // the raw text in force, default included
  bool from_environment = false;  // else the default
  Status status;                  // why the value is refused
};
std::vector<EnvSetting> DescribeEnv();

/// A variable of the environment that starts with MYCEL_ and is not in the table.
struct UnknownEnv {
  std::string name;
  std::string nearest;  // the likeliest row's name; empty when none is near
};
std::vector<UnknownEnv> UnknownEnvVariables();
/// Logs a warning for each unknown variable, the first time it is called in this process.
void WarnOfUnknownEnv();

}  // namespace mycel
