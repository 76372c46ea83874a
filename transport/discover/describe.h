// Machine from /sys and from what libraries answered. Pure: the same inputs give the same machine, wherever they were
// taken.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "transport/discover/machine.h"
#include "transport/discover/system_files.h"

namespace mycel {

/// What hwloc, libibverbs, NVML and ROCm SMI said (ask.h); of the GPUs' places only the bus ids.
struct MachineAnswers {
  std::string host;
  MachineCpus cpus;
  std::vector<MachineGpu> gpus;
  std::map<std::string, int32_t> mtu_of_port;  // "mlx5_0:1" -> bytes, of ports that this process can open
  std::vector<std::string> notes;
};

Machine DescribeMachine(const SystemFiles& files, const MachineAnswers& answers);

struct NicSpeed {
  int64_t mbps = 0;  // 0 where source is kUnknown
  SpeedSource source = SpeedSource::kUnknown;
  std::string told;
};

/// Speed of an RDMA port ("mlx5_0:1") or of a network interface, in each direction. Shaping (tc) is not seen.
NicSpeed ReadNicSpeed(const SystemFiles& files, const std::string& name);

/// What is assumed where no speed is told: 10 Gbit/s.
inline constexpr int64_t kAssumedMbps = 10'000;

}  // namespace mycel
