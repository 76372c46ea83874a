// CommConfig: what a caller asks of a communicator (mycelConfig_t), read and checked. What is not set comes from the
// parent communicator, if there is one, then from the environment, then from the default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bindings/c/mycel.h"
#include "core/base/status.h"
#include "core/base/wait.h"

namespace mycel {

struct CommConfig {
  std::optional<bool> blocking;
  std::optional<std::string> name;
  std::optional<int64_t> timeout_ns;
  std::optional<int32_t> lanes_min;
  std::optional<int32_t> lanes_max;
  std::optional<std::string> planner;
  std::optional<std::string> topology;
  std::optional<bool> reproducible;
  std::optional<WaitMode> wait;
  std::optional<std::string> device;

  bool is_blocking() const { return blocking.value_or(true); }
};

/// So many lanes at most: each costs a ring between every two ranks.
inline constexpr int32_t kConfigLanesMax = 32;

/// `config` may be null: nothing is set. InvalidArgument names the field, its value and what is allowed. `function`
/// begins the text.
StatusOr<CommConfig> ReadConfig(const mycelConfig_t* config, const char* function);
/// What `wanted` leaves open, from `parent`; all but the name, which tells communicators apart.
CommConfig Inherit(CommConfig wanted, const CommConfig& parent);

}  // namespace mycel
