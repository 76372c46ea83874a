#include "core/plan/verify/deadlock.h"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/plan/structure.h"

namespace mycel::verify {
namespace {

enum class Need : uint8_t { kLane, kData, kCredit, kWait };

/// "(target, t + distance) needs (source, t)."
struct Edge {
  int32_t source;
  int32_t target;
  int32_t distance;
  Need need;
  int32_t message;  // kData, kCredit
};

class Checker {
 public:
  Checker(const FlatPlan& flat, const Messages& messages) : flat_(flat), messages_(messages) {}

  Status Run() {
    CollectEdges();
    SortEdges();
    MYCEL_RETURN_IF_ERROR(FindStartTimes());
    return SortSlackless();
  }

 private:
  void Add(int32_t source, int32_t target, int64_t distance, Need need, int32_t message) {
    edges_.push_back({source, target, static_cast<int32_t>(distance), need, message});
  }
  void CollectEdges();
  void CollectCredit(int32_t message);
  void SortEdges();
  Status FindStartTimes();
  Status SortSlackless();
  int32_t FindParentCycle() const;
  Status Report(int32_t start, const std::vector<int32_t>& edge_into) const;
  std::string Explain(const Edge& edge) const;
  int64_t Slack(const Edge& edge) const { return start_[U(edge.target)] + edge.distance - start_[U(edge.source)]; }
  static size_t U(int32_t value) { return static_cast<size_t>(value); }

