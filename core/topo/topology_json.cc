// JSON tokens -> TopologyDraft. The only file of core/topo that sees nlohmann-json.
//
// The parser is event driven: nlohmann calls one function a token, a small state machine knows which object it is in
// and which key comes next, and the first error stops the parse. Since a value in an unexpected place is an error at
// once, nesting never gets deeper than the format itself (3), whatever the file holds. Numbers are taken from the text
// of the file, found by counting the bytes the lexer has consumed.
#include "core/topo/topology_json.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <vector>

#include "core/base/edit_distance.h"
#include "core/topo/topology_draft.h"

namespace mycel {
namespace {

// Where in the file the parser is.
enum class Place : uint8_t { kOutside, kTop, kNodes, kNode, kLinks, kLink, kDone };

enum class Key : uint8_t {
  kFormat,
  kVersion,
  kName,
  kNote,
  kNodes,
  kLinks,
  kId,
  kType,
  kRank,
  kServer,
  kMulticast,
  kAggregate,
  kFrom,
  kTo,
  kBandwidth,
  kLatency,
  kDuplex,
  kKind,
};

// Kinds of JSON values, as bits.
enum ValueKind : uint8_t { kString = 1, kNumber = 2, kBoolean = 4, kNull = 8, kArray = 16, kObject = 32 };

struct KeyRule {
  Key key;
  std::string_view name;
  Place place;
  uint8_t kinds;
  bool required;
  std::string_view meaning;  // what to write there
};

constexpr KeyRule kRules[] = {
    {Key::kFormat, "format", Place::kTop, kString, true, "the text \"mycel-topology\""},
    {Key::kVersion, "version", Place::kTop, kNumber, true, "the number 1"},
    {Key::kName, "name", Place::kTop, kString, true, "the topology's name in quotes"},
    {Key::kNote, "note", Place::kTop, kString, false, "free text in quotes"},
    {Key::kNodes, "nodes", Place::kTop, kArray, true, "an array of nodes, [ {\"id\": ...}, ... ]"},
    {Key::kLinks, "links", Place::kTop, kArray, true, "an array of links, [ {\"from\": ...}, ... ]"},
    {Key::kId, "id", Place::kNode, kString, true, "a name in quotes that no other node has"},
    {Key::kType, "type", Place::kNode, kString, true, "\"rank\" or \"switch\""},
    {Key::kRank, "rank", Place::kNode, kNumber, false, "an integer from 0 to the number of ranks - 1"},
    {Key::kServer, "server", Place::kNode, kString, false, "a server's name in quotes"},
    {Key::kMulticast, "multicast", Place::kNode, kBoolean, false, "true or false"},
    {Key::kAggregate, "aggregate", Place::kNode, kBoolean, false, "true or false"},
    {Key::kFrom, "from", Place::kLink, kString, true, "a node's id in quotes"},
    {Key::kTo, "to", Place::kLink, kString, true, "a node's id in quotes"},
    {Key::kBandwidth, "bandwidth", Place::kLink, kString | kNumber, true,
     "GB/s above 0 and up to 1e9: a number like 12.5 or a fraction like \"25/2\""},
    {Key::kLatency, "latency", Place::kLink, kNumber, false, "a number of microseconds from 0 to 1e9"},
    {Key::kDuplex, "duplex", Place::kLink, kBoolean, false, "true or false"},
    {Key::kKind, "kind", Place::kLink, kString, false, "one of nvlink xgmi pcie rdma tcp shm other in quotes"},
};

constexpr size_t kNoteBytesMax = 64 << 10;
constexpr int64_t kBandwidthMax = 1'000'000'000;
constexpr double kLatencyMax = 1e9;

const KeyRule& RuleOf(Key key) { return kRules[static_cast<size_t>(key)]; }
uint32_t BitOf(Key key) { return 1U << static_cast<uint32_t>(key); }
std::string Named(Key key) { return "key \"" + std::string(RuleOf(key).name) + "\""; }

std::string_view NameOf(ValueKind kind) {
  switch (kind) {
    case kString:
      return "a string";
    case kNumber:
      return "a number";
    case kBoolean:
      return "true or false";
    case kNull:
      return "null";
    case kArray:
      return "an array";
    case kObject:
      return "an object";
  }
  return "";
}

bool IsNumberCharacter(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// Feeds the lexer and notes how far it has read.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(std::string_view text, size_t offset, size_t* consumed)
      : text_(text), offset_(offset), consumed_(consumed) {}
  reference operator*() const { return text_[offset_]; }
  CountingIterator& operator++() {
    *consumed_ = ++offset_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return offset_ == other.offset_; }
  bool operator!=(const CountingIterator& other) const { return offset_ != other.offset_; }

 private:
  std::string_view text_;
  size_t offset_;
  size_t* consumed_;
};

class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Reader(const SourceText* source) : source_(source), draft_(source) {}

