// JSON -> ExecutionPlan: one function for each kind of object in the file.
#include <algorithm>
#include <iterator>
#include <tuple>

#include "bindings/interchange/json_value.h"
#include "bindings/interchange/mscclpp_json.h"
#include "core/plan/structure.h"

namespace mycel::mscclpp {
namespace {

constexpr int kDepthMax = 16;  // pipelines nest ops in ops; they are refused by name, not by depth
constexpr int64_t kBytesMax = int64_t{1} << 62;

/// The lists through which a block names channels and remote buffers.
struct BlockLists {
  std::vector<int32_t> channels[2];  // of the gpu, by ChannelType
  std::vector<int32_t> buffers[2];   // of the gpu, by the ChannelType that reaches them
};

class JsonReader {
 public:
  explicit JsonReader(const std::string& file) { plan_.file = file; }

  StatusOr<ExecutionPlan> Read(const JsonValue& root) {
    MYCEL_RETURN_IF_ERROR(root.CheckKeys({"name", "collective", "protocol", "inplace", "reuse_resources",
                                          "num_threads_per_block", "use_double_scratch_buffer", "buffer_alignment",
                                          "min_message_size", "max_message_size", "gpus", "mycel"}));
    MYCEL_ASSIGN_OR_RETURN(const JsonValue* const name, root.Get("name"));
    MYCEL_ASSIGN_OR_RETURN(plan_.name, name->Text());
    MYCEL_RETURN_IF_ERROR(ReadCollective(root));
    MYCEL_RETURN_IF_ERROR(ReadSettings(root));
    if (const JsonValue* const notes = root.Find("mycel")) MYCEL_RETURN_IF_ERROR(ReadNotes(*notes));
    MYCEL_ASSIGN_OR_RETURN(const JsonValue* const gpus, root.Get("gpus"));
    MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const items, gpus->Items());
    if (items->empty() || items->size() > kRankCountMax) {
      return gpus->Wrong("has " + std::to_string(items->size()) + " entries; it must have 1.." +
                         std::to_string(kRankCountMax));
    }
    plan_.gpus.resize(items->size());
    for (size_t rank = 0; rank < items->size(); ++rank) MYCEL_RETURN_IF_ERROR(ReadGpu((*items)[rank], rank));
    for (size_t rank = 0; rank < items->size(); ++rank) MYCEL_RETURN_IF_ERROR(CheckGpu((*items)[rank], rank));
    return std::move(plan_);
  }

 private:
  Status ReadCollective(const JsonValue& root);
  Status ReadSettings(const JsonValue& root);
  Status ReadNotes(const JsonValue& value);
  Status ReadGpu(const JsonValue& value, size_t rank);
  Status CheckGpu(const JsonValue& value, size_t rank) const;
  Status ReadChannels(const JsonValue& value, Gpu* gpu) const;
  Status ReadRemoteBuffers(const JsonValue& value, Gpu* gpu) const;
  Status ReadBlock(const JsonValue& value, size_t number, Gpu* gpu) const;
  Status ReadLists(const JsonValue& value, const Gpu& gpu, BlockLists* lists) const;
  Status ReadOp(const JsonValue& value, const Gpu& gpu, const BlockLists& lists, Op* op) const;
  Status ReadSpans(const JsonValue& value, const char* key, const Gpu& gpu, const BlockLists& lists,
                   ChannelType reached_by, std::vector<Span>* spans) const;
  Status CheckOp(const JsonValue& value, const Op& op) const;
  Status ReadChannelType(const JsonValue& value, ChannelType* type) const;
  Status ReadBuffer(const JsonValue& value, Buffer* buffer) const;
  template <typename Int>
  static Status ReadInteger(const JsonValue& value, const char* key, int64_t least, int64_t most, Int* out) {
    MYCEL_ASSIGN_OR_RETURN(const JsonValue* const number, value.Get(key));
    return number->Integer(least, most, out);
  }
  /// The list under `key`; an empty one where there is no such key.
  static StatusOr<const std::vector<JsonValue>*> ListOf(const JsonValue& value, const char* key) {
    static const std::vector<JsonValue> kNone;
    const JsonValue* const list = value.Find(key);
    if (list == nullptr) return &kNone;
    return list->Items();
  }

