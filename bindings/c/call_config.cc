#include "bindings/c/call_config.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bindings/c/config.h"
#include "bindings/c/config_reader.h"
#include "bindings/c/group_state.h"
#include "bindings/c/guard.h"
#include "bindings/c/mycel.h"
#include "bindings/c/status_map.h"
#include "scheduler/select/select.h"

namespace mycel {
namespace {

// The first published call config; later ones only append.
constexpr size_t kFirstBytes = offsetof(mycelCallConfig_t, timeout) + sizeof(mycelCallConfig_t::timeout);

/// Apart from the rest, so that the common question costs one load.
constinit thread_local const CallSettings* t_settings = nullptr;

/// Open configs, each with those around it taken in.
std::vector<std::shared_ptr<const CallSettings>>& Open() {
  thread_local std::vector<std::shared_ptr<const CallSettings>> open;
  return open;
}

StatusOr<CallSettings> Read(const mycelCallConfig_t* config, CallSettings settings, const char* function) {
  if (config == nullptr) return InvalidArgument(std::string(function) + ": config is NULL");
  const ConfigReader reader(function, "MYCEL_CALL_CONFIG_INITIALIZER");
  MYCEL_RETURN_IF_ERROR(reader.Header(*config, MYCEL_CALL_CONFIG_MAGIC, kFirstBytes, "mycelCallConfig_t"));
  std::optional<int32_t> least, most;
  MYCEL_RETURN_IF_ERROR(reader.Integer("minLanes", config->minLanes, 1, kConfigLanesMax, &least));
  MYCEL_RETURN_IF_ERROR(reader.Integer("maxLanes", config->maxLanes, 1, kConfigLanesMax, &most));
  if (least) settings.lanes_min = *least;
  if (most) settings.lanes_max = *most;
  if (settings.lanes_max != 0 && settings.lanes_min > settings.lanes_max) {
    return reader.Bad("minLanes", std::to_string(settings.lanes_min),
                      "at most config.maxLanes, which is " + std::to_string(settings.lanes_max));
  }
  MYCEL_RETURN_IF_ERROR(reader.Flag("reproducible", config->reproducible, &settings.reproducible));
  std::optional<std::string> planner;
  MYCEL_RETURN_IF_ERROR(reader.Text("planner", config->planner, ConfigReader::kTextBytesMax, &planner));
  if (planner) {
    const Status known = *planner == "auto" ? OkStatus() : FindPlanner(*planner).status();
    if (!known.ok()) return InvalidArgument(std::string(function) + ": config.planner: " + StatusMessage(known));
    settings.planner = *planner;
  }
  std::optional<int64_t> timeout_ns;
  MYCEL_RETURN_IF_ERROR(reader.Timeout(config->timeout, &timeout_ns));
  if (timeout_ns) settings.timeout_ns = *timeout_ns;
  return settings;
}

}  // namespace

const CallSettings* SettingsOfThread() { return t_settings; }

std::shared_ptr<const CallSettings> KeptSettingsOfThread() { return t_settings == nullptr ? nullptr : Open().back(); }

}  // namespace mycel

extern "C" {

mycelResult_t mycelCallConfigStart(const mycelCallConfig_t* config) try {
  constexpr const char* kFunction = "mycelCallConfigStart";
  const mycel::Status status = mycel::Guarded(kFunction, [config] {
    auto& open = mycel::Open();
    const mycel::CallSettings around = open.empty() ? mycel::CallSettings() : *open.back();
    MYCEL_ASSIGN_OR_RETURN(mycel::CallSettings settings, mycel::Read(config, around, kFunction));
    open.push_back(std::make_shared<const mycel::CallSettings>(std::move(settings)));
    mycel::t_settings = open.back().get();
    return mycel::OkStatus();
  });
  return status.ok() ? mycelSuccess : mycel::Refuse(status);
} catch (...) {
  return mycel::Caught("mycelCallConfigStart");
}

mycelResult_t mycelCallConfigEnd(void) try {
  auto& open = mycel::Open();
  if (open.empty()) {
    return mycel::Refuse(mycel::InvalidUsage("mycelCallConfigEnd: no config is open; call mycelCallConfigStart first"));
  }
  open.pop_back();
  mycel::t_settings = open.empty() ? nullptr : open.back().get();
  return mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelCallConfigEnd");
}

}  // extern "C"