  StatusOr<Topology> Read() {
    const std::string_view text = source_->text();
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
      return source_->Error(0, "the file is empty; write {\"format\": \"mycel-topology\", ...}");
    }
    if (text.find('\0') != std::string_view::npos) {
      return source_->Error(text.find('\0'), "the file is not UTF-8 text (it holds zero bytes); save it as UTF-8");
    }
    nlohmann::json::sax_parse(CountingIterator(text, 0, &consumed_), CountingIterator(text, text.size(), &consumed_),
                              this);
    if (!status_.ok()) return status_;
    return draft_.Finish();
  }

  // One call a token; false stops the parse.
  bool null() override { return Value(kNull, ""); }
  bool boolean(bool value) override {
    boolean_ = value;
    return Value(kBoolean, "");
  }
  bool number_integer(number_integer_t) override { return Value(kNumber, NumberText()); }
  bool number_unsigned(number_unsigned_t) override { return Value(kNumber, NumberText()); }
  bool number_float(number_float_t, const string_t&) override { return Value(kNumber, NumberText()); }
  bool string(string_t& value) override { return Value(kString, value); }
  bool binary(binary_t&) override { return Value(kNull, ""); }
  bool start_array(std::size_t) override { return Value(kArray, ""); }
  bool start_object(std::size_t) override { return Value(kObject, ""); }
  bool key(string_t& name) override;
  bool end_object() override;
  bool end_array() override {
    place_ = Place::kTop;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& error) override;

 private:
  // The place of the token at hand: its last byte, or the byte behind it for a number.
  size_t Here() const { return consumed_ == 0 ? 0 : consumed_ - 1; }
  bool Fail(const std::string& message) { return Fail(Here(), message); }
  bool Fail(size_t offset, const std::string& message) {
    status_ = source_->Error(offset, message);
    return false;
  }
  bool Keep(const Status& status) {
    status_ = status;
    return status.ok();
  }
  bool FailMeaning(const std::string& problem) {
    return Fail(Named(*key_) + InObject() + " " + problem + "; write " + std::string(RuleOf(*key_).meaning));
  }

  std::string_view NumberText() const;
  std::string InObject() const;
  bool Value(ValueKind kind, std::string_view text);
  bool StartObject();
  bool StartArray();
  bool TopValue(std::string_view text);
  bool NodeValue(std::string_view text);
  bool LinkValue(std::string_view text);
  bool ReadName(std::string_view text, std::string& out);
  bool ReadRank(std::string_view text);
  bool ReadBandwidth(std::string_view text);
  bool ReadLatency(std::string_view text);
  bool FinishNode();
  std::string SyntaxCure(std::string_view before) const;

