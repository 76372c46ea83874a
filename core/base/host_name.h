// This machine's name, for texts.
#pragma once

#include <string>

namespace mycel {

/// As gethostname gives it, or "?". Read once. Any thread.
const std::string& HostName();

}  // namespace mycel
