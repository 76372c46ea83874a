// Pass "share": one read, several outputs. In one-shot stars a rank sends the same chunk to everyone: one op writes all
// channels while the data is in registers, instead of n - 1 ops that each read it again.
#include <algorithm>
#include <tuple>

#include "scheduler/lower/passes.h"

namespace mycel::lower {
namespace {

auto KeyOf(const DraftOp& op) {
  return std::make_tuple(op.rank, op.lane, op.phase, op.chunk.block, op.chunk.begin, op.chunk.end, op.finish);
}

/// Appends a copy of the ops `members` (indexes into `draft.ops`) joined into one.
void AppendJoined(const Draft& draft, const std::vector<size_t>& members, std::vector<DraftOp>* ops,
                  std::vector<Port>* ports) {
  DraftOp joined = draft.ops[members.front()];
  const Port* input = draft.InputsOf(joined);
  const auto first = static_cast<int32_t>(ports->size());
  ports->insert(ports->end(), input, input + joined.inputs);
  const size_t outputs = ports->size();
  for (const size_t member : members) {
    const DraftOp& op = draft.ops[member];
    const Port* output = draft.OutputsOf(op);
    ports->insert(ports->end(), output, output + op.outputs);
  }
  if (members.size() > 1) {
    // Memory first, then the nearest neighbour to the right.
    const int32_t n = draft.schedule.rank_count;
    const auto distance = [&](const Port& port) {
      return port.kind == Operand::Kind::kChannel ? (port.peer.value() - joined.rank.value() + n) % n : -1;
    };
    std::sort(ports->begin() + static_cast<int64_t>(outputs), ports->end(),
              [&](const Port& a, const Port& b) { return distance(a) < distance(b); });
  }
  joined.ports = first;
  joined.outputs = static_cast<int32_t>(ports->size() - outputs);
  ops->push_back(joined);
}

}  // namespace

Status ShareReads(const LowerOptions&, Draft* draft) {
  std::vector<bool>& contested = FactsOf(draft).contested;
  std::vector<size_t> readers;  // ops that only read the send buffer
  for (size_t i = 0; i < draft->ops.size(); ++i) {
    const DraftOp& op = draft->ops[i];
    if (!contested[i] && op.inputs == 1 && draft->InputsOf(op)->kind == Operand::Kind::kSend) readers.push_back(i);
  }
  std::stable_sort(readers.begin(), readers.end(),
                   [&](size_t a, size_t b) { return KeyOf(draft->ops[a]) < KeyOf(draft->ops[b]); });
  std::vector<std::vector<size_t>> followers(draft->ops.size());
  std::vector<bool> joined(draft->ops.size(), false);
  bool any = false;
  for (size_t i = 0, leader = 0; i < readers.size(); ++i) {
    if (i == 0 || KeyOf(draft->ops[readers[leader]]) != KeyOf(draft->ops[readers[i]])) {
      leader = i;
      continue;
    }
    followers[readers[leader]].push_back(readers[i]);
    joined[readers[i]] = any = true;
  }
  if (!any) return OkStatus();
  std::vector<DraftOp> ops;
  std::vector<Port> ports;
  for (size_t i = 0; i < draft->ops.size(); ++i) {
    if (joined[i]) continue;
    contested[ops.size()] = contested[i];
    std::vector<size_t> members = {i};
    members.insert(members.end(), followers[i].begin(), followers[i].end());
    AppendJoined(*draft, members, &ops, &ports);
  }
  contested.resize(ops.size());
  draft->ops = std::move(ops);
  draft->ports = std::move(ports);
  return OkStatus();
}

}  // namespace mycel::lower
