#include "bindings/c/config.h"

#include <cstddef>

#include "bindings/c/config_reader.h"

namespace mycel {
namespace {

// The first published config; later ones only append.
constexpr size_t kFirstBytes = offsetof(mycelConfig_t, wait) + sizeof(mycelConfig_t::wait);
constexpr size_t kNameBytesMax = 63;
}  // namespace

StatusOr<CommConfig> ReadConfig(const mycelConfig_t* config, const char* function) {
  CommConfig read;
  if (config == nullptr) return read;
  const ConfigReader reader(function, "MYCEL_CONFIG_INITIALIZER");
  MYCEL_RETURN_IF_ERROR(reader.Header(*config, MYCEL_CONFIG_MAGIC, kFirstBytes, "mycelConfig_t"));
  MYCEL_RETURN_IF_ERROR(reader.Flag("blocking", config->blocking, &read.blocking));
  MYCEL_RETURN_IF_ERROR(reader.Integer("minLanes", config->minLanes, 1, kConfigLanesMax, &read.lanes_min));
  MYCEL_RETURN_IF_ERROR(reader.Integer("maxLanes", config->maxLanes, 1, kConfigLanesMax, &read.lanes_max));
  if (read.lanes_min.value_or(1) > read.lanes_max.value_or(kConfigLanesMax)) {
    return reader.Bad("minLanes", std::to_string(*read.lanes_min),
                      "at most config.maxLanes, which is " + std::to_string(*read.lanes_max));
  }
  MYCEL_RETURN_IF_ERROR(reader.Flag("reproducible", config->reproducible, &read.reproducible));
  MYCEL_RETURN_IF_ERROR(reader.Text("commName", config->commName, kNameBytesMax, &read.name));
  MYCEL_RETURN_IF_ERROR(reader.Text("planner", config->planner, ConfigReader::kTextBytesMax, &read.planner));
  MYCEL_RETURN_IF_ERROR(reader.Text("topology", config->topology, ConfigReader::kTextBytesMax, &read.topology));
  MYCEL_RETURN_IF_ERROR(reader.Timeout(config->timeout, &read.timeout_ns));
  std::optional<int32_t> wait;
  MYCEL_RETURN_IF_ERROR(reader.Integer("wait", config->wait, mycelWaitAuto, mycelWaitSleep, &wait));
  if (wait) {
    static constexpr WaitMode kModes[] = {WaitMode::kAuto, WaitMode::kSpin, WaitMode::kYield, WaitMode::kSleep};
    read.wait = kModes[*wait];
  }
  // Programs of before have no such field.
  if (config->size >= offsetof(mycelConfig_t, device) + sizeof(config->device)) {
    MYCEL_RETURN_IF_ERROR(reader.Text("device", config->device, kNameBytesMax, &read.device));
  }
  return read;
}

CommConfig Inherit(CommConfig wanted, const CommConfig& parent) {
  const auto take = [](auto& field, const auto& from) {
    if (!field) field = from;
  };
  take(wanted.blocking, parent.blocking);
  take(wanted.timeout_ns, parent.timeout_ns);
  take(wanted.planner, parent.planner);
  take(wanted.reproducible, parent.reproducible);
  take(wanted.wait, parent.wait);
  take(wanted.device, parent.device);
  // Bounds go together: one of the child's and one of the parent's may contradict each other.
  if (!wanted.lanes_min && !wanted.lanes_max) {
    wanted.lanes_min = parent.lanes_min;
    wanted.lanes_max = parent.lanes_max;
  }
  return wanted;  // the topology is the parent's only as far as its ranks are the same: see Compose
}

}  // namespace mycel
