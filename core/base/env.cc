#include "core/base/env.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/edit_distance.h"
#include "core/base/log.h"

namespace mycel {
namespace {

constexpr std::string_view kPrefix = "MYCEL_";

constexpr EnvVariable kTable[] = {
#define MYCEL_ENV(enumerator, name, kind, fallback, least, most, choices, text) \
  EnvVariable{name, EnvKind::kind, fallback, least, most, choices, text},
#include "core/base/env.def"
};

bool SameIgnoringCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

/// Shortest text that reads back as `value`, without an exponent for whole numbers: 0.001, 1000000000.
std::string NumberText(double value) {
  std::array<char, 64> buffer;
  if (value == std::floor(value) && std::abs(value) < 1e15) return std::to_string(static_cast<int64_t>(value));
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return std::string(buffer.data(), end);
}

/// The whole text as a number, or nothing.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number value{};
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status Refuse(const EnvVariable& row, std::string_view value) {
  return InvalidArgument("environment variable " + std::string(row.name) + "=\"" + std::string(value) + "\": must be " +
                         EnvAllowed(row) + "; unset it for the default (" +
                         (row.fallback.empty() ? "empty" : std::string(row.fallback)) + ")");
}

/// The variable's text and whether the environment set it; empty counts as unset.
std::pair<std::string, bool> RawValue(const EnvVariable& row) {
  const char* value = std::getenv(std::string(row.name).c_str());
  if (value == nullptr || *value == '\0') return {std::string(row.fallback), false};
  return {value, true};
}

StatusOr<std::string> ReadChoice(const EnvVariable& row, const std::string& value) {
  std::string_view rest = row.choices;
  while (!rest.empty()) {
    const std::string_view choice = rest.substr(0, rest.find('|'));
    if (SameIgnoringCase(choice, value)) return std::string(choice);
    rest.remove_prefix(std::min(rest.size(), choice.size() + 1));
  }
  return Refuse(row, value);
}

template <typename Number>
StatusOr<Number> Bounded(const EnvVariable& row, const std::string& value, std::optional<Number> number) {
  if (!number || !(static_cast<double>(*number) >= row.least && static_cast<double>(*number) <= row.most)) {
    return Refuse(row, value);
  }
  return *number;
}

StatusOr<int64_t> ReadInteger(const EnvVariable& row, const std::string& value) {
  if (row.kind == EnvKind::kInteger) return Bounded(row, value, ParseNumber<int64_t>(value));
  const StatusOr<int64_t> bytes = ParseBytes(value);
  return Bounded(row, value, bytes.ok() ? std::optional<int64_t>(*bytes) : std::nullopt);
}

StatusOr<double> ReadReal(const EnvVariable& row, const std::string& value) {
  return Bounded(row, value, ParseNumber<double>(value));
}

Status CheckValue(const EnvVariable& row, const std::string& value) {
  switch (row.kind) {
    case EnvKind::kText:
      return OkStatus();
    case EnvKind::kChoice:
      return ReadChoice(row, value).status();
    case EnvKind::kInteger:
    case EnvKind::kBytes:
      return ReadInteger(row, value).status();
    case EnvKind::kReal:
      return ReadReal(row, value).status();
  }
  return OkStatus();
}

}  // namespace

std::span<const EnvVariable> EnvVariables() { return kTable; }

const EnvVariable& EnvRow(Env variable) {
  const auto index = static_cast<size_t>(variable);
  MYCEL_CHECK_LT(index, std::size(kTable));
  return kTable[index];
}

std::string EnvAllowed(const EnvVariable& row) {
  const std::string range = " from " + NumberText(row.least) + " to " + NumberText(row.most);
  switch (row.kind) {
    case EnvKind::kText:
      return "any text";
    case EnvKind::kChoice:
      return "one of " + std::string(row.choices);
    case EnvKind::kInteger:
      return "a whole number" + range;
    case EnvKind::kReal:
      return "a number" + range;
    case EnvKind::kBytes:
      return "a number of bytes" + range + ", as 65536, 64K, 1M or 2G";
  }
  return std::string();
}

StatusOr<std::string> EnvText(Env variable) {
  const EnvVariable& row = EnvRow(variable);
  MYCEL_CHECK(row.kind == EnvKind::kText);
  return RawValue(row).first;
}

StatusOr<std::string> EnvChoice(Env variable) {
  const EnvVariable& row = EnvRow(variable);
  MYCEL_CHECK(row.kind == EnvKind::kChoice);
  return ReadChoice(row, RawValue(row).first);
}

StatusOr<int64_t> EnvInteger(Env variable) {
  const EnvVariable& row = EnvRow(variable);
  MYCEL_CHECK(row.kind == EnvKind::kInteger || row.kind == EnvKind::kBytes);
  return ReadInteger(row, RawValue(row).first);
}

StatusOr<double> EnvReal(Env variable) {
  const EnvVariable& row = EnvRow(variable);
  MYCEL_CHECK(row.kind == EnvKind::kReal);
  return ReadReal(row, RawValue(row).first);
}

std::string CacheFolder() {
  const auto [folder, own] = RawValue(EnvRow(Env::kCacheDir));
  if (own) return SameIgnoringCase(folder, "off") ? std::string() : folder;
  // By the XDG base directory specification a path that is not absolute is to be ignored.
  const char* caches = std::getenv("XDG_CACHE_HOME");
  if (caches != nullptr && caches[0] == '/') return std::string(caches) + "/mycel";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return {};
  return std::string(home) + "/.cache/mycel";
}

std::vector<EnvSetting> DescribeEnv() {
  std::vector<EnvSetting> settings;
  for (size_t i = 0; i < std::size(kTable); ++i) {
    EnvSetting setting{static_cast<Env>(i), std::string(), false, OkStatus()};
    std::tie(setting.value, setting.from_environment) = RawValue(kTable[i]);
    setting.status = CheckValue(kTable[i], setting.value);
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::vector<UnknownEnv> UnknownEnvVariables() {
  std::vector<std::string_view> names;
  for (const EnvVariable& row : kTable) names.push_back(row.name);
  std::vector<UnknownEnv> unknown;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with(kPrefix) || std::find(names.begin(), names.end(), name) != names.end()) continue;
    unknown.push_back({std::string(name), std::string(NearestName(name, names))});
  }
  return unknown;
}

void WarnOfUnknownEnv() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const UnknownEnv& unknown : UnknownEnvVariables()) {
      MYCEL_LOG(kWarn) << "environment variable " << unknown.name << " is unknown and ignored"
                       << (unknown.nearest.empty() ? "; `mycel params` lists all"
                                                   : "; did you mean " + unknown.nearest + "?");
    }
  });
}

}  // namespace mycel
