#include "transport/shm/handover.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <type_traits>

#include "core/base/check.h"
#include "transport/bootstrap/rank_list.h"

namespace mycel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr uint64_t kHelloMagic = 0x6c65686c6563796dU;
constexpr uint64_t kOfferMagic = 0x72666f6c6563796dU;
constexpr uint64_t kRefusalMagic = 0x6665726c6563796dU;
constexpr size_t kNameBytes = 22;
// Callers that have not said who they are; one more pushes out the one that is silent for longest.
constexpr size_t kStrangersMax = 64;
// How often a wait looks whether the others still live.
constexpr int64_t kGlanceNs = 50 * kNsPerMs;

struct Hello {
  uint64_t magic = kHelloMagic;
  HandoverKey key;
  int32_t member = 0;
  int32_t padding = 0;
};

struct Offer {
  uint64_t magic = kOfferMagic;
  SegmentToken token;
  uint64_t page_bytes = 0;
  uint64_t code = 0;  // StatusCode; 0 comes with the descriptor
  char text[512] = {};
};

struct Refusal {
  uint64_t magic = kRefusalMagic;
  uint64_t code = 0;
  char text[512] = {};
};

void SetText(const Status& status, uint64_t* code, char (&text)[512]) {
  *code = static_cast<uint64_t>(status.code());
  const std::string message = StatusMessage(status);
  std::memcpy(text, message.data(), std::min(message.size(), sizeof(text) - 1));
}

Status StatusOf(const std::string& who, uint64_t code, const char (&text)[512]) {
  const std::string message(text, strnlen(text, sizeof(text)));
  return MakeStatus(static_cast<StatusCode>(code), message.rfind(who, 0) == 0 ? message : who + ": " + message);
}

/// Our sockets carry whole messages, so one arrives completely or not at all.
template <typename Message>
std::optional<Message> MessageFrom(const char* bytes, ssize_t length) {
  static_assert(std::is_trivially_copyable_v<Message>);
  Message message;
  const uint64_t magic = message.magic;
  if (length != static_cast<ssize_t>(sizeof(Message))) return std::nullopt;
  std::memcpy(&message, bytes, sizeof(Message));
  if (message.magic != magic) return std::nullopt;
  return message;
}

bool IsSameUser(int socket) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 && credentials.uid == geteuid();
}

