// Handover: the leader of a server gives the segment's descriptor to the other members, over a Unix socket whose random
// name lives in the abstract namespace (so nothing is left in any file system).
//
// The socket's name is no secret (/proc/net/unix shows it). Who may have the descriptor is decided by the kernel's word
// on the caller's user and by a 64-bit cookie that only the members were given. Anybody else is turned away without
// disturbing the members, however many they are and whatever they send or leave unsent.
//
//   member -> leader   Hello   cookie, communicator, member
//   leader -> member   Offer   layout's page size, token, the descriptor; or why there is none
//   member closes once it has mapped and set its MemberState, or sends a Refusal: why it could not
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "transport/bootstrap/sockets.h"
#include "transport/shm/segment.h"

namespace mycel {

/// A member as far as the handover is concerned.
struct HandoverMember {
  Rank rank;
  std::string name;  // for error texts: "rank 3 (pid 17)"
};

/// What ties the sockets' messages to one communicator on one server.
struct HandoverKey {
  uint64_t communicator = 0;
  uint64_t cookie = 0;
};

/// A listening socket with a random abstract name; `name` receives it (binary, without the leading zero byte).
StatusOr<Fd> ListenForHandover(const std::string& who, std::string* name);

/// The leader's part: serves members 1..members.size()-1 until each has mapped, the deadline passes, or `check_alive`
/// (called every now and then) says that one died. When `made` is an error, tells it to those who come within a second
/// and returns it.
Status HandOver(const Fd& listener, const StatusOr<Segment::Made>& made, const HandoverKey& key,
                const std::vector<HandoverMember>& members, Deadline deadline,
                const std::function<Status()>& check_alive);

/// What the others get. Keep the socket until MemberState says kMapped; closing it tells the leader.
struct Received {
  std::shared_ptr<Segment> segment;
  Fd fd;
  Fd socket;
};
/// `layout` without its page size, which the leader decides.
StatusOr<Received> Receive(const std::string& socket_name, const SegmentLayout& layout, const HandoverKey& key,
                           int32_t member, const std::vector<HandoverMember>& members, Deadline deadline,
                           const std::function<Status()>& check_alive);

}  // namespace mycel
