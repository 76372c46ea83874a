#include "transport/shm/available_memory.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>

#include "core/base/system_text.h"

namespace mycel {
namespace {

/// The first number of a file; nothing when the file is absent or says "max".
std::optional<size_t> NumberIn(const std::string& path) {
  std::istringstream file(SystemText(path));
  size_t value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

/// The number after `key` in a file of "key number" lines.
std::optional<size_t> NumberAfter(const std::string& path, const std::string& key) {
  std::istringstream file(SystemText(path));
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    size_t value = 0;
    if (words >> word >> value && word == key) return value;
  }
  return std::nullopt;
}

/// What one control group leaves: its limit less its use, where page cache that can be dropped does not count as use.
size_t LeftInGroup(const std::string& folder, const char* limit_file, const char* use_file, const char* cache_key) {
  const std::optional<size_t> limit = NumberIn(folder + limit_file);
  const std::optional<size_t> use = NumberIn(folder + use_file);
  if (!limit || !use) return SIZE_MAX;
  const size_t cache = NumberAfter(folder + "/memory.stat", cache_key).value_or(0);
  const size_t held = *use > cache ? *use - cache : 0;
  return *limit > held ? *limit - held : 0;
}

size_t LeftInGroups() {
  size_t left = SIZE_MAX;
  std::istringstream groups(SystemText("/proc/self/cgroup"));
  std::string line;
  while (std::getline(groups, line)) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    if (!v2 && controllers != "memory") continue;
    const std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    // A limit of any group above binds too; the path ends where the namespace's root does.
    for (std::string path = line.substr(second + 1); !path.empty(); path.erase(path.rfind('/'))) {
      const std::string folder = root + (path == "/" ? "" : path);
      left = std::min(
          left, v2 ? LeftInGroup(folder, "/memory.max", "/memory.current", "inactive_file")
                   : LeftInGroup(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"));
    }
  }
  return left;
}

}  // namespace

size_t AvailableMemoryBytes() {
  const std::optional<size_t> free_kib = NumberAfter("/proc/meminfo", "MemAvailable:");
  const size_t swap_kib = NumberAfter("/proc/meminfo", "SwapFree:").value_or(0);
  const size_t machine = free_kib ? (*free_kib + swap_kib) * 1024 : SIZE_MAX;
  return std::min(machine, LeftInGroups());
}

}  // namespace mycel
