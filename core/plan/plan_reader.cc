// One function per thing in the file, each knowing its path ("ranks[3].lanes[0][12].chunk") for messages. Calls nest as
// deep as the format does, never as the file pleases.
#include "core/plan/plan_reader.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "core/base/edit_distance.h"
#include "core/plan/structure.h"

namespace mycel {
namespace {

std::string_view NameOf(TokenKind kind) {
  switch (kind) {
    case TokenKind::kBeginObject:
      return "an object";
    case TokenKind::kBeginArray:
      return "an array";
    case TokenKind::kString:
      return "a text";
    case TokenKind::kInteger:
      return "an integer";
    case TokenKind::kBoolean:
      return "true or false";
    case TokenKind::kOther:
      return "null or a number that is not a 64-bit integer";
    case TokenKind::kEndObject:
    case TokenKind::kEndArray:
      return "nothing";
    case TokenKind::kKey:
      return "a key";
  }
  return "";
}

/// A key of an object and how to read its value.
struct Field {
  std::string_view name;
  bool required;
  std::function<Status()> read;
};

/// Walks the tokens. The parser has made sure that brackets match and keys are followed by values.
class PlanReader {
 public:
  PlanReader(const Tokens& tokens, const std::string& file_name) : tokens_(tokens), file_name_(file_name) {}

  StatusOr<Plan> Read() {
    MYCEL_RETURN_IF_ERROR(ReadTop());
    const Status structure = CheckStructure(plan_);
    if (!structure.ok()) return InvalidArgument(file_name_ + ": " + StatusMessage(structure));
    return std::move(plan_);
  }

 private:
  Status ReadTop();
  Status ReadFormat();
  Status ReadVersion();
  Status ReadHash();
  Status ReadRank(RankPlan* rank);
  Status ReadOp(Lane* lane);
  Status ReadOperand(std::vector<Operand>* operands);
  Status ReadWaits(Op* op);
  Status ReadChunk(Chunk* chunk);

  // The kinds of values.
  Status ReadObject(std::initializer_list<Field> fields);
  Status ReadArray(const std::function<Status(size_t)>& read_item);
  template <typename Int>
  Status ReadInteger(Int* out);
  template <size_t kCount>
  Status ReadIntegers(std::string_view meaning, int64_t (&out)[kCount]);
  Status ReadText(std::string* out);
  Status ReadBoolean(bool* out);
  template <typename Enum>
  Status ReadName(StatusOr<Enum> (*parse)(std::string_view), Enum* out);
  Status CheckLength(size_t count);

  const Token& Next() const { return tokens_.list[at_]; }
  const std::string& TextOf(const Token& token) const { return tokens_.texts[static_cast<size_t>(token.value)]; }
  /// InvalidArgument at the token before the cursor.
  Status Wrong(const std::string& problem) const {
    const Token& token = tokens_.list[at_ == 0 ? 0 : at_ - 1];
    return InvalidArgument(file_name_ + ":" + std::to_string(token.line) + ": " + (path_.empty() ? "" : path_ + ": ") +
                           problem);
  }
  /// Steps over a token of `kind`.
  Status Take(TokenKind kind) {
    const TokenKind found = Next().kind;
    ++at_;
    if (found == kind) return OkStatus();
    return Wrong("is " + std::string(NameOf(found)) + "; write " + std::string(NameOf(kind)));
  }

