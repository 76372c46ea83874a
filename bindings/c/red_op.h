// Reduction operations of the C API: the library's, and those that a program makes for a communicator.
#pragma once

#include <memory>

#include "bindings/c/mycel.h"
#include "core/base/status.h"
#include "core/runtime/call.h"

namespace mycel {

/// Puts `op` into `call`, whose type is set. `owner` holds what call->dynamic then points to: calls that are queued
/// keep it, so that an operation may be destroyed as soon as the call has returned. InvalidArgument: no such operation,
/// of another communicator, destroyed, or not for the type. `function` begins the text.
Status SetOp(mycelRedOp_t op, const mycelComm& comm, const char* function, CollectiveCall* call,
             std::shared_ptr<const DynamicOp>* owner);

}  // namespace mycel
