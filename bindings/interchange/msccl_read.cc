// XML -> Algorithm. The only file that sees pugixml. One function an element; the walk is as deep as the format, never
// as the file pleases.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <set>
#include <tuple>

#include "bindings/interchange/msccl_xml.h"
#include "core/base/edit_distance.h"
#include "core/plan/plan_json.h"
#include "core/plan/structure.h"
#include "mycel_config.h"

#if MYCEL_HAVE_PUGIXML
#include <pugixml.hpp>

namespace mycel::msccl {
namespace {

constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();

std::string ListOf(std::initializer_list<std::string_view> names) {
  std::string list;
  for (const std::string_view name : names) list += " " + std::string(name);
  return list;
}

std::string Hint(std::string_view name, std::initializer_list<std::string_view> known) {
  const std::string_view nearest = NearestName(name, {known.begin(), known.size()});
  return nearest.empty() ? "there are:" + ListOf(known) : "did you mean " + std::string(nearest) + "?";
}

class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& file) : text_(text), file_(file) { algorithm_.file = file; }

  StatusOr<Algorithm> Read() {
    const pugi::xml_parse_result parsed = document_.load_buffer(
        text_.data(), text_.size(), pugi::parse_default | pugi::parse_doctype, pugi::encoding_utf8);
    if (!parsed) {
      return InvalidArgument(file_ + ":" + std::to_string(LineAt(parsed.offset)) +
                             ": not well-formed XML: " + parsed.description() + "; mend the markup there");
    }
    pugi::xml_node root;
    for (const pugi::xml_node node : document_) {
      if (node.type() == pugi::node_doctype) return Wrong(node, "a document type; leave it out");
      if (node.type() != pugi::node_element) continue;
      if (root) return Wrong(node, "a second top element; a file holds one <algo>");
      root = node;
    }
    if (std::string_view(root.name()) != "algo") {
      return Wrong(root, "the top element is <" + std::string(root.name()) + ">; an MSCCL file starts with <algo>");
    }
    MYCEL_RETURN_IF_ERROR(ReadAlgo(root));
    MYCEL_RETURN_IF_ERROR(CheckReferences());
    return std::move(algorithm_);
  }

 private:
  Status ReadAlgo(pugi::xml_node node);
  Status ReadCollective(pugi::xml_node node);
  Status CheckChunkCount(pugi::xml_node node) const;
  Status ReadNotes(pugi::xml_node node);
  Status ReadRoute(pugi::xml_node node);
  Status ReadGpu(pugi::xml_node node, std::vector<bool>* seen);
  Status ReadBlock(pugi::xml_node node, std::vector<Block>* blocks, std::vector<bool>* seen);
  Status ReadStep(pugi::xml_node node, Block* block);
  Status ReadPlace(pugi::xml_node node, const char* buffer, const char* offset, bool used, int32_t count, Place* place);
  Status CheckReferences() const;
  Status CheckConnections(int32_t rank) const;
  Status CheckDependency(int32_t rank, size_t block, size_t step) const;

  // Attributes and children.
  Status CheckAttributes(pugi::xml_node node, std::initializer_list<std::string_view> known) const;
  Status CheckChild(pugi::xml_node node, std::initializer_list<std::string_view> known) const;
  StatusOr<std::string> Text(pugi::xml_node node, const char* name) const;
  template <typename Int>
  Status Integer(pugi::xml_node node, const char* name, int64_t least, int64_t most, Int* out) const;
  Status Flag(pugi::xml_node node, const char* name, bool* out) const;

