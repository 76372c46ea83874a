// The only file of core/plan that sees nlohmann-json.
#include "core/plan/json_tokens.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace mycel {
namespace {

/// Feeds the lexer and counts lines.
class LineIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineIterator(const char* at, uint32_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  LineIterator& operator++() {
    if (*at_++ == '\n') ++*line_;
    return *this;
  }
  bool operator==(const LineIterator& other) const { return at_ == other.at_; }
  bool operator!=(const LineIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  uint32_t* line_;
};

class Tokenizer final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Tokenizer(Tokens* tokens, uint32_t* line, int depth_max) : tokens_(tokens), line_(line), depth_max_(depth_max) {}
  const std::string& error() const { return error_; }

  bool null() override { return Add(TokenKind::kOther, 0); }
  bool boolean(bool value) override { return Add(TokenKind::kBoolean, value ? 1 : 0); }
  bool number_integer(number_integer_t value) override { return Add(TokenKind::kInteger, value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return Add(TokenKind::kOther, 0);
    return Add(TokenKind::kInteger, static_cast<int64_t>(value));
  }
  bool number_float(number_float_t, const string_t&) override { return Add(TokenKind::kOther, 0); }
  bool string(string_t& value) override { return AddText(TokenKind::kString, value); }
  bool binary(binary_t&) override { return Add(TokenKind::kOther, 0); }
  bool key(string_t& name) override { return AddText(TokenKind::kKey, name); }
  bool start_object(std::size_t) override { return Open(TokenKind::kBeginObject); }
  bool start_array(std::size_t) override { return Open(TokenKind::kBeginArray); }
  bool end_object() override { return Close(TokenKind::kEndObject); }
  bool end_array() override { return Close(TokenKind::kEndArray); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    // nlohmann's text after its own tags: "syntax error while parsing value - unexpected end of input; expected ...".
    const std::string text = error.what();
    const size_t at = text.find("syntax error");
    error_ = at == std::string::npos ? text : text.substr(at);
    return false;
  }

 private:
  bool Add(TokenKind kind, int64_t value) {
    tokens_->list.push_back({kind, *line_, value});
    return true;
  }
  bool AddText(TokenKind kind, std::string& text) {
    tokens_->texts.push_back(std::move(text));
    return Add(kind, static_cast<int64_t>(tokens_->texts.size()) - 1);
  }
  bool Open(TokenKind kind) {
    if (++depth_ <= depth_max_) return Add(kind, 0);
    error_ = "brackets nest deeper than anything in a plan";
    return false;
  }
  bool Close(TokenKind kind) {
    --depth_;
    return Add(kind, 0);
  }

  Tokens* tokens_;
  uint32_t* line_;
  const int depth_max_;
  std::string error_;
  int depth_ = 0;
};

}  // namespace

StatusOr<Tokens> TokenizeJson(std::string_view text, const std::string& file_name, int depth_max,
                              const std::string& cure) {
  Tokens tokens;
  uint32_t line = 1;
  Tokenizer tokenizer(&tokens, &line, depth_max);
  const bool parsed = nlohmann::json::sax_parse(LineIterator(text.data(), &line),
                                                LineIterator(text.data() + text.size(), &line), &tokenizer);
  if (parsed) return tokens;
  return InvalidArgument(file_name + ":" + std::to_string(line) + ": " + tokenizer.error() + "; " + cure);
}

}  // namespace mycel
