// Pass "rotate": within a phase a rank turns to its right neighbour first, then to the next one, and listens to its
// left neighbour first: at any moment the n ranks of an all-to-all talk to n different ones.
//
// Both sides of a channel must agree on the order of its messages. Ops that share a channel within a phase are
// therefore left to the tree number (turn n); the other ops have their channels to themselves and may go in any order.
#include <algorithm>

#include "scheduler/lower/passes.h"

namespace mycel::lower {

Status RotatePeers(const LowerOptions&, Draft* draft) {
  const int32_t n = draft->schedule.rank_count;
  const std::vector<bool>& contested = FactsOf(draft).contested;
  for (size_t i = 0; i < draft->ops.size(); ++i) {
    DraftOp& op = draft->ops[i];
    op.turn = n;  // contested, or a copy within the rank: after the messages that others wait for
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
  }
  return OkStatus();
}

}  // namespace mycel::lower
