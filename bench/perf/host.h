// Facts about the machine that the report shows or the sizes depend on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mycel::perf {

std::string HostName();
/// The processor as its maker calls it.
std::string CpuModel();
/// Bytes that can be allocated without swapping, or 0 if the system does not say.
int64_t AvailableMemoryBytes();
/// Bytes of the first core's data cache of that level, or `missing`. From the kernel: glibc's sysconf multiplies shared
/// caches wrongly in virtual machines.
size_t CacheBytes(int level, size_t missing);

}  // namespace mycel::perf