  const SourceText* source_;
  TopologyDraft draft_;
  Status status_;
  size_t consumed_ = 0;
  Place place_ = Place::kOutside;
  std::optional<Key> key_;    // whose value comes next
  uint32_t top_seen_ = 0;     // keys of the file so far
  uint32_t seen_ = 0;         // keys of the present node or link so far
  size_t object_offset_ = 0;  // where it starts
  bool boolean_ = false;
  NodeDraft node_;
  LinkDraft link_;
};

// A number's token ends where its characters end; what the lexer has read beyond is at most one byte.
std::string_view Reader::NumberText() const {
  const std::string_view text = source_->text();
  size_t end = consumed_;
  if (end > 0 && !IsNumberCharacter(text[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && IsNumberCharacter(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// " of node "gpu3"", as far as it is known.
std::string Reader::InObject() const {
  if (place_ == Place::kNode) return node_.id.empty() ? " of a node" : " of node " + SourceText::Shown(node_.id);
  if (place_ != Place::kLink) return "";
  if (link_.from < 0 || link_.to < 0) return " of a link";
  return " of link " + SourceText::Shown(draft_.IdOf(link_.from)) + " -> " + SourceText::Shown(draft_.IdOf(link_.to));
}

bool Reader::key(string_t& name) {
  std::vector<std::string_view> known;
  for (const KeyRule& rule : kRules) {
    if (rule.place != place_) continue;
    known.push_back(rule.name);
    if (rule.name != name) continue;
    uint32_t& seen = place_ == Place::kTop ? top_seen_ : seen_;
    if ((seen & BitOf(rule.key)) != 0) return Fail(Named(rule.key) + InObject() + " is given twice; remove one");
    seen |= BitOf(rule.key);
    key_ = rule.key;
    return true;
  }
  std::string list;
  for (const std::string_view one : known) list.append(list.empty() ? "" : " ").append(one);
  const std::string_view nearest = NearestName(std::string_view(name).substr(0, 100), known);
  return Fail("unknown key " + SourceText::Shown(name) + InObject() + "; " +
              (nearest.empty() ? "" : "did you mean \"" + std::string(nearest) + "\"? ") + "The keys here are " + list);
}

bool Reader::Value(ValueKind kind, std::string_view text) {
  switch (place_) {
    case Place::kOutside:
      if (kind != kObject) return Fail("the file must hold one JSON object, {\"format\": \"mycel-topology\", ...}");
      place_ = Place::kTop;
      return true;
    case Place::kNodes:
    case Place::kLinks:
      if (kind == kObject) return StartObject();
      return Fail(Named(place_ == Place::kNodes ? Key::kNodes : Key::kLinks) + " must hold objects, {...}, not " +
                  std::string(NameOf(kind)) + "; remove it");
    default:
      break;
  }
  if (!key_) return Fail("unexpected " + std::string(NameOf(kind)) + "; remove it");
  if ((RuleOf(*key_).kinds & kind) == 0) return FailMeaning("is " + std::string(NameOf(kind)));
  if (kind == kArray) return StartArray();
  if (place_ == Place::kNode) return NodeValue(text);
  return place_ == Place::kLink ? LinkValue(text) : TopValue(text);
}

bool Reader::StartArray() {
  place_ = *key_ == Key::kNodes ? Place::kNodes : Place::kLinks;
  return true;
}

bool Reader::StartObject() {
  place_ = place_ == Place::kNodes ? Place::kNode : Place::kLink;
  seen_ = 0;
  object_offset_ = Here();
  node_ = NodeDraft();
  link_ = LinkDraft();
  return true;
}

bool Reader::TopValue(std::string_view text) {
  switch (*key_) {
    case Key::kFormat:
      return text == "mycel-topology" || FailMeaning("is " + SourceText::Shown(text));
    case Key::kVersion:
      return text == "1" || FailMeaning("is " + std::string(text.substr(0, 40)) + ", which this reader does not know");
    case Key::kName:
      draft_.name = text;
      return text.size() <= kNodeIdBytesMax || FailMeaning("is longer than 128 bytes");
    default:
      draft_.note = text;
      return text.size() <= kNoteBytesMax || FailMeaning("is longer than 64 KiB");
  }
}

bool Reader::NodeValue(std::string_view text) {
  switch (*key_) {
    case Key::kId:
      node_.id_offset = Here();
      return ReadName(text, node_.id);
    case Key::kType:
      node_.type = text.substr(0, 16);
      return text == "rank" || text == "switch" || FailMeaning("is " + SourceText::Shown(text));
    case Key::kRank:
      node_.rank_offset = Here();
      return ReadRank(text);
    case Key::kServer:
      return text.empty() || ReadName(text, node_.server);
    case Key::kMulticast:
      node_.multicast = boolean_;
      return true;
    default:
      node_.aggregate = boolean_;
      return true;
  }
}

bool Reader::LinkValue(std::string_view text) {
  std::string id;
  switch (*key_) {
    case Key::kFrom:
      if (!ReadName(text, id)) return false;
      link_.from = draft_.IdNumber(id);
      link_.from_offset = static_cast<uint32_t>(Here());
      return true;
    case Key::kTo:
      if (!ReadName(text, id)) return false;
      link_.to = draft_.IdNumber(id);
      link_.to_offset = static_cast<uint32_t>(Here());
      return true;
    case Key::kBandwidth:
      return ReadBandwidth(text);
    case Key::kLatency:
      return ReadLatency(text);
    case Key::kDuplex:
      link_.duplex = boolean_;
      return true;
    default: {
      const auto kind = ParseLinkKind(text);
      if (!kind.ok()) return FailMeaning("is " + SourceText::Shown(text));
      link_.kind = *kind;
      return true;
    }
  }
}

bool Reader::ReadName(std::string_view text, std::string& out) {
  const Status status = CheckNodeId(text);
  if (!status.ok()) return FailMeaning("is " + SourceText::Shown(text) + ", but " + StatusMessage(status));
  out = text;
  return true;
}

bool Reader::ReadRank(std::string_view text) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node_.rank);
  if (error == std::errc() && end == text.data() + text.size() && node_.rank >= 0 &&
      node_.rank < TopologyBuilder::kNodeCountMax) {
    return true;
  }
  return FailMeaning("is " + std::string(text.substr(0, 40)));
}

bool Reader::ReadBandwidth(std::string_view text) {
  const auto bandwidth = Rational::Parse(text);
  if (!bandwidth.ok()) return FailMeaning("is not usable: " + StatusMessage(bandwidth.status()));
  if (*bandwidth <= Rational(0) || *bandwidth > Rational(kBandwidthMax)) {
    return FailMeaning("is " + std::string(text.substr(0, 40)));
  }
  link_.bandwidth = *bandwidth;
  return true;
}

bool Reader::ReadLatency(std::string_view text) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), link_.latency_us);
  if (error == std::errc() && end == text.data() + text.size() && link_.latency_us >= 0 &&
      link_.latency_us <= kLatencyMax) {
    return true;
  }
  return FailMeaning("is " + std::string(text.substr(0, 40)));
}

