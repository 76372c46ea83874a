#include "transport/bootstrap/in_process.h"

#include <algorithm>
#include <new>
#include <string>

#include "core/base/cancel.h"
#include "core/base/check.h"
#include "transport/bootstrap/rank_list.h"

namespace mycel {

class InProcessBootstrap final : public Bootstrap {
 public:
  InProcessBootstrap(std::shared_ptr<Meeting> meeting, Rank rank) : meeting_(std::move(meeting)), rank_(rank) {}
  ~InProcessBootstrap() override { meeting_->Leave(rank_); }
  InProcessBootstrap(const InProcessBootstrap&) = delete;
  InProcessBootstrap& operator=(const InProcessBootstrap&) = delete;

  Rank rank() const override { return rank_; }
  int32_t rank_count() const override { return meeting_->rank_count_; }
  StatusOr<std::vector<std::string>> AllGather(const std::string& mine, Deadline deadline) override {
    messages_ += 2;
    return meeting_->AllGather(rank_, mine, deadline);
  }

 private:
  const std::shared_ptr<Meeting> meeting_;
  const Rank rank_;
};

Meeting::Meeting(int32_t rank_count) : rank_count_(rank_count) {
  MYCEL_CHECK_GE(rank_count, 1);
  joined_.resize(static_cast<size_t>(rank_count));
  round_ = NewRound();
}

std::shared_ptr<Meeting> Meeting::Make(int32_t rank_count) { return std::shared_ptr<Meeting>(new Meeting(rank_count)); }

std::shared_ptr<Meeting::Round> Meeting::NewRound() const {
  auto round = std::make_shared<Round>();
  round->values.resize(static_cast<size_t>(rank_count_));
  round->arrived.resize(static_cast<size_t>(rank_count_));
  return round;
}

StatusOr<std::unique_ptr<Bootstrap>> Meeting::Join(Rank rank) {
  if (!rank.valid() || rank.value() >= rank_count_) {
    return InvalidArgument("rank " + std::to_string(rank.value()) + " does not exist: the communicator has " +
                           std::to_string(rank_count_) + " ranks, 0 to " + std::to_string(rank_count_ - 1));
  }
  const MutexLock lock(mutex_);
  if (joined_[rank.index()]) {
    return InvalidUsage("rank " + std::to_string(rank.value()) +
                        " has joined this meeting already: give each thread its own rank, and each communicator its "
                        "own meeting");
  }
  joined_[rank.index()] = true;
  return std::unique_ptr<Bootstrap>(std::make_unique<InProcessBootstrap>(shared_from_this(), rank));
}

StatusOr<std::vector<std::string>> Meeting::AllGather(Rank rank, const std::string& mine, Deadline deadline) {
  const MutexLock lock(mutex_);
  if (!broken_.ok()) return broken_;
  const std::shared_ptr<Round> round = round_;
  MYCEL_CHECK(!round->arrived[rank.index()]);
  round->values[rank.index()] = mine;
  round->arrived[rank.index()] = true;
  if (++round->arrived_count == rank_count_) {
    round_ = NewRound();
    changed_.NotifyAll();
    return round->values;
  }
  const int64_t glance_ns = std::chrono::nanoseconds(kCancelGlance).count();
  while (round->arrived_count != rank_count_ && broken_.ok() && !Cancelled()) {
    if (deadline.Passed()) break;
    changed_.WaitUntil(mutex_, deadline.Within(Cancellable() ? glance_ns : kNeverNs));
  }
  if (round->arrived_count == rank_count_) return round->values;
  if (!broken_.ok()) return broken_;
  if (Cancelled()) {
    broken_ = RemoteError("rank " + std::to_string(rank.value()) + " was aborted while the communicator was made");
    changed_.NotifyAll();
    return CheckCancelled("rank " + std::to_string(rank.value()));
  }
  std::vector<Rank> missing;
  for (Rank r : Ids<Rank>(rank_count_)) {
    if (!round->arrived[r.index()]) missing.push_back(r);
  }
  broken_ = TimeoutError("rank " + std::to_string(rank.value()) + " waited until its deadline for " +
                         RankList(missing) + " to arrive; see why they are late, or raise the timeout");
  changed_.NotifyAll();
  return broken_;
}

void Meeting::Leave(Rank rank) {
  const MutexLock lock(mutex_);
  if (broken_.ok()) {
    try {
      broken_ = RemoteError("rank " + std::to_string(rank.value()) +
                            " left: see its own error, or why it made fewer calls than the others");
    } catch (const std::bad_alloc&) {
      broken_ = RemoteError(std::string());  // without a text it needs no memory
    }
  }
  changed_.NotifyAll();
}

}  // namespace mycel
