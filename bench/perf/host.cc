#include "bench/perf/host.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "core/base/bytes.h"

namespace mycel::perf {
namespace {

// The text after "key:" of the first such line.
std::string Field(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t text = line.find_first_not_of(" \t", colon + 1);
    return text == std::string::npos ? "" : line.substr(text);
  }
  return "";
}

}  // namespace

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

std::string CpuModel() {
  const std::string model = Field("/proc/cpuinfo", "model name");
  return model.empty() ? "CPU" : model;
}

size_t CacheBytes(int level, size_t missing) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level_file(folder + "level");
    std::ifstream type_file(folder + "type");
    std::ifstream size_file(folder + "size");
    int its_level = 0;
    std::string type;
    std::string size;
    if (!(level_file >> its_level && type_file >> type && size_file >> size)) continue;
    if (its_level != level || type == "Instruction") continue;
    const StatusOr<int64_t> bytes = ParseBytes(size);
    if (bytes.ok() && *bytes > 0) return static_cast<size_t>(*bytes);
  }
  return missing;
}

int64_t AvailableMemoryBytes() {
  return std::strtoll(Field("/proc/meminfo", "MemAvailable").c_str(), nullptr, 10) * 1024;
}

}  // namespace mycel::perf
