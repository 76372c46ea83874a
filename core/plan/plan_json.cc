// JSON text -> tokens -> Plan. The only file of core/plan that sees nlohmann-json.
//
// The parser's events become a flat list of 16-byte tokens, each with the line it stands in; nesting deeper than the
// format's own stops the parse at once. plan_reader.h makes the plan of them.
#include "core/plan/plan_json.h"

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/plan/plan_reader.h"
#include "core/plan/plan_tokens.h"

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
  Tokenizer(Tokens* tokens, uint32_t* line) : tokens_(tokens), line_(line) {}
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
  static constexpr int kDepthMax = 8;  // the format needs 7: file, ranks, rank, lanes, lane, op, "after", wait

  bool Add(TokenKind kind, int64_t value) {
    tokens_->list.push_back({kind, *line_, value});
    return true;
  }
  bool AddText(TokenKind kind, std::string& text) {
    tokens_->texts.push_back(std::move(text));
    return Add(kind, static_cast<int64_t>(tokens_->texts.size()) - 1);
  }
  bool Open(TokenKind kind) {
    if (++depth_ <= kDepthMax) return Add(kind, 0);
    error_ = "brackets nest deeper than anything in a plan";
    return false;
  }
  bool Close(TokenKind kind) {
    --depth_;
    return Add(kind, 0);
  }

  Tokens* tokens_;
  uint32_t* line_;
  std::string error_;
  int depth_ = 0;
};

}  // namespace

StatusOr<Plan> ReadPlanText(std::string_view text, const std::string& file_name) {
  if (text.size() > static_cast<size_t>(kPlanFileBytesMax)) {
    return InvalidArgument(file_name + ": the file is larger than " + std::to_string(kPlanFileBytesMax) +
                           " bytes; use fewer chunks");
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return InvalidArgument(file_name + ": the file is empty; a plan file starts {\"format\": \"mycel-plan\", ...}");
  }
  Tokens tokens;
  uint32_t line = 1;
  Tokenizer tokenizer(&tokens, &line);
  const bool parsed = nlohmann::json::sax_parse(LineIterator(text.data(), &line),
                                                LineIterator(text.data() + text.size(), &line), &tokenizer);
  if (!parsed) {
    return InvalidArgument(file_name + ":" + std::to_string(line) + ": " + tokenizer.error() +
                           "; write a plan file with `mycel plan --out`");
  }
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