  ExecutionPlan plan_;
};

Status JsonReader::ReadCollective(const JsonValue& root) {
  MYCEL_ASSIGN_OR_RETURN(const JsonValue* const value, root.Get("collective"));
  MYCEL_ASSIGN_OR_RETURN(const std::string name, value->Text());
  constexpr std::tuple<std::string_view, Collective> kServed[] = {{"allreduce", Collective::kAllReduce},
                                                                  {"allgather", Collective::kAllGather},
                                                                  {"reducescatter", Collective::kReduceScatter},
                                                                  {"alltoall", Collective::kAllToAll}};
  for (const auto& [known, collective] : kServed) {
    if (known != name) continue;
    plan_.collective = collective;
    return OkStatus();
  }
  Status refused = value->Wrong("is '" + name + "'; Mycel reads: allreduce allgather reducescatter alltoall");
  if (name != "custom" && name != "sendrecv") return refused;
  return Impossible(StatusMessage(refused) + ". A " + name + " plan has no contract to hold its result against");
}

Status JsonReader::ReadSettings(const JsonValue& root) {
  MYCEL_ASSIGN_OR_RETURN(const JsonValue* const protocol, root.Get("protocol"));
  MYCEL_ASSIGN_OR_RETURN(const std::string name, protocol->Text());
  if (name != "Simple" && name != "LL") return protocol->Wrong("is '" + name + "'; use one of: Simple LL");
  plan_.is_ll = name == "LL";
  MYCEL_ASSIGN_OR_RETURN(const JsonValue* const in_place, root.Get("inplace"));
  MYCEL_ASSIGN_OR_RETURN(plan_.in_place, in_place->Boolean());
  for (const char* const key : {"reuse_resources", "use_double_scratch_buffer"}) {
    if (const JsonValue* const value = root.Find(key)) MYCEL_RETURN_IF_ERROR(value->Boolean().status());
  }
  for (const char* const key : {"num_threads_per_block", "buffer_alignment", "min_message_size", "max_message_size"}) {
    int64_t number = 0;
    if (root.Find(key) != nullptr) MYCEL_RETURN_IF_ERROR(ReadInteger(root, key, 0, kBytesMax, &number));
  }
  return OkStatus();
}

Status JsonReader::ReadNotes(const JsonValue& value) {
  PlanNotes& notes = plan_.notes;
  notes.present = true;
  MYCEL_RETURN_IF_ERROR(value.CheckKeys({"version", "planner", "topology", "topology_hash", "routes"}));
  int32_t version = 0;
  MYCEL_RETURN_IF_ERROR(ReadInteger(value, "version", 1, 1, &version));
  MYCEL_ASSIGN_OR_RETURN(const JsonValue* const planner, value.Get("planner"));
  MYCEL_ASSIGN_OR_RETURN(notes.planner, planner->Text());
  MYCEL_ASSIGN_OR_RETURN(const JsonValue* const topology, value.Get("topology"));
  MYCEL_ASSIGN_OR_RETURN(notes.topology, topology->Text());
  MYCEL_ASSIGN_OR_RETURN(const JsonValue* const hash, value.Get("topology_hash"));
  MYCEL_ASSIGN_OR_RETURN(const std::string digits, hash->Text());
  const StatusOr<uint64_t> parsed = ParseHashText(digits);
  if (!parsed.ok()) return hash->Wrong(StatusMessage(parsed.status()));
  notes.topology_hash = *parsed;
  MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const routes, ListOf(value, "routes"));
  for (const JsonValue& route : *routes) {
    MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const nodes, route.Items());
    if (nodes->size() < 2) return route.Wrong("has fewer than two nodes; list source, switches and target");
    notes.routes.emplace_back();
    for (const JsonValue& node : *nodes) {
      int32_t number = 0;
      MYCEL_RETURN_IF_ERROR(node.Integer(0, INT32_MAX, &number));
      notes.routes.back().push_back(NodeId(number));
    }
  }
  return OkStatus();
}

