// In-process bootstrap: ranks that are threads of one process meet in a shared object. The smallest bootstrap; used by
// tests, by the simulator's set-up and by one-process communicators.
//
//   auto meeting = Meeting::Make(n);
//   thread r:  auto bootstrap = meeting->Join(Rank(r)).value();
//
// An AllGather is a round: the last rank to arrive completes it, and every member of the round holds its result, so a
// fast rank may be one round ahead. A rank that gives up at its deadline, or leaves (its Bootstrap is destroyed),
// breaks the meeting for good: nobody can complete a round without it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/spi/bootstrap.h"

namespace mycel {

/// Thread-safe. Every field is guarded by `mutex_`.
class Meeting : public std::enable_shared_from_this<Meeting> {
 public:
  /// rank_count >= 1.
  static std::shared_ptr<Meeting> Make(int32_t rank_count);

  /// This rank's way in, once per rank. InvalidArgument: no such rank; InvalidUsage: the rank is taken.
  StatusOr<std::unique_ptr<Bootstrap>> Join(Rank rank);

 private:
  friend class InProcessBootstrap;

  /// One AllGather: what each rank brought.
  struct Round {
    std::vector<std::string> values;
    std::vector<bool> arrived;
    int32_t arrived_count = 0;
  };

  explicit Meeting(int32_t rank_count);
  StatusOr<std::vector<std::string>> AllGather(Rank rank, const std::string& mine, Deadline deadline);
  void Leave(Rank rank);
  std::shared_ptr<Round> NewRound() const;

  const int32_t rank_count_;
  Mutex mutex_;
  Condition changed_;
  std::vector<bool> joined_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Round> round_ ABSL_GUARDED_BY(mutex_);  // the one being filled; replaced when complete
  Status broken_ ABSL_GUARDED_BY(mutex_);                 // why no further round can complete; set once
};

}  // namespace mycel