  int32_t LineAt(ptrdiff_t offset) const {
    const auto end = std::clamp<ptrdiff_t>(offset, 0, static_cast<ptrdiff_t>(text_.size()));
    return 1 + static_cast<int32_t>(std::count(text_.begin(), text_.begin() + end, '\n'));
  }
  /// Lines are asked for in the order of the file: count on from the last.
  int32_t LineOf(pugi::xml_node node) const {
    const ptrdiff_t offset = std::clamp<ptrdiff_t>(node.offset_debug(), 0, static_cast<ptrdiff_t>(text_.size()));
    if (offset < counted_) counted_ = 0, lines_ = 0;
    lines_ += static_cast<int32_t>(std::count(text_.begin() + counted_, text_.begin() + offset, '\n'));
    counted_ = offset;
    return 1 + lines_;
  }
  Status Wrong(pugi::xml_node node, const std::string& problem) const { return WrongAt(LineOf(node), problem); }
  Status WrongAt(int32_t line, const std::string& problem) const {
    return InvalidArgument(file_ + ":" + std::to_string(line) + ": " + problem);
  }
  /// "<step> of gpu 1 tb 2: attribute srcoff ".
  std::string About(pugi::xml_node node, std::string_view attribute) const {
    return "<" + std::string(node.name()) + ">" + where_ + ": attribute " + std::string(attribute) + " ";
  }
  Status WrongAttribute(pugi::xml_node node, std::string_view attribute, const std::string& problem) const {
    return Wrong(node, About(node, attribute) + problem);
  }

  std::string_view text_;
  const std::string& file_;
  pugi::xml_document document_;
  Algorithm algorithm_;
  int32_t gpu_count_ = 0;
  int32_t rank_ = -1;
  std::string where_;  // " of gpu 1 tb 2"
  mutable ptrdiff_t counted_ = 0;
  mutable int32_t lines_ = 0;
};

Status XmlReader::CheckAttributes(pugi::xml_node node, std::initializer_list<std::string_view> known) const {
  std::vector<std::string_view> seen;
  for (const pugi::xml_attribute attribute : node.attributes()) {
    const std::string_view name = attribute.name();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return WrongAttribute(node, name, "is unknown; " + Hint(name, known));
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      return WrongAttribute(node, name, "is given twice; leave one out");
    }
    seen.push_back(name);
  }
  return OkStatus();
}

/// A child must be one of the known elements, never text.
Status XmlReader::CheckChild(pugi::xml_node node, std::initializer_list<std::string_view> known) const {
  const std::string parent = "<" + std::string(node.parent().name()) + ">" + where_;
  if (node.type() != pugi::node_element) return Wrong(node, parent + ": holds text; there is no text in MSCCL files");
  const std::string_view name = node.name();
  if (std::find(known.begin(), known.end(), name) != known.end()) return OkStatus();
  if (known.size() == 0) return Wrong(node, parent + ": holds <" + std::string(name) + ">; leave it out");
  return Wrong(node, parent + ": element <" + std::string(name) + "> is unknown; " + Hint(name, known));
}

StatusOr<std::string> XmlReader::Text(pugi::xml_node node, const char* name) const {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute) return WrongAttribute(node, name, "is missing; add it");
  std::string value = attribute.value();
  if (value.size() > 256) return WrongAttribute(node, name, "is longer than 256 bytes; shorten it");
  return value;
}

template <typename Int>
Status XmlReader::Integer(pugi::xml_node node, const char* name, int64_t least, int64_t most, Int* out) const {
  MYCEL_ASSIGN_OR_RETURN(const std::string text, Text(node, name));
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) {
    return WrongAttribute(node, name, "is '" + text + "'; write a whole number");
  }
  if (value < least || value > most) {
    return WrongAttribute(node, name,
                          "is " + text + "; it must be " + std::to_string(least) +
                              (most == kInt64Max ? " or more" : ".." + std::to_string(most)));
  }
  *out = static_cast<Int>(value);
  return OkStatus();
}

Status XmlReader::Flag(pugi::xml_node node, const char* name, bool* out) const {
  int32_t value = 0;
  MYCEL_RETURN_IF_ERROR(Integer(node, name, 0, 1, &value));
  *out = value != 0;
  return OkStatus();
}

