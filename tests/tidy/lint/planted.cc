// Defects that clang-tidy must report with our .clang-tidy; the test lint_reports_planted_defects runs it on this file.
#include <string>
#include <utility>
#include <vector>

namespace mycel {

struct Implicit {
  Implicit(int value) : value_(value) {}
  int value_;
};

size_t UseAfterMove(std::vector<std::string> words) {
  const std::vector<std::string> taken = std::move(words);
  return taken.size() + words.size();
}

}  // namespace mycel
