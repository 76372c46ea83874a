#include "transport/ucx/network_devices.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/base/check.h"

namespace mycel {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Entries(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, missing))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string FirstLine(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::vector<std::string> RdmaPorts(const std::string& sysfs, bool active_only) {
  std::vector<std::string> ports;
  const fs::path root = fs::path(sysfs) / "class/infiniband";
  for (const std::string& device : Entries(root)) {
    for (const std::string& port : Entries(root / device / "ports")) {
      // "4: ACTIVE"
      const bool active = FirstLine(root / device / "ports" / port / "state").find("ACTIVE") != std::string::npos;
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

int64_t DeviceMbps(const std::string& device, const std::string& sysfs) {
  constexpr int64_t kUnknown = 10'000;
  const fs::path root = fs::path(sysfs) / "class";
  const size_t colon = device.find(':');
  if (colon != std::string::npos) {
    // "400 Gb/sec (4X NDR)"
    const double gbps = std::atof(
        FirstLine(root / "infiniband" / device.substr(0, colon) / "ports" / device.substr(colon + 1) / "rate").c_str());
    return gbps > 0 ? static_cast<int64_t>(gbps * 1000) : kUnknown;
  }
  const int64_t mbps = std::atoll(FirstLine(root / "net" / device / "speed").c_str());
  return mbps > 0 ? mbps : kUnknown;
}

}  // namespace mycel