Status XmlReader::ReadAlgo(pugi::xml_node node) {
  MYCEL_RETURN_IF_ERROR(CheckAttributes(node, {"name", "proto", "nchannels", "nchunksperloop", "ngpus", "coll",
                                               "inplace", "outofplace", "minBytes", "maxBytes", "nthreads", "redop"}));
  MYCEL_ASSIGN_OR_RETURN(algorithm_.name, Text(node, "name"));
  MYCEL_ASSIGN_OR_RETURN(const std::string proto, Text(node, "proto"));
  bool known = false;
  for (const Proto each : {Proto::kSimple, Proto::kLl, Proto::kLl128}) {
    if (NameOf(each) == proto) algorithm_.proto = each, known = true;
  }
  if (!known) return WrongAttribute(node, "proto", "is '" + proto + "'; use one of: Simple LL LL128");
  MYCEL_RETURN_IF_ERROR(Integer(node, "ngpus", 1, kRankCountMax, &gpu_count_));
  MYCEL_RETURN_IF_ERROR(Integer(node, "nchannels", 1, 255, &algorithm_.channel_count));
  MYCEL_RETURN_IF_ERROR(Integer(node, "nchunksperloop", 1, kOffsetMax + 1, &algorithm_.chunk_count));
  MYCEL_RETURN_IF_ERROR(ReadCollective(node));
  MYCEL_RETURN_IF_ERROR(CheckChunkCount(node));
  MYCEL_RETURN_IF_ERROR(Flag(node, "inplace", &algorithm_.in_place));
  algorithm_.out_of_place = !algorithm_.in_place;
  if (node.attribute("outofplace")) MYCEL_RETURN_IF_ERROR(Flag(node, "outofplace", &algorithm_.out_of_place));
  if (!algorithm_.in_place && !algorithm_.out_of_place) {
    return WrongAttribute(node, "outofplace", "is 0 and so is inplace: the file serves no call; set one to 1");
  }
  if (node.attribute("minBytes")) {
    MYCEL_RETURN_IF_ERROR(Integer(node, "minBytes", 0, kInt64Max, &algorithm_.min_bytes));
  }
  if (node.attribute("maxBytes")) {
    MYCEL_RETURN_IF_ERROR(Integer(node, "maxBytes", 0, kInt64Max, &algorithm_.max_bytes));
  }
  algorithm_.gpus.resize(static_cast<size_t>(gpu_count_));
  std::vector<bool> seen(algorithm_.gpus.size(), false);
  for (const pugi::xml_node child : node) {
    MYCEL_RETURN_IF_ERROR(CheckChild(child, {"gpu", "mycel"}));
    if (std::string_view(child.name()) == "mycel") {
      MYCEL_RETURN_IF_ERROR(ReadNotes(child));
    } else {
      MYCEL_RETURN_IF_ERROR(ReadGpu(child, &seen));
    }
    where_.clear();
  }
  const auto missing = std::find(seen.begin(), seen.end(), false) - seen.begin();
  if (missing == static_cast<ptrdiff_t>(seen.size())) return OkStatus();
  return WrongAttribute(
      node, "ngpus",
      "is " + std::to_string(gpu_count_) + ", but there is no <gpu id=\"" + std::to_string(missing) + "\">; add it");
}

