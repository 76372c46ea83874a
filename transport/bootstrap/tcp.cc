#include "transport/bootstrap/tcp.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "core/base/cancel.h"
#include "core/base/check.h"
#include "core/base/rank_text.h"

namespace mycel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr milliseconds kRetryFirst(20);
constexpr milliseconds kRetryMost(500);
// A maker that is alive listens already: when every address has refused for so long, it is gone.
constexpr seconds kRefusedPatience(2);
// The rendezvous answers just before the deadline; this is for its answer to arrive.
constexpr milliseconds kGrace(250);
constexpr uint64_t kTableBytesMax = uint64_t{1} << 34;
constexpr size_t kValueBytesMax = size_t{16} << 20;

uint64_t PatienceMs(Deadline deadline) {
  constexpr int64_t kMostMs = int64_t{24} * 3650 * 3600 * 1000;
  const int64_t left_ns = deadline.LeftNs(NowNs());
  return static_cast<uint64_t>(std::min(left_ns / kNsPerMs + (left_ns % kNsPerMs != 0 ? 1 : 0), kMostMs));
}

/// Looks for the listener that holds the secret at all addresses at once; each is tried again while it refuses.
class Search {
 public:
  Search(const MeetingPlace& place, Rank rank, Deadline deadline) : place_(place), rank_(rank), deadline_(deadline) {
    for (const HostAddress& address : place.addresses) attempts_.emplace_back(address);
  }

  /// `serve`: called before each round of attempts (rank 0 of an agreed place listens itself).
  template <typename Serve>
  StatusOr<FrameConnection> Run(const Serve& serve);

 private:
  struct Attempt {
    explicit Attempt(const HostAddress& where) : address(where) {}
    HostAddress address;
    std::optional<FrameConnection> connection;
    bool connected = false;
    uint64_t nonce = 0;   // ours, new with each connection
    bool proved = false;  // that we hold the secret, to one who does; waits for its welcome
    SteadyTime retry_at;  // while there is no connection
    milliseconds pause = kRetryFirst;
    std::string outcome = "no answer yet";
  };

  Status StartDue(SteadyTime now);
  void Advance(Attempt* attempt, int16_t events);
  void GiveUp(Attempt* attempt, const std::string& outcome);
  bool AllRefused() const;
  std::string Outcomes() const;

  const MeetingPlace& place_;
  const Rank rank_;
  const Deadline deadline_;
  std::vector<Attempt> attempts_;
  Attempt* winner_ = nullptr;
};

template <typename Serve>
StatusOr<FrameConnection> Search::Run(const Serve& serve) {
  const SteadyTime start = steady_clock::now();
  while (winner_ == nullptr) {
    const SteadyTime now = steady_clock::now();
    MYCEL_RETURN_IF_ERROR(CheckCancelled(RankText(rank_)));
    if (deadline_.Passed()) {
      return TimeoutError(RankText(rank_) + " found nobody to meet until its deadline; tried " + Outcomes() +
                          (place_.agreed ? ": rank 0 must run there (MYCEL_COMM_ID)"
                                         : ": can this machine reach the one that made the unique id "
                                           "(firewall, MYCEL_INTERFACE there)?"));
    }
    if (!place_.agreed && now - start >= kRefusedPatience && AllRefused()) {
      return RemoteError(RankText(rank_) + " found nobody to meet; tried " + Outcomes() +
                         ": the process that made the unique id has ended, or its communicator is complete or failed");
    }
    MYCEL_RETURN_IF_ERROR(serve());
    MYCEL_RETURN_IF_ERROR(StartDue(now));
    std::vector<pollfd> polls;
    SteadyTime until = std::min<SteadyTime>(deadline_, now + kRetryMost);
    for (const Attempt& attempt : attempts_) {
      if (!attempt.connection) {
        until = std::min(until, attempt.retry_at);
        polls.push_back({-1, 0, 0});
      } else {
        const int16_t events = attempt.connected ? attempt.connection->PollEvents() : static_cast<int16_t>(POLLOUT);
        polls.push_back({attempt.connection->fd(), events, 0});
      }
    }
    PollUntil(polls.data(), polls.size(), until);
    for (size_t i = 0; i < attempts_.size() && winner_ == nullptr; ++i) {
      if (polls[i].revents != 0) Advance(&attempts_[i], polls[i].revents);
    }
  }
  return std::move(*winner_->connection);
}

