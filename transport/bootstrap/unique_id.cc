#include "transport/bootstrap/unique_id.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "core/base/check.h"
#include "core/base/rng.h"
#include "transport/bootstrap/sockets.h"

namespace mycel {
namespace {

constexpr char kMagic[4] = {'M', 'Y', 'C', 'L'};
constexpr unsigned char kVersion = 2;
constexpr unsigned char kAgreed = 1;
constexpr size_t kSecretAt = 8;
constexpr size_t kAddressCountAt = kSecretAt + sizeof(Secret);
constexpr size_t kAddressesAt = kAddressCountAt + 1;

size_t PackedBytes(const HostAddress& address) { return address.v6 ? 17 : 5; }

bool Same(const HostAddress& a, const HostAddress& b) {
  return a.v6 == b.v6 && std::memcmp(a.bytes, b.bytes, a.v6 ? 16 : 4) == 0;
}

/// Link-local addresses mean nothing without an interface, which differs from machine to machine.
bool IsUsable(const sockaddr* address) {
  if (address == nullptr) return false;
  if (address->sa_family == AF_INET) return true;
  if (address->sa_family != AF_INET6) return false;
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof(v6));
  return !IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr);
}

std::set<std::string> SplitNames(const std::string& text) {
  std::set<std::string> names;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) names.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::string Joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

HostAddress HostAddress::Of(const sockaddr* address) {
  HostAddress host;
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof(v6));
    host.v6 = true;
    std::memcpy(host.bytes, &v6.sin6_addr, 16);
  } else {
    MYCEL_CHECK_EQ(address->sa_family, AF_INET);
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof(v4));
    std::memcpy(host.bytes, &v4.sin_addr, 4);
  }
  return host;
}

socklen_t HostAddress::ToSocketAddress(uint16_t port, sockaddr_storage* address) const {
  std::memset(address, 0, sizeof(*address));
  if (v6) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    std::memcpy(&in.sin6_addr, bytes, 16);
    std::memcpy(address, &in, sizeof(in));
    return sizeof(in);
  }
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  std::memcpy(&in.sin_addr, bytes, 4);
  std::memcpy(address, &in, sizeof(in));
  return sizeof(in);
}

bool HostAddress::IsLoopback() const {
  static constexpr unsigned char kLoopback6[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return v6 ? std::memcmp(bytes, kLoopback6, 16) == 0 : bytes[0] == 127;
}

std::string HostAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(v6 ? AF_INET6 : AF_INET, bytes, text, sizeof(text));
  return text;
}

std::string EndpointText(const sockaddr_storage& address) {
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return "an unknown address";
  HostAddress host = HostAddress::Of(reinterpret_cast<const sockaddr*>(&address));
  sockaddr_in in{};  // the port lies at the same place in both families
  std::memcpy(&in, &address, sizeof(in));
  static constexpr unsigned char kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (host.v6 && std::memcmp(host.bytes, kMapped, 12) == 0) {
    // An IPv4 caller of a socket that serves both families.
    host.v6 = false;
    std::memmove(host.bytes, host.bytes + 12, 4);
  }
  const std::string name = host.v6 ? "[" + host.ToString() + "]" : host.ToString();
  return name + ":" + std::to_string(ntohs(in.sin_port));
}

UniqueId MeetingPlace::Pack() const {
  UniqueId id;
  std::memcpy(id.bytes, kMagic, 4);
  id.bytes[4] = kVersion;
  id.bytes[5] = agreed ? kAgreed : 0;
  for (size_t i = 0; i < 2; ++i) id.bytes[6 + i] = static_cast<unsigned char>(port >> (8 * i));
  std::copy(secret.begin(), secret.end(), id.bytes + kSecretAt);
  size_t at = kAddressesAt;
  for (const HostAddress& address : addresses) {
    if (at + PackedBytes(address) > sizeof(id.bytes)) continue;
    id.bytes[at] = address.v6 ? 6 : 4;
    std::memcpy(id.bytes + at + 1, address.bytes, PackedBytes(address) - 1);
    at += PackedBytes(address);
    ++id.bytes[kAddressCountAt];
  }
  return id;
}

