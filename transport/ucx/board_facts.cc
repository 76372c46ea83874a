#include "transport/ucx/board_facts.h"

#include <cstring>

namespace mycel {

namespace {
constexpr auto kRelaxed = std::memory_order_relaxed;
}

BoardFacts FactsOf(const RankBoard& board) {
  BoardFacts facts{};
  // acquire: pairs with the release that publishes error_text, which never changes afterwards.
  facts.error = board.error.load(std::memory_order_acquire);
  if (facts.error != 0) std::memcpy(facts.error_text, board.error_text, sizeof(facts.error_text));
  // relaxed: texts only, see board.h.
  facts.operation = board.operation.load(kRelaxed);
  facts.count = board.count.load(kRelaxed);
  facts.waits = board.waits.load(kRelaxed);
  facts.phase = board.phase.load(kRelaxed);
  facts.collective = board.collective.load(kRelaxed);
  facts.type = board.type.load(kRelaxed);
  facts.op = board.op.load(kRelaxed);
  facts.counts_hash = board.counts_hash.load(kRelaxed);
  facts.root = board.root.load(kRelaxed);
  facts.pid = board.pid.load(kRelaxed);
  for (uint64_t back = 0; back < CallHistory::kKept && back < facts.operation; ++back) {
    facts.calls[back] = board.history.Find(facts.operation - back);
  }
  facts.shrink_view = board.shrink.view.load(kRelaxed);
  // acquire: pairs with the release that publishes the place.
  facts.shrink_hosted = board.shrink.hosted.load(std::memory_order_acquire);
  if (facts.shrink_hosted != 0) {
    facts.shrink_failure = board.shrink.failure;
    std::memcpy(facts.shrink_place, board.shrink.place, sizeof(facts.shrink_place));
  }
  return facts;
}

void CopyFacts(const BoardFacts& facts, RankBoard* board) {
  board->operation.store(facts.operation, kRelaxed);
  board->count.store(facts.count, kRelaxed);
  board->waits.store(facts.waits, kRelaxed);
  board->phase.store(facts.phase, kRelaxed);
  board->collective.store(facts.collective, kRelaxed);
  board->type.store(facts.type, kRelaxed);
  board->op.store(facts.op, kRelaxed);
  board->counts_hash.store(facts.counts_hash, kRelaxed);
  board->root.store(facts.root, kRelaxed);
  board->pid.store(facts.pid, kRelaxed);
  for (size_t back = CallHistory::kKept; back-- > 0;) {
    const CallRecord& call = facts.calls[back];
    if (call.operation != 0 && board->history.Find(call.operation).operation == 0) board->history.Post(call);
  }
  if (facts.shrink_hosted != board->shrink.hosted.load(kRelaxed)) {
    board->shrink.failure = facts.shrink_failure;
    std::memcpy(board->shrink.place, facts.shrink_place, sizeof(board->shrink.place));
    // release: publishes the place.
    board->shrink.hosted.store(facts.shrink_hosted, std::memory_order_release);
  }
  // release: as its owner stores it.
  board->shrink.view.store(facts.shrink_view, std::memory_order_release);
  if (facts.error == 0 || board->error.load(kRelaxed) != 0) return;
  std::memcpy(board->error_text, facts.error_text, sizeof(board->error_text));
  board->error_text[sizeof(board->error_text) - 1] = 0;
  // release: publishes error_text; pairs with the acquire of whoever looks for errors.
  board->error.store(facts.error, std::memory_order_release);
}

}  // namespace mycel
