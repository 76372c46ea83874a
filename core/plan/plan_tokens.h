// A plan file as a flat list of tokens: what the JSON parser hands to the reader of plans. Well nested, every key
// followed by its value, the whole file one value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mycel {

enum class TokenKind : uint8_t {
  kBeginObject,
  kEndObject,
  kBeginArray,
  kEndArray,
  kKey,
  kString,
  kInteger,
  kBoolean,
  kOther,  // null, fractions, integers beyond 64 bits: nothing in the format
};

struct Token {
  TokenKind kind;
  uint32_t line;
  int64_t value;  // kInteger, kBoolean; kKey and kString: index into Tokens::texts
};
static_assert(sizeof(Token) == 16);

struct Tokens {
  std::vector<Token> list;
  std::vector<std::string> texts;
};

}  // namespace mycel
