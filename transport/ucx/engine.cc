#include "transport/ucx/engine.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "core/base/check.h"
#include "core/base/wait.h"

namespace mycel {
namespace {

// How often the proxy looks at this rank's board: a rank that has not moved between two looks is shown to its peers.
constexpr int64_t kLookNs = 5 * kNsPerMs;
constexpr int64_t kGoodbyeNs = 2 * kNsPerSecond;

/// About a tenth of a millisecond.
void Nap() {
  WaitPolicy policy;
  policy.mode = WaitMode::kSleep;
  Waiter waiter(policy, nullptr);
  waiter.Pause();  // the first one only prepares
  waiter.Pause();
}

void PutText(std::string* out, const std::string& text) {
  const auto bytes = static_cast<uint32_t>(text.size());
  out->append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
  out->append(text);
}

bool TakeText(std::string_view* in, std::string* text) {
  uint32_t bytes = 0;
  if (in->size() < sizeof(bytes)) return false;
  std::memcpy(&bytes, in->data(), sizeof(bytes));
  in->remove_prefix(sizeof(bytes));
  if (in->size() < bytes) return false;
  text->assign(in->substr(0, bytes));
  in->remove_prefix(bytes);
  return true;
}

std::vector<std::string> NetworksOf(const EngineAddress& address) {
  std::vector<std::string> networks;
  for (const RailAddress& rail : address.rails) networks.push_back(rail.network);
  return networks;
}

std::string WhoIsThis() {
  char host[256] = "?";
  gethostname(host, sizeof(host) - 1);
  return "host " + std::string(host) + ", pid " + std::to_string(getpid());
}

}  // namespace

std::string EngineAddress::Encode() const {
  std::string text(reinterpret_cast<const char*>(token), sizeof(token));
  PutText(&text, who);
  for (const RailAddress& rail : rails) {
    PutText(&text, rail.network);
    PutText(&text, rail.worker);
  }
  return text;
}

StatusOr<EngineAddress> EngineAddress::Decode(const std::string& text) {
  EngineAddress address;
  std::string_view rest = text;
  bool good = rest.size() >= sizeof(token);
  if (good) {
    std::memcpy(address.token, rest.data(), sizeof(token));
    rest.remove_prefix(sizeof(token));
    good = TakeText(&rest, &address.who);
  }
  while (good && !rest.empty()) {
    address.rails.emplace_back();
    RailAddress& rail = address.rails.back();
    good = TakeText(&rest, &rail.network) && TakeText(&rest, &rail.worker) && !rail.worker.empty();
  }
  if (!good || address.rails.empty()) {
    return InvalidArgument("an address of " + std::to_string(text.size()) +
                           " bytes is none that the UCX transport gives out: all ranks must run the same version");
  }
  return address;
}

Engine::Engine(const TransportOptions& options, std::vector<std::unique_ptr<Rail>> rails, RankBoard* board)
    : options_(options),
      board_(board),
      stop_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      rails_(std::move(rails)),
      peers_(static_cast<size_t>(options.rank_count)) {
  std::random_device random;
  for (uint64_t& word : token_) word = (static_cast<uint64_t>(random()) << 32) | random();
  for (size_t rail = 0; rail < rails_.size(); ++rail) {
    rails_[rail]->set_receiver([this, rail](const WireHeader& header, void* data, size_t bytes, bool rendezvous) {
      return Receive(rail, header, data, bytes, rendezvous);
    });
  }
}

Engine::~Engine() {
  const Deadline deadline = Deadline::After(kGoodbyeNs);
  SayGoodbye(deadline);
  // relaxed: the event orders.
  stopping_.store(true, std::memory_order_relaxed);
  const uint64_t one = 1;
  if (proxy_.joinable()) {
    (void)!write(stop_event_.get(), &one, sizeof(one));
    proxy_.join();
  }
  for (const std::unique_ptr<Rail>& rail : rails_) rail->CloseEndpoints(true, deadline.Within(kNsPerSecond / 2));
  rails_.clear();  // before the slots that UCX may still look at
}

EngineAddress Engine::address() const {
  EngineAddress address;
  std::copy(std::begin(token_), std::end(token_), std::begin(address.token));
  address.who = WhoIsThis();
  for (const std::unique_ptr<Rail>& rail : rails_) address.rails.push_back({rail->network(), rail->address()});
  return address;
}

std::string Engine::Pair(const PeerLink& peer) const {
  return "rank " + std::to_string(options_.rank.value()) + " and " + peer.who;
}

Status Engine::Connect(const std::vector<std::string>& addresses, Deadline deadline) {
  MYCEL_CHECK_EQ(addresses.size(), peers_.size());
  if (!stop_event_.valid()) return DescriptorError("the proxy of the UCX transport", errno);
  MYCEL_RETURN_IF_ERROR(ConnectPeers(addresses));
  MYCEL_RETURN_IF_ERROR(AwaitWelcomes(deadline));
  proxy_ = std::thread([this] { Proxy(); });
  return OkStatus();
}

Status Engine::ConnectPeers(const std::vector<std::string>& addresses) {
  const EngineAddress own = address();
  const MutexLock lock(mutex_);
  for (const Rank rank : Ids<Rank>(options_.rank_count)) {
    if (rank == options_.rank || addresses[rank.index()].empty()) continue;
    MYCEL_ASSIGN_OR_RETURN(const EngineAddress address, EngineAddress::Decode(addresses[rank.index()]));
    auto peer = std::make_unique<PeerLink>();
    peer->rank = static_cast<int32_t>(rank.value());
    peer->who = "rank " + std::to_string(rank.value()) + " (" + address.who + ")";
    std::copy(std::begin(address.token), std::end(address.token), std::begin(peer->token));
    peer->out.resize(static_cast<size_t>(options_.channels_per_pair));
    peer->in.resize(static_cast<size_t>(options_.channels_per_pair));
    peer->ways = PairRails(NetworksOf(own), NetworksOf(address));
    for (const RailPair& way : peer->ways) {
      PeerLink* const link = peer.get();
      StatusOr<ucp_ep_h> endpoint = rails_[way.mine]->Connect(
          address.rails[way.theirs].worker,
          [this, link](ucs_status_t status) { Break(*link, rails_[0]->ucx().ucs_status_string(status)); });
      if (!endpoint.ok()) {
        return MakeStatus(endpoint.status().code(), Pair(*peer) + ": " + StatusMessage(endpoint.status()) +
                                                        "; MYCEL_NICS names the devices to use");
      }
      peer->endpoints.push_back(*endpoint);
    }
    peers_[rank.index()] = std::move(peer);
  }
  for (const std::unique_ptr<PeerLink>& peer : peers_) {
    if (peer == nullptr) continue;
    std::string hello(reinterpret_cast<const char*>(peer->token), sizeof(HelloWire));
    for (size_t way = 0; way < peer->ways.size(); ++way) Tell(*peer, WireKind::kHello, 0, 0, hello, way);
  }
  return OkStatus();
}

Status Engine::AwaitWelcomes(Deadline deadline) {
  while (true) {
    const PeerLink* missing = nullptr;
    bool moved = false;
    {
      const MutexLock lock(mutex_);
      moved = Pass();
      for (const std::unique_ptr<PeerLink>& peer : peers_) {
        if (peer == nullptr) continue;
        const bool welcome = peer->known && peer->welcomes == peer->ways.size();
        if (!peer->up() && !(welcome && peer->left)) {  // who is quick may have left again
          return RemoteError(Pair(*peer) + " cannot reach each other: " + peer->broken +
                             "; look at routes and firewalls between the two, MYCEL_NICS names the devices to use");
        }
        if (missing == nullptr && !welcome) missing = peer.get();
      }
    }
    if (missing == nullptr) return OkStatus();
    if (deadline.Passed()) {
      return TimeoutError(Pair(*missing) + " do not reach each other in time: " + std::to_string(missing->welcomes) +
                          " of " + std::to_string(missing->ways.size()) +
                          " ways have answered; look at routes and firewalls between the two, MYCEL_NICS names the "
                          "devices to use, MYCEL_TIMEOUT sets the limit");
    }
    if (!moved) Nap();
  }
}

StatusOr<ChannelEnd> Engine::OpenSend(Rank peer, int32_t index) {
  const MutexLock lock(mutex_);
  PeerLink& link = *Find(static_cast<int32_t>(peer.value()));
  MYCEL_ASSIGN_OR_RETURN(OutChannel * channel, OutOf(link, index));
  ChannelEnd end = channel->end;
  end.peer = link.rank;
  end.peer_bell = &link.board.bell;
  return end;
}

StatusOr<ChannelEnd> Engine::OpenRecv(Rank peer, int32_t index) {
  const MutexLock lock(mutex_);
  PeerLink& link = *Find(static_cast<int32_t>(peer.value()));
  MYCEL_ASSIGN_OR_RETURN(InChannel * channel, InOf(link, index));
  ChannelEnd end = channel->end;
  end.peer = link.rank;
  end.peer_bell = &link.board.bell;
  return end;
}

bool Engine::Progress() {
  // relaxed: a sign of life for the proxy.
  polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (!mutex_.TryLock()) {
    // seq_cst: whoever holds the engine looks at it after letting go, and passes again.
    wanted_.store(true, std::memory_order_seq_cst);
    if (!mutex_.TryLock()) return false;
  }
  wanted_.store(false, std::memory_order_seq_cst);
  const bool moved = Pass();
  mutex_.Unlock();
  return moved;
}

Status Engine::CheckAlive(Rank peer) const {
  const MutexLock lock(mutex_);
  const PeerLink* const link = Find(static_cast<int32_t>(peer.value()));
  if (link == nullptr) return OkStatus();
  if (link->left) {
    return RemoteError(link->who + " left the communicator: see its own error, or why it made fewer calls");
  }
  if (link->up()) return OkStatus();
  return RemoteError(link->who + " died or cannot be reached any more (" + link->broken + ")");
}

size_t Engine::MemoryBytes() const {
  const MutexLock lock(mutex_);
  return memory_bytes_;
}

void Engine::Break(PeerLink& peer, const std::string& why) {
  if (!peer.up()) return;
  peer.broken = why;
  WakeOwner();
}

void Engine::Tell(PeerLink& peer, WireKind kind, uint64_t released, uint16_t index, const std::string& payload,
                  size_t way) {
  if (!peer.up()) return;
  auto message = std::make_unique<ControlMessage>();
  message->header.communicator = options_.communicator;
  message->header.released = released;
  message->header.source = static_cast<int32_t>(options_.rank.value());
  message->header.index = index;
  message->header.kind = kind;
  message->payload = payload;
  message->peer = &peer;
  message->done = [](RailRequest* request, ucs_status_t /*status: the endpoint's own handler says why*/) {
    auto& waiting = static_cast<ControlMessage*>(request)->peer->control;
    std::erase_if(waiting, [&](const std::unique_ptr<ControlMessage>& one) { return one.get() == request; });
  };
  Rail& rail = *rails_[peer.ways[way].mine];
  const ucs_status_t status =
      rail.Send(peer.endpoints[way], message->header, message->payload.data(), message->payload.size(), message.get());
  if (status == UCS_INPROGRESS) {
    peer.control.push_back(std::move(message));
  } else if (status != UCS_OK) {
    Break(peer, rail.ucx().ucs_status_string(status));
  }
}

bool Engine::ShowBoard(int64_t now_ns) {
  const BoardFacts facts = FactsOf(*board_);
  const bool urgent = facts.error != shown_.error;
  if (!urgent && now_ns - looked_ns_ < kLookNs) return false;
  const bool stands = facts == seen_;
  seen_ = facts;
  looked_ns_ = now_ns;
  if (facts == shown_ || (!urgent && !stands)) return false;
  shown_ = facts;
  const std::string payload(reinterpret_cast<const char*>(&facts), sizeof(facts));
  for (const std::unique_ptr<PeerLink>& peer : peers_) {
    if (peer != nullptr) Tell(*peer, WireKind::kBoard, 0, 0, payload);
  }
  return true;
}

bool Engine::Stopping() const {
  // relaxed: the event orders.
  return stopping_.load(std::memory_order_relaxed);
}

bool Engine::OwnerPolls() {
  // relaxed: hints, whose staleness costs a fraction of a millisecond.
  if (board_->bell.sleepers.load(std::memory_order_relaxed) != 0) return false;
  const uint64_t before = polls_.load(std::memory_order_relaxed);
  if (before == polls_seen_) return false;
  polls_seen_ = before;
  return true;
}

void Engine::Proxy() {
  std::vector<pollfd> waits;
  for (const std::unique_ptr<Rail>& rail : rails_) waits.push_back({rail->event_fd(), POLLIN, 0});
  waits.push_back({stop_event_.get(), POLLIN, 0});
  while (!Stopping()) {
    if (OwnerPolls()) {
      // It drives the engine by itself: only show the board, and look again in a moment.
      if (mutex_.TryLock()) {
        ShowBoard(NowNs());
        mutex_.Unlock();
      }
      Nap();
      continue;
    }
    bool armed = true;
    bool restless = false;
    {
      const MutexLock lock(mutex_);
      wanted_.store(false, std::memory_order_seq_cst);
      ShowBoard(NowNs());
      if (!Pass()) {
        for (const std::unique_ptr<Rail>& rail : rails_) armed &= rail->Arm();
      } else {
        armed = false;
      }
      restless = !(seen_ == shown_);
    }
    if (!armed || wanted_.load(std::memory_order_seq_cst)) continue;
    // Nobody tells the proxy when the board changes: it looks often while the owner is at work, else now and then.
    const int timeout_ms = restless || polls_.load(std::memory_order_relaxed) != polls_seen_ ? 5 : 50;
    poll(waits.data(), waits.size(), timeout_ms);
  }
}

void Engine::SayGoodbye(Deadline deadline) {
  {
    const MutexLock lock(mutex_);
    while (Pass()) {
    }
    looked_ns_ = 0;
    const BoardFacts facts = FactsOf(*board_);
    if (facts.error != shown_.error) ShowBoard(NowNs());
    for (const std::unique_ptr<PeerLink>& peer : peers_) {
      if (peer == nullptr || peer->welcomes == 0) continue;
      // What was sent is in order on each way and not between ways.
      for (size_t way = 0; way < peer->ways.size(); ++way) Tell(*peer, WireKind::kBye, 0, 0, std::string(), way);
    }
  }
  const auto settled = [](const std::unique_ptr<PeerLink>& peer) {
    return peer == nullptr || !peer->up() || peer->bye_seen || peer->welcomes == 0;
  };
  while (!deadline.Passed()) {
    {
      const MutexLock lock(mutex_);
      Pass();
      if (std::all_of(peers_.begin(), peers_.end(), settled)) return;
    }
    Nap();
  }
}

}  // namespace mycel