Status XmlReader::ReadCollective(pugi::xml_node node) {
  MYCEL_ASSIGN_OR_RETURN(const std::string name, Text(node, "coll"));
  constexpr std::tuple<std::string_view, Collective> kServed[] = {{"allreduce", Collective::kAllReduce},
                                                                  {"allgather", Collective::kAllGather},
                                                                  {"reducescatter", Collective::kReduceScatter},
                                                                  {"reduce_scatter", Collective::kReduceScatter},
                                                                  {"alltoall", Collective::kAllToAll}};
  for (const auto& [known, collective] : kServed) {
    if (known != name) continue;
    algorithm_.collective = collective;
    return OkStatus();
  }
  const Status refused = WrongAttribute(node, "coll", "is '" + name + "'");
  constexpr std::string_view kOthers[] = {"broadcast", "reduce", "gather", "scatter", "send", "recv", "alltoallv"};
  if (name == "custom") {
    return Impossible(StatusMessage(refused) +
                      ": a custom collective has no contract that a result could be held against; Mycel reads "
                      "allreduce, allgather, reduce_scatter (reducescatter) and alltoall");
  }
  if (std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers)) {
    return Impossible(StatusMessage(refused) +
                      ": the file does not say the root or the counts; Mycel reads allreduce, allgather, "
                      "reduce_scatter (reducescatter) and alltoall");
  }
  return InvalidArgument(StatusMessage(refused) +
                         "; use one of: allreduce allgather reduce_scatter reducescatter alltoall");
}

Status XmlReader::CheckChunkCount(pugi::xml_node node) const {
  if (algorithm_.collective == Collective::kAllReduce || algorithm_.chunk_count % gpu_count_ == 0) return OkStatus();
  return WrongAttribute(node, "nchunksperloop",
                        "is " + std::to_string(algorithm_.chunk_count) + ", which " + std::to_string(gpu_count_) +
                            " gpus do not divide; an " + std::string(NameOf(algorithm_.collective)) +
                            " has the same number of chunks for every gpu");
}

Status XmlReader::ReadNotes(pugi::xml_node node) {
  PlanNotes& notes = algorithm_.notes;
  if (notes.present) return Wrong(node, "<mycel>: a second one; a file holds one");
  notes.present = true;
  MYCEL_RETURN_IF_ERROR(CheckAttributes(node, {"version", "planner", "topology", "topology_hash"}));
  int32_t version = 0;
  MYCEL_RETURN_IF_ERROR(Integer(node, "version", 1, 1, &version));
  MYCEL_ASSIGN_OR_RETURN(notes.planner, Text(node, "planner"));
  MYCEL_ASSIGN_OR_RETURN(notes.topology, Text(node, "topology"));
  MYCEL_ASSIGN_OR_RETURN(const std::string hash, Text(node, "topology_hash"));
  const StatusOr<uint64_t> parsed = ParseHashText(hash);
  if (!parsed.ok()) return WrongAttribute(node, "topology_hash", StatusMessage(parsed.status()));
  notes.topology_hash = *parsed;
  for (const pugi::xml_node child : node) {
    MYCEL_RETURN_IF_ERROR(CheckChild(child, {"route"}));
    MYCEL_RETURN_IF_ERROR(ReadRoute(child));
  }
  return OkStatus();
}

Status XmlReader::ReadRoute(pugi::xml_node node) {
  MYCEL_RETURN_IF_ERROR(CheckAttributes(node, {"id", "nodes"}));
  std::vector<Route>& routes = algorithm_.notes.routes;
  const auto next = static_cast<int64_t>(routes.size());
  int64_t id = 0;
  MYCEL_RETURN_IF_ERROR(Integer(node, "id", next, next, &id));
  if (!node.attribute("nodes")) return WrongAttribute(node, "nodes", "is missing; add it");
  Route& route = routes.emplace_back();
  std::string_view text = node.attribute("nodes").value();
  while (!text.empty()) {
    int32_t number = -1;
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) break;
    route.push_back(NodeId(number));
    text.remove_prefix(static_cast<size_t>(at - text.data()));
    if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  if (text.empty() && route.size() >= 2) return OkStatus();
  return WrongAttribute(node, "nodes",
                        "is '" + std::string(node.attribute("nodes").value()).substr(0, 64) +
                            "'; write two or more node numbers with a space between them");
}

