#include "tests/tidy/functions.h"

#include <array>
#include <cctype>
#include <string_view>

namespace mycel::tidy {
namespace {

/// A `{` after a head that begins with one of these opens no function.
constexpr std::array<std::string_view, 14> kNotFunctions = {"if",   "for",   "while",     "switch", "catch",
                                                            "do",   "else",  "return",    "struct", "class",
                                                            "enum", "union", "namespace", "try"};

std::string Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return std::string();
  return std::string(text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1));
}

/// `head` without a leading template<...>.
std::string_view WithoutTemplate(std::string_view head) {
  if (!head.starts_with("template")) return head;
  int angles = 0;
  for (size_t i = head.find('<'); i < head.size(); ++i) {
    if (head[i] == '<') ++angles;
    if (head[i] == '>' && --angles == 0) return head.substr(i + 1);
  }
  return head;
}

/// The name before a function's parameter list: "Ring::Connect"; empty when `head` heads no function.
std::string FunctionName(std::string_view head) {
  head = WithoutTemplate(head);
  const size_t open = head.find('(');
  if (open == std::string_view::npos || head.substr(0, open).find('=') != std::string_view::npos) {
    if (head.find("operator") == std::string_view::npos) return std::string();
  }
  std::string before = Trimmed(head.substr(0, open));
  for (const std::string_view word : kNotFunctions) {
    if (FindWord(before, word) == 0) return std::string();
  }
  if (before.empty() || head.find('[') < open) {
    const bool attribute = head.find("[[") < open;
    if (!attribute) return std::string();
  }
  // TEST(Suite, Name): the arguments are the name.
  if (before.starts_with("TEST") || before == "TYPED_TEST") {
    return before + Trimmed(head.substr(open, head.find(')') + 1 - open));
  }
  return before.substr(before.find_last_of(" \n*&") == std::string::npos ? 0 : before.find_last_of(" \n*&") + 1);
}

class FunctionFinder {
 public:
  std::vector<Function> Run(const std::vector<std::string>& code) {
    for (size_t i = 0; i < code.size(); ++i) {
      line_ = i + 1;
      for (const char c : code[i]) Take(c);
      Take('\n');
    }
    return found_;
  }

 private:
  void Take(char c) {
    if (c == '(') ++parens_;
    if (c == ')') --parens_;
    if (c == '{') {
      Open();
    } else if (c == '}') {
      Close();
    } else if (c == ';' && parens_ == 0 && initializers_ == 0) {
      head_.clear();
    } else if (c == ':' && (head_ == "public" || head_ == "private" || head_ == "protected")) {
      head_.clear();
    } else {
      if (head_.empty() && std::isspace(static_cast<unsigned char>(c)) != 0) return;
      if (head_.empty()) head_line_ = line_;
      head_ += c;
    }
  }

  void Open() {
    ++depth_;
    if (body_depth_ != 0) return;  // inside a function
    const bool initializer = !head_.empty() && (std::isalnum(static_cast<unsigned char>(head_.back())) != 0 ||
                                                head_.back() == '_' || head_.back() == '>');
    if (initializers_ > 0 || (initializer && head_.find('(') != std::string::npos)) {
      ++initializers_;  // member{value} in a constructor's list, or int x{f(3)}
      return;
    }
    const std::string name = parens_ == 0 ? FunctionName(head_) : std::string();
    if (!name.empty()) {
      body_depth_ = depth_;
      found_.push_back({name, head_line_, 0});
    }
    head_.clear();
  }

  void Close() {
    if (depth_ > 0) --depth_;
    if (body_depth_ != 0) {
      if (depth_ >= body_depth_) return;
      body_depth_ = 0;
      found_.back().lines = line_ - found_.back().line + 1;
    } else if (initializers_ > 0) {
      --initializers_;
      return;
    }
    head_.clear();
  }

  std::vector<Function> found_;
  std::string head_;  // text since the last statement or block ended
  size_t head_line_ = 0;
  size_t line_ = 0;
  size_t depth_ = 0;         // open braces
  size_t body_depth_ = 0;    // depth inside the function being read; 0: none
  size_t initializers_ = 0;  // open braces of brace initializers
  int parens_ = 0;
};

}  // namespace

std::vector<Function> FindFunctions(const std::vector<std::string>& code) { return FunctionFinder().Run(code); }

}  // namespace mycel::tidy
