#include "transport/bootstrap/rendezvous.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "core/base/check.h"
#include "transport/bootstrap/room.h"

namespace mycel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kStrayPatience(10);
constexpr size_t kStraysMax = 256;
// How long a meeting that failed before all had come explains itself to late ranks.
constexpr milliseconds kExplain(500);
// How long an agreed place waits for its first caller: rank 0 calls at once, unless its own joining failed.
constexpr seconds kFirstCall(5);
constexpr uint64_t kGuestPayloadBytesMax = uint64_t{64} << 20;

/// The serving thread's state.
class Server {
 public:
  Server(const Fd& listener, const Fd& stop, const Secret& secret, bool reusable)
      : listener_(listener), stop_(stop), secret_(secret), reusable_(reusable) {}

  void Run();

 private:
  /// A room with those who are or were in it.
  struct Meeting {
    explicit Meeting(int32_t rank_count) : room(rank_count) {}
    Room room;
    SteadyTime explain_until;  // set when it failed early
  };
  struct Entry {
    explicit Entry(Fd fd) : guest(std::move(fd)) {}
    Guest guest;
    Meeting* meeting = nullptr;
    bool challenged = false;  // the nonces are set
    uint64_t guest_nonce = 0;
    uint64_t nonce = 0;
  };

  void Accept(SteadyTime now);
  void Serve(Entry* entry, SteadyTime now);
  void Take(Entry* entry, const Frame& frame, SteadyTime now);
  /// A frame of a guest that has not proved yet that it was given the id.
  void Prove(Entry* entry, const Frame& frame);
  void Register(Entry* entry, const Frame& frame, SteadyTime now);
  void DropBroken(SteadyTime now);
  void DropMeetings(SteadyTime now);
  bool Done(SteadyTime now) const;
  SteadyTime NextEvent(SteadyTime now) const;

  const Fd& listener_;
  const Fd& stop_;
  const Secret& secret_;
  const bool reusable_;
  const SteadyTime start_ = steady_clock::now();
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<Meeting>> meetings_;  // the last one may still be filling
  bool met_ = false;                                // there has been a meeting
  SteadyTime accept_again_;                         // after the table of descriptors was full
};

void Server::Run() {
  while (true) {
    SteadyTime now = steady_clock::now();
    if (Done(now)) return;
    std::vector<pollfd> polls;
    polls.push_back({stop_.get(), POLLIN, 0});
    polls.push_back({now < accept_again_ ? -1 : listener_.get(), POLLIN, 0});
    for (const auto& entry : entries_) {
      polls.push_back({entry->guest.connection.fd(), entry->guest.connection.PollEvents(), 0});
    }
    PollUntil(polls.data(), polls.size(), NextEvent(now));
    if (polls[0].revents != 0) return;
    now = steady_clock::now();
    for (size_t i = 0; i < entries_.size(); ++i) {
      const int16_t events = polls[i + 2].revents;
      if ((events & POLLOUT) != 0 && !entries_[i]->guest.connection.Flush()) entries_[i]->guest.broken = true;
      if ((events & ~POLLOUT) != 0) Serve(entries_[i].get(), now);
    }
    for (const auto& meeting : meetings_) meeting->room.CheckDeadlines(now);
    if (polls[1].revents != 0) Accept(now);
    DropBroken(now);
    DropMeetings(now);
  }
}

bool Server::Done(SteadyTime now) const {
  const bool strangers_only =
      std::none_of(entries_.begin(), entries_.end(), [](const auto& entry) { return entry->guest.welcome; });
  if (!meetings_.empty() || !strangers_only) return false;
  return met_ || (reusable_ && now - start_ > kFirstCall);
}

SteadyTime Server::NextEvent(SteadyTime now) const {
  SteadyTime next = SteadyTime::max();
  // What is past has been dealt with, or waits for somebody to leave.
  const auto consider = [&](SteadyTime time) {
    if (time > now) next = std::min(next, time);
  };
  if (reusable_ && !met_) consider(start_ + kFirstCall);
  consider(accept_again_);
  for (const auto& meeting : meetings_) {
    next = std::min(next, meeting->room.NextDeadline());
    consider(meeting->explain_until);
  }
  for (const auto& entry : entries_) {
    if (!entry->guest.welcome) next = std::min(next, entry->guest.since + kStrayPatience);
  }
  return next;
}

void Server::Accept(SteadyTime now) {
  while (true) {
    sockaddr_storage address{};
    socklen_t length = sizeof(address);
    Fd fd(accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // Out of descriptors, the caller stays in the queue: come back when some may be free.
      if (errno == EMFILE || errno == ENFILE) accept_again_ = now + milliseconds(20);
      return;
    }
    SetTcpOptions(fd.get());
    entries_.push_back(std::make_unique<Entry>(std::move(fd)));
    entries_.back()->guest.endpoint = EndpointText(address);
    entries_.back()->guest.since = now;
    const auto is_stray = [](const auto& entry) { return !entry->guest.welcome && !entry->guest.broken; };
    if (static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), is_stray)) > kStraysMax) {
      (*std::find_if(entries_.begin(), entries_.end(), is_stray))->guest.broken = true;
    }
  }
}

