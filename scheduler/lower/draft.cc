#include "scheduler/lower/draft.h"

#include <algorithm>

#include "core/base/check.h"
#include "scheduler/lower/radix_sort.h"

namespace mycel::lower {
namespace {

constexpr int kPhaseBits = MessageEnd::kPhaseBits;

/// `sent`: keys of all messages, ascending.
/// `rounds`: from writing a message to reading it, when pipelined.
void CountSlots(const std::vector<uint64_t>& sent, int32_t rounds, MessageFacts* facts) {
  const auto channel = [&](size_t i) { return sent[i] >> kPhaseBits; };
  const auto phase = [&](size_t i) { return static_cast<int32_t>(sent[i] & ((1 << kPhaseBits) - 1)); };
  for (size_t first = 0; first < sent.size();) {
    size_t last = first, near = first;  // near: first message that is at most one phase older than `last`
    int32_t x = 1;
    for (; last < sent.size() && channel(last) == channel(first); ++last) {
      while (phase(near) + 1 < phase(last)) ++near;
      x = std::max(x, static_cast<int32_t>(last - near + 1));
    }
    facts->slots_plain = std::max(facts->slots_plain, x);
    facts->slots_skewed = std::max(facts->slots_skewed, static_cast<int32_t>(last - first) * rounds + x);
    first = last;
  }
}

}  // namespace

std::vector<MessageEnd> SortedEnds(const Draft& draft) {
  std::vector<MessageEnd> ends;
  ends.reserve(draft.ports.size());
  for (size_t i = 0; i < draft.ops.size(); ++i) {
    const DraftOp& op = draft.ops[i];
    MYCEL_CHECK_LT(op.phase, 1 << kPhaseBits);
    MYCEL_CHECK_LT(op.lane, 1 << 8);
    for (int32_t p = 0; p < op.inputs + op.outputs; ++p) {
      const Port& port = draft.ports[static_cast<size_t>(op.ports + p)];
      if (port.kind != Operand::Kind::kChannel) continue;
      const bool receives = p < op.inputs;
      const auto source = static_cast<uint64_t>(receives ? port.peer.value() : op.rank.value());
      const auto target = static_cast<uint64_t>(receives ? op.rank.value() : port.peer.value());
      MYCEL_CHECK_LT(source | target, uint64_t{1} << 16);
      const auto phase = static_cast<uint64_t>(receives ? op.phase - 1 : op.phase);
      ends.push_back({source << 48 | target << 32 | static_cast<uint64_t>(op.lane) << kPhaseBits | phase,
                      static_cast<int32_t>(i), receives});
    }
  }
  RadixSort(&ends);
  return ends;
}

int32_t StageLead(const Schedule& schedule) {
  int32_t lead = 0;
  for (const Tree& tree : schedule.trees) lead = std::max(lead, tree.stage_hop);
  return lead;
}

MessageFacts& FactsOf(Draft* draft) {
  if (draft->messages) return *draft->messages;
  MessageFacts& facts = draft->messages.emplace();
  facts.contested.assign(draft->ops.size(), false);
  const std::vector<MessageEnd> ends = SortedEnds(*draft);
  std::vector<uint64_t> sent;
  sent.reserve(ends.size() / 2);
  // One message shows up twice, at its sender and at its receiver: more than two equal keys are a contest.
  for (size_t first = 0; first < ends.size();) {
    size_t last = first;
    for (; last < ends.size() && ends[last].key == ends[first].key; ++last) {
      if (!ends[last].receives) sent.push_back(ends[last].key);
    }
    MYCEL_CHECK_EQ((last - first) % 2, 0u);
    for (size_t i = first; last - first > 2 && i < last; ++i) facts.contested[static_cast<size_t>(ends[i].op)] = true;
    first = last;
  }
  CountSlots(sent, draft->schedule.stages_overlap ? kStagedLag : 1, &facts);
  return facts;
}

const std::vector<int32_t>& GroupsOf(Draft* draft) {
  if (draft->group_of_tree.size() != draft->schedule.trees.size()) draft->group_of_tree = InPlaceGroups(*draft);
  return draft->group_of_tree;
}

}  // namespace mycel::lower
