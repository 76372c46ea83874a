// The unique id: 128 bytes that tell where the ranks of a communicator meet. One process makes it (and listens); any
// means carries it to the others.
//
//   offset 0  "MYCL"   4  version   5  flags   6  port   8  secret   24  address count   25  addresses
//   address: family 4 or 6, then 4 or 16 bytes
//
// Integers are little-endian. The secret is random: whoever proves to hold it (proof.h) was given the id.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "transport/bootstrap/proof.h"

namespace mycel {

struct UniqueId {
  unsigned char bytes[128] = {};
};
static_assert(sizeof(UniqueId) == 128);

/// An IPv4 or IPv6 address without a port.
struct HostAddress {
  bool v6 = false;
  unsigned char bytes[16] = {};  // network order; IPv4 uses the first four

  static HostAddress Of(const sockaddr* address);
  /// With a port, ready for connect(); returns the length.
  socklen_t ToSocketAddress(uint16_t port, sockaddr_storage* address) const;
  bool IsLoopback() const;
  /// "10.0.0.1", "fd00::1".
  std::string ToString() const;
};

/// "10.0.0.1:4242", "[fd00::1]:4242"; what getpeername and the like return.
std::string EndpointText(const sockaddr_storage& address);

/// An id's contents.
struct MeetingPlace {
  bool agreed = false;  // a host and port that all ranks were given: rank 0 listens when it joins
  uint16_t port = 0;
  Secret secret{};
  std::vector<HostAddress> addresses;  // in order of preference; as many as fit are kept

  UniqueId Pack() const;
  /// InvalidArgument when the bytes are no id of this version.
  static StatusOr<MeetingPlace> Unpack(const UniqueId& id);
};

/// This machine's addresses that others may reach: those of the named interfaces ("eth0" or "eth0,eth1"), or, when
/// `interfaces` is empty, of all of them, loopback last. InvalidArgument lists the interfaces there are.
StatusOr<std::vector<HostAddress>> LocalAddresses(const std::string& interfaces);

/// The id that "host:port" or "[v6 address]:port" stands for (MYCEL_COMM_ID): rank 0 listens there.
StatusOr<UniqueId> UniqueIdFromHostPort(const std::string& host_port);

}  // namespace mycel
