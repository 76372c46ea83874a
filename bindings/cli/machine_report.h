// A machine as people read it and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "transport/discover/machine.h"

namespace mycel::cli {

/// CPUs, GPUs with their links and nearest network devices, network devices with speeds and the address to use, and
/// `notes`: the machine's, and what was assumed to make a topology of it.
std::string DescribeText(const Machine& machine, const std::vector<std::string>& notes);

/// host cpus{packages cores threads numa_nodes[]} gpus[] nics[] notes[]; what is not known is null.
nlohmann::ordered_json DescribeJson(const Machine& machine, const std::vector<std::string>& notes);

}  // namespace mycel::cli