bool Reader::end_object() {
  const Place ended = place_;
  const uint32_t seen = ended == Place::kTop ? top_seen_ : seen_;
  for (const KeyRule& rule : kRules) {
    if (rule.place != ended || !rule.required || (seen & BitOf(rule.key)) != 0) continue;
    return Fail(ended == Place::kTop ? Here() : object_offset_,
                Named(rule.key) + InObject() + " is missing; write " + std::string(rule.meaning));
  }
  switch (ended) {
    case Place::kNode:
      place_ = Place::kNodes;
      return FinishNode();
    case Place::kLink:
      place_ = Place::kLinks;
      return Keep(draft_.AddLink(link_));
    default:
      place_ = Place::kDone;
      return true;
  }
}

bool Reader::FinishNode() {
  const std::string node = " of node " + SourceText::Shown(node_.id);
  const bool ranked = (seen_ & BitOf(Key::kRank)) != 0;
  if (node_.type == "rank" && !ranked) {
    return Fail(object_offset_, Named(Key::kRank) + node + " is missing; write " +
                                    std::string(RuleOf(Key::kRank).meaning) + ", or make it a switch");
  }
  if (node_.type == "switch" && ranked) {
    return Fail(node_.rank_offset, Named(Key::kRank) + node + " belongs to ranks only; remove it from the switch");
  }
  for (const Key key : {Key::kMulticast, Key::kAggregate}) {
    if (node_.type != "rank" || (seen_ & BitOf(key)) == 0) continue;
    return Fail(object_offset_, Named(key) + node + " belongs to switches only; remove it from the rank");
  }
  return Keep(draft_.AddNode(std::move(node_)));
}

