// "The file is well formed, but what it describes is wrong": an answer (exit code 1), unlike bad input (3).
#pragma once

#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace mycel {

/// "FILE:LINE: problem"; `line` 0: without.
inline Status WrongPlan(const std::string& file, int32_t line, const std::string& problem) {
  return MakeStatus(StatusCode::kOutOfRange, file + (line > 0 ? ":" + std::to_string(line) : "") + ": " + problem);
}
inline bool IsWrongPlan(const Status& status) { return status.code() == StatusCode::kOutOfRange; }

}  // namespace mycel
