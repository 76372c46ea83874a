// The headers of kernels/device that stand for one another.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/rules.h"

namespace mycel::tidy {
namespace {

constexpr std::string_view kFirst = "kernels/device/host.h";
constexpr std::string_view kTwins[] = {"kernels/device/cuda.h", "kernels/device/hip.h"};

struct Member {
  std::string name;
  size_t line = 0;
};

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The static members of a policy, up to its private part: what stands before the first '(' or '='.
std::vector<Member> MembersOf(const SourceFile& file) {
  std::vector<Member> members;
  for (size_t i = 0; i < file.code.size(); ++i) {
    std::string_view line = file.code[i];
    if (line.starts_with(" private:")) break;
    constexpr std::string_view kIndent = "  ";
    constexpr std::string_view kDevice = "__device__ ";
    if (!line.starts_with(kIndent)) continue;
    line.remove_prefix(kIndent.size());
    if (line.starts_with(kDevice)) line.remove_prefix(kDevice.size());
    if (!line.starts_with("static ")) continue;
    size_t end = line.find_first_of("(=");
    if (end == std::string_view::npos) continue;
    while (end > 0 && !IsWordCharacter(line[end - 1])) --end;
    size_t begin = end;
    while (begin > 0 && IsWordCharacter(line[begin - 1])) --begin;
    members.push_back({std::string(line.substr(begin, end - begin)), i + 1});
  }
  return members;
}

}  // namespace

Findings CheckDeviceTwins(const Tree& tree) {
  std::vector<Member> expected;
  for (const SourceFile& file : tree) {
    if (file.path == kFirst) expected = MembersOf(file);
  }
  Findings findings;
  for (const SourceFile& file : tree) {
    if (std::find(std::begin(kTwins), std::end(kTwins), file.path) == std::end(kTwins)) continue;
    const std::vector<Member> members = MembersOf(file);
    for (size_t i = 0; i < std::max(members.size(), expected.size()); ++i) {
      const std::string mine = i < members.size() ? members[i].name : "nothing";
      const std::string theirs = i < expected.size() ? expected[i].name : "nothing";
      if (mine == theirs) continue;
      findings.push_back({"device-twins", file.path, i < members.size() ? members[i].line : 0,
                          mine + " stands where " + std::string(kFirst) + " has " + theirs});
      break;  // those after it are out of step
    }
  }
  return findings;
}

}  // namespace mycel::tidy
