// What this thread's calls ask for in place of their communicators' settings: mycelCallConfigStart and End.
#pragma once

#include <memory>

#include "core/runtime/call_settings.h"

namespace mycel {

/// Of the innermost open config with the ones around it; null when none is open. Lives until the thread's next
/// mycelCallConfigStart or End.
const CallSettings* SettingsOfThread();
/// The same, to be kept.
std::shared_ptr<const CallSettings> KeptSettingsOfThread();

}  // namespace mycel
