// CallSettings: what one call asks for in place of its communicator's settings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mycel {

/// All ranks of a call must ask for the same, but for the timeout: the settings are part of what ranks compare.
struct CallSettings {
  std::string planner;               // a planner's name or "auto"; empty: the communicator's
  int32_t lanes_min = 0;             // 0: the communicator's
  int32_t lanes_max = 0;             // 0: the communicator's
  std::optional<bool> reproducible;  // none: the communicator's
  int64_t timeout_ns = 0;            // how long this rank waits; 0: the communicator's

  /// Whether it has a say in which plan runs.
  bool ChoosesPlans() const { return !planner.empty() || lanes_min != 0 || lanes_max != 0 || reproducible.has_value(); }
  /// The same for alltoallv, which reduces nothing.
  bool ChoosesVectorPlans() const { return !planner.empty() || lanes_min != 0 || lanes_max != 0; }
  bool ChoosesLike(const CallSettings& other) const {
    return planner == other.planner && lanes_min == other.lanes_min && lanes_max == other.lanes_max &&
           reproducible == other.reproducible;
  }
  /// What chooses plans but for the planner's name; 0: nothing.
  uint32_t Pack() const {
    const uint32_t order = reproducible.has_value() ? 1U + static_cast<uint32_t>(*reproducible) : 0U;
    return static_cast<uint32_t>(lanes_min) | static_cast<uint32_t>(lanes_max) << 8 | order << 16;
  }
};

/// " {planner=ring, maxLanes=4}" of packed settings and a planner's name; "" where they say nothing.
std::string SettingsText(uint32_t packed, std::string_view planner);

}  // namespace mycel
