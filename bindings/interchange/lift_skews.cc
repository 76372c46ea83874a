#include "bindings/interchange/lift_skews.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "core/plan/structure.h"

namespace mycel {
namespace {

/// Union-find whose members keep their distance from the representative.
class Groups {
 public:
  explicit Groups(size_t count) : parent_(count), ahead_(count, 0) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }
  /// Representative of `x`; *ahead: skew(x) - skew(representative).
  size_t Find(size_t x, int32_t* ahead) {
    int32_t sum = 0;
    size_t root = x;
    for (; parent_[root] != root; root = parent_[root]) sum += ahead_[root];
    *ahead = sum;
    while (parent_[x] != root && x != root) {
      const size_t next = parent_[x];
      const int32_t own = ahead_[x];
      ahead_[x] = sum;
      sum -= own;
      parent_[x] = root;
      x = next;
    }
    return root;
  }
  /// skew(b) = skew(a) + distance. False: they are joined with another distance.
  bool Join(size_t a, size_t b, int32_t distance) {
    int32_t ahead_a = 0;
    int32_t ahead_b = 0;
    const size_t root_a = Find(a, &ahead_a);
    const size_t root_b = Find(b, &ahead_b);
    if (root_a == root_b) return ahead_b == ahead_a + distance;
    parent_[root_b] = root_a;
    ahead_[root_b] = ahead_a + distance - ahead_b;
    return true;
  }

 private:
  std::vector<size_t> parent_;
  std::vector<int32_t> ahead_;
};

bool JoinMessages(const std::vector<TraceOp>& ops, Groups* groups) {
  std::map<std::tuple<Rank, Rank, int32_t>, std::pair<std::vector<size_t>, size_t>> sent;  // and how many were read
  for (size_t i = 0; i < ops.size(); ++i) {
    for (const TraceOperand& input : ops[i].inputs) {
      if (input.kind != TraceOperand::Kind::kMessage) continue;
      auto& [senders, taken] = sent[{input.peer, ops[i].rank, input.index}];
      if (taken == senders.size() || !groups->Join(senders[taken++], i, 1)) return false;
    }
    for (const TraceOperand& output : ops[i].outputs) {
      if (output.kind == TraceOperand::Kind::kMessage) {
        sent[{ops[i].rank, output.peer, output.index}].first.push_back(i);
      }
    }
  }
  return true;
}

}  // namespace

std::vector<int32_t> SkewsOf(const std::vector<TraceOp>& ops, const std::vector<Precedence>& precedences) {
  Groups groups(ops.size());
  if (!JoinMessages(ops, &groups)) return {};
  // skew = start of the group + ahead; every op's must be at least 0.
  std::vector<int32_t> start(ops.size(), 0);
  std::vector<int32_t> ahead(ops.size(), 0);
  std::vector<size_t> group(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    group[i] = groups.Find(i, &ahead[i]);
    start[group[i]] = std::max(start[group[i]], -ahead[i]);
  }
  bool moved = true;
  for (size_t round = 0; moved; ++round) {
    if (round > ops.size()) return {};
    moved = false;
    for (const Precedence& pair : precedences) {
      const int32_t least = start[group[pair.earlier]] + ahead[pair.earlier] - ahead[pair.later];
      if (start[group[pair.later]] >= least) continue;
      if (group[pair.later] == group[pair.earlier] || least > kSkewMax) return {};
      start[group[pair.later]] = least;
      moved = true;
    }
  }
  std::vector<int32_t> skews(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) skews[i] = start[group[i]] + ahead[i];
  return skews;
}

}  // namespace mycel
