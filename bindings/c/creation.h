// Creation: from a recipe to a handle, now, at the end of the open group, or in the background.
#pragma once

#include <functional>

#include "bindings/c/compose.h"
#include "bindings/c/handle.h"
#include "bindings/c/mycel.h"
#include "core/base/status.h"

namespace mycel {

/// Meets the other ranks and puts the communicator together; may be called on any thread. A null communicator with an
/// OK status: this rank gets none.
using Recipe = std::function<StatusOr<Composed>()>;

/// Blocking: sets *comm when done (inside a group: at its end). Else sets *comm at once and returns mycelInProgress.
/// `function` begins texts.
mycelResult_t Create(mycelComm_t* comm, bool blocking, const char* function, Recipe recipe);

}  // namespace mycel
