// A JSON file as a tree whose values know their lines and paths, for readers that check everything they take out.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/plan/plan_tokens.h"

namespace mycel {

class JsonValue {
 public:
  /// "gpus[1].threadblocks[0]": where errors say they are.
  const std::string& path() const { return path_; }
  int32_t line() const { return static_cast<int32_t>(line_); }

  /// InvalidArgument: "FILE:LINE: path problem".
  Status Wrong(const std::string& problem) const;
  /// Object. InvalidArgument on a key that is not in `known`.
  Status CheckKeys(std::initializer_list<std::string_view> known) const;
  /// Object. Nullptr when there is no such key.
  const JsonValue* Find(std::string_view key) const;
  StatusOr<const JsonValue*> Get(std::string_view key) const;
  StatusOr<const std::vector<JsonValue>*> Items() const;
  StatusOr<std::string> Text() const;
  StatusOr<bool> Boolean() const;
  template <typename Int>
  Status Integer(int64_t least, int64_t most, Int* out) const {
    int64_t value = 0;
    MYCEL_RETURN_IF_ERROR(TakeInteger(least, most, &value));
    *out = static_cast<Int>(value);
    return OkStatus();
  }

 private:
  friend class JsonTreeBuilder;
  Status TakeInteger(int64_t least, int64_t most, int64_t* out) const;
  Status Expect(TokenKind kind, const char* article) const;

  const std::string* file_ = nullptr;
  TokenKind kind_ = TokenKind::kOther;
  uint32_t line_ = 0;
  int64_t number_ = 0;
  std::string text_;
  std::string path_;
  std::vector<std::string> keys_;  // objects: of items_
  std::vector<JsonValue> items_;
};

/// `file` outlives the tree. InvalidArgument where the text is no JSON, nests deeper, or repeats a key.
StatusOr<JsonValue> ParseJson(std::string_view text, const std::string& file, int depth_max, const std::string& cure);

}  // namespace mycel
