// Background: work that no caller waits for (creating a communicator that does not block, ending one whose last
// operation cannot be stopped).
#pragma once

#include <functional>

#include "core/base/status.h"

namespace mycel {

/// Runs `work` on a thread of its own that nobody joins. The end of the process waits for such threads, at most a
/// second; `at_exit` is called before that and must make the work end soon. SystemError: there is no thread to be had.
Status RunInBackground(std::function<void()> work, void (*at_exit)());

}  // namespace mycel
