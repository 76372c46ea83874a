#include "bindings/interchange/merge_parts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace mycel {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

/// Ops that belong together, in the trace's order.
struct Group {
  std::vector<size_t> ops;      // by rank, then as in the trace
  Chunk chunk;                  // of every op
  bool one_chunk = true;        // else it stays as it is
  std::vector<int64_t> doings;  // what its ops do, without chunks, channels and addresses
};

class Merger {
 public:
  explicit Merger(Trace* trace) : trace_(*trace), parent_(trace->ops.size()) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }

  void Run() {
    JoinOps();
    std::vector<Group> groups = Groups();
    std::vector<size_t> order(groups.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const auto key = [&](size_t i) { return std::tuple(groups[i].chunk.block, groups[i].chunk.begin, i); };
      return key(a) < key(b);
    });
    // The group that ends at a unit of a block, by what it does. Of several the first is taken.
    std::map<std::tuple<int32_t, int64_t, std::vector<int64_t>>, size_t> ending;
    std::vector<bool> gone(trace_.ops.size(), false);
    for (const size_t i : order) {
      Group& group = groups[i];
      if (!group.one_chunk) continue;
      size_t kept = i;
      const auto before = ending.find({group.chunk.block, group.chunk.begin, group.doings});
      if (before != ending.end()) {
        kept = before->second;
        ending.erase(before);
        groups[kept].chunk.end = group.chunk.end;
        for (const size_t op : group.ops) gone[op] = true;
      }
      ending.try_emplace({group.chunk.block, group.chunk.end, groups[kept].doings}, kept);
    }
    for (const Group& group : groups) {
      if (!group.one_chunk) continue;
      for (const size_t op : group.ops) trace_.ops[op].chunk = group.chunk;
    }
    std::vector<TraceOp> left;
    for (size_t i = 0; i < trace_.ops.size(); ++i) {
      if (!gone[i]) left.push_back(std::move(trace_.ops[i]));
    }
    trace_.ops = std::move(left);
  }

 private:
  size_t Find(size_t op) {
    while (parent_[op] != op) op = parent_[op] = parent_[parent_[op]];
    return op;
  }
  void Join(size_t a, size_t b) { parent_[Find(a)] = Find(b); }

  /// Also notes who sent each message that an op reads.
  void JoinOps() {
    std::map<std::tuple<Rank, Rank, int32_t>, std::pair<std::vector<size_t>, size_t>> sent;  // and how many were read
    std::map<std::tuple<Rank, bool, int64_t, int32_t, int64_t>, size_t> memory;              // and who last used it
    senders_.resize(trace_.ops.size());
    for (size_t i = 0; i < trace_.ops.size(); ++i) {
      const TraceOp& op = trace_.ops[i];
      for (const std::vector<TraceOperand>* operands : {&op.inputs, &op.outputs}) {
        for (const TraceOperand& operand : *operands) {
          const bool is_input = operands == &op.inputs;
          if (operand.kind == TraceOperand::Kind::kSend) continue;
          if (operand.kind == TraceOperand::Kind::kMessage) {
            if (!is_input) {
              sent[{op.rank, operand.peer, operand.index}].first.push_back(i);
              continue;
            }
            auto& [senders, taken] = sent[{operand.peer, op.rank, operand.index}];
            senders_[i].push_back(senders[taken]);
            Join(i, senders[taken++]);
            continue;
          }
          const bool scratch = operand.kind == TraceOperand::Kind::kScratch;
          const auto [at, fresh] =
              memory.try_emplace({op.rank, scratch, scratch ? operand.place : -1, op.chunk.block, op.chunk.begin}, i);
          if (!fresh) Join(i, at->second);
        }
      }
    }
  }

  std::vector<Group> Groups() {
    std::vector<Group> groups;
    std::vector<size_t> group_of(trace_.ops.size(), kNone);
    for (size_t i = 0; i < trace_.ops.size(); ++i) {
      const size_t root = Find(i);
      if (group_of[root] == kNone) {
        group_of[root] = groups.size();
        groups.emplace_back().chunk = trace_.ops[i].chunk;
      }
      Group& group = groups[group_of[root]];
      group.ops.push_back(i);
      group.one_chunk = group.one_chunk && group.chunk == trace_.ops[i].chunk;
    }
    std::vector<size_t> number(trace_.ops.size());  // of an op in its group
    for (Group& group : groups) {
      std::stable_sort(group.ops.begin(), group.ops.end(),
                       [&](size_t a, size_t b) { return trace_.ops[a].rank < trace_.ops[b].rank; });
      for (size_t i = 0; i < group.ops.size(); ++i) number[group.ops[i]] = i;
    }
    for (Group& group : groups) Describe(number, &group);
    return groups;
  }

  /// Equal for two groups exactly when they do the same: scratch counts by its first use, messages by who sent them.
  void Describe(const std::vector<size_t>& number, Group* group) const {
    std::map<std::pair<Rank, int64_t>, int64_t> cells;
    for (const size_t i : group->ops) {
      const TraceOp& op = trace_.ops[i];
      group->doings.insert(group->doings.end(), {op.rank.value(), op.lane, op.finish ? 1 : 0, std::ssize(op.inputs),
                                                 std::ssize(op.outputs)});
      size_t messages = 0;
      for (const std::vector<TraceOperand>* operands : {&op.inputs, &op.outputs}) {
        for (const TraceOperand& operand : *operands) {
          int64_t which = -1;
          if (operand.kind == TraceOperand::Kind::kScratch) {
            which = cells.try_emplace({op.rank, operand.place}, std::ssize(cells)).first->second;
          } else if (operand.kind == TraceOperand::Kind::kMessage && operands == &op.inputs) {
            which = static_cast<int64_t>(number[senders_[i][messages++]]);
          }
          group->doings.insert(group->doings.end(), {static_cast<int64_t>(operand.kind), which, operand.route,
                                                     operand.peer.valid() ? operand.peer.value() : -1});
        }
      }
    }
  }

  Trace& trace_;
  std::vector<size_t> parent_;
  std::vector<std::vector<size_t>> senders_;  // of the messages that each op reads
};

}  // namespace

void MergeParts(Trace* trace) { Merger(trace).Run(); }

}  // namespace mycel