  const FlatPlan& flat_;
  const Messages& messages_;
  std::vector<Edge> edges_;           // by source
  std::vector<int32_t> edges_first_;  // of each op, and one past the last
  std::vector<int64_t> start_;        // a(o)
  std::vector<int32_t> parent_;       // edge that last raised a(o), or -1
};

void Checker::CollectEdges() {
  edges_.reserve(flat_.ops.size() + 2 * messages_.producer.size() + flat_.waiters.size());
  for (const FlatLane& lane : flat_.lanes) {
    for (int32_t i = 0; i < lane.count; ++i) {
      const bool last = i == lane.count - 1;
      Add(lane.first + i, last ? lane.first : lane.first + i + 1, last ? 1 : 0, Need::kLane, -1);
    }
  }
  for (int32_t m = 0; U(m) < messages_.producer.size(); ++m) {
    const int32_t producer = messages_.producer[U(m)];
    const int32_t consumer = messages_.consumer[U(m)];
    Add(producer, consumer, flat_.op(consumer).skew - flat_.op(producer).skew, Need::kData, m);
    CollectCredit(m);
  }
  for (int32_t op = 0; op < flat_.op_count(); ++op) {
    for (int32_t i = flat_.waiters_first[U(op)]; i < flat_.waiters_first[U(op) + 1]; ++i) {
      const int32_t waiter = flat_.waiters[U(i)];
      Add(op, waiter, flat_.op(waiter).skew - flat_.op(op).skew, Need::kWait, -1);
    }
  }
}

/// Reading message (k, s) frees the slot of the message with number (s + lag) * count + phase + slot_count.
void Checker::CollectCredit(int32_t message) {
  const int32_t first = messages_.first[U(messages_.channel[U(message)])];
  const int32_t count = messages_.CountOf(messages_.channel[U(message)]);
  const int64_t ahead = int64_t{messages_.phase[U(message)]} + flat_.plan.slot_count;
  const int32_t freed = messages_.by_phase[U(first + static_cast<int32_t>(ahead % count))];
  const int64_t slices = messages_.lag[U(message)] + ahead / count - messages_.lag[U(freed)];
  const int32_t consumer = messages_.consumer[U(message)];
  const int32_t producer = messages_.producer[U(freed)];
  Add(consumer, producer, slices + flat_.op(producer).skew - flat_.op(consumer).skew, Need::kCredit, freed);
}

void Checker::SortEdges() {
  edges_first_.assign(flat_.ops.size() + 1, 0);
  for (const Edge& edge : edges_) ++edges_first_[U(edge.source) + 1];
  for (size_t i = 1; i < edges_first_.size(); ++i) edges_first_[i] += edges_first_[i - 1];
  std::vector<int32_t> next(edges_first_.begin(), edges_first_.end() - 1);
  std::vector<Edge> sorted(edges_.size());
  for (const Edge& edge : edges_) sorted[U(next[U(edge.source)]++)] = edge;
  edges_ = std::move(sorted);
}

Status Checker::FindStartTimes() {
  start_.assign(flat_.ops.size(), 0);
  parent_.assign(flat_.ops.size(), -1);
  std::deque<int32_t> changed;
  std::vector<bool> queued(flat_.ops.size(), false);
  const auto relax = [&](int32_t e) {
    const Edge& edge = edges_[U(e)];
    if (Slack(edge) >= 0) return false;
    start_[U(edge.target)] = start_[U(edge.source)] - edge.distance;
    parent_[U(edge.target)] = e;
    if (!queued[U(edge.target)]) changed.push_back(edge.target);
    queued[U(edge.target)] = true;
    return true;
  };
  for (int32_t e = 0; U(e) < edges_.size(); ++e) relax(e);
  // The parent edges hold a cycle from some moment on if, and only if, the graph has one with negative distance.
  size_t raised = 0;
  while (!changed.empty()) {
    const int32_t op = changed.front();
    changed.pop_front();
    queued[U(op)] = false;
    for (int32_t e = edges_first_[U(op)]; e < edges_first_[U(op) + 1]; ++e) raised += relax(e) ? 1 : 0;
    if (raised < flat_.ops.size()) continue;
    raised = 0;
    const int32_t on_cycle = FindParentCycle();
    if (on_cycle >= 0) return Report(on_cycle, parent_);
  }
  return OkStatus();
}

int32_t Checker::FindParentCycle() const {
  std::vector<int32_t> mark(flat_.ops.size(), -1);
  for (int32_t root = 0; root < flat_.op_count(); ++root) {
    int32_t at = root;
    while (at >= 0 && mark[U(at)] == -1) {
      mark[U(at)] = root;
      at = parent_[U(at)] < 0 ? -1 : edges_[U(parent_[U(at)])].source;
    }
    if (at >= 0 && mark[U(at)] == root) return at;
  }
  return -1;
}

Status Checker::SortSlackless() {
  std::vector<int32_t> needs(flat_.ops.size(), 0);
  for (const Edge& edge : edges_) needs[U(edge.target)] += Slack(edge) == 0 ? 1 : 0;
  std::vector<int32_t> ready;
  for (int32_t op = 0; op < flat_.op_count(); ++op) {
    if (needs[U(op)] == 0) ready.push_back(op);
  }
  size_t sorted = 0;
  while (!ready.empty()) {
    const int32_t op = ready.back();
    ready.pop_back();
    ++sorted;
    for (int32_t e = edges_first_[U(op)]; e < edges_first_[U(op) + 1]; ++e) {
      if (Slack(edges_[U(e)]) == 0 && --needs[U(edges_[U(e)].target)] == 0) ready.push_back(edges_[U(e)].target);
    }
  }
  if (sorted == flat_.ops.size()) return OkStatus();
  // Every op left needs another one that is left: walking backwards must come round.
  std::vector<int32_t> edge_into(flat_.ops.size(), -1);
  int32_t at = -1;
  for (int32_t e = 0; U(e) < edges_.size(); ++e) {
    const Edge& edge = edges_[U(e)];
    if (Slack(edge) != 0 || needs[U(edge.source)] == 0 || needs[U(edge.target)] == 0) continue;
    edge_into[U(edge.target)] = e;
    at = edge.target;
  }
  std::vector<bool> seen(flat_.ops.size(), false);
  while (!seen[U(at)]) {
    seen[U(at)] = true;
    at = edges_[U(edge_into[U(at)])].source;
  }
  return Report(at, edge_into);
}

Status Checker::Report(int32_t start, const std::vector<int32_t>& edge_into) const {
  constexpr int kShownMax = 4;
  std::string text = "deadlock once there are enough slices: " + flat_.Describe(start);
  int shown = 0;
  int hidden = 0;
  int32_t at = start;
  do {
    const Edge& edge = edges_[U(edge_into[U(at)])];
    at = edge.source;
    // Steps along a lane say nothing new; a long circle is cut in the middle.
    if (edge.need == Need::kLane && at != start) continue;
    if (++shown > kShownMax && at != start) {
      ++hidden;
      continue;
    }
    if (hidden > 0) text += " (and " + std::to_string(hidden) + " more)";
    text += Explain(edge) + flat_.Describe(at);
  } while (at != start);
  return InvalidArgument(text + "; use more slots, or other skews");
}

std::string Checker::Explain(const Edge& edge) const {
  switch (edge.need) {
    case Need::kLane:
      return " comes after ";
    case Need::kData:
      return " waits for a message on " + DescribeChannel(flat_.plan, ChannelId(messages_.channel[U(edge.message)])) +
             " from ";
    case Need::kCredit:
      return " waits for a free slot of " + DescribeChannel(flat_.plan, ChannelId(messages_.channel[U(edge.message)])) +
             ", which needs ";
    case Need::kWait:
      return " waits for ";
  }
  return " needs ";
}

}  // namespace

Status CheckNoDeadlock(const FlatPlan& flat, const Messages& messages) {
  if (flat.ops.empty()) return OkStatus();
  return Checker(flat, messages).Run();
}

}  // namespace mycel::verify
