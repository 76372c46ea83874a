// Which network devices a server has, as UCX names them, and which of them a rank uses.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"

namespace mycel {

/// RDMA ports that are active ("mlx5_0:1"); where there are none, network interfaces that are up and have an address
/// ("eth0"), without loopback; where there are none of these either, "lo". In the order of their names. Reads `sysfs`
/// (for tests another folder than /sys) and the interfaces of this network namespace.
std::vector<std::string> NetworkDevices(const std::string& sysfs = "/sys");

/// "eth0,eth1" -> names. InvalidArgument quotes a name that this server does not have and lists those that it has.
StatusOr<std::vector<std::string>> ParseDevices(const std::string& text);

/// The share of one of a server's ranks: devices `local_rank`, `local_rank + local_ranks`, ...; with more ranks than
/// devices one, in turn.
std::vector<std::string> ShareOfDevices(const std::vector<std::string>& devices, int32_t local_rank,
                                        int32_t local_ranks);

/// What tells the networks of devices apart, where anything does. An interface ("eth0"): its first internet address's
/// subnet, "10.77.0.0/24", since the kernel sends by it, whatever device the sender had in mind. An RDMA port
/// ("mlx5_0:1"): "rdma". Else empty.
std::string NetworkOf(const std::string& device);

}  // namespace mycel
