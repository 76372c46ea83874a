#include "core/plan/verify/firing_order.h"

#include "core/base/check.h"

namespace mycel::verify {
namespace {

/// Runs lanes as far as they go, waking those that a firing may have freed.
class Runner {
 public:
  Runner(const FlatPlan& flat, const Messages& messages) : flat_(flat), messages_(messages) {}

  std::vector<int32_t> Run() {
    turn_.assign(flat_.lanes.size(), 0);
    fired_.assign(flat_.ops.size(), false);
    queued_.assign(flat_.lanes.size(), false);
    result_.reserve(flat_.ops.size());
    for (int32_t lane = flat_.lane_count() - 1; lane >= 0; --lane) Wake(lane);
    while (!lanes_.empty()) {
      const int32_t lane = lanes_.back();
      lanes_.pop_back();
      queued_[U(lane)] = false;
      RunLane(lane);
    }
    MYCEL_CHECK_EQ(result_.size(), flat_.ops.size());
    return std::move(result_);
  }

 private:
  static size_t U(int32_t value) { return static_cast<size_t>(value); }
  void Wake(int32_t lane) {
    if (!queued_[U(lane)]) lanes_.push_back(lane);
    queued_[U(lane)] = true;
  }

  void RunLane(int32_t lane) {
    const FlatLane& body = flat_.lanes[U(lane)];
    for (int32_t& turn = turn_[U(lane)]; turn < body.count; ++turn) {
      const int32_t op = flat_.by_order[U(body.first + turn)];
      if (!IsReady(op)) return;
      fired_[U(op)] = true;
      result_.push_back(op);
      for (int32_t i = messages_.written_first[U(op)]; i < messages_.written_first[U(op) + 1]; ++i) {
        WakeOp(messages_.consumer[U(messages_.written[U(i)])]);
      }
      for (int32_t i = messages_.read_first[U(op)]; i < messages_.read_first[U(op) + 1]; ++i) {
        WakeOp(messages_.producer[U(messages_.read[U(i)])]);
      }
      for (int32_t i = flat_.waiters_first[U(op)]; i < flat_.waiters_first[U(op) + 1]; ++i) WakeOp(flat_.waiters[U(i)]);
    }
  }
  void WakeOp(int32_t op) { Wake(flat_.lane_of[U(op)]); }

  bool IsReady(int32_t op) const {
    for (int32_t i = messages_.read_first[U(op)]; i < messages_.read_first[U(op) + 1]; ++i) {
      if (!fired_[U(messages_.producer[U(messages_.read[U(i)])])]) return false;
    }
    for (int32_t i = messages_.written_first[U(op)]; i < messages_.written_first[U(op) + 1]; ++i) {
      const int32_t message = messages_.written[U(i)];
      const int32_t freeing = message - flat_.plan.slot_count;
      if (freeing < messages_.first[U(messages_.channel[U(message)])]) continue;
      if (!fired_[U(messages_.consumer[U(freeing)])]) return false;
    }
    for (int32_t i = 0; i < flat_.op(op).wait_count; ++i) {
      if (!fired_[U(flat_.OpOf(flat_.RankOf(op), flat_.WaitsOf(op)[i]))]) return false;
    }
    return true;
  }

  const FlatPlan& flat_;
  const Messages& messages_;
  std::vector<int32_t> turn_;  // of each lane
  std::vector<bool> fired_;
  std::vector<int32_t> lanes_;  // to be looked at
  std::vector<bool> queued_;
  std::vector<int32_t> result_;
};

}  // namespace

std::vector<int32_t> FiringOrder(const FlatPlan& flat, const Messages& messages) {
  return Runner(flat, messages).Run();
}

}  // namespace mycel::verify