Status JsonReader::ReadGpu(const JsonValue& value, size_t rank) {
  MYCEL_RETURN_IF_ERROR(value.CheckKeys({"id", "input_chunks", "output_chunks", "scratch_chunks", "threadblocks",
                                         "channels", "remote_buffers", "semaphores"}));
  Gpu& gpu = plan_.gpus[rank];
  const auto id = static_cast<int64_t>(rank);
  int64_t number = 0;
  MYCEL_RETURN_IF_ERROR(ReadInteger(value, "id", id, id, &number));
  MYCEL_RETURN_IF_ERROR(ReadInteger(value, "input_chunks", 0, kChunksMax, &gpu.input_chunks));
  MYCEL_RETURN_IF_ERROR(ReadInteger(value, "output_chunks", 0, kChunksMax, &gpu.output_chunks));
  MYCEL_RETURN_IF_ERROR(ReadInteger(value, "scratch_chunks", 0, kChunksMax, &gpu.scratch_chunks));
  MYCEL_RETURN_IF_ERROR(ReadChannels(value, &gpu));
  MYCEL_RETURN_IF_ERROR(ReadRemoteBuffers(value, &gpu));
  MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const semaphores, ListOf(value, "semaphores"));
  for (const JsonValue& semaphore : *semaphores) {
    MYCEL_RETURN_IF_ERROR(semaphore.CheckKeys({"init_value"}));
    MYCEL_RETURN_IF_ERROR(ReadInteger(semaphore, "init_value", 0, 1 << 20, &gpu.semaphores.emplace_back()));
  }
  MYCEL_ASSIGN_OR_RETURN(const JsonValue* const blocks, value.Get("threadblocks"));
  MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const items, blocks->Items());
  for (size_t b = 0; b < items->size(); ++b) MYCEL_RETURN_IF_ERROR(ReadBlock((*items)[b], b, &gpu));
  return OkStatus();
}

/// What takes all gpus to check: equal blocks, channels that have another end, spans inside remote buffers.
Status JsonReader::CheckGpu(const JsonValue& value, size_t rank) const {
  const Gpu& gpu = plan_.gpus[rank];
  const int32_t n = plan_.rank_count();
  const int32_t units = ChunksPerBlock(plan_.collective, gpu, n);
  const int32_t wanted = ChunksPerBlock(plan_.collective, plan_.gpus[0], n);
  const int32_t many = plan_.collective == Collective::kAllReduce ? units : units * n;
  const int32_t input = plan_.collective == Collective::kAllGather ? units : many;
  const int32_t output = plan_.collective == Collective::kReduceScatter ? units : many;
  const bool fits = (gpu.input_chunks == input || (gpu.input_chunks == 0 && plan_.in_place)) &&
                    (gpu.output_chunks == output || (gpu.output_chunks == 0 && plan_.in_place));
  if (units < 1 || units != wanted || !fits) {
    return value.Wrong("has input_chunks " + std::to_string(gpu.input_chunks) + " and output_chunks " +
                       std::to_string(gpu.output_chunks) + ", which is no " +
                       std::string(mycel::NameOf(plan_.collective)) + " of " + std::to_string(n) +
                       " gpus, or cut otherwise than gpus[0]; make the numbers fit");
  }
  for (const ChannelType type : {ChannelType::kMemory, ChannelType::kPort}) {
    const std::vector<int32_t>& mine = gpu.channels[static_cast<size_t>(type)];
    for (const int32_t peer : mine) {
      const std::vector<int32_t>& theirs = plan_.gpus[static_cast<size_t>(peer)].channels[static_cast<size_t>(type)];
      const auto there = std::count(mine.begin(), mine.end(), peer);
      const auto back = std::count(theirs.begin(), theirs.end(), static_cast<int32_t>(rank));
      if (there == back) continue;
      return value.Wrong("has " + std::to_string(there) + " " + std::string(NameOf(type)) + " channels to gpu " +
                         std::to_string(peer) + ", which has " + std::to_string(back) +
                         " back; both must list equally many");
    }
  }
  MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const blocks, ListOf(value, "threadblocks"));
  for (size_t b = 0; b < gpu.blocks.size(); ++b) {
    MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const ops, ListOf((*blocks)[b], "ops"));
    for (size_t o = 0; o < gpu.blocks[b].ops.size(); ++o) {
      const Op& op = gpu.blocks[b].ops[o];
      for (const std::vector<Span>* spans : {&op.sources, &op.targets}) {
        for (const Span& span : *spans) {
          const size_t owner =
              span.remote < 0 ? rank : static_cast<size_t>(gpu.remote_buffers[static_cast<size_t>(span.remote)].rank);
          const Gpu& at = plan_.gpus[owner];
          const int32_t chunks = span.buffer == Buffer::kInput    ? at.input_chunks
                                 : span.buffer == Buffer::kOutput ? at.output_chunks
                                                                  : at.scratch_chunks;
          if (span.index + span.size <= chunks) continue;
          return (*ops)[o].Wrong("touches chunks [" + std::to_string(span.index) + "," +
                                 std::to_string(span.index + span.size) + ") of buffer " +
                                 std::string(NameOf(span.buffer)) + " of gpu " + std::to_string(owner) +
                                 ", which has " + std::to_string(chunks) + "; lower index or size");
        }
      }
    }
  }
  return OkStatus();
}

