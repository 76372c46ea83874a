#include "scheduler/lower/draft.h"

#include "core/base/check.h"
#include "scheduler/lower/radix_sort.h"

namespace mycel::lower {

std::vector<bool> ContestedOps(const Draft& draft) {
  // A message is (source, target, lane, phase of the sender); messages are sorted to find equal neighbours.
  struct Message {
    uint64_t key;
    size_t op;
  };
  std::vector<Message> messages;
  messages.reserve(draft.ports.size());
  for (size_t i = 0; i < draft.ops.size(); ++i) {
    const DraftOp& op = draft.ops[i];
    MYCEL_CHECK_LT(op.phase, 1 << 24);
    MYCEL_CHECK_LT(op.lane, 1 << 8);
    for (int32_t p = 0; p < op.inputs + op.outputs; ++p) {
      const Port& port = draft.ports[static_cast<size_t>(op.ports + p)];
      if (port.kind != Operand::Kind::kChannel) continue;
      const bool receives = p < op.inputs;
      const auto source = static_cast<uint64_t>(receives ? port.peer.value() : op.rank.value());
      const auto target = static_cast<uint64_t>(receives ? op.rank.value() : port.peer.value());
      MYCEL_CHECK_LT(source | target, uint64_t{1} << 16);
      const auto phase = static_cast<uint64_t>(receives ? op.phase - 1 : op.phase);
      messages.push_back({source << 48 | target << 32 | static_cast<uint64_t>(op.lane) << 24 | phase, i});
    }
  }
  RadixSort(&messages);
  std::vector<bool> contested(draft.ops.size(), false);
  // One message shows up twice, at its sender and at its receiver: more than two equal keys are a contest.
  for (size_t first = 0; first < messages.size();) {
    size_t last = first;
    while (last < messages.size() && messages[last].key == messages[first].key) ++last;
    MYCEL_CHECK_EQ((last - first) % 2, 0u);
    for (size_t i = first; last - first > 2 && i < last; ++i) contested[messages[i].op] = true;
    first = last;
  }
  return contested;
}

}  // namespace mycel::lower
