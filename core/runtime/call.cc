#include "core/runtime/call.h"

namespace mycel {
namespace {

std::string Text(std::string_view name, uint64_t count, DataType type, bool reduces, ReduceOp op, int32_t root) {
  std::string text = std::string(name) + "(count " + std::to_string(count) + ", " + std::string(NameOf(type));
  if (reduces) text += ", " + std::string(NameOf(op));
  if (root >= 0) text += ", root " + std::to_string(root);
  return text + ")";
}

}  // namespace

std::string Describe(const CollectiveCall& call) {
  if (call.barrier) return "barrier";
  const CollectiveInfo& info = InfoOf(call.collective);
  return Text(info.name, call.count, call.type, info.reduces, call.op, call.root);
}

std::string Describe(const RankBoard& board) {
  // relaxed throughout: a text for people, see board.h.
  const uint32_t collective = board.collective.load(std::memory_order_relaxed);
  if (collective == kBoardSendRecv) return "send/recv";
  if (collective == kBoardBarrier) return "barrier";
  if (collective >= AllCollectives().size()) return "an unknown operation";
  const CollectiveInfo& info = AllCollectives()[collective];
  return Text(info.name, board.count.load(std::memory_order_relaxed),
              static_cast<DataType>(board.type.load(std::memory_order_relaxed)), info.reduces,
              static_cast<ReduceOp>(board.op.load(std::memory_order_relaxed)),
              board.root.load(std::memory_order_relaxed));
}

}  // namespace mycel
