// JSON text -> tokens (json_tokens.h) -> Plan (plan_reader.h).
#include "core/plan/plan_json.h"

#include <fstream>
#include <sstream>

#include "core/plan/json_tokens.h"
#include "core/plan/plan_reader.h"

namespace mycel {
namespace {

constexpr int kDepthMax = 8;  // the format needs 7: file, ranks, rank, lanes, lane, op, "after", wait

}  // namespace

StatusOr<Plan> ReadPlanText(std::string_view text, const std::string& file_name) {
  if (text.size() > static_cast<size_t>(kPlanFileBytesMax)) {
    return InvalidArgument(file_name + ": the file is larger than " + std::to_string(kPlanFileBytesMax) +
                           " bytes; use fewer chunks");
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return InvalidArgument(file_name + ": the file is empty; a plan file starts {\"format\": \"mycel-plan\", ...}");
  }
  MYCEL_ASSIGN_OR_RETURN(const Tokens tokens,
                         TokenizeJson(text, file_name, kDepthMax, "write a plan file with `mycel plan --out`"));
  return ReadPlanTokens(tokens, file_name);
}

StatusOr<Plan> ReadPlanFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return InvalidArgument(path + ": cannot open the plan file; check the path");
  if (file.tellg() > static_cast<std::streamoff>(kPlanFileBytesMax)) {
    return InvalidArgument(path + ": the file is larger than " + std::to_string(kPlanFileBytesMax) +
                           " bytes; use fewer chunks");
  }
  file.seekg(0);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return InvalidArgument(path + ": cannot read the plan file; it must be a regular, non-empty file");
  return ReadPlanText(text.str(), path);
}

}  // namespace mycel