Status JsonReader::ReadChannelType(const JsonValue& value, ChannelType* type) const {
  MYCEL_ASSIGN_OR_RETURN(const std::string name, value.Text());
  if (name == "memory" || name == "port") {
    *type = name == "memory" ? ChannelType::kMemory : ChannelType::kPort;
    return OkStatus();
  }
  if (name != "switch") return value.Wrong("is '" + name + "'; use one of: memory port");
  return Impossible(StatusMessage(value.Wrong("is 'switch': multicast memory has no like in Mycel's plans")));
}

Status JsonReader::ReadBuffer(const JsonValue& value, Buffer* buffer) const {
  MYCEL_ASSIGN_OR_RETURN(const std::string name, value.Text());
  for (const Buffer each : {Buffer::kInput, Buffer::kOutput, Buffer::kScratch}) {
    if (NameOf(each) != name) continue;
    *buffer = each;
    return OkStatus();
  }
  return value.Wrong("is '" + name + "'; use one of: i o s");
}

Status JsonReader::ReadChannels(const JsonValue& value, Gpu* gpu) const {
  const auto me = static_cast<int64_t>(gpu - plan_.gpus.data());
  MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const channels, ListOf(value, "channels"));
  for (const JsonValue& entry : *channels) {
    MYCEL_ASSIGN_OR_RETURN(const JsonValue* const type_name, entry.Get("channel_type"));
    ChannelType type = ChannelType::kMemory;
    MYCEL_RETURN_IF_ERROR(ReadChannelType(*type_name, &type));
    MYCEL_RETURN_IF_ERROR(entry.CheckKeys({"channel_type", "connected_to"}));
    MYCEL_ASSIGN_OR_RETURN(const JsonValue* const peers, entry.Get("connected_to"));
    MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const list, peers->Items());
    for (const JsonValue& peer : *list) {
      int32_t rank = 0;
      MYCEL_RETURN_IF_ERROR(peer.Integer(0, plan_.rank_count() - 1, &rank));
      if (rank == me) return peer.Wrong("is the gpu itself; use a copy");
      gpu->channels[static_cast<size_t>(type)].push_back(rank);
    }
  }
  return OkStatus();
}