StatusOr<MeetingPlace> MeetingPlace::Unpack(const UniqueId& id) {
  const Status bad = InvalidArgument(
      "the unique id is not one: carry all 128 bytes of what mycelGetUniqueId made, and run one version of Mycel on "
      "all "
      "ranks");
  if (std::memcmp(id.bytes, kMagic, 4) != 0 || id.bytes[4] != kVersion || id.bytes[5] > kAgreed) return bad;
  MeetingPlace place;
  place.agreed = id.bytes[5] == kAgreed;
  for (size_t i = 0; i < 2; ++i) place.port = static_cast<uint16_t>(place.port | id.bytes[6 + i] << (8 * i));
  std::copy_n(id.bytes + kSecretAt, place.secret.size(), place.secret.begin());
  size_t at = kAddressesAt;
  for (unsigned char i = 0; i < id.bytes[kAddressCountAt]; ++i) {
    HostAddress address;
    if (at >= sizeof(id.bytes) || (id.bytes[at] != 4 && id.bytes[at] != 6)) return bad;
    address.v6 = id.bytes[at] == 6;
    if (at + PackedBytes(address) > sizeof(id.bytes)) return bad;
    std::memcpy(address.bytes, id.bytes + at + 1, PackedBytes(address) - 1);
    at += PackedBytes(address);
    place.addresses.push_back(address);
  }
  if (place.addresses.empty() || place.port == 0) return bad;
  return place;
}

StatusOr<std::vector<HostAddress>> LocalAddresses(const std::string& interfaces) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return DescriptorError("cannot list the network interfaces", errno);
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::set<std::string> wanted = SplitNames(interfaces);
  std::set<std::string> available;
  std::vector<HostAddress> addresses;
  std::set<std::string> unused = wanted;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_UP) == 0 || !IsUsable(entry->ifa_addr)) continue;
    available.insert(entry->ifa_name);
    if (!wanted.empty() && wanted.count(entry->ifa_name) == 0) continue;
    unused.erase(entry->ifa_name);
    const HostAddress address = HostAddress::Of(entry->ifa_addr);
    const auto same = [&](const HostAddress& other) { return Same(address, other); };
    if (std::none_of(addresses.begin(), addresses.end(), same)) addresses.push_back(address);
  }
  if (!unused.empty()) {
    return InvalidArgument("MYCEL_INTERFACE names " + Joined(unused) +
                           ", which is not an interface with an address here; there are: " + Joined(available));
  }
  if (addresses.empty()) {
    return SystemError("no network interface has an address, not even loopback: bring one up (ip link set lo up)");
  }
  // Short addresses first, so that more of them fit into an id; loopback last.
  const auto order = [](const HostAddress& address) { return (address.IsLoopback() ? 2 : 0) + (address.v6 ? 1 : 0); };
  std::stable_sort(addresses.begin(), addresses.end(),
                   [&](const HostAddress& a, const HostAddress& b) { return order(a) < order(b); });
  return addresses;
}

StatusOr<UniqueId> UniqueIdFromHostPort(const std::string& host_port) {
  const auto bad = [&](const std::string& why) {
    return InvalidArgument("MYCEL_COMM_ID=" + host_port + " " + why +
                           ": write host:port or [v6 address]:port, where "
                           "rank 0 can listen");
  };
  const size_t colon = host_port.rfind(':');
  if (colon == std::string::npos || colon == 0) return bad("has no port");
  std::string host = host_port.substr(0, colon);
  const std::string port_text = host_port.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const bool digits =
      !port_text.empty() && port_text.size() <= 5 && port_text.find_first_not_of("0123456789") == std::string::npos;
  const int port = digits ? std::stoi(port_text) : 0;
  if (port < 1 || port > 65535) return bad("has a port that is not in 1..65535");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0) {
    return bad("names a host that is unknown here (" + std::string(gai_strerror(error)) + ")");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  MeetingPlace place;
  place.agreed = true;
  place.port = static_cast<uint16_t>(port);
  // Ranks may spell the host differently, but they agree on the port. No secret: it keeps strays apart.
  uint64_t state = static_cast<uint64_t>(port);
  for (size_t i = 0; i < place.secret.size(); i += 8) {
    const uint64_t word = SplitMix64(state);
    for (size_t j = 0; j < 8; ++j) place.secret[i + j] = static_cast<unsigned char>(word >> (8 * j));
  }
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (IsUsable(entry->ai_addr)) place.addresses.push_back(HostAddress::Of(entry->ai_addr));
  }
  if (place.addresses.empty()) return bad("names a host without a usable address");
  return place.Pack();
}

}  // namespace mycel
