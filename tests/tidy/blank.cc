#include "tests/tidy/blank.h"

#include <cctype>

namespace mycel::tidy {
namespace {

/// Walks the text once; each Skip* starts at its opening character and blanks up to its end.
class Blanker {
 public:
  explicit Blanker(std::string_view text) : text_(text), out_(text) {}

  std::string Run() {
    bool line_start = true;  // only blanks since the line began
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (line_start && c == '#') {
        SkipPreprocessorLine();
      } else if (Sees("//")) {
        SkipUntil("\n", /*keep_end=*/true);
      } else if (Sees("/*")) {
        SkipUntil("*/", /*keep_end=*/false);
      } else if (c == '"') {
        SkipString();
      } else if (c == '\'' && !IsDigitSeparator()) {
        SkipQuoted('\'');
      } else {
        line_start = c == '\n' || (line_start && std::isspace(static_cast<unsigned char>(c)) != 0);
        ++at_;
        continue;
      }
      line_start = false;
    }
    return out_;
  }

 private:
  bool Sees(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
  void Blank() {
    if (out_[at_] != '\n') out_[at_] = ' ';
    ++at_;
  }
  void SkipUntil(std::string_view end, bool keep_end) {
    size_t stop = text_.find(end, at_ + (keep_end ? 0 : 2));
    stop = stop == std::string_view::npos ? text_.size() : stop + (keep_end ? 0 : end.size());
    while (at_ < stop) Blank();
  }
  void SkipPreprocessorLine() {
    while (at_ < text_.size() && text_[at_] != '\n') {
      const bool continued = text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n';
      Blank();
      if (continued) Blank();
    }
  }
  /// The ' of 1'000 or 0xff'ff.
  bool IsDigitSeparator() const {
    return at_ > 0 && at_ + 1 < text_.size() && std::isxdigit(static_cast<unsigned char>(text_[at_ - 1])) != 0 &&
           std::isxdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0 &&
           (at_ + 2 >= text_.size() || text_[at_ + 2] != '\'');
  }
  void SkipQuoted(char quote) {
    ++at_;  // the quotes stay: they show that a literal was here
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) Blank();
      Blank();
    }
    if (at_ < text_.size()) ++at_;
  }
  void SkipString() {
    const bool raw = at_ > 0 && text_[at_ - 1] == 'R';
    if (!raw) return SkipQuoted('"');
    const size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return SkipQuoted('"');
    const std::string end = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    size_t stop = text_.find(end, open);
    stop = stop == std::string_view::npos ? text_.size() : stop + end.size();
    while (at_ < stop) Blank();
  }

  std::string_view text_;
  std::string out_;
  size_t at_ = 0;
};

}  // namespace

std::string BlankComments(std::string_view text) { return Blanker(text).Run(); }

}  // namespace mycel::tidy