sockaddr_un AddressOf(const std::string& name, socklen_t* length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  MYCEL_CHECK_LT(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

/// The leader's side of one handover.
class Server {
 public:
  Server(const Fd& listener, const StatusOr<Segment::Made>& made, const HandoverKey& key,
         const std::vector<HandoverMember>& members)
      : listener_(listener), made_(made), key_(key), members_(members), done_(members.size(), false) {
    done_[0] = true;
  }

  Status Run(Deadline deadline, const std::function<Status()>& check_alive);

 private:
  struct Client {
    Fd fd;
    int32_t member = -1;  // -1: has not said who it is
  };

  /// Waits for something to do until `until`, and does it.
  Status Turn(SteadyTime until);
  bool AllDone() const { return std::find(done_.begin(), done_.end(), false) == done_.end(); }
  Status AcceptAll();
  bool DropOldestStranger();
  /// Reads what a client has sent. Sets *finished when its connection is of no more use.
  Status Serve(Client& client, bool* finished);
  bool SendOffer(const Client& client) const;
  Status Missing() const;

  const Fd& listener_;
  const StatusOr<Segment::Made>& made_;
  const HandoverKey& key_;
  const std::vector<HandoverMember>& members_;
  std::vector<bool> done_;  // per member
  std::vector<Client> clients_;
};

Status Server::Run(Deadline deadline, const std::function<Status()>& check_alive) {
  // A member may say why it fails and end at once: after a bad verdict, one more turn reads its last words.
  Status verdict;
  while (true) {
    MYCEL_RETURN_IF_ERROR(Turn(deadline.Within(verdict.ok() ? kGlanceNs : 0)));
    if (AllDone()) return OkStatus();
    if (!verdict.ok()) return verdict;
    verdict = check_alive();
    if (verdict.ok() && deadline.Passed()) verdict = Missing();
  }
}

Status Server::Turn(SteadyTime until) {
  std::vector<pollfd> entries;
  entries.push_back({listener_.get(), POLLIN, 0});
  for (const Client& client : clients_) entries.push_back({client.fd.get(), POLLIN, 0});
  PollUntil(entries.data(), entries.size(), until);
  for (size_t i = clients_.size(); i-- > 0;) {
    bool finished = false;
    if (entries[i + 1].revents != 0) MYCEL_RETURN_IF_ERROR(Serve(clients_[i], &finished));
    if (finished) clients_.erase(clients_.begin() + static_cast<ptrdiff_t>(i));
  }
  return entries[0].revents != 0 ? AcceptAll() : OkStatus();
}

Status Server::Missing() const {
  std::vector<Rank> missing;
  for (size_t m = 0; m < members_.size(); ++m) {
    if (!done_[m]) missing.push_back(members_[m].rank);
  }
  return TimeoutError(members_[0].name + " waited until its deadline for " + RankList(missing) +
                      " to map the shared memory: see why they are late (do all ranks run as the same user?), or raise "
                      "the timeout");
}

Status Server::AcceptAll() {
  while (true) {
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.valid()) {
      if (!IsSameUser(fd.get())) continue;
      clients_.push_back({std::move(fd), -1});
      const auto strangers =
          std::count_if(clients_.begin(), clients_.end(), [](const Client& c) { return c.member < 0; });
      if (static_cast<size_t>(strangers) > kStrangersMax) DropOldestStranger();
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EMFILE && errno != ENFILE) return OkStatus();  // EAGAIN: that was all
    const int error = errno;
    if (DropOldestStranger()) continue;
    // Those that are being served give their descriptors back soon.
    if (!clients_.empty()) return OkStatus();
    return DescriptorError(members_[0].name + " cannot hand the shared memory to the other ranks", error);
  }
}

bool Server::DropOldestStranger() {
  const auto stranger = std::find_if(clients_.begin(), clients_.end(), [](const Client& c) { return c.member < 0; });
  if (stranger == clients_.end()) return false;
  clients_.erase(stranger);
  return true;
}

Status Server::Serve(Client& client, bool* finished) {
  char bytes[sizeof(Refusal) + 1];
  const ssize_t length = recv(client.fd.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
  if (length < 0 && (errno == EINTR || errno == EAGAIN)) return OkStatus();
  *finished = true;
  if (client.member < 0) {
    const std::optional<Hello> hello = MessageFrom<Hello>(bytes, length);
    const bool known = hello && hello->key.cookie == key_.cookie && hello->key.communicator == key_.communicator &&
                       hello->member > 0 && hello->member < static_cast<int32_t>(members_.size()) &&
                       !done_[static_cast<size_t>(hello->member)];
    if (!known) return OkStatus();
    client.member = hello->member;
    *finished = !SendOffer(client);
    if (!made_.ok()) done_[static_cast<size_t>(client.member)] = *finished = true;
    return OkStatus();
  }
  const HandoverMember& member = members_[static_cast<size_t>(client.member)];
  if (const std::optional<Refusal> refusal = MessageFrom<Refusal>(bytes, length)) {
    return StatusOf(member.name, refusal->code, refusal->text);
  }
  // acquire: pairs with the release store of the member's Connect.
  const uint32_t phase = made_->segment->StateOf(client.member).phase.load(std::memory_order_acquire);
  if (phase == static_cast<uint32_t>(MemberPhase::kAbsent)) {
    return RemoteError(member.name +
                       " closed its connection before it had mapped the shared memory: see its own error");
  }
  done_[static_cast<size_t>(client.member)] = true;
  return OkStatus();
}

bool Server::SendOffer(const Client& client) const {
  Offer offer;
  msghdr message{};
  iovec part{&offer, sizeof(offer)};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (made_.ok()) {
    offer.token = made_->token;
    offer.page_bytes = made_->segment->layout().page_bytes;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = made_->fd.get();
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  } else {
    SetText(made_.status(), &offer.code, offer.text);
  }
  ssize_t sent = -1;
  do {
    sent = sendmsg(client.fd.get(), &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof(offer));
}

StatusOr<Fd> ConnectTo(const std::string& socket_name, const HandoverMember& self, const HandoverMember& leader,
                       Deadline deadline, const std::function<Status()>& check_alive) {
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return DescriptorError(self.name + " cannot open a socket to " + leader.name, errno);
  socklen_t length = 0;
  const sockaddr_un address = AddressOf(socket_name, &length);
  while (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN) {
      MYCEL_RETURN_IF_ERROR(check_alive());
      return RemoteError(self.name + " cannot connect to " + leader.name +
                         ", which leads this server: " + ErrnoText(errno) + "; see that rank's own error");
    }
    // The queue of callers is full.
    if (deadline.Passed()) {
      return TimeoutError(self.name + " waited until its deadline for " + leader.name + " to take its call");
    }
    MYCEL_RETURN_IF_ERROR(check_alive());
    PollUntil(nullptr, 0, deadline.Within(2 * kNsPerMs));
  }
  if (!IsSameUser(fd.get())) {
    return RemoteError(self.name + " found another user's socket where " + leader.name +
                       " should listen: run all ranks "
                       "as the same user");
  }
  return fd;
}

/// Receives the offer and the descriptor that comes with it.
StatusOr<Offer> ReceiveOffer(const Fd& socket, const HandoverMember& self, const HandoverMember& leader, Fd* received) {
  char bytes[sizeof(Offer) + 1];
  iovec part{bytes, sizeof(bytes)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t length = -1;
  do {
    length = recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC);
  } while (length < 0 && errno == EINTR);
  const cmsghdr* header = length > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int))) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    *received = Fd(fd);
  }
  const std::optional<Offer> offer = MessageFrom<Offer>(bytes, length);
  if (!offer) {
    return RemoteError(leader.name + ", which leads this server, ended the connection of " + self.name +
                       ": see that rank's own error");
  }
  if (offer->code != 0) return StatusOf(leader.name, offer->code, offer->text);
  // The kernel drops a descriptor that the receiver has no room for.
  if (!received->valid()) return DescriptorError(self.name + " cannot receive the shared memory", EMFILE);
  return *offer;
}

