// Facts about the machine that the report shows or the sizes depend on.
#pragma once

#include <cstdint>
#include <string>

namespace mycel::perf {

std::string HostName();
/// The processor as its maker calls it.
std::string CpuModel();
/// Bytes that can be allocated without swapping, or 0 if the system does not say.
int64_t AvailableMemoryBytes();

}  // namespace mycel::perf
