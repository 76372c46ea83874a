// Room: one communicator's meeting inside a rendezvous. Decides what each rank is told; knows nothing of sockets'
// events.
#pragma once

#include <string>
#include <vector>

#include "core/spi/bootstrap.h"
#include "transport/bootstrap/frames.h"

namespace mycel {

/// A rank's end in the rendezvous.
struct Guest {
  explicit Guest(Fd fd) : connection(std::move(fd)) {}
  FrameConnection connection;
  std::string endpoint;  // "10.0.0.1:4242"
  SteadyTime since;      // when it connected
  bool welcome = false;  // it has proved that it holds the secret
  bool broken = false;   // to be dropped
  // Once registered:
  Rank rank;
  std::string who;       // "rank 3 (pid 17 on node4, 10.0.0.1:4242)"
  bool at_home = false;  // in the rendezvous's own process
  bool waiting = false;
  std::chrono::milliseconds patience{0};
  SteadyTime deadline;  // while waiting
};

class Room {
 public:
  explicit Room(int32_t rank_count) : guests_(static_cast<size_t>(rank_count)), values_(guests_.size()) {}

  /// `guest` (rank, who, patience are set) says that there are `rank_count` ranks. Tells all when the room is full or
  /// has failed.
  void Register(Guest* guest, int32_t rank_count, SteadyTime now);
  /// A value for the round under way.
  void Bring(Guest* guest, const std::string& value, SteadyTime now);
  /// `guest` has left or lost its connection; called once, before it is destroyed.
  void Leave(Guest* guest);
  /// Fails the room when somebody's patience is at its end.
  void CheckDeadlines(SteadyTime now);
  /// When CheckDeadlines has something to do.
  SteadyTime NextDeadline() const;

  bool full() const { return full_; }
  const Status& failed() const { return failed_; }
  bool HasGuests() const;
  /// When it failed before all ranks were here; late ones should still hear why.
  bool FailedEarly() const { return !failed_.ok() && !full_; }

 private:
  void Tell(Guest* guest, const std::shared_ptr<const std::string>& frame);
  /// All who wait. Those at home come last: with what it hears such a rank may end the process, and this one with it.
  void TellAll(const std::shared_ptr<const std::string>& frame);
  void Fail(const Status& status);
  std::vector<Rank> Missing() const;
  void Wait(Guest* guest, SteadyTime now);

  std::vector<Guest*> guests_;       // per rank; null: not here (yet, or any more)
  std::vector<std::string> values_;  // of the round under way
  size_t registered_ = 0;
  bool full_ = false;
  Status failed_;
};

/// A Failure frame.
std::shared_ptr<const std::string> FailureFrame(const Status& status);

}  // namespace mycel