StatusOr<std::shared_ptr<Segment>> ReceiveSegment(const Fd& socket, SegmentLayout layout, const HandoverMember& self,
                                                  const HandoverMember& leader, Fd* received) {
  MYCEL_ASSIGN_OR_RETURN(const Offer offer, ReceiveOffer(socket, self, leader, received));
  layout.page_bytes = offer.page_bytes;
  return Segment::Map(received->get(), layout, offer.token, self.name);
}

}  // namespace

StatusOr<Fd> ListenForHandover(const std::string& who, std::string* name) {
  uint64_t random[2];
  MYCEL_CHECK_EQ(getrandom(random, sizeof(random), 0), static_cast<ssize_t>(sizeof(random)));
  name->assign("mycel-");
  name->append(reinterpret_cast<const char*>(random), sizeof(random));
  MYCEL_CHECK_EQ(name->size(), kNameBytes);
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return DescriptorError(who + " cannot open a socket", errno);
  socklen_t length = 0;
  const sockaddr_un address = AddressOf(*name, &length);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 || listen(fd.get(), SOMAXCONN) != 0) {
    return DescriptorError(who + " cannot listen on a Unix socket", errno);
  }
  return fd;
}

Status HandOver(const Fd& listener, const StatusOr<Segment::Made>& made, const HandoverKey& key,
                const std::vector<HandoverMember>& members, Deadline deadline,
                const std::function<Status()>& check_alive) {
  Server server(listener, made, key, members);
  if (made.ok()) return server.Run(deadline, check_alive);
  // Whether all of them hear it in time changes nothing for us.
  server.Run(deadline.Within(kNsPerSecond), check_alive).IgnoreError();
  return made.status();
}

StatusOr<Received> Receive(const std::string& socket_name, const SegmentLayout& layout, const HandoverKey& key,
                           int32_t member, const std::vector<HandoverMember>& members, Deadline deadline,
                           const std::function<Status()>& check_alive) {
  const HandoverMember& self = members[static_cast<size_t>(member)];
  const HandoverMember& leader = members[0];
  Received received;
  MYCEL_ASSIGN_OR_RETURN(received.socket, ConnectTo(socket_name, self, leader, deadline, check_alive));
  Hello hello;
  hello.key = key;
  hello.member = member;
  // A leader that is gone shows in the reply that does not come.
  (void)send(received.socket.get(), &hello, sizeof(hello), MSG_NOSIGNAL);
  pollfd entry{received.socket.get(), POLLIN, 0};
  Status verdict;
  while (PollUntil(&entry, 1, deadline.Within(verdict.ok() ? kGlanceNs : 0)) == 0) {
    MYCEL_RETURN_IF_ERROR(verdict);
    verdict = check_alive();
    if (verdict.ok() && deadline.Passed()) {
      verdict = TimeoutError(self.name + " waited until its deadline for " + leader.name +
                             ", which leads this server, to hand it the shared memory: see why that rank is late");
    }
  }
  const StatusOr<std::shared_ptr<Segment>> segment =
      ReceiveSegment(received.socket, layout, self, leader, &received.fd);
  if (!segment.ok()) {
    Refusal refusal;
    SetText(segment.status(), &refusal.code, refusal.text);
    (void)send(received.socket.get(), &refusal, sizeof(refusal), MSG_NOSIGNAL);
    return segment.status();
  }
  received.segment = *segment;
  return received;
}

}  // namespace mycel
