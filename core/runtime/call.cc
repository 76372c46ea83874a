#include "core/runtime/call.h"

#include "core/base/hex.h"

namespace mycel {
namespace {

std::string Text(std::string_view name, uint64_t count, DataType type, bool reduces, ReduceOp op, int32_t root) {
  std::string text = std::string(name) + "(count " + std::to_string(count) + ", " + std::string(NameOf(type));
  if (reduces) text += ", " + std::string(NameOf(op));
  if (root >= 0) text += ", root " + std::to_string(root);
  return text + ")";
}

/// "allgatherv(count 30 in all, counts #9f3a12bc, float)": the hash tells apart what has the same sum.
std::string BlocksText(const CollectiveInfo& info, uint64_t count, uint32_t counts_hash, DataType type, ReduceOp op,
                       int32_t root) {
  std::string text = std::string(info.name) + "v(count " + std::to_string(count);
  if (counts_hash != 0) text += " in all, counts #" + Hex(counts_hash).substr(8);
  text += ", " + std::string(NameOf(type));
  if (info.reduces) text += ", " + std::string(NameOf(op));
  if (root >= 0) text += ", root " + std::to_string(root);
  return text + ")";
}

/// Numbers read from a board: anything may stand there.
std::string Text(uint32_t collective, uint64_t count, uint32_t counts_hash, uint32_t type, uint32_t op, int32_t root) {
  if (collective == kBoardSendRecv) return "send/recv";
  if (collective == kBoardBarrier) return "barrier";
  if (collective == kBoardSplit) return "split";
  if (collective == kBoardWindow) return "window registration";
  const bool blocks = collective >= kBoardVector;
  if (blocks) collective -= kBoardVector;
  if (collective >= AllCollectives().size()) return "an unknown operation";
  const CollectiveInfo& info = AllCollectives()[collective];
  if (blocks) {
    return BlocksText(info, count, counts_hash, static_cast<DataType>(type), static_cast<ReduceOp>(op), root);
  }
  return Text(info.name, count, static_cast<DataType>(type), info.reduces, static_cast<ReduceOp>(op), root);
}

/// Those between the root and the others, and the root's own part.
void AppendRootedLegs(const CollectiveCall& call, int32_t rank, int32_t rank_count, std::vector<PointCall>* legs) {
  const bool gathers = call.collective == Collective::kGather;
  const VectorArrays& arrays = *call.vector;
  const auto leg = [&](bool sends, int32_t peer, const void* buffer, size_t displacement, uint64_t count) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(buffer) + displacement * SizeOf(call.type);
    legs->push_back({sends, call.type, peer, reinterpret_cast<void*>(at), count});
  };
  const bool is_root = rank == call.root;
  if (!is_root) return leg(gathers, call.root, gathers ? call.send : call.recv, 0, call.count);
  const size_t* counts = gathers ? arrays.recv_counts : arrays.send_counts;
  const size_t* displacements = gathers ? arrays.recv_at : arrays.send_at;
  leg(gathers, rank, gathers ? call.send : call.recv, 0, counts[rank]);
  for (int32_t shift = 0; shift < rank_count; ++shift) {
    const int32_t peer = (rank + shift) % rank_count;
    leg(!gathers, peer, gathers ? call.recv : call.send, displacements[peer], counts[peer]);
  }
}

}  // namespace

void AppendLegs(const CollectiveCall& call, int32_t rank, int32_t rank_count, std::vector<PointCall>* legs) {
  if (call.collective != Collective::kAllToAllV) return AppendRootedLegs(call, rank, rank_count, legs);
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

uint32_t BoardNumberOf(const CollectiveCall& call) {
  if (call.barrier) return kBoardBarrier;
  if (call.internal != 0) return call.internal;
  const bool blocks = call.vector != nullptr && call.collective != Collective::kAllToAllV;
  return static_cast<uint32_t>(call.collective) + (blocks ? kBoardVector : 0);
}

namespace {

std::string DescribeAlone(const CollectiveCall& call) {
  if (call.barrier) return "barrier";
  if (call.internal == kBoardSplit) return "split";
  if (call.internal == kBoardWindow) return "window registration";
  const CollectiveInfo& info = InfoOf(call.collective);
  if (call.vector != nullptr && call.collective != Collective::kAllToAllV) {
    return BlocksText(info, call.count, call.counts_hash, call.type, call.op, call.root);
  }
  return Text(info.name, call.count, call.type, info.reduces, call.op, call.root);
}

}  // namespace

std::string Describe(const CollectiveCall& call) {
  std::string text = DescribeAlone(call);
  if (call.settings != nullptr) text += SettingsText(call.settings->Pack(), call.settings->planner);
  return text;
}

std::string Describe(const RankBoard& board) {
  // relaxed throughout: a text for people, see board.h.
  constexpr auto kRelaxed = std::memory_order_relaxed;
  return Text(board.collective.load(kRelaxed), board.count.load(kRelaxed), board.counts_hash.load(kRelaxed),
              board.type.load(kRelaxed), board.op.load(kRelaxed), board.root.load(kRelaxed));
}

std::string Describe(const CallRecord& call) {
  return Text(call.collective, call.count, call.counts_hash, call.type, call.op, call.root) +
         SettingsText(call.settings, call.planner);
}

}  // namespace mycel
