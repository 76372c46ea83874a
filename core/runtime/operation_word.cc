#include "core/runtime/operation_word.h"

#include "core/plan/collective.h"

namespace mycel {

OperationWord WordOf(const RankBoard& board) {
  // relaxed throughout: a text for people, see board.h.
  constexpr auto kRelaxed = std::memory_order_relaxed;
  return {board.collective.load(kRelaxed), static_cast<DataType>(board.type.load(kRelaxed)),
          static_cast<ReduceOp>(board.op.load(kRelaxed)), board.root.load(kRelaxed), 0};
}

void AppendOperation(const OperationWord& what, uint64_t count, FixedText* text) {
  if (what.collective == kBoardSendRecv) {
    *text << "send/recv(";
    if (what.root >= 0) *text << "first with rank " << what.root << ", ";
    *text << count << " bytes)";
    return;
  }
  if (what.collective == kBoardBarrier) {
    *text << "barrier";
    return;
  }
  if (what.collective == kBoardSplit || what.collective == kBoardWindow) {
    *text << (what.collective == kBoardSplit ? "split" : "window registration");
    return;
  }
  const bool blocks = what.collective >= kBoardVector;  // allgatherv and its like
  const uint32_t collective = what.collective - (blocks ? kBoardVector : 0);
  if (collective >= AllCollectives().size()) {
    *text << "an unknown operation";
    return;
  }
  const CollectiveInfo& info = AllCollectives()[collective];
  *text << info.name << (blocks ? "v(count " : "(count ") << count << ", " << NameOf(what.type);
  if (info.reduces) *text << ", " << NameOf(what.op);
  if (what.root >= 0) *text << ", root " << what.root;
  *text << ")";
}

std::string OperationText(const OperationWord& what, uint64_t count) {
  char buffer[kOperationTextMax];
  FixedText text(buffer, sizeof(buffer));
  AppendOperation(what, count, &text);
  return std::string(text.view());
}

}  // namespace mycel
