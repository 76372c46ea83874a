// Status -> mycelResult_t, and the words for both.
#pragma once

#include "bindings/c/mycel.h"
#include "core/base/status.h"

namespace mycel {

mycelResult_t ResultOf(StatusCode code);
inline mycelResult_t ResultOf(const Status& status) { return status.ok() ? mycelSuccess : ResultOf(status.code()); }
const char* TextOf(mycelResult_t result);

/// Remembers `status` as this thread's last error and returns its result; OK leaves the memory alone.
mycelResult_t Report(const Status& status);
/// This thread's last reported error, "" if none.
const std::string& LastReported();

}  // namespace mycel
