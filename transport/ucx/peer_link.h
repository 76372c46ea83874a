// What the engine keeps for one rank of another server: endpoints, rings of both directions, the copy of its board.
// Everything under the engine's mutex, but for what the step loop reads and writes in the rings.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/spi/channel.h"
#include "transport/ucx/board_facts.h"
#include "transport/ucx/rail.h"
#include "transport/ucx/ring_memory.h"
#include "transport/ucx/ways.h"
#include "transport/ucx/wire.h"

namespace mycel {

class Engine;
struct PeerLink;

/// One slot's message on its way out.
struct OutSlot : RailRequest {
  WireHeader header{};
  struct OutChannel* channel = nullptr;
  bool on_its_way = false;
};

/// The near ring of a channel that this rank writes.
struct OutChannel {
  std::unique_ptr<RingMemory> ring;
  ChannelEnd end;  // for its addresses; the counters are the step loop's and live elsewhere
  PeerLink* peer = nullptr;
  uint64_t sent = 0;      // steps given to UCX
  uint64_t done = 0;      // steps before it have left: UCX no longer reads their slots
  uint64_t released = 0;  // by the target, as far as told
  std::array<OutSlot, kSlotCountMax> slots;

  /// Whether the step loop has published slot `sent`.
  bool NextIsPublished() const;
  /// Gives slots back to the step loop that both UCX and the target are done with.
  void ShowReleased();
};

/// One slot's message that is being fetched.
struct InSlot : RailRequest {
  struct InChannel* channel = nullptr;
  uint64_t step = 0;
};

/// The near ring of a channel that this rank reads.
struct InChannel {
  std::unique_ptr<RingMemory> ring;
  ChannelEnd end;
  Engine* engine = nullptr;
  PeerLink* peer = nullptr;
  uint64_t told = 0;  // released steps that the source knows of
  std::array<InSlot, kSlotCountMax> slots;

  uint64_t Released() const;
  void Publish(uint64_t step);
};

/// A small message with its own copy of everything; lives until UCX is done with it.
struct ControlMessage : RailRequest {
  WireHeader header{};
  std::string payload;
  PeerLink* peer = nullptr;
};

struct PeerLink {
  int32_t rank = -1;
  std::string who;  // "rank 3 (host a, pid 17)"
  std::vector<RailPair> ways;
  std::vector<ucp_ep_h> endpoints;               // by way
  uint64_t token[2] = {0, 0};                    // what we repeat to it
  size_t welcomes = 0;                           // ways on which it has answered our hello
  bool known = false;                            // it has repeated our token: its messages are believed
  size_t byes = 0;                               // ways on which it has said goodbye
  size_t fetching = 0;                           // slots of it that UCX is fetching
  bool left = false;                             // it has said goodbye, and all that it sent has arrived
  bool bye_seen = false;                         // it has seen ours
  std::string broken;                            // why nothing comes through any more; empty: all is well
  std::vector<std::unique_ptr<OutChannel>> out;  // by index; null until used
  std::vector<std::unique_ptr<InChannel>> in;
  RankBoard board{};
  std::deque<std::unique_ptr<ControlMessage>> control;  // not yet done

  bool up() const { return broken.empty(); }
};

}  // namespace mycel
