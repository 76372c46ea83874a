// Pass "rotate": within a phase a rank turns to its right neighbour first, then to the next one, and listens to its
// left neighbour first: at any moment the n ranks of an all-to-all talk to n different ones.
//
// Both sides of a channel must agree on the order of its messages. Ops that share a channel within a phase are
// therefore left to the tree number (turn n); the other ops have their channels to themselves and may go in any order.
// Of a sender and a mere reader with the same neighbour the sender goes first where ranks are many: then no tree number
// decides, and ranks that do the same with their neighbours do it in the same order (sim/symmetry.h).
#include <algorithm>

#include "scheduler/lower/passes.h"

namespace mycel::lower {
namespace {

/// Many ranks: contested ops are ordered by how far to the right of their hub their tree's root lies, instead of by
/// tree number; of a message the hub is the end that is nearer to the root. That looks the same from every rank. Both
/// ends of a message know its hub, but an op may have messages of several hubs: where the two ends of a channel would
/// not agree, all stay with the tree numbers.
void TurnByRoot(const std::vector<bool>& contested, Draft* draft) {
  const int32_t n = draft->schedule.rank_count;
  const std::vector<Tree>& trees = draft->schedule.trees;
  std::vector<int32_t> root_phase(trees.size());
  for (const DraftOp& op : draft->ops) {
    const auto tree = static_cast<size_t>(op.tree);
    if (op.rank == trees[tree].root) root_phase[tree] = op.phase;
  }
  const std::vector<MessageEnd> ends = SortedEnds(*draft);
  std::vector<int32_t> turn_of_op(draft->ops.size(), -1);
  const auto for_each_contest = [&](auto&& f) {
    for (size_t first = 0, last = 0; first < ends.size(); first = last) {
      while (last < ends.size() && ends[last].key == ends[first].key) ++last;
      if (last - first > 2) f(first, last);
    }
  };
  for_each_contest([&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      const auto at = static_cast<size_t>(ends[i].op);
      const auto tree = static_cast<size_t>(draft->ops[at].tree);
      const auto source = static_cast<int32_t>(ends[i].key >> 48);
      const auto target = static_cast<int32_t>(ends[i].key >> 32 & 0xffff);
      const auto phase = static_cast<int32_t>(ends[i].key & ((1 << MessageEnd::kPhaseBits) - 1));
      const int32_t hub = phase < root_phase[tree] ? target : source;
      turn_of_op[at] = (trees[tree].root.value() - hub + n) % n;
    }
  });
  bool agreed = true;
  for_each_contest([&](size_t first, size_t last) {
    std::vector<int32_t> sent, received;  // in the order of trees
    for (size_t i = first; i < last; ++i) {
      (ends[i].receives ? received : sent).push_back(turn_of_op[static_cast<size_t>(ends[i].op)]);
    }
    agreed = agreed && sent == received;
  });
  for (size_t i = 0; agreed && i < draft->ops.size(); ++i) {
    if (contested[i]) draft->ops[i].turn = 2 * n + 1 + turn_of_op[i];
  }
}

}  // namespace

Status RotatePeers(const LowerOptions&, Draft* draft) {
  const int32_t n = draft->schedule.rank_count;
  const std::vector<bool>& contested = FactsOf(draft).contested;
  const bool many = n >= kManyRanks;
  for (size_t i = 0; i < draft->ops.size(); ++i) {
    DraftOp& op = draft->ops[i];
    op.turn = many ? 2 * n : n;  // contested, or a copy within the rank: after the messages that others wait for
    if (contested[i]) continue;
    bool sends = false;
    for (int32_t p = 0; p < op.outputs; ++p) {
      const Port& port = draft->OutputsOf(op)[p];
      if (port.kind != Operand::Kind::kChannel) continue;
      op.turn = std::min(op.turn, (port.peer.value() - op.rank.value() + n) % n);
      sends = true;
    }
    for (int32_t p = 0; !sends && p < op.inputs; ++p) {
      const Port& port = draft->InputsOf(op)[p];
      if (port.kind == Operand::Kind::kChannel) {
        op.turn = std::min(op.turn, (op.rank.value() - port.peer.value() + n) % n);
      }
    }
    if (many && op.turn < n) op.turn = op.turn * 2 + (sends ? 0 : 1);
  }
  if (many) TurnByRoot(contested, draft);
  return OkStatus();
}

}  // namespace mycel::lower
