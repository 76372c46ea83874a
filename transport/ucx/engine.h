// Engine: what carries slots to ranks of other servers, one per communicator.
//
// A channel whose two ends share no memory has two rings, one at each end, laid out alike (core/spi/channel.h). The
// step loop works on the near one as if it were shared; the engine makes the far one follow:
//
//   source                                              target
//   step loop publishes slot k        -- kData k -->    payload lands in the ring's slot, then the flag is set
//   release word = released           <-- kCredit --    step loop gives slots back
//
// The source's release word lags until UCX has let go of the slot, so a slot is never overwritten while it is sent.
//
// Who runs it. The thread inside a call drives the engine by Progress whenever it polls. While that thread sleeps or is
// elsewhere, the proxy thread does: it sleeps on UCX's descriptors, moves what comes, and rings the bell. One mutex
// covers all of it; UCX is never entered by two threads.
//
// Ranks also tell each other their boards (board_facts.h): at once when one has failed or left, else when a rank has
// stood at one place for a few milliseconds. A busy rank sends none.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/spi/transport.h"
#include "transport/bootstrap/sockets.h"
#include "transport/ucx/peer_link.h"

namespace mycel {

struct RailAddress {
  std::string network;  // NetworkOf its device
  std::string worker;   // Rail::address
  friend bool operator==(const RailAddress&, const RailAddress&) = default;
};

/// What a rank tells the others so that they can reach it.
struct EngineAddress {
  uint64_t token[2] = {0, 0};  // random: whoever repeats it was told by us
  std::string who;             // "host a, pid 17"
  std::vector<RailAddress> rails;

  std::string Encode() const;
  /// InvalidArgument when `text` is no such address.
  static StatusOr<EngineAddress> Decode(const std::string& text);
};

class Engine {
 public:
  /// `board`: this rank's own, watched while the engine lives.
  Engine(const TransportOptions& options, std::vector<std::unique_ptr<Rail>> rails, RankBoard* board);
  /// Says goodbye: what was published arrives unless the peer is gone; takes at most about two seconds.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  EngineAddress address() const;
  /// Connects to the ranks that have an address (by rank; empty: none), and proves each: it repeats our token.
  /// InvalidArgument, TimeoutError and RemoteError name the pair.
  Status Connect(const std::vector<std::string>& addresses, Deadline deadline);
  bool Reaches(Rank peer) const { return Find(peer.value()) != nullptr; }

  /// The near rings of channel `index` to and from a peer that is reached.
  StatusOr<ChannelEnd> OpenSend(Rank peer, int32_t index);
  StatusOr<ChannelEnd> OpenRecv(Rank peer, int32_t index);
  /// The copy of such a peer's board.
  RankBoard* BoardOf(Rank peer) { return &Find(peer.value())->board; }

  /// Moves what can be moved; by the thread inside a call. False when nothing moved.
  bool Progress();
  /// OK, or why `peer` is out of reach. Any thread.
  Status CheckAlive(Rank peer) const;
  size_t MemoryBytes() const;

 private:
  friend struct InChannel;

  PeerLink* Find(int32_t rank) const {
    return rank < 0 || rank >= options_.rank_count ? nullptr : peers_[static_cast<size_t>(rank)].get();
  }
  std::string Pair(const PeerLink& peer) const;  // "rank 2 and rank 5 (host b, pid 17)"

  // Under mutex_; engine_slots.cc:
  bool Pass() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool SendSlots(PeerLink& peer);
  void SendSlot(OutChannel& channel, size_t index);
  bool SendCredits(PeerLink& peer);
  ucs_status_t Receive(size_t rail, const WireHeader& header, void* data, size_t bytes, bool rendezvous);
  ucs_status_t ReceiveSlot(size_t rail, PeerLink& peer, const WireHeader& header, void* data, size_t bytes,
                           bool rendezvous);
  void TakeCredit(PeerLink& peer, const WireHeader& header);
  StatusOr<OutChannel*> OutOf(PeerLink& peer, int32_t index);
  StatusOr<InChannel*> InOf(PeerLink& peer, int32_t index);
  void WakeOwner();

  // Under mutex_; engine.cc:
  void Tell(PeerLink& peer, WireKind kind, uint64_t released = 0, uint16_t index = 0,
            const std::string& payload = std::string(), size_t way = 0);
  void Break(PeerLink& peer, const std::string& why);
  void NoteGoodbye(PeerLink& peer);
  bool ShowBoard(int64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Status ConnectPeers(const std::vector<std::string>& addresses);
  Status AwaitWelcomes(Deadline deadline);
  void SayGoodbye(Deadline deadline);
  bool Stopping() const;
  bool OwnerPolls();
  void Proxy();

  const TransportOptions options_;
  RankBoard* const board_;
  uint64_t token_[2];
  Fd stop_event_;

  // Guards UCX and what follows. What UCX calls back runs in Pass and is beyond the analysis.
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Rail>> rails_;
  std::vector<std::unique_ptr<PeerLink>> peers_;  // by rank; null: not reached through UCX. Fixed after Connect
  size_t memory_bytes_ = 0;
  BoardFacts shown_ ABSL_GUARDED_BY(mutex_){};  // what the peers know
  BoardFacts seen_ ABSL_GUARDED_BY(mutex_){};   // at the last look
  int64_t looked_ns_ ABSL_GUARDED_BY(mutex_) = 0;

  std::atomic<uint64_t> polls_{0};   // Progress calls: whether the owner is polling
  uint64_t polls_seen_ = 0;          // by the proxy
  std::atomic<bool> wanted_{false};  // a Progress found the engine busy: pass again
  std::atomic<bool> stopping_{false};
  std::thread proxy_;
};

}  // namespace mycel