Status Search::StartDue(SteadyTime now) {
  for (Attempt& attempt : attempts_) {
    if (attempt.connection || attempt.retry_at > now) continue;
    sockaddr_storage address{};
    const socklen_t length = attempt.address.ToSocketAddress(place_.port, &address);
    Fd fd(socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) {
      if (errno != EMFILE && errno != ENFILE && errno != ENOMEM) {
        GiveUp(&attempt, ErrnoText(errno));  // a machine without IPv6
        continue;
      }
      const int error = errno;
      const auto busy = [](const Attempt& each) { return each.connection.has_value(); };
      if (std::any_of(attempts_.begin(), attempts_.end(), busy)) return OkStatus();
      return DescriptorError(RankText(rank_) + " cannot open a socket to meet the other ranks", error);
    }
    int result = -1;
    do {
      result = connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), length);
    } while (result != 0 && errno == EINTR);
    if (result != 0 && errno != EINPROGRESS && errno != EALREADY && errno != EISCONN) {
      GiveUp(&attempt, ErrnoText(errno));
      continue;
    }
    attempt.connection.emplace(std::move(fd));
    attempt.connected = false;
    attempt.proved = false;
  }
  return OkStatus();
}

void Search::Advance(Attempt* attempt, int16_t events) {
  FrameConnection& connection = *attempt->connection;
  if (!attempt->connected) {
    int error = 0;
    socklen_t length = sizeof(error);
    if (getsockopt(connection.fd(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
    if (error != 0) return GiveUp(attempt, ErrnoText(error));
    attempt->connected = true;
    attempt->outcome = "accepted, but silent";
    SetTcpOptions(connection.fd());
    attempt->nonce = RandomNonce();
    std::string nonce;
    PutInteger(&nonce, attempt->nonce, 8);
    if (!connection.Send(Encode(FrameType::kHello, nonce))) GiveUp(attempt, "closed");
    return;
  }
  if ((events & POLLOUT) != 0 && !connection.Flush()) return GiveUp(attempt, "closed");
  Frame frame;
  switch (connection.Receive(&frame)) {
    case FrameConnection::Result::kNothingYet:
      return;
    case FrameConnection::Result::kEnded:
      return GiveUp(attempt, "somebody else listens there, or closed");
    case FrameConnection::Result::kFrame:
      break;
  }
  if (attempt->proved) {
    if (frame.type != FrameType::kWelcome) return GiveUp(attempt, "somebody else listens there");
    winner_ = attempt;
    return;
  }
  std::string_view challenge(frame.payload);
  if (frame.type != FrameType::kChallenge || challenge.size() != 16) {
    return GiveUp(attempt, "somebody else listens there");
  }
  const uint64_t nonce = TakeInteger(&challenge, 8);
  if (TakeInteger(&challenge, 8) != ProofOf(place_.secret, ProofSide::kRendezvous, attempt->nonce, nonce)) {
    return GiveUp(attempt, "somebody else listens there");
  }
  std::string proof;
  PutInteger(&proof, ProofOf(place_.secret, ProofSide::kGuest, attempt->nonce, nonce), 8);
  if (!connection.Send(Encode(FrameType::kProof, proof))) return GiveUp(attempt, "closed");
  attempt->proved = true;
}

void Search::GiveUp(Attempt* attempt, const std::string& outcome) {
  attempt->connection.reset();
  attempt->outcome = outcome;
  attempt->retry_at = steady_clock::now() + attempt->pause;
  attempt->pause = std::min(attempt->pause * 2, kRetryMost);
}

bool Search::AllRefused() const {
  return std::none_of(attempts_.begin(), attempts_.end(),
                      [](const Attempt& each) { return each.connection.has_value(); });
}

std::string Search::Outcomes() const {
  std::string text;
  for (const Attempt& attempt : attempts_) {
    sockaddr_storage address{};
    attempt.address.ToSocketAddress(place_.port, &address);
    text += (text.empty() ? "" : ", ") + EndpointText(address) + " (" + attempt.outcome + ")";
  }
  return text;
}

class TcpBootstrap final : public Bootstrap {
 public:
  TcpBootstrap(FrameConnection connection, Rank rank, int32_t rank_count)
      : connection_(std::move(connection)), rank_(rank), rank_count_(rank_count) {
    connection_.set_payload_bytes_max(kTableBytesMax);
  }

  Rank rank() const override { return rank_; }
  int32_t rank_count() const override { return rank_count_; }
  StatusOr<std::vector<std::string>> AllGather(const std::string& mine, Deadline deadline) override;
  /// Joins the other ranks; before any AllGather.
  Status Register(Deadline deadline);

 private:
  /// Sends `frame` and waits for the answer of type `wanted`. An error is final.
  StatusOr<std::string> Ask(FrameType type, const std::string& payload, FrameType wanted, Deadline deadline);
  StatusOr<std::string> Exchange(FrameType type, const std::string& payload, FrameType wanted, Deadline deadline);

  FrameConnection connection_;
  const Rank rank_;
  const int32_t rank_count_;
  Status broken_;
};

Status TcpBootstrap::Register(Deadline deadline) {
  std::string payload;
  PutInteger(&payload, static_cast<uint64_t>(rank_.value()), 4);
  PutInteger(&payload, static_cast<uint64_t>(rank_count_), 4);
  PutInteger(&payload, PatienceMs(deadline), 8);
  return Ask(FrameType::kRegister, payload + ThisProcessText(), FrameType::kRegistered, deadline).status();
}

StatusOr<std::vector<std::string>> TcpBootstrap::AllGather(const std::string& mine, Deadline deadline) {
  if (mine.size() > kValueBytesMax) {
    return InvalidArgument(RankText(rank_) + " brings " + std::to_string(mine.size()) +
                           " bytes to an exchange of the bootstrap; the most is " + std::to_string(kValueBytesMax));
  }
  std::string payload;
  PutInteger(&payload, PatienceMs(deadline), 8);
  MYCEL_ASSIGN_OR_RETURN(const std::string table, Ask(FrameType::kValue, payload + mine, FrameType::kTable, deadline));
  std::vector<std::string> values;
  std::string_view rest(table);
  while (rest.size() >= 8) {
    const uint64_t bytes = TakeInteger(&rest, 8);
    if (bytes > rest.size()) break;
    values.emplace_back(rest.substr(0, static_cast<size_t>(bytes)));
    rest.remove_prefix(static_cast<size_t>(bytes));
  }
  if (!rest.empty() || values.size() != static_cast<size_t>(rank_count_)) {
    return broken_ = InternalError(RankText(rank_) +
                                   " got a damaged table from the rendezvous: do all ranks run the same "
                                   "Mycel?");
  }
  return values;
}

StatusOr<std::string> TcpBootstrap::Ask(FrameType type, const std::string& payload, FrameType wanted,
                                        Deadline deadline) {
  if (!broken_.ok()) return broken_;
  StatusOr<std::string> answer = Exchange(type, payload, wanted, deadline);
  if (!answer.ok()) broken_ = answer.status();
  return answer;
}

StatusOr<std::string> TcpBootstrap::Exchange(FrameType type, const std::string& payload, FrameType wanted,
                                             Deadline deadline) {
  const Status lost = RemoteError(RankText(rank_) +
                                  " lost its connection to the process that made the unique id: it ended (see its own "
                                  "error), or the network failed");
  if (!connection_.Send(Encode(type, payload))) return lost;
  ++messages_;
  const Deadline until = Deadline::At(SaturatingAddNs(deadline.at_ns(), kGrace.count() * kNsPerMs));
  while (true) {
    pollfd entry{connection_.fd(), connection_.PollEvents(), 0};
    if (PollUntil(&entry, 1, until) == 0) {
      MYCEL_RETURN_IF_ERROR(CheckCancelled(RankText(rank_)));
      return TimeoutError(
          RankText(rank_) +
          " got no answer until its deadline from the process that made the unique id: is it stopped, or "
          "the network down?");
    }
    if ((entry.revents & POLLOUT) != 0 && !connection_.Flush()) return lost;
    Frame frame;
    const FrameConnection::Result result = connection_.Receive(&frame);
    if (result == FrameConnection::Result::kNothingYet) continue;
    if (result == FrameConnection::Result::kEnded) return lost;
    ++messages_;
    if (frame.type == wanted) return std::move(frame.payload);
    std::string_view text(frame.payload);
    if (frame.type != FrameType::kFailure || text.size() < 4) return lost;
    const auto code = static_cast<StatusCode>(TakeInteger(&text, 4));
    return MakeStatus(code == StatusCode::kOk ? StatusCode::kInternal : code, std::string(text));
  }
}

}  // namespace

StatusOr<std::unique_ptr<Bootstrap>> JoinTcp(const UniqueId& id, Rank rank, int32_t rank_count, Deadline deadline,
                                             RendezvousHost& host) {
  MYCEL_ASSIGN_OR_RETURN(const MeetingPlace place, MeetingPlace::Unpack(id));
  if (rank_count < 1 || !rank.valid() || rank.value() >= rank_count) {
    return InvalidArgument(RankText(rank) + " of " + std::to_string(rank_count) +
                           " ranks does not exist: ranks are 0 to the count less 1");
  }
  const bool listens = place.agreed && rank == Rank(0);
  Search search(place, rank, deadline);
  MYCEL_ASSIGN_OR_RETURN(FrameConnection connection,
                         search.Run([&] { return listens ? host.Serve(place) : OkStatus(); }));
  auto bootstrap = std::make_unique<TcpBootstrap>(std::move(connection), rank, rank_count);
  MYCEL_RETURN_IF_ERROR(bootstrap->Register(deadline));
  return std::unique_ptr<Bootstrap>(std::move(bootstrap));
}

}  // namespace mycel