Status JsonReader::ReadRemoteBuffers(const JsonValue& value, Gpu* gpu) const {
  const auto me = static_cast<int64_t>(gpu - plan_.gpus.data());
  MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const buffers, ListOf(value, "remote_buffers"));
  for (const JsonValue& entry : *buffers) {
    MYCEL_RETURN_IF_ERROR(entry.CheckKeys({"rank", "type", "access_channel_types"}));
    RemoteBuffer buffer;
    MYCEL_RETURN_IF_ERROR(ReadInteger(entry, "rank", 0, plan_.rank_count() - 1, &buffer.rank));
    if (buffer.rank == me) return entry.Wrong("is a buffer of the gpu itself; name it by type in the ops");
    MYCEL_ASSIGN_OR_RETURN(const JsonValue* const type, entry.Get("type"));
    MYCEL_RETURN_IF_ERROR(ReadBuffer(*type, &buffer.buffer));
    MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const types, ListOf(entry, "access_channel_types"));
    ChannelType unused = ChannelType::kMemory;
    for (const JsonValue& each : *types) MYCEL_RETURN_IF_ERROR(ReadChannelType(each, &unused));
    gpu->remote_buffers.push_back(buffer);
  }
  return OkStatus();
}

Status JsonReader::ReadBlock(const JsonValue& value, size_t number, Gpu* gpu) const {
  MYCEL_RETURN_IF_ERROR(value.CheckKeys({"id", "ops", "channels", "remote_buffer_refs"}));
  const auto id = static_cast<int64_t>(number);
  int64_t unused = 0;
  MYCEL_RETURN_IF_ERROR(ReadInteger(value, "id", id, id, &unused));
  BlockLists lists;
  MYCEL_RETURN_IF_ERROR(ReadLists(value, *gpu, &lists));
  Block& block = gpu->blocks.emplace_back();
  MYCEL_ASSIGN_OR_RETURN(const JsonValue* const ops, value.Get("ops"));
  MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const items, ops->Items());
  if (items->size() > kOpsPerBlockMax) {
    return ops->Wrong("has " + std::to_string(items->size()) + " entries; the executor runs " +
                      std::to_string(kOpsPerBlockMax) + ", so use more blocks");
  }
  for (const JsonValue& item : *items) MYCEL_RETURN_IF_ERROR(ReadOp(item, *gpu, lists, &block.ops.emplace_back()));
  return OkStatus();
}

Status JsonReader::ReadLists(const JsonValue& value, const Gpu& gpu, BlockLists* lists) const {
  MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const channels, ListOf(value, "channels"));
  for (const JsonValue& entry : *channels) {
    MYCEL_RETURN_IF_ERROR(entry.CheckKeys({"channel_type", "channel_ids"}));
    MYCEL_ASSIGN_OR_RETURN(const JsonValue* const type_name, entry.Get("channel_type"));
    ChannelType type = ChannelType::kMemory;
    MYCEL_RETURN_IF_ERROR(ReadChannelType(*type_name, &type));
    MYCEL_ASSIGN_OR_RETURN(const JsonValue* const ids, entry.Get("channel_ids"));
    MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const list, ids->Items());
    std::vector<int32_t>& known = lists->channels[static_cast<size_t>(type)];
    for (const JsonValue& id : *list) {
      const auto count = static_cast<int64_t>(gpu.channels[static_cast<size_t>(type)].size());
      MYCEL_RETURN_IF_ERROR(id.Integer(0, count - 1, &known.emplace_back()));
    }
    if (known.size() > kChannelsPerBlockMax) {
      return ids->Wrong("makes more than " + std::to_string(kChannelsPerBlockMax) +
                        " channels of a type in one block; use more blocks");
    }
  }
  MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const refs, ListOf(value, "remote_buffer_refs"));
  for (const JsonValue& entry : *refs) {
    MYCEL_RETURN_IF_ERROR(entry.CheckKeys({"access_channel_type", "remote_buffer_ids"}));
    MYCEL_ASSIGN_OR_RETURN(const JsonValue* const type_name, entry.Get("access_channel_type"));
    ChannelType type = ChannelType::kMemory;
    MYCEL_RETURN_IF_ERROR(ReadChannelType(*type_name, &type));
    MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const list, ListOf(entry, "remote_buffer_ids"));
    for (const JsonValue& id : *list) {
      const auto count = static_cast<int64_t>(gpu.remote_buffers.size());
      MYCEL_RETURN_IF_ERROR(id.Integer(0, count - 1, &lists->buffers[static_cast<size_t>(type)].emplace_back()));
    }
  }
  return OkStatus();
}