void Server::Serve(Entry* entry, SteadyTime now) {
  while (!entry->guest.broken) {
    Frame frame;
    switch (entry->guest.connection.Receive(&frame)) {
      case FrameConnection::Result::kNothingYet:
        return;
      case FrameConnection::Result::kEnded:
        entry->guest.broken = true;
        return;
      case FrameConnection::Result::kFrame:
        Take(entry, frame, now);
    }
  }
}

void Server::Take(Entry* entry, const Frame& frame, SteadyTime now) {
  Guest& guest = entry->guest;
  std::string_view payload(frame.payload);
  if (!guest.welcome) {
    Prove(entry, frame);
  } else if (frame.type == FrameType::kRegister && payload.size() >= 16 && entry->meeting == nullptr) {
    Register(entry, frame, now);
  } else if (frame.type == FrameType::kValue && payload.size() >= 8 && guest.rank.valid()) {
    guest.patience = milliseconds(static_cast<int64_t>(TakeInteger(&payload, 8)));
    entry->meeting->room.Bring(&guest, std::string(payload), now);
  } else {
    guest.broken = true;
  }
}

void Server::Prove(Entry* entry, const Frame& frame) {
  Guest& guest = entry->guest;
  std::string_view payload(frame.payload);
  const bool expected = frame.type == (entry->challenged ? FrameType::kProof : FrameType::kHello);
  guest.broken = !expected || payload.size() != 8;
  if (guest.broken) return;
  const uint64_t word = TakeInteger(&payload, 8);
  if (entry->challenged) {
    guest.welcome = word == ProofOf(secret_, ProofSide::kGuest, entry->guest_nonce, entry->nonce);
    guest.broken = !guest.welcome;
    if (guest.broken) return;
    guest.connection.set_payload_bytes_max(kGuestPayloadBytesMax);
    guest.broken = !guest.connection.Send(Encode(FrameType::kWelcome, ""));
    return;
  }
  entry->challenged = true;
  entry->guest_nonce = word;
  entry->nonce = RandomNonce();
  std::string challenge;
  PutInteger(&challenge, entry->nonce, 8);
  PutInteger(&challenge, ProofOf(secret_, ProofSide::kRendezvous, entry->guest_nonce, entry->nonce), 8);
  guest.broken = !guest.connection.Send(Encode(FrameType::kChallenge, challenge));
}

void Server::Register(Entry* entry, const Frame& frame, SteadyTime now) {
  Guest& guest = entry->guest;
  std::string_view payload(frame.payload);
  guest.rank = Rank(static_cast<int32_t>(TakeInteger(&payload, 4)));
  const auto rank_count = static_cast<int32_t>(TakeInteger(&payload, 4));
  guest.patience = milliseconds(static_cast<int64_t>(TakeInteger(&payload, 8)));
  guest.at_home = payload == ThisProcessText();
  guest.who = "rank " + std::to_string(guest.rank.value()) + " (" + std::string(payload) + ", " + guest.endpoint + ")";
  const bool open = !meetings_.empty() && !meetings_.back()->room.full();
  if (!open && met_ && !reusable_) {
    guest.rank = Rank();
    guest.broken = !guest.connection.Send(FailureFrame(
        InvalidUsage(guest.who + " comes to a communicator that has all its ranks: make one unique id for each "
                                 "communicator, and give each process or thread its own rank")));
    return;
  }
  if (!open) {
    if (rank_count < 1 || rank_count > 1'000'000) {
      guest.broken = true;
      return;
    }
    meetings_.push_back(std::make_unique<Meeting>(rank_count));
    met_ = true;
  }
  entry->meeting = meetings_.back().get();
  entry->meeting->room.Register(&guest, rank_count, now);
}

void Server::DropBroken(SteadyTime now) {
  // A departure is told to the others, which may find more broken connections.
  for (bool again = true; std::exchange(again, false);) {
    for (size_t i = entries_.size(); i-- > 0;) {
      Entry* entry = entries_[i].get();
      const bool silent = !entry->guest.welcome && now - entry->guest.since >= kStrayPatience;
      if (!entry->guest.broken && !silent) continue;
      if (entry->meeting != nullptr) entry->meeting->room.Leave(&entry->guest);
      entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(i));
      again = true;
    }
  }
}

void Server::DropMeetings(SteadyTime now) {
  std::erase_if(meetings_, [&](const std::unique_ptr<Meeting>& meeting) {
    Room& room = meeting->room;
    const bool explains = room.FailedEarly() && room.failed().code() != StatusCode::kDeadlineExceeded;
    if (explains && meeting->explain_until == SteadyTime()) meeting->explain_until = now + kExplain;
    if (room.HasGuests() || (explains && now < meeting->explain_until)) return false;
    if (!room.full() && room.failed().ok()) return false;  // still filling
    return std::none_of(entries_.begin(), entries_.end(),
                        [&](const auto& entry) { return entry->meeting == meeting.get(); });
  });
}