  const Tokens& tokens_;
  const std::string& file_name_;
  Plan plan_;
  size_t at_ = 0;
  std::string path_;
};

Status PlanReader::ReadObject(std::initializer_list<Field> fields) {
  MYCEL_RETURN_IF_ERROR(Take(TokenKind::kBeginObject));
  const size_t path_length = path_.size();
  uint32_t seen = 0;
  while (Next().kind == TokenKind::kKey) {
    const std::string& name = TextOf(Next());
    ++at_;
    const Field* field = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
    if (field == fields.end()) {
      std::vector<std::string_view> known;
      std::string list;
      for (const Field& one : fields) {
        known.push_back(one.name);
        list += " " + std::string(one.name);
      }
      const std::string_view nearest = NearestName(std::string_view(name).substr(0, 64), known);
      return Wrong("unknown key \"" + name.substr(0, 64) + "\"; " +
                   (nearest.empty() ? "" : "did you mean \"" + std::string(nearest) + "\"? ") + "the keys here are" +
                   list);
    }
    const uint32_t bit = 1U << (field - fields.begin());
    if ((seen & bit) != 0) return Wrong("key \"" + name + "\" is given twice; remove one");
    seen |= bit;
    if (!path_.empty()) path_ += ".";
    path_ += name;
    MYCEL_RETURN_IF_ERROR(field->read());
    path_.resize(path_length);
  }
  MYCEL_RETURN_IF_ERROR(Take(TokenKind::kEndObject));
  for (const Field& field : fields) {
    const uint32_t bit = 1U << (&field - fields.begin());
    if (field.required && (seen & bit) == 0) return Wrong("key \"" + std::string(field.name) + "\" is missing; add it");
  }
  return OkStatus();
}

Status PlanReader::ReadArray(const std::function<Status(size_t)>& read_item) {
  MYCEL_RETURN_IF_ERROR(Take(TokenKind::kBeginArray));
  const size_t path_length = path_.size();
  for (size_t i = 0; Next().kind != TokenKind::kEndArray; ++i) {
    path_ += "[" + std::to_string(i) + "]";
    MYCEL_RETURN_IF_ERROR(read_item(i));
    path_.resize(path_length);
  }
  ++at_;
  return OkStatus();
}

template <typename Int>
Status PlanReader::ReadInteger(Int* out) {
  MYCEL_RETURN_IF_ERROR(Take(TokenKind::kInteger));
  const int64_t value = tokens_.list[at_ - 1].value;
  if (value < std::numeric_limits<Int>::min() || value > std::numeric_limits<Int>::max()) {
    return Wrong("is " + std::to_string(value) + ", which does not fit " + std::to_string(sizeof(Int) * 8) + " bits");
  }
  *out = static_cast<Int>(value);
  return OkStatus();
}

/// Integers in an array of fixed length. Those that name things are 32-bit; structure.h checks what they name.
template <size_t kCount>
Status PlanReader::ReadIntegers(std::string_view meaning, int64_t (&out)[kCount]) {
  size_t count = 0;
  const auto read_number = [&](size_t i) -> Status {
    int64_t value = 0;
    MYCEL_RETURN_IF_ERROR(ReadInteger(&value));
    if (i < kCount) out[i] = value;
    ++count;
    return OkStatus();
  };
  MYCEL_RETURN_IF_ERROR(ReadArray(read_number));
  if (count == kCount) return OkStatus();
  return Wrong("has " + std::to_string(count) + " numbers; write " + std::string(meaning));
}

Status PlanReader::ReadText(std::string* out) {
  MYCEL_RETURN_IF_ERROR(Take(TokenKind::kString));
  *out = TextOf(tokens_.list[at_ - 1]);
  if (out->size() > 256) return Wrong("is longer than 256 bytes");
  return OkStatus();
}

Status PlanReader::ReadBoolean(bool* out) {
  MYCEL_RETURN_IF_ERROR(Take(TokenKind::kBoolean));
  *out = tokens_.list[at_ - 1].value != 0;
  return OkStatus();
}

template <typename Enum>
Status PlanReader::ReadName(StatusOr<Enum> (*parse)(std::string_view), Enum* out) {
  std::string text;
  MYCEL_RETURN_IF_ERROR(ReadText(&text));
  const StatusOr<Enum> value = parse(text);
  if (!value.ok()) return Wrong(StatusMessage(value.status()));
  *out = *value;
  return OkStatus();
}

/// Lists are numbered with 32 bits.
Status PlanReader::CheckLength(size_t count) {
  if (count <= static_cast<size_t>(std::numeric_limits<int32_t>::max())) return OkStatus();
  return Wrong("the plan has too many entries");
}

Status PlanReader::ReadTop() {
  int32_t root = -1;
  const auto read_route = [this](size_t) -> Status {
    Route route;
    const auto read_node = [&](size_t) -> Status {
      int32_t node = 0;
      MYCEL_RETURN_IF_ERROR(ReadInteger(&node));
      route.push_back(NodeId(node));
      return OkStatus();
    };
    MYCEL_RETURN_IF_ERROR(ReadArray(read_node));
    plan_.routes.push_back(std::move(route));
    return CheckLength(plan_.routes.size());
  };
  const auto read_channel = [this](size_t) -> Status {
    int64_t ends[3];
    MYCEL_RETURN_IF_ERROR(ReadIntegers("[source, target, index]", ends));
    for (int64_t end : ends) {
      if (end != static_cast<int32_t>(end)) return Wrong("holds a number that does not fit 32 bits");
    }
    plan_.channels.push_back({Rank(ends[0]), Rank(ends[1]), static_cast<int32_t>(ends[2])});
    return CheckLength(plan_.channels.size());
  };
  const auto read_rank = [this](size_t) -> Status { return ReadRank(&plan_.ranks.emplace_back()); };
  const auto read_units = [this](size_t) -> Status { return ReadInteger(&plan_.block_units.emplace_back()); };
  MYCEL_RETURN_IF_ERROR(ReadObject({
      {"format", true, [&] { return ReadFormat(); }},
      {"version", true, [&] { return ReadVersion(); }},
      {"collective", true, [&] { return ReadName<Collective>(ParseCollective, &plan_.collective); }},
      {"rank_count", true, [&] { return ReadInteger(&plan_.rank_count); }},
      {"root", false, [&] { return ReadInteger(&root); }},
      {"units_per_block", false, [&] { return ReadInteger(&plan_.units_per_block); }},
      {"block_units", false, [&] { return ReadArray(read_units); }},
      {"planner", true, [&] { return ReadText(&plan_.planner); }},
      {"topology", true, [&] { return ReadText(&plan_.topology); }},
      {"topology_hash", true, [&] { return ReadHash(); }},
      {"protocol", true, [&] { return ReadName<Protocol>(ParseProtocol, &plan_.protocol); }},
      {"slice_bytes", true, [&] { return ReadInteger(&plan_.slice_bytes); }},
      {"slot_count", true, [&] { return ReadInteger(&plan_.slot_count); }},
      {"routes", true, [&] { return ReadArray(read_route); }},
      {"channels", true, [&] { return ReadArray(read_channel); }},
      {"ranks", true, [&] { return ReadArray(read_rank); }},
  }));
  plan_.root = Rank(root);
  return OkStatus();
}

Status PlanReader::ReadFormat() {
  std::string text;
  MYCEL_RETURN_IF_ERROR(ReadText(&text));
  if (text == "mycel-plan") return OkStatus();
  return Wrong("is \"" + text + "\"; a plan file says \"mycel-plan\"");
}

Status PlanReader::ReadVersion() {
  int64_t version = 0;
  MYCEL_RETURN_IF_ERROR(ReadInteger(&version));
  if (version == 1) return OkStatus();
  return Wrong("is " + std::to_string(version) + "; this reader knows version 1");
}

Status PlanReader::ReadHash() {
  std::string text;
  MYCEL_RETURN_IF_ERROR(ReadText(&text));
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, plan_.topology_hash, 16);
  if (error == std::errc() && at == end && text.size() == 16) return OkStatus();
  return Wrong("is \"" + text + "\"; write 16 hexadecimal digits");
}

Status PlanReader::ReadRank(RankPlan* rank) {
  const auto read_cell = [&](size_t) -> Status { return ReadChunk(&rank->scratch.emplace_back().chunk); };
  const auto read_lane = [&](size_t) -> Status {
    Lane* lane = &rank->lanes.emplace_back();
    return ReadArray([&, lane](size_t) -> Status { return ReadOp(lane); });
  };
  return ReadObject({
      {"scratch", true, [&] { return ReadArray(read_cell); }},
      {"lanes", true, [&] { return ReadArray(read_lane); }},
  });
}

Status PlanReader::ReadOp(Lane* lane) {
  Op op;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  const auto read_input = [&](size_t) -> Status { return ReadOperand(&inputs); };
  const auto read_output = [&](size_t) -> Status { return ReadOperand(&outputs); };
  MYCEL_RETURN_IF_ERROR(ReadObject({
      {"chunk", true, [&] { return ReadChunk(&op.chunk); }},
      {"in", true, [&] { return ReadArray(read_input); }},
      {"out", true, [&] { return ReadArray(read_output); }},
      {"skew", false, [&] { return ReadInteger(&op.skew); }},
      {"finish", false, [&] { return ReadBoolean(&op.finish); }},
      {"after", false, [&] { return ReadWaits(&op); }},
  }));
  MYCEL_RETURN_IF_ERROR(CheckLength(plan_.operands.size() + inputs.size() + outputs.size()));
  op.operands = static_cast<int32_t>(plan_.operands.size());
  op.inputs = static_cast<int32_t>(inputs.size());
  op.outputs = static_cast<int32_t>(outputs.size());
  plan_.operands.insert(plan_.operands.end(), inputs.begin(), inputs.end());
  plan_.operands.insert(plan_.operands.end(), outputs.begin(), outputs.end());
  lane->ops.push_back(op);
  return OkStatus();
}

/// Takes "<word> <number>" off the front of `text`.
bool TakeNumbered(std::string_view* text, std::string_view word, int32_t* out) {
  if (text->substr(0, word.size()) != word) return false;
  const char* begin = text->data() + word.size();
  const char* end = text->data() + text->size();
  const auto [at, error] = std::from_chars(begin, end, *out);
  if (error != std::errc() || *out < 0) return false;
  text->remove_prefix(static_cast<size_t>(at - text->data()));
  return true;
}

Status PlanReader::ReadOperand(std::vector<Operand>* operands) {
  MYCEL_RETURN_IF_ERROR(Take(TokenKind::kString));
  const std::string& whole = TextOf(tokens_.list[at_ - 1]);
  std::string_view text = whole;
  Operand operand;
  if (text == "send") {
    operand.kind = Operand::Kind::kSend;
    text = "";
  } else if (text == "recv") {
    operand.kind = Operand::Kind::kRecv;
    text = "";
  } else if (TakeNumbered(&text, "scratch ", &operand.index)) {
    operand.kind = Operand::Kind::kScratch;
  } else if (TakeNumbered(&text, "channel ", &operand.index)) {
    operand.kind = Operand::Kind::kChannel;
    TakeNumbered(&text, " route ", &operand.route);
  }
  operands->push_back(operand);
  if (text.empty() && !whole.empty()) return OkStatus();
  return Wrong("is \"" + whole.substr(0, 64) +
               "\"; write \"send\", \"recv\", \"scratch N\", \"channel N\" or \"channel N route N\"");
}

Status PlanReader::ReadWaits(Op* op) {
  op->waits = static_cast<int32_t>(plan_.waits.size());
  const auto read_wait = [&](size_t) -> Status {
    int64_t wait[2];
    MYCEL_RETURN_IF_ERROR(ReadIntegers("[lane, op]", wait));
    for (int64_t part : wait) {
      if (part != static_cast<int32_t>(part)) return Wrong("holds a number that does not fit 32 bits");
    }
    plan_.waits.push_back({LaneId(wait[0]), static_cast<int32_t>(wait[1])});
    ++op->wait_count;
    return CheckLength(plan_.waits.size());
  };
  return ReadArray(read_wait);
}

Status PlanReader::ReadChunk(Chunk* chunk) {
  int64_t numbers[3];
  MYCEL_RETURN_IF_ERROR(ReadIntegers("[block, begin, end]", numbers));
  if (numbers[0] != static_cast<int32_t>(numbers[0])) return Wrong("the block does not fit 32 bits");
  *chunk = {static_cast<int32_t>(numbers[0]), numbers[1], numbers[2]};
  return OkStatus();
}

}  // namespace

StatusOr<Plan> ReadPlanTokens(const Tokens& tokens, const std::string& file_name) {
  return PlanReader(tokens, file_name).Read();
}

}  // namespace mycel
