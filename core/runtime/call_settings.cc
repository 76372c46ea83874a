#include "core/runtime/call_settings.h"

namespace mycel {

std::string SettingsText(uint32_t packed, std::string_view planner) {
  std::string text;
  const auto add = [&text](std::string_view field, const std::string& value) {
    text.append(text.empty() ? " {" : ", ").append(field).append("=").append(value);
  };
  const uint32_t lanes_min = packed & 0xffU;
  const uint32_t lanes_max = packed >> 8 & 0xffU;
  const uint32_t order = packed >> 16 & 0xffU;
  if (!planner.empty()) add("planner", std::string(planner));
  if (lanes_min != 0) add("minLanes", std::to_string(lanes_min));
  if (lanes_max != 0) add("maxLanes", std::to_string(lanes_max));
  if (order != 0) add("reproducible", std::to_string(order - 1));
  return text.empty() ? text : text + "}";
}

}  // namespace mycel