/// A listening socket for IPv6 and IPv4, or for IPv4 where there is no IPv6. `port` 0: any; receives the port.
StatusOr<Fd> ListenOn(uint16_t* port) {
  int error = 0;
  for (const int family : {AF_INET6, AF_INET}) {
    Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) {
      error = errno;
      continue;
    }
    const int yes = 1;
    const int no = 0;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    HostAddress any;
    any.v6 = family == AF_INET6;
    sockaddr_storage address{};
    socklen_t length = any.ToSocketAddress(*port, &address);
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 || listen(fd.get(), SOMAXCONN) != 0) {
      error = errno;
      if (error == EADDRINUSE) break;
      continue;
    }
    length = sizeof(address);
    MYCEL_CHECK_EQ(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    sockaddr_in in{};  // the port lies at the same place in both families
    std::memcpy(&in, &address, sizeof(in));
    *port = ntohs(in.sin_port);
    return fd;
  }
  return DescriptorError("cannot listen for the ranks on TCP port " + std::to_string(*port) +
                             (error == EADDRINUSE ? " (MYCEL_COMM_ID; is another job using it?)" : ""),
                         error);
}

}  // namespace

Rendezvous::Rendezvous(Fd listener, Fd stop, const Secret& secret, uint16_t port, bool reusable)
    : secret_(secret),
      port_(port),
      owner_pid_(getpid()),
      listener_(std::move(listener)),
      stop_(std::move(stop)),
      reusable_(reusable) {}

StatusOr<std::unique_ptr<Rendezvous>> Rendezvous::Start(const Secret& secret, uint16_t port, bool reusable) {
  MYCEL_ASSIGN_OR_RETURN(Fd listener, ListenOn(&port));
  Fd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return DescriptorError("cannot start listening for the ranks", errno);
  std::unique_ptr<Rendezvous> made(new Rendezvous(std::move(listener), std::move(stop), secret, port, reusable));
  // The program's signal handlers run in its own threads only.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto main = [](void* rendezvous) -> void* {
    static_cast<Rendezvous*>(rendezvous)->Main();
    return nullptr;
  };
  const int error = pthread_create(&made->thread_, nullptr, main, made.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return DescriptorError("cannot start the thread that the ranks meet at", error);
  made->started_ = true;
  return made;
}

void Rendezvous::Main() {
  pthread_setname_np(pthread_self(), "mycel-meet");
  try {
    Server(listener_, stop_, secret_, reusable_).Run();
  } catch (const std::bad_alloc&) {
    // Its connections close, which tells the ranks.
  }
  listener_.Close();
  const MutexLock lock(mutex_);
  stop_.Close();
  finished_ = true;
}

Rendezvous::~Rendezvous() {
  // A child of fork has a copy of this object but no such thread: only the copies of the descriptors are its own.
  if (!started_ || ForeignProcess()) return;
  {
    const MutexLock lock(mutex_);
    const uint64_t one = 1;
    if (stop_.valid() && write(stop_.get(), &one, sizeof(one)) < 0) MYCEL_CHECK_EQ(errno, EAGAIN);
  }
  pthread_join(thread_, nullptr);
}

bool Rendezvous::ForeignProcess() const { return getpid() != owner_pid_; }

bool Rendezvous::Finished() {
  const MutexLock lock(mutex_);
  return finished_;
}

RendezvousHost& RendezvousHost::OfProcess() {
  static RendezvousHost host;
  return host;
}

void RendezvousHost::DropFinished() {
  std::erase_if(all_, [](const auto& each) { return each->ForeignProcess() || each->Finished(); });
}

size_t RendezvousHost::Serving() {
  const MutexLock lock(mutex_);
  DropFinished();
  return all_.size();
}

StatusOr<UniqueId> RendezvousHost::MakeUniqueId(const std::string& interfaces) {
  MeetingPlace place;
  MYCEL_ASSIGN_OR_RETURN(place.addresses, LocalAddresses(interfaces));
  place.secret = RandomSecret();
  MYCEL_ASSIGN_OR_RETURN(std::unique_ptr<Rendezvous> made, Rendezvous::Start(place.secret, 0, false));
  place.port = made->port();
  const MutexLock lock(mutex_);
  DropFinished();
  all_.push_back(std::move(made));
  return place.Pack();
}

Status RendezvousHost::Serve(const MeetingPlace& place) {
  const MutexLock lock(mutex_);
  DropFinished();
  for (const auto& rendezvous : all_) {
    if (rendezvous->port() == place.port) return OkStatus();
  }
  MYCEL_ASSIGN_OR_RETURN(std::unique_ptr<Rendezvous> made, Rendezvous::Start(place.secret, place.port, true));
  all_.push_back(std::move(made));
  return OkStatus();
}

}  // namespace mycel