Status XmlReader::ReadGpu(pugi::xml_node node, std::vector<bool>* seen) {
  MYCEL_RETURN_IF_ERROR(CheckAttributes(node, {"id", "i_chunks", "o_chunks", "s_chunks"}));
  MYCEL_RETURN_IF_ERROR(Integer(node, "id", 0, gpu_count_ - 1, &rank_));
  if ((*seen)[static_cast<size_t>(rank_)]) {
    return WrongAttribute(node, "id", "is " + std::to_string(rank_) + " a second time; give every gpu its own");
  }
  (*seen)[static_cast<size_t>(rank_)] = true;
  where_ = " of gpu " + std::to_string(rank_);
  Gpu& gpu = algorithm_.gpus[static_cast<size_t>(rank_)];
  gpu.line = LineOf(node);
  const int64_t whole = algorithm_.chunk_count;
  const int64_t part = ChunksPerBlock(algorithm_.collective, algorithm_.chunk_count, gpu_count_);
  const bool gathers = algorithm_.collective == Collective::kAllGather;
  const bool scatters = algorithm_.collective == Collective::kReduceScatter;
  MYCEL_RETURN_IF_ERROR(Integer(node, "i_chunks", 0, gathers ? part : whole, &gpu.input_chunks));
  MYCEL_RETURN_IF_ERROR(Integer(node, "o_chunks", 0, scatters ? part : whole, &gpu.output_chunks));
  MYCEL_RETURN_IF_ERROR(Integer(node, "s_chunks", 0, kScratchMax, &gpu.scratch_chunks));
  const auto count = static_cast<size_t>(std::distance(node.children("tb").begin(), node.children("tb").end()));
  gpu.blocks.resize(count);
  std::vector<bool> blocks_seen(count, false);
  for (const pugi::xml_node child : node) {
    where_ = " of gpu " + std::to_string(rank_);
    MYCEL_RETURN_IF_ERROR(CheckChild(child, {"tb", "copy"}));
    if (std::string_view(child.name()) == "tb") MYCEL_RETURN_IF_ERROR(ReadBlock(child, &gpu.blocks, &blocks_seen));
  }
  return OkStatus();
}

Status XmlReader::ReadBlock(pugi::xml_node node, std::vector<Block>* blocks, std::vector<bool>* seen) {
  MYCEL_RETURN_IF_ERROR(CheckAttributes(node, {"id", "send", "recv", "chan"}));
  int32_t id = 0;
  MYCEL_RETURN_IF_ERROR(Integer(node, "id", 0, static_cast<int64_t>(blocks->size()) - 1, &id));
  if ((*seen)[static_cast<size_t>(id)]) {
    return WrongAttribute(node, "id", "is " + std::to_string(id) + " a second time; number the blocks 0, 1, 2, ...");
  }
  (*seen)[static_cast<size_t>(id)] = true;
  Block& block = (*blocks)[static_cast<size_t>(id)];
  block.line = LineOf(node);
  MYCEL_RETURN_IF_ERROR(Integer(node, "send", -1, gpu_count_ - 1, &block.send));
  MYCEL_RETURN_IF_ERROR(Integer(node, "recv", -1, gpu_count_ - 1, &block.recv));
  MYCEL_RETURN_IF_ERROR(Integer(node, "chan", 0, algorithm_.channel_count - 1, &block.channel));
  for (const auto& [name, peer] : {std::pair("send", block.send), std::pair("recv", block.recv)}) {
    if (peer == rank_) return WrongAttribute(node, name, "is the gpu itself; use a cpy step, or -1 for no peer");
  }
  where_ += " tb " + std::to_string(id);
  for (const pugi::xml_node child : node) {
    MYCEL_RETURN_IF_ERROR(CheckChild(child, {"step"}));
    MYCEL_RETURN_IF_ERROR(ReadStep(child, &block));
  }
  return OkStatus();
}

