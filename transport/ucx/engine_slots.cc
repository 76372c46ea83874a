// The data path of the engine: slots out, slots in, credits back. Everything here runs under the engine's mutex.
#include <cstring>

#include "core/base/check.h"
#include "transport/ucx/engine.h"

namespace mycel {

void OutChannel::ShowReleased() {
  // release: orders UCX's reads of the slots before the step loop's next writes; pairs with the acquire in HasCredit.
  end.release->released.store(released < done ? released : done, std::memory_order_release);
}

bool OutChannel::NextIsPublished() const {
  if (slots[sent % kSlotCountMax].on_its_way) return false;
  // acquire: pairs with the release in step::Publish; makes header and payload readable.
  return end.headers[sent % kSlotCountMax].flag.load(std::memory_order_acquire) == sent + 1;
}

uint64_t InChannel::Released() const {
  // acquire: pairs with the release in step::Release; the step loop has read the slots.
  return end.release->released.load(std::memory_order_acquire);
}

void InChannel::Publish(uint64_t step) {
  // release: publishes header and payload; pairs with the acquire in IsReady.
  end.headers[step % kSlotCountMax].flag.store(step + 1, std::memory_order_release);
  engine->WakeOwner();
}

void Engine::WakeOwner() {
  // relaxed: a missed ring costs the owner one sleep period, see core/base/wait.h.
  if (board_->bell.sleepers.load(std::memory_order_relaxed) != 0) Ring(board_->bell);
}

bool Engine::Pass() {
  bool moved = false;
  for (const std::unique_ptr<Rail>& rail : rails_) moved |= rail->Progress();
  for (const std::unique_ptr<PeerLink>& peer : peers_) {
    if (peer == nullptr || !peer->up()) continue;
    moved |= SendSlots(*peer);
    moved |= SendCredits(*peer);
  }
  return moved;
}

bool Engine::SendSlots(PeerLink& peer) {
  bool moved = false;
  for (size_t index = 0; index < peer.out.size(); ++index) {
    OutChannel* const channel = peer.out[index].get();
    if (channel == nullptr) continue;
    for (; peer.up() && channel->NextIsPublished(); moved = true) SendSlot(*channel, index);
  }
  return moved;
}

void Engine::SendSlot(OutChannel& channel, size_t index) {
  PeerLink& peer = *channel.peer;
  const SlotHeader& slot = channel.end.headers[channel.sent % kSlotCountMax];
  OutSlot& out = channel.slots[channel.sent % kSlotCountMax];
  const bool in_line = slot.bytes <= kInlineBytesMax;
  MYCEL_CHECK(in_line || slot.longer.address + slot.bytes <= options_.payload_bytes);
  InChannel* const back = peer.in[index].get();
  out.header.communicator = options_.communicator;
  out.header.step = channel.sent;
  out.header.released = back == nullptr ? 0 : back->Released();
  if (back != nullptr) back->told = out.header.released;
  out.header.place = in_line ? 0 : slot.longer.address;
  out.header.signature = slot.signature;
  out.header.bytes = slot.bytes;
  out.header.source = options_.rank.value();
  out.header.index = static_cast<uint16_t>(index);
  out.header.kind = WireKind::kData;
  out.on_its_way = true;
  out.done = [](RailRequest* request, ucs_status_t status) {
    auto* const sent = static_cast<OutSlot*>(request);
    OutChannel& of = *sent->channel;
    sent->on_its_way = false;
    if (status != UCS_OK) return;  // the endpoint's own handler says why
    while (of.done < of.sent && !of.slots[of.done % kSlotCountMax].on_its_way) ++of.done;
    of.ShowReleased();
  };
  ++channel.sent;
  const size_t way = ChooseWay(peer.ways, in_line ? Rails() : slot.longer.rails, index);
  const void* const payload =
      in_line ? static_cast<const void*>(slot.inline_bytes) : channel.end.payload + slot.longer.address;
  const ucs_status_t status =
      rails_[peer.ways[way].mine]->Send(peer.endpoints[way], out.header, payload, slot.bytes, &out);
  if (status == UCS_INPROGRESS) return;
  if (status != UCS_OK) return Break(peer, "sending fails");
  out.done(&out, UCS_OK);
}

bool Engine::SendCredits(PeerLink& peer) {
  bool moved = false;
  for (size_t index = 0; index < peer.in.size(); ++index) {
    InChannel* const channel = peer.in[index].get();
    if (channel == nullptr) continue;
    const uint64_t released = channel->Released();
    if (released == channel->told) continue;
    channel->told = released;
    Tell(peer, WireKind::kCredit, released, static_cast<uint16_t>(index));
    moved = true;
  }
  return moved;
}

StatusOr<OutChannel*> Engine::OutOf(PeerLink& peer, int32_t index) {
  std::unique_ptr<OutChannel>& channel = peer.out[static_cast<size_t>(index)];
  if (channel != nullptr) return channel.get();
  MYCEL_ASSIGN_OR_RETURN(std::unique_ptr<RingMemory> ring, RingMemory::Make(options_.payload_bytes));
  channel = std::make_unique<OutChannel>();
  channel->ring = std::move(ring);
  channel->end = channel->ring->End();
  channel->peer = &peer;
  for (OutSlot& slot : channel->slots) slot.channel = channel.get();
  memory_bytes_ += channel->ring->bytes();
  return channel.get();
}

StatusOr<InChannel*> Engine::InOf(PeerLink& peer, int32_t index) {
  std::unique_ptr<InChannel>& channel = peer.in[static_cast<size_t>(index)];
  if (channel != nullptr) return channel.get();
  MYCEL_ASSIGN_OR_RETURN(std::unique_ptr<RingMemory> ring, RingMemory::Make(options_.payload_bytes));
  channel = std::make_unique<InChannel>();
  channel->ring = std::move(ring);
  channel->end = channel->ring->End();
  channel->engine = this;
  channel->peer = &peer;
  for (InSlot& slot : channel->slots) slot.channel = channel.get();
  memory_bytes_ += channel->ring->bytes();
  return channel.get();
}

void Engine::TakeCredit(PeerLink& peer, const WireHeader& header) {
  OutChannel* const channel = peer.out[header.index].get();
  if (channel == nullptr || header.released <= channel->released) return;
  if (header.released > channel->sent) return Break(peer, "it gives back slots that it was never sent");
  channel->released = header.released;
  channel->ShowReleased();
  WakeOwner();
}

ucs_status_t Engine::Receive(size_t rail, const WireHeader& header, void* data, size_t bytes, bool rendezvous) {
  PeerLink* const found = Find(header.source);
  // Strangers and late messages of a communicator that is gone: dropped without a word.
  if (header.communicator != options_.communicator || found == nullptr || !found->up()) return UCS_OK;
  PeerLink& peer = *found;
  if (header.kind == WireKind::kHello) {
    HelloWire hello{};
    if (rendezvous || bytes != sizeof(hello)) return UCS_OK;
    std::memcpy(&hello, data, sizeof(hello));
    if (hello.token[0] != token_[0] || hello.token[1] != token_[1]) return UCS_OK;
    peer.known = true;
    Tell(peer, WireKind::kWelcome);
    return UCS_OK;
  }
  if (header.kind == WireKind::kWelcome) {
    ++peer.welcomes;
    return UCS_OK;
  }
  if (!peer.known || header.index >= options_.channels_per_pair) return UCS_OK;
  switch (header.kind) {
    case WireKind::kData:
      TakeCredit(peer, header);
      return ReceiveSlot(rail, peer, header, data, bytes, rendezvous);
    case WireKind::kCredit:
      TakeCredit(peer, header);
      return UCS_OK;
    case WireKind::kBoard: {
      BoardFacts facts{};
      if (rendezvous || bytes != sizeof(facts)) return UCS_OK;
      std::memcpy(&facts, data, sizeof(facts));
      // It may overtake what was sent earlier on another way: that a rank has left is for its goodbyes to say.
      // relaxed: as below.
      if (facts.phase == static_cast<uint32_t>(Phase::kFinalized)) {
        facts.phase = peer.board.phase.load(std::memory_order_relaxed);
      }
      CopyFacts(facts, &peer.board);
      WakeOwner();
      return UCS_OK;
    }
    case WireKind::kBye:
      ++peer.byes;
      NoteGoodbye(peer);
      return UCS_OK;
    case WireKind::kByeSeen:
      peer.bye_seen = true;
      return UCS_OK;
    case WireKind::kHello:
    case WireKind::kWelcome:
      break;
  }
  return UCS_OK;
}

/// A peer has left when it has said so on every way and nothing that it sent before is still being fetched.
void Engine::NoteGoodbye(PeerLink& peer) {
  if (peer.left || peer.byes < peer.ways.size() || peer.fetching != 0) return;
  peer.left = true;
  // relaxed: read by error texts.
  peer.board.phase.store(static_cast<uint32_t>(Phase::kFinalized), std::memory_order_relaxed);
  Tell(peer, WireKind::kByeSeen);
  WakeOwner();
}

ucs_status_t Engine::ReceiveSlot(size_t rail, PeerLink& peer, const WireHeader& header, void* data, size_t bytes,
                                 bool rendezvous) {
  const bool in_line = header.bytes <= kInlineBytesMax;
  StatusOr<InChannel*> opened = InOf(peer, header.index);
  if (!opened.ok()) {
    Break(peer, StatusMessage(opened.status()));
    return UCS_OK;
  }
  InChannel& channel = **opened;
  const uint64_t released = channel.Released();
  if (bytes != header.bytes || header.step < released || header.step - released >= kSlotCountMax ||
      (!in_line && (header.place > options_.payload_bytes || header.bytes > options_.payload_bytes - header.place))) {
    Break(peer, "it sent a message that does not fit its channel");
    return UCS_OK;
  }
  SlotHeader& slot = channel.end.headers[header.step % kSlotCountMax];
  slot.signature = header.signature;
  slot.bytes = header.bytes;
  void* const target = in_line ? static_cast<void*>(slot.inline_bytes) : channel.end.payload + header.place;
  if (!rendezvous) {
    if (bytes > 0) std::memcpy(target, data, bytes);
    channel.Publish(header.step);
    return UCS_OK;
  }
  InSlot& in = channel.slots[header.step % kSlotCountMax];
  in.step = header.step;
  in.done = [](RailRequest* request, ucs_status_t status) {
    auto* const fetched = static_cast<InSlot*>(request);
    InChannel& into = *fetched->channel;
    --into.peer->fetching;
    if (status != UCS_OK) return;  // the endpoint's own handler says why
    into.Publish(fetched->step);
    into.engine->NoteGoodbye(*into.peer);
  };
  ++peer.fetching;
  const ucs_status_t status = rails_[rail]->FetchInto(data, target, bytes, &in);
  if (status == UCS_OK) {
    in.done(&in, UCS_OK);
  } else if (status != UCS_INPROGRESS) {
    --peer.fetching;
    Break(peer, "fetching fails");
  }
  // The descriptor is UCX's again either way.
  return UCS_OK;
}

}  // namespace mycel
