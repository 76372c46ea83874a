#include "transport/discover/machine.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <tuple>

namespace mycel {
namespace {

/// The devices that traffic between servers may take.
std::vector<int32_t> Candidates(const Machine& machine) {
  const auto is_port = [](const MachineNic& nic) { return nic.rdma; };
  const auto is_hardware = [](const MachineNic& nic) { return !nic.rdma && !nic.pci.bus_id.empty(); };
  const auto is_interface = [](const MachineNic& nic) { return !nic.rdma; };
  for (bool (*const is_wanted)(const MachineNic&) : {+is_port, +is_hardware, +is_interface}) {
    std::vector<int32_t> found;
    for (size_t i = 0; i < machine.nics.size(); ++i) {
      if (machine.nics[i].usable && is_wanted(machine.nics[i])) found.push_back(static_cast<int32_t>(i));
    }
    if (!found.empty()) return found;
  }
  return {};
}

using Nearness = std::tuple<int32_t, bool>;

Nearness NearnessOf(const PciPlace& a, const PciPlace& b) {
  return {SharedBridges(a, b), a.numa_node >= 0 && a.numa_node == b.numa_node};
}

}  // namespace

Rational NvlinkGBps(int32_t version) {
  constexpr int64_t kByVersion[] = {0, 20, 25, 25, 25, 50};
  return version >= 1 && version <= 5 ? Rational(kByVersion[version]) : Rational(0);
}

std::string NormalBusId(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  const size_t colon = text.find(':');
  // NVML writes domains with eight digits.
  if (colon == 8 && text.starts_with("0000")) text.erase(0, 4);
  return text;
}

std::string PlainName(std::string text) {
  text.resize(std::min<size_t>(text.size(), 64));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return text;
}

Rational PcieGBps(const std::string& speed, const std::string& width) {
  // Tenths: 2.5 GT/s is the only fraction there is.
  const auto tenths = static_cast<int64_t>(std::lround(std::atof(speed.c_str()) * 10));
  const int64_t lanes = std::atoll(width.c_str());
  if (tenths <= 0 || tenths > 10'000 || lanes <= 0 || lanes > 64) return Rational(0);
  const Rational raw(tenths * lanes, 80);
  if (tenths <= 50) return raw * Rational(4, 5);       // 8b/10b
  if (tenths <= 320) return raw * Rational(128, 130);  // 128b/130b
  return raw;                                          // flits
}

int32_t SharedBridges(const PciPlace& a, const PciPlace& b) {
  int32_t shared = 0;
  const size_t least = std::min(a.path.size(), b.path.size());
  while (static_cast<size_t>(shared) < least &&
         a.path[static_cast<size_t>(shared)] == b.path[static_cast<size_t>(shared)])
    ++shared;
  return shared;
}

std::vector<std::vector<int32_t>> NicsOfGpus(const Machine& machine) {
  std::vector<std::vector<int32_t>> of_gpu(machine.gpus.size());
  const std::vector<int32_t> candidates = Candidates(machine);
  if (candidates.empty()) return of_gpu;
  std::vector<int32_t> users(machine.nics.size(), 0);
  const auto near = [&](size_t gpu, int32_t nic) {
    return NearnessOf(machine.gpus[gpu].pci, machine.nics[static_cast<size_t>(nic)].pci);
  };
  for (size_t gpu = 0; gpu < of_gpu.size(); ++gpu) {
    const auto worse = [&](int32_t a, int32_t b) {
      return std::tuple(near(gpu, a), -users[static_cast<size_t>(a)], -a) <
             std::tuple(near(gpu, b), -users[static_cast<size_t>(b)], -b);
    };
    const int32_t nic = *std::max_element(candidates.begin(), candidates.end(), worse);
    of_gpu[gpu].push_back(nic);
    ++users[static_cast<size_t>(nic)];
  }
  for (const int32_t nic : candidates) {
    if (users[static_cast<size_t>(nic)] > 0) continue;
    std::vector<int32_t>* taker = nullptr;
    Nearness best;
    for (size_t gpu = 0; gpu < of_gpu.size(); ++gpu) {
      const Nearness mine = near(gpu, nic);
      if (mine < near(gpu, of_gpu[gpu].front())) continue;
      const bool better = taker == nullptr || mine > best || (mine == best && of_gpu[gpu].size() < taker->size());
      if (better) taker = &of_gpu[gpu], best = mine;
    }
    if (taker != nullptr) taker->push_back(nic), ++users[static_cast<size_t>(nic)];
  }
  return of_gpu;
}

}  // namespace mycel
