#include "bindings/interchange/json_value.h"

#include <algorithm>

#include "core/base/edit_distance.h"
#include "core/plan/json_tokens.h"

namespace mycel {
namespace {

const char* NameOf(TokenKind kind) {
  switch (kind) {
    case TokenKind::kBeginObject:
      return "an object";
    case TokenKind::kBeginArray:
      return "an array";
    case TokenKind::kString:
      return "a text";
    case TokenKind::kInteger:
      return "a whole number";
    case TokenKind::kBoolean:
      return "true or false";
    case TokenKind::kOther:
      return "null or a number that is not a 64-bit integer";
    case TokenKind::kEndObject:
    case TokenKind::kEndArray:
    case TokenKind::kKey:
      break;
  }
  return "nothing";
}

}  // namespace

/// Recurses as deep as the tokens nest, which TokenizeJson bounds.
class JsonTreeBuilder {
 public:
  JsonTreeBuilder(const Tokens& tokens, const std::string& file) : tokens_(tokens), file_(file) {}

  Status Build(const std::string& path, JsonValue* value) {
    const Token& token = tokens_.list[at_++];
    value->file_ = &file_;
    value->kind_ = token.kind;
    value->line_ = token.line;
    value->path_ = path;
    if (token.kind == TokenKind::kString) value->text_ = tokens_.texts[static_cast<size_t>(token.value)];
    if (token.kind == TokenKind::kInteger || token.kind == TokenKind::kBoolean) value->number_ = token.value;
    if (token.kind == TokenKind::kBeginArray) {
      while (tokens_.list[at_].kind != TokenKind::kEndArray) {
        const std::string item = path + "[" + std::to_string(value->items_.size()) + "]";
        MYCEL_RETURN_IF_ERROR(Build(item, &value->items_.emplace_back()));
      }
      ++at_;
    }
    if (token.kind == TokenKind::kBeginObject) {
      while (tokens_.list[at_].kind != TokenKind::kEndObject) {
        const std::string& key = tokens_.texts[static_cast<size_t>(tokens_.list[at_++].value)];
        if (value->keys_.size() == kKeysMax) return value->Wrong("has more keys than any object of the format");
        const bool repeated = value->Find(key) != nullptr;
        value->keys_.push_back(key);
        MYCEL_RETURN_IF_ERROR(Build(path.empty() ? key : path + "." + key, &value->items_.emplace_back()));
        if (repeated) return value->items_.back().Wrong("is given twice; leave one out");
      }
      ++at_;
    }
    return OkStatus();
  }

 private:
  static constexpr size_t kKeysMax = 64;

  const Tokens& tokens_;
  const std::string& file_;
  size_t at_ = 0;
};

Status JsonValue::Wrong(const std::string& problem) const {
  return InvalidArgument(*file_ + ":" + std::to_string(line_) + ": " + (path_.empty() ? "the file" : path_) + " " +
                         problem);
}

Status JsonValue::Expect(TokenKind kind, const char* article) const {
  if (kind_ == kind) return OkStatus();
  return Wrong(std::string("is ") + NameOf(kind_) + "; write " + article);
}

Status JsonValue::CheckKeys(std::initializer_list<std::string_view> known) const {
  MYCEL_RETURN_IF_ERROR(Expect(TokenKind::kBeginObject, "an object"));
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (std::find(known.begin(), known.end(), keys_[i]) != known.end()) continue;
    const std::string_view nearest = NearestName(keys_[i], {known.begin(), known.size()});
    std::string list;
    for (const std::string_view name : known) list += " " + std::string(name);
    return items_[i].Wrong("is unknown; " +
                           (nearest.empty() ? "there are:" + list : "did you mean " + std::string(nearest) + "?"));
  }
  return OkStatus();
}

const JsonValue* JsonValue::Find(std::string_view key) const {
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] == key) return &items_[i];
  }
  return nullptr;
}

StatusOr<const JsonValue*> JsonValue::Get(std::string_view key) const {
  MYCEL_RETURN_IF_ERROR(Expect(TokenKind::kBeginObject, "an object"));
  const JsonValue* value = Find(key);
  if (value == nullptr) return Wrong("lacks the key " + std::string(key) + "; add it");
  return value;
}

StatusOr<const std::vector<JsonValue>*> JsonValue::Items() const {
  MYCEL_RETURN_IF_ERROR(Expect(TokenKind::kBeginArray, "an array"));
  return &items_;
}

StatusOr<std::string> JsonValue::Text() const {
  MYCEL_RETURN_IF_ERROR(Expect(TokenKind::kString, "a text"));
  if (text_.size() > 256) return Wrong("is longer than 256 bytes; shorten it");
  return text_;
}

StatusOr<bool> JsonValue::Boolean() const {
  MYCEL_RETURN_IF_ERROR(Expect(TokenKind::kBoolean, "true or false"));
  return number_ != 0;
}

Status JsonValue::TakeInteger(int64_t least, int64_t most, int64_t* out) const {
  MYCEL_RETURN_IF_ERROR(Expect(TokenKind::kInteger, "a whole number"));
  if (most < least) {
    return Wrong("is " + std::to_string(number_) + ", but there is nothing that it could name; list that first");
  }
  if (number_ < least || number_ > most) {
    return Wrong("is " + std::to_string(number_) + "; it must be " + std::to_string(least) +
                 (most == std::numeric_limits<int64_t>::max() ? " or more" : ".." + std::to_string(most)));
  }
  *out = number_;
  return OkStatus();
}

StatusOr<JsonValue> ParseJson(std::string_view text, const std::string& file, int depth_max, const std::string& cure) {
  MYCEL_ASSIGN_OR_RETURN(const Tokens tokens, TokenizeJson(text, file, depth_max, cure));
  JsonValue root;
  MYCEL_RETURN_IF_ERROR(JsonTreeBuilder(tokens, file).Build("", &root));
  return root;
}

}  // namespace mycel
