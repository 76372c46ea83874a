// What the vendors' management libraries say about the wire between two GPUs.
#pragma once

#include <string>
#include <string_view>

namespace mycel {

/// "NVLink", "NVLink (NVSwitch)", "xGMI", or "PCIe" where no such wire is known. `driver`: "cuda" or "hip"; devices by
/// their PCI bus ids. Asks once for each process.
std::string GpuLinkText(std::string_view driver, const std::string& bus_id, const std::string& peer_bus_id);

}  // namespace mycel