Status XmlReader::ReadStep(pugi::xml_node node, Block* block) {
  MYCEL_RETURN_IF_ERROR(CheckAttributes(
      node, {"s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep", "mycel_route"}));
  for (const pugi::xml_node child : node) MYCEL_RETURN_IF_ERROR(CheckChild(child, {}));
  Step step;
  step.line = LineOf(node);
  const auto next = static_cast<int64_t>(block->steps.size());
  int64_t number = 0;
  MYCEL_RETURN_IF_ERROR(Integer(node, "s", next, next, &number));
  MYCEL_ASSIGN_OR_RETURN(const std::string type, Text(node, "type"));
  const StatusOr<StepType> parsed = ParseStepType(type);
  if (!parsed.ok()) return WrongAttribute(node, "type", StatusMessage(parsed.status()));
  step.type = *parsed;
  const StepInfo& info = InfoOf(step.type);
  if (info.sends && block->send < 0) {
    return WrongAttribute(node, "type", "is '" + type + "', but the block has send=\"-1\"; give it a peer");
  }
  if (info.receives && block->recv < 0) {
    return WrongAttribute(node, "type", "is '" + type + "', but the block has recv=\"-1\"; give it a peer");
  }
  const bool moves = step.type != StepType::kNop;
  MYCEL_RETURN_IF_ERROR(Integer(node, "cnt", moves ? 1 : 0, moves ? kCountMax : 0, &step.count));
  const bool writes = info.writes;
  MYCEL_RETURN_IF_ERROR(ReadPlace(node, "srcbuf", "srcoff", info.reads, step.count, &step.source));
  MYCEL_RETURN_IF_ERROR(ReadPlace(node, "dstbuf", "dstoff", writes, step.count, &step.target));
  const int32_t shift = std::abs(step.source.offset - step.target.offset);
  if (info.reads && writes && step.source.buffer == step.target.buffer && shift > 0 && shift < step.count) {
    return WrongAttribute(node, "dstoff", "makes the step's source and destination overlap; move fewer chunks (cnt)");
  }
  MYCEL_RETURN_IF_ERROR(Integer(node, "depid", -1, 1 << 20, &step.dep_block));
  MYCEL_RETURN_IF_ERROR(Integer(node, "deps", -1, 1 << 20, &step.dep_step));
  if ((step.dep_block < 0) != (step.dep_step < 0)) {
    return WrongAttribute(node, "deps",
                          "is " + std::to_string(step.dep_step) + " while depid is " + std::to_string(step.dep_block) +
                              "; set both, or both to -1");
  }
  MYCEL_RETURN_IF_ERROR(Flag(node, "hasdep", &step.has_dependents));
  if (node.attribute("mycel_route")) {
    const auto routes = static_cast<int64_t>(algorithm_.notes.routes.size());
    if (!info.sends) return WrongAttribute(node, "mycel_route", "stands on a step that sends nothing; leave it out");
    if (routes == 0) return WrongAttribute(node, "mycel_route", "names a route, but <mycel> lists none before it");
    MYCEL_RETURN_IF_ERROR(Integer(node, "mycel_route", 0, routes - 1, &step.route));
  }
  block->steps.push_back(step);
  return OkStatus();
}

/// The side that a step does not look at may say anything that has the right form.
Status XmlReader::ReadPlace(pugi::xml_node node, const char* buffer, const char* offset, bool used, int32_t count,
                            Place* place) {
  MYCEL_ASSIGN_OR_RETURN(const std::string name, Text(node, buffer));
  const Gpu& gpu = algorithm_.gpus[static_cast<size_t>(rank_)];
  int32_t chunks = 0;
  if (name == "i") {
    place->buffer = Buffer::kInput;
    chunks = gpu.input_chunks;
  } else if (name == "o") {
    place->buffer = Buffer::kOutput;
    chunks = gpu.output_chunks;
  } else if (name == "s") {
    place->buffer = Buffer::kScratch;
    chunks = gpu.scratch_chunks;
  } else {
    return WrongAttribute(node, buffer, "is '" + name + "'; use one of: i o s");
  }
  MYCEL_RETURN_IF_ERROR(Integer(node, offset, used ? 0 : -1, kScratchMax, &place->offset));
  if (!used || place->offset + count <= chunks) return OkStatus();
  return WrongAttribute(node, offset,
                        "is " + std::to_string(place->offset) + " and cnt is " + std::to_string(count) +
                            ", but the gpu says " + name + "_chunks=\"" + std::to_string(chunks) +
                            "\"; raise that or lower these");
}

