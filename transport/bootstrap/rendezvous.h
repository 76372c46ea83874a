// Rendezvous: the listener behind a unique id. Every rank keeps one connection to it and it alone answers, so an
// AllGather of n ranks is n messages in and n out (the same bytes to all), and creation takes 6n more:
//
//   rank -> rendezvous   Hello       the rank's nonce(8)
//   rendezvous -> rank   Challenge   its nonce(8) proof(8): this is the listener that was looked for
//   rank -> rendezvous   Proof       proof(8): this rank was given the id
//   rendezvous -> rank   Welcome     from here on the rendezvous stays for this rank; a rank that hears nothing asks
//   again rank -> rendezvous   Register    rank(4) rank count(4) patience in ms(8) who it is (text) rendezvous -> rank
//   Registered  when all ranks have rank -> rendezvous   Value       patience in ms(8) bytes rendezvous -> rank   Table
//   for each rank: length(8) bytes rendezvous -> rank   Failure     StatusCode(4) text; instead of Registered or Table
//   a rank leaves by closing
//
// Patience: how long the rank will wait. The rendezvous answers before that with a Failure that names who is missing.
// Proofs (proof.h) show that an end holds the id's secret, which never travels. Strays (connections that have not
// proved it) are dropped: when they say anything but Hello and a right Proof, after kStrayPatience, or when there are
// many.
//
// A *room* is one communicator's meeting. A random id has one room in its life; an agreed host and port may serve a new
// room whenever the last one is full.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "transport/bootstrap/frames.h"
#include "transport/bootstrap/unique_id.h"

namespace mycel {

/// A listener and the thread that serves it. The thread ends when all ranks have joined and left, when the meeting has
/// failed and its ranks have left, or when the owner is destroyed; it closes every descriptor as it ends.
/// Owner: the thread that made it. `mutex_` guards stop_ and finished_; all else belongs to the serving thread.
class Rendezvous {
 public:
  /// Listens on `port` of all addresses (0: any free port) and starts serving.
  static StatusOr<std::unique_ptr<Rendezvous>> Start(const Secret& secret, uint16_t port, bool reusable);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  uint16_t port() const { return port_; }
  bool Finished();
  /// This object came into being by fork: it serves nobody.
  bool ForeignProcess() const;

 private:
  Rendezvous(Fd listener, Fd stop, const Secret& secret, uint16_t port, bool reusable);
  void Main();

  const Secret secret_;
  const uint16_t port_;
  const int32_t owner_pid_;
  Fd listener_;
  Mutex mutex_;
  Fd stop_;  // eventfd: written to make the thread end; the thread itself closes it, under mutex_
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // Not a std::thread: in a child of fork nothing may be joined, detached or freed.
  pthread_t thread_{};
  bool started_ = false;
  const bool reusable_;
};

/// All rendezvous of a process: the owner that outlives them. Any thread.
class RendezvousHost {
 public:
  /// The one that MakeUniqueId and JoinTcp use; its rendezvous end with the process.
  static RendezvousHost& OfProcess();

  StatusOr<UniqueId> MakeUniqueId(const std::string& interfaces);
  /// Listens at an agreed place unless that is being done already.
  Status Serve(const MeetingPlace& place);
  /// How many are still serving. Also lets a child of fork drop its copies of its parent's listeners.
  size_t Serving();

 private:
  void DropFinished() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::vector<std::unique_ptr<Rendezvous>> all_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mycel