Status JsonReader::ReadOp(const JsonValue& value, const Gpu& gpu, const BlockLists& lists, Op* op) const {
  op->line = value.line();
  MYCEL_ASSIGN_OR_RETURN(const JsonValue* const name, value.Get("name"));
  MYCEL_ASSIGN_OR_RETURN(const std::string text, name->Text());
  const StatusOr<OpType> type = ParseOpType(text);
  if (!type.ok()) return MakeStatus(type.status().code(), StatusMessage(name->Wrong(StatusMessage(type.status()))));
  op->type = *type;
  for (const char* const key : {"tbg_info", "iter_context", "ops"}) {
    const JsonValue* const found = value.Find(key);
    if (found == nullptr) continue;
    return Impossible(StatusMessage(found->Wrong(
        "is given: ops that several blocks share, and pipelines, have no like in Mycel's plans; spell them out")));
  }
  MYCEL_RETURN_IF_ERROR(value.CheckKeys({"name", "src_buff", "dst_buff", "channel_ids", "channel_type", "reduce_op",
                                         "barrier_id", "num_threadblocks", "semaphore_ids", "mycel_route"}));
  if (const JsonValue* const channel_type = value.Find("channel_type")) {
    MYCEL_RETURN_IF_ERROR(ReadChannelType(*channel_type, &op->channel_type));
  }
  if (const JsonValue* const reduce_op = value.Find("reduce_op")) {
    MYCEL_ASSIGN_OR_RETURN(const std::string reduction, reduce_op->Text());
    if (reduction != "sum" && reduction != "min" && reduction != "max") {
      return reduce_op->Wrong("is '" + reduction + "'; use one of: sum min max");
    }
  }
  const std::vector<int32_t>& channels = lists.channels[static_cast<size_t>(op->channel_type)];
  MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const ids, ListOf(value, "channel_ids"));
  for (const JsonValue& id : *ids) {
    size_t place = 0;
    MYCEL_RETURN_IF_ERROR(id.Integer(0, static_cast<int64_t>(channels.size()) - 1, &place));
    op->channels.push_back(channels[place]);
  }
  MYCEL_RETURN_IF_ERROR(ReadSpans(value, "src_buff", gpu, lists, op->channel_type, &op->sources));
  MYCEL_RETURN_IF_ERROR(ReadSpans(value, "dst_buff", gpu, lists, op->channel_type, &op->targets));
  if (op->type == OpType::kBarrier) {
    MYCEL_RETURN_IF_ERROR(ReadInteger(value, "barrier_id", 0, 15, &op->barrier));
    MYCEL_RETURN_IF_ERROR(ReadInteger(value, "num_threadblocks", 1, 1 << 16, &op->barrier_blocks));
  }
  MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const semaphores, ListOf(value, "semaphore_ids"));
  for (const JsonValue& id : *semaphores) {
    const auto count = static_cast<int64_t>(gpu.semaphores.size());
    MYCEL_RETURN_IF_ERROR(id.Integer(0, count - 1, &op->semaphores.emplace_back()));
  }
  if (const JsonValue* const route = value.Find("mycel_route")) {
    const auto count = static_cast<int64_t>(plan_.notes.routes.size());
    if (op->type != OpType::kPut) return route->Wrong("stands in an op that puts nothing; leave it out");
    MYCEL_RETURN_IF_ERROR(route->Integer(0, count - 1, &op->route));
  }
  return CheckOp(value, *op);
}