Status XmlReader::CheckReferences() const {
  for (int32_t rank = 0; rank < gpu_count_; ++rank) {
    MYCEL_RETURN_IF_ERROR(CheckConnections(rank));
    const std::vector<Block>& blocks = algorithm_.gpus[static_cast<size_t>(rank)].blocks;
    for (size_t b = 0; b < blocks.size(); ++b) {
      for (size_t s = 0; s < blocks[b].steps.size(); ++s) MYCEL_RETURN_IF_ERROR(CheckDependency(rank, b, s));
    }
  }
  return OkStatus();
}

/// No two blocks of a gpu own the same connection.
Status XmlReader::CheckConnections(int32_t rank) const {
  std::set<std::tuple<bool, int32_t, int32_t>> seen;
  for (const Block& block : algorithm_.gpus[static_cast<size_t>(rank)].blocks) {
    for (const bool sends : {true, false}) {
      const int32_t peer = sends ? block.send : block.recv;
      if (peer < 0 || seen.emplace(sends, peer, block.channel).second) continue;
      return WrongAt(block.line, "<tb> of gpu " + std::to_string(rank) + ": attribute " + (sends ? "send" : "recv") +
                                     " is " + std::to_string(peer) + " on chan " + std::to_string(block.channel) +
                                     ", which another block of the gpu owns too; use another chan");
    }
  }
  return OkStatus();
}

Status XmlReader::CheckDependency(int32_t rank, size_t block, size_t step) const {
  const std::vector<Block>& blocks = algorithm_.gpus[static_cast<size_t>(rank)].blocks;
  const Step& it = blocks[block].steps[step];
  if (it.dep_block < 0) return OkStatus();
  const std::string about = "<step> " + std::to_string(step) + " of gpu " + std::to_string(rank) + " tb " +
                            std::to_string(block) + ": attribute ";
  if (static_cast<size_t>(it.dep_block) >= blocks.size()) {
    return WrongAt(it.line, about + "depid is " + std::to_string(it.dep_block) + ", but the gpu has " +
                                std::to_string(blocks.size()) + " blocks; name one of them");
  }
  const std::vector<Step>& others = blocks[static_cast<size_t>(it.dep_block)].steps;
  if (static_cast<size_t>(it.dep_step) >= others.size()) {
    return WrongAt(it.line, about + "deps is " + std::to_string(it.dep_step) + ", but tb " +
                                std::to_string(it.dep_block) + " has " + std::to_string(others.size()) +
                                " steps; name one of them");
  }
  if (others[static_cast<size_t>(it.dep_step)].has_dependents) return OkStatus();
  return WrongAt(it.line, about + "deps waits for tb " + std::to_string(it.dep_block) + " step " +
                              std::to_string(it.dep_step) +
                              ", which says hasdep=\"0\" and so never tells; set its "
                              "hasdep to 1");
}

}  // namespace

StatusOr<Algorithm> ReadXml(std::string_view text, const std::string& file) {
  if (text.size() > static_cast<size_t>(kPlanFileBytesMax)) {
    return InvalidArgument(file + ": the file is larger than " + std::to_string(kPlanFileBytesMax) +
                           " bytes; use fewer steps");
  }
  return XmlReader(text, file).Read();
}

}  // namespace mycel::msccl

#else

namespace mycel::msccl {

StatusOr<Algorithm> ReadXml(std::string_view, const std::string& file) {
  return InvalidUsage(file +
                      ": is XML, and this Mycel was built without pugixml; install libpugixml-dev and build again");
}

}  // namespace mycel::msccl

#endif
