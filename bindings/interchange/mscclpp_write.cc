// ExecutionPlan -> JSON text, one op a line. Plain text: writing needs no library.
#include <algorithm>

#include "bindings/interchange/mscclpp_json.h"

namespace mycel::mscclpp {
namespace {

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
  }
  return out + "\"";
}

template <typename Items, typename ToText>
std::string ListOf(const Items& items, const char* separator, ToText to_text) {
  std::string out = "[";
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += separator;
    first = false;
    out += to_text(item);
  }
  return out + "]";
}

std::string Numbers(const std::vector<int32_t>& numbers) {
  return ListOf(numbers, ", ", [](int32_t number) { return std::to_string(number); });
}

/// A block's own lists, in order of first use.
struct BlockLists {
  std::vector<int32_t> channels[2];
  std::vector<int32_t> buffers[2];
};

int32_t PlaceIn(std::vector<int32_t>* list, int32_t item) {
  const auto at = std::find(list->begin(), list->end(), item);
  if (at != list->end()) return static_cast<int32_t>(at - list->begin());
  list->push_back(item);
  return static_cast<int32_t>(list->size()) - 1;
}

std::string SpansText(const std::vector<Span>& spans, std::vector<int32_t>* buffers) {
  return ListOf(spans, ", ", [&](const Span& span) {
    const std::string where = span.remote < 0 ? "\"type\": " + Quoted(NameOf(span.buffer))
                                              : "\"buffer_id\": " + std::to_string(PlaceIn(buffers, span.remote));
    return "{" + where + ", \"index\": " + std::to_string(span.index) + ", \"size\": " + std::to_string(span.size) +
           "}";
  });
}

std::string OpText(const Op& op, BlockLists* lists) {
  const auto type = static_cast<size_t>(op.channel_type);
  std::string out = "{\"name\": " + Quoted(InfoOf(op.type).name);
  if (!op.sources.empty()) out += ", \"src_buff\": " + SpansText(op.sources, &lists->buffers[type]);
  if (!op.targets.empty()) out += ", \"dst_buff\": " + SpansText(op.targets, &lists->buffers[type]);
  const bool is_put = op.type == OpType::kPut;
  if (!op.channels.empty() || is_put) out += ", \"channel_type\": " + Quoted(NameOf(op.channel_type));
  if (!op.channels.empty()) {
    std::vector<int32_t> ids;
    for (const int32_t channel : op.channels) ids.push_back(PlaceIn(&lists->channels[type], channel));
    out += ", \"channel_ids\": " + Numbers(ids);
  }
  if (op.type == OpType::kReduce) out += ", \"reduce_op\": \"sum\"";
  if (op.type == OpType::kBarrier) {
    out += ", \"barrier_id\": " + std::to_string(op.barrier) +
           ", \"num_threadblocks\": " + std::to_string(op.barrier_blocks);
  }
  if (!op.semaphores.empty()) out += ", \"semaphore_ids\": " + Numbers(op.semaphores);
  if (op.route >= 0) out += ", \"mycel_route\": " + std::to_string(op.route);
  return out + "}";
}

std::string BlockText(size_t id, const Block& block) {
  BlockLists lists;
  const std::string ops = ListOf(block.ops, ",", [&](const Op& op) { return "\n       " + OpText(op, &lists); });
  std::string channels;
  std::string refs;
  for (const ChannelType type : {ChannelType::kMemory, ChannelType::kPort}) {
    const std::string name = Quoted(NameOf(type));
    const std::vector<int32_t>& ids = lists.channels[static_cast<size_t>(type)];
    const std::vector<int32_t>& buffers = lists.buffers[static_cast<size_t>(type)];
    if (!ids.empty()) {
      channels +=
          (channels.empty() ? "" : ", ") + ("{\"channel_type\": " + name) + ", \"channel_ids\": " + Numbers(ids) + "}";
    }
    if (!buffers.empty()) {
      refs += (refs.empty() ? "" : ", ") + ("{\"access_channel_type\": " + name) +
              ", \"remote_buffer_ids\": " + Numbers(buffers) + "}";
    }
  }
  return "\n     {\"id\": " + std::to_string(id) + ", \"channels\": [" + channels + "], \"remote_buffer_refs\": [" +
         refs + "],\n      \"ops\": " + ops + "}";
}

std::string GpuText(size_t id, const Gpu& gpu) {
  std::string channels;
  for (const ChannelType type : {ChannelType::kMemory, ChannelType::kPort}) {
    const std::vector<int32_t>& peers = gpu.channels[static_cast<size_t>(type)];
    if (peers.empty()) continue;
    channels += (channels.empty() ? "" : ", ") + ("{\"channel_type\": " + Quoted(NameOf(type))) +
                ", \"connected_to\": " + Numbers(peers) + "}";
  }
  const std::string buffers = ListOf(gpu.remote_buffers, ", ", [](const RemoteBuffer& buffer) {
    return "{\"rank\": " + std::to_string(buffer.rank) + ", \"type\": " + Quoted(NameOf(buffer.buffer)) +
           ", \"access_channel_types\": [\"memory\"]}";
  });
  const std::string semaphores =
      ListOf(gpu.semaphores, ", ", [](int32_t value) { return "{\"init_value\": " + std::to_string(value) + "}"; });
  size_t next = 0;
  const std::string blocks = ListOf(gpu.blocks, ",", [&next](const Block& block) { return BlockText(next++, block); });
  return "\n  {\"id\": " + std::to_string(id) + ", \"input_chunks\": " + std::to_string(gpu.input_chunks) +
         ", \"output_chunks\": " + std::to_string(gpu.output_chunks) +
         ", \"scratch_chunks\": " + std::to_string(gpu.scratch_chunks) + ",\n   \"channels\": [" + channels +
         "],\n   \"remote_buffers\": " + buffers + ",\n   \"semaphores\": " + semaphores +
         ",\n   \"threadblocks\": " + blocks + "}";
}

}  // namespace

std::string WriteJson(const ExecutionPlan& plan) {
  const bool scatters = plan.collective == Collective::kReduceScatter;
  std::string out = "{\n \"name\": " + Quoted(plan.name) +
                    ",\n \"collective\": " + Quoted(scatters ? "reducescatter" : mycel::NameOf(plan.collective)) +
                    ",\n \"protocol\": " + (plan.is_ll ? "\"LL\"" : "\"Simple\"") +
                    ",\n \"inplace\": " + (plan.in_place ? "true" : "false") +
                    ",\n \"reuse_resources\": false,\n \"num_threads_per_block\": 1024,\n"
                    " \"use_double_scratch_buffer\": false,\n \"buffer_alignment\": 16,\n"
                    " \"min_message_size\": 0,\n \"max_message_size\": 1099511627776,\n";
  if (plan.notes.present) {
    out += " \"mycel\": {\"version\": 1, \"planner\": " + Quoted(plan.notes.planner) +
           ", \"topology\": " + Quoted(plan.notes.topology) +
           ", \"topology_hash\": " + Quoted(HashText(plan.notes.topology_hash)) + ",\n  \"routes\": " +
           ListOf(plan.notes.routes, ",",
                  [](const Route& route) {
                    return "\n   " + ListOf(route, ", ", [](NodeId node) { return std::to_string(node.value()); });
                  }) +
           "},\n";
  }
  size_t next = 0;
  out += " \"gpus\": " + ListOf(plan.gpus, ",", [&next](const Gpu& gpu) { return GpuText(next++, gpu); });
  return out + "\n}\n";
}

}  // namespace mycel::mscclpp
