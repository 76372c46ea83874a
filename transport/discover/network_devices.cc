#include "transport/discover/network_devices.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <set>

#include "core/base/check.h"
#include "transport/discover/system_files.h"

namespace mycel {
namespace {

std::vector<std::string> RdmaPorts(const std::string& sysfs, bool active_only) {
  std::vector<std::string> ports;
  const FolderFiles files(sysfs);
  const std::string root = "class/infiniband";
  for (const std::string& device : files.List(root)) {
    for (const std::string& port : files.List(root + "/" + device + "/ports")) {
      // "4: ACTIVE"
      const std::string state = files.Line(root + "/" + device + "/ports/" + port + "/state").value_or("");
      const bool active = state.find("ACTIVE") != std::string::npos;
      if (active || !active_only) ports.push_back(device + ":" + port);
    }
  }
  return ports;
}

/// Interfaces with an internet address; `usable`: up and not loopback.
std::vector<std::string> Interfaces(bool usable) {
  std::set<std::string> names;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const bool up = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_RUNNING) != 0;
    if (usable && (!up || (one->ifa_flags & IFF_LOOPBACK) != 0)) continue;
    names.insert(one->ifa_name);
  }
  freeifaddrs(all);
  return {names.begin(), names.end()};
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::vector<std::string> NetworkDevices(const std::string& sysfs) {
  std::vector<std::string> devices = RdmaPorts(sysfs, true);
  if (devices.empty()) devices = Interfaces(true);
  if (devices.empty()) devices.emplace_back("lo");
  return devices;
}

StatusOr<std::vector<std::string>> ParseDevices(const std::string& text) {
  std::vector<std::string> there = RdmaPorts("/sys", false);
  for (std::string& name : Interfaces(false)) there.push_back(std::move(name));
  std::vector<std::string> devices;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    if (std::find(there.begin(), there.end(), name) == there.end()) {
      return InvalidArgument("MYCEL_NICS=" + text + ": this server has no network device '" + name + "' with an " +
                             "address; it has " + Joined(there));
    }
    devices.push_back(name);
    begin = end + 1;
  }
  return devices;
}

std::vector<std::string> ShareOfDevices(const std::vector<std::string>& devices, int32_t local_rank,
                                        int32_t local_ranks) {
  MYCEL_CHECK(!devices.empty() && local_rank >= 0 && local_rank < local_ranks);
  const auto first = static_cast<size_t>(local_rank);
  std::vector<std::string> share;
  for (size_t i = first; i < devices.size(); i += static_cast<size_t>(local_ranks)) share.push_back(devices[i]);
  if (share.empty()) share.push_back(devices[first % devices.size()]);
  return share;
}

std::string NetworkOf(const std::string& device) {
  if (device.find(':') != std::string::npos) return "rdma";
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  std::string network;
  for (const ifaddrs* one = all; one != nullptr && network.empty(); one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_netmask == nullptr || device != one->ifa_name) continue;
    if (one->ifa_addr->sa_family != AF_INET) continue;
    const in_addr_t mask = reinterpret_cast<const sockaddr_in*>(one->ifa_netmask)->sin_addr.s_addr;
    const in_addr subnet{reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr & mask};
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &subnet, text, sizeof(text));
    network = std::string(text) + "/" + std::to_string(std::popcount(mask));
  }
  freeifaddrs(all);
  return network;
}

}  // namespace mycel
