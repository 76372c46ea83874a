#include "core/plan/verify/happens_before.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/plan/structure.h"

namespace mycel::verify {
namespace {

constexpr int32_t kNever = std::numeric_limits<int32_t>::max();
size_t U(int32_t value) { return static_cast<size_t>(value); }

}  // namespace

bool HappensBefore::Before(int32_t x, int32_t y) {
  const int32_t lane = flat_.lane_of[U(y)];
  if (flat_.lane_of[U(x)] == lane) return flat_.order[U(x)] < flat_.order[U(y)];
  if (WaitsFor(y, x)) return true;
  if (!built_) Build();
  for (const int32_t op_class : {class_of_[U(x)], class_of_[U(y)]}) {
    StartSearch(op_class, x);
    while (reached_[U(lane)] > flat_.order[U(y)] && !to_follow_.empty()) {
      const int32_t member = to_follow_.back();
      to_follow_.pop_back();
      Follow(member);
    }
    if (reached_[U(lane)] <= flat_.order[U(y)]) return true;
  }
  return false;
}

bool HappensBefore::Covers(const Chunk& outer, const Chunk& inner) const {
  if (IsVariable(flat_.plan.collective) && outer.block != inner.block) return false;
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

bool HappensBefore::WaitsFor(int32_t y, int32_t x) const {
  for (int32_t i = 0; i < flat_.op(y).wait_count; ++i) {
    const int32_t other = flat_.OpOf(flat_.RankOf(y), flat_.WaitsOf(y)[i]);
    if (flat_.lane_of[U(other)] != flat_.lane_of[U(x)] || flat_.order[U(other)] < flat_.order[U(x)]) continue;
    if (Covers(flat_.op(other).chunk, flat_.op(x).chunk)) return true;
  }
  return false;
}

void HappensBefore::Build() {
  built_ = true;
  const bool variable = IsVariable(flat_.plan.collective);
  const auto units_of = [&](int32_t op) {
    const Chunk& chunk = flat_.op(op).chunk;
    return std::make_tuple(variable ? chunk.block : 0, chunk.begin, chunk.end);
  };
  members_.resize(flat_.ops.size());
  std::iota(members_.begin(), members_.end(), 0);
  std::sort(members_.begin(), members_.end(), [&](int32_t a, int32_t b) {
    return std::tuple_cat(units_of(a), std::make_tuple(flat_.lane_of[U(a)], flat_.order[U(a)])) <
           std::tuple_cat(units_of(b), std::make_tuple(flat_.lane_of[U(b)], flat_.order[U(b)]));
  });
  class_of_.resize(flat_.ops.size());
  for (size_t i = 0; i < members_.size(); ++i) {
    if (i == 0 || units_of(members_[i - 1]) != units_of(members_[i])) class_first_.push_back(static_cast<int32_t>(i));
    class_of_[U(members_[i])] = static_cast<int32_t>(class_first_.size()) - 1;
  }
  class_first_.push_back(static_cast<int32_t>(members_.size()));
  reached_.assign(flat_.lanes.size(), kNever);
  GroupMessages();
}

void HappensBefore::GroupMessages() {
  std::vector<int32_t> grouped(messages_.producer.size());
  std::iota(grouped.begin(), grouped.end(), 0);
  const auto group_of = [this](int32_t message) {
    return std::make_pair(messages_.channel[U(message)], class_of_[U(messages_.producer[U(message)])]);
  };
  std::stable_sort(grouped.begin(), grouped.end(), [&](int32_t a, int32_t b) { return group_of(a) < group_of(b); });
  freed_.assign(grouped.size(), -1);
  const auto slots = U(flat_.plan.slot_count);
  for (size_t i = 0; i + slots < grouped.size(); ++i) {
    if (group_of(grouped[i]) == group_of(grouped[i + slots])) freed_[U(grouped[i])] = grouped[i + slots];
  }
}

/// A search goes only as far as it is asked; asked again from the same op it goes on where it stopped.
void HappensBefore::StartSearch(int32_t op_class, int32_t x) {
  if (search_class_ == op_class && search_from_ == x) return;
  search_class_ = op_class;
  search_from_ = x;
  for (const int32_t lane : touched_) reached_[U(lane)] = kNever;
  touched_.clear();
  to_follow_.clear();
  Reach(x);
}

/// Notes that `op` and what follows it in its lane come at or after the start of the search.
void HappensBefore::Reach(int32_t op) {
  const int32_t lane = flat_.lane_of[U(op)];
  const int32_t turn = flat_.order[U(op)];
  const int32_t before = reached_[U(lane)];
  if (before <= turn) return;
  if (before == kNever) touched_.push_back(lane);
  reached_[U(lane)] = turn;
  // Members of the class in this lane, from `turn` up to what was reached already.
  const auto begin = members_.begin() + class_first_[U(search_class_)];
  const auto end = members_.begin() + class_first_[U(search_class_) + 1];
  const auto key = std::make_pair(lane, turn);
  auto at = std::lower_bound(begin, end, key, [this](int32_t member, const auto& k) {
    return std::make_pair(flat_.lane_of[U(member)], flat_.order[U(member)]) < k;
  });
  for (; at != end && flat_.lane_of[U(*at)] == lane && flat_.order[U(*at)] < before; ++at) to_follow_.push_back(*at);
}

void HappensBefore::Follow(int32_t member) {
  for (int32_t i = messages_.written_first[U(member)]; i < messages_.written_first[U(member) + 1]; ++i) {
    Reach(messages_.consumer[U(messages_.written[U(i)])]);
  }
  for (int32_t i = messages_.read_first[U(member)]; i < messages_.read_first[U(member) + 1]; ++i) {
    const int32_t next = freed_[U(messages_.read[U(i)])];
    if (next >= 0) Reach(messages_.producer[U(next)]);
  }
  for (int32_t i = flat_.waiters_first[U(member)]; i < flat_.waiters_first[U(member) + 1]; ++i) {
    const int32_t waiter = flat_.waiters[U(i)];
    if (class_of_[U(waiter)] == search_class_) Reach(waiter);
  }
}

}  // namespace mycel::verify