// What usually makes JSON invalid. `before`: the text up to and including the offending byte.
std::string Reader::SyntaxCure(std::string_view before) const {
  const char last = before.empty() ? '\0' : before.back();
  before.remove_suffix(before.empty() ? 0 : 1);
  const size_t previous = before.find_last_not_of(" \t\r\n");
  const char comma = previous == std::string_view::npos ? '\0' : before[previous];
  if ((last == ']' || last == '}') && comma == ',') return "remove the comma before " + std::string(1, last);
  if (last == '/' || last == '*' || last == '#') return "JSON has no comments; put the text into \"note\"";
  if (last == 'N' || last == 'I' || last == 'i') return "NaN and Infinity are not JSON numbers; write a finite one";
  if (last == '\'') return "JSON quotes are \", not '";
  if (place_ == Place::kDone) return "nothing may follow the closing }";
  return "correct what stands here";
}

bool Reader::parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) {
  if (dynamic_cast<const nlohmann::detail::out_of_range*>(&error) != nullptr) {
    return key_ ? FailMeaning("is too large") : Fail("a number is too large; write a JSON object, {...}");
  }
  // nlohmann's sentence reads "[...] parse error at ...: syntax error while parsing X - problem; last read: '...'".
  std::string_view problem = error.what();
  const size_t start = problem.find("while parsing ");
  if (start != std::string_view::npos) problem.remove_prefix(start);
  problem = problem.substr(0, problem.find("; last read")).substr(0, 120);
  const bool at_end = position > source_->text().size();  // the lexer counts the end as one more byte
  return Fail("not valid JSON" + (key_ ? " near " + Named(*key_) : "") + " (" + std::string(problem) + "); " +
              (at_end ? "the file ends too early, add the missing quote, ] or }"
                      : SyntaxCure(source_->text().substr(0, consumed_))));
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::string TooLarge(const std::string& file_name) {
  return file_name + ":1: the file is larger than " + std::to_string(kTopologyFileBytesMax >> 20) +
         " MiB; describe a smaller part of the machine";
}

}  // namespace

StatusOr<Topology> ReadTopologyText(std::string_view text, const std::string& file_name) {
  if (std::ssize(text) > kTopologyFileBytesMax) return InvalidArgument(TooLarge(file_name));
  const SourceText source(text, file_name);
  return Reader(&source).Read();
}

StatusOr<Topology> ReadTopologyFile(const std::string& path) {
  errno = 0;
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return InvalidArgument(path + ": cannot open the topology file: " + std::generic_category().message(errno) +
                           "; give the path of a readable file");
  }
  std::string text;
  char buffer[1 << 16];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, count);
    if (std::ssize(text) > kTopologyFileBytesMax) return InvalidArgument(TooLarge(path));
  }
  if (std::ferror(file.get()) != 0) {
    return InvalidArgument(path + ": cannot read the topology file: " + std::generic_category().message(errno) +
                           "; give the path of a readable file");
  }
  return ReadTopologyText(text, path);
}

}  // namespace mycel
