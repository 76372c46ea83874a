#include "core/runtime/call.h"

namespace mycel {
namespace {

std::string Text(std::string_view name, uint64_t count, DataType type, bool reduces, ReduceOp op, int32_t root) {
  std::string text = std::string(name) + "(count " + std::to_string(count) + ", " + std::string(NameOf(type));
  if (reduces) text += ", " + std::string(NameOf(op));
  if (root >= 0) text += ", root " + std::to_string(root);
  return text + ")";
}

/// Numbers read from a board: anything may stand there.
std::string Text(uint32_t collective, uint64_t count, uint32_t type, uint32_t op, int32_t root) {
  if (collective == kBoardSendRecv) return "send/recv";
  if (collective == kBoardBarrier) return "barrier";
  if (collective == kBoardSplit) return "split";
  if (collective == kBoardWindow) return "window registration";
  if (collective >= AllCollectives().size()) return "an unknown operation";
  const CollectiveInfo& info = AllCollectives()[collective];
  return Text(info.name, count, static_cast<DataType>(type), info.reduces, static_cast<ReduceOp>(op), root);
}

}  // namespace

void AppendLegs(const CollectiveCall& call, int32_t rank, int32_t rank_count, std::vector<PointCall>* legs) {
  const VectorArrays& arrays = *call.vector;
  const size_t element_bytes = SizeOf(call.type);
  // The address of an empty leg is not used; its displacement may be anything.
  const auto at = [element_bytes](const void* buffer, size_t displacement) {
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(buffer) + displacement * element_bytes);
  };
  for (int32_t shift = 0; shift < rank_count; ++shift) {
    const int32_t target = (rank + shift) % rank_count;
    const int32_t source = (rank - shift + rank_count) % rank_count;
    legs->push_back(
        {true, call.type, target, at(call.send, arrays.send_at[target]), uint64_t{arrays.send_counts[target]}});
    legs->push_back(
        {false, call.type, source, at(call.recv, arrays.recv_at[source]), uint64_t{arrays.recv_counts[source]}});
  }
}

std::string Describe(const CollectiveCall& call) {
  if (call.barrier) return "barrier";
  if (call.internal == kBoardSplit) return "split";
  if (call.internal == kBoardWindow) return "window registration";
  const CollectiveInfo& info = InfoOf(call.collective);
  return Text(info.name, call.count, call.type, info.reduces, call.op, call.root);
}

std::string Describe(const RankBoard& board) {
  // relaxed throughout: a text for people, see board.h.
  constexpr auto kRelaxed = std::memory_order_relaxed;
  return Text(board.collective.load(kRelaxed), board.count.load(kRelaxed), board.type.load(kRelaxed),
              board.op.load(kRelaxed), board.root.load(kRelaxed));
}

std::string Describe(const CallRecord& call) {
  return Text(call.collective, call.count, call.type, call.op, call.root);
}

}  // namespace mycel