Status JsonReader::ReadSpans(const JsonValue& value, const char* key, const Gpu& gpu, const BlockLists& lists,
                             ChannelType reached_by, std::vector<Span>* spans) const {
  MYCEL_ASSIGN_OR_RETURN(const std::vector<JsonValue>* const items, ListOf(value, key));
  for (const JsonValue& item : *items) {
    if (item.Find("switch_channel_id") != nullptr) {
      return Impossible(StatusMessage(item.Wrong("is multicast memory, which has no like in Mycel's plans")));
    }
    MYCEL_RETURN_IF_ERROR(item.CheckKeys({"type", "buffer_id", "index", "size"}));
    Span& span = spans->emplace_back();
    const JsonValue* const type = item.Find("type");
    const JsonValue* const buffer_id = item.Find("buffer_id");
    if ((type == nullptr) == (buffer_id == nullptr)) {
      return item.Wrong("must say either type (a local buffer) or buffer_id (a remote one)");
    }
    if (type != nullptr) {
      MYCEL_RETURN_IF_ERROR(ReadBuffer(*type, &span.buffer));
    } else {
      const std::vector<int32_t>& known = lists.buffers[static_cast<size_t>(reached_by)];
      size_t place = 0;
      MYCEL_RETURN_IF_ERROR(buffer_id->Integer(0, static_cast<int64_t>(known.size()) - 1, &place));
      span.remote = known[place];
      span.buffer = gpu.remote_buffers[static_cast<size_t>(span.remote)].buffer;
    }
    MYCEL_RETURN_IF_ERROR(ReadInteger(item, "index", 0, kChunksMax, &span.index));
    MYCEL_RETURN_IF_ERROR(ReadInteger(item, "size", 1, kChunksMax, &span.size));
  }
  return OkStatus();
}

/// Operands in the kinds and numbers that the op takes, all equally long.
Status JsonReader::CheckOp(const JsonValue& value, const Op& op) const {
  const OpInfo& info = InfoOf(op.type);
  const std::string name = "(" + std::string(info.name) + ") ";
  const auto locals_first = [](const std::vector<Span>& spans, size_t locals) {
    for (size_t i = 0; i < spans.size(); ++i) {
      if ((spans[i].remote < 0) != (i < locals)) return false;
    }
    return spans.size() >= locals;
  };
  const auto local_sources = static_cast<size_t>(info.local_sources);
  const size_t sources = op.sources.size();
  const bool sources_fit =
      info.more_local ? sources >= local_sources && locals_first(op.sources, sources)
                      : locals_first(op.sources, local_sources) && (sources > local_sources) == info.remote_sources;
  if (!sources_fit) {
    return value.Wrong(name + "wants in src_buff " + std::to_string(info.local_sources) +
                       (info.more_local ? " or more" : "") + " local" +
                       (info.remote_sources ? ", then one or more remote spans" : " spans"));
  }
  const size_t local_targets = info.local_target ? 1 : 0;
  if (!locals_first(op.targets, local_targets) || (op.targets.size() > local_targets) != info.remote_targets) {
    return value.Wrong(name + "wants in dst_buff " + std::to_string(local_targets) + " local" +
                       (info.remote_targets ? ", then one or more remote spans" : " spans"));
  }
  if (info.channels && op.channels.empty()) return value.Wrong(name + "lacks channel_ids; name the channels");
  if (op.channels.size() > kChannelsPerOpMax) {
    return value.Wrong(name + "has more than " + std::to_string(kChannelsPerOpMax) + " channel_ids; use several ops");
  }
  const bool is_semaphore = op.type == OpType::kSemAcquire || op.type == OpType::kSemRelease;
  if (is_semaphore == op.semaphores.empty()) {
    return value.Wrong(name +
                       (is_semaphore ? "lacks semaphore_ids; name them" : "takes no semaphore_ids; leave them out"));
  }
  for (const std::vector<Span>* spans : {&op.sources, &op.targets}) {
    for (const Span& span : *spans) {
      const int32_t size = op.sources.front().size;
      if (span.size == size) continue;
      return value.Wrong(name + "joins " + std::to_string(size) + " chunks with " + std::to_string(span.size) +
                         "; give all spans one size");
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<ExecutionPlan> ReadJson(std::string_view text, const std::string& file) {
  if (text.size() > static_cast<size_t>(kFileBytesMax)) {
    return InvalidArgument(file + ": the file is larger than " + std::to_string(kFileBytesMax) +
                           " bytes; use fewer ops");
  }
  MYCEL_ASSIGN_OR_RETURN(const JsonValue root, ParseJson(text, file, kDepthMax, "mend the JSON there"));
  return JsonReader(file).Read(root);
}

}  // namespace mycel::mscclpp
