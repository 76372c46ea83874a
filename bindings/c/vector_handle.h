// mycelAllToAllvPlan: what a mycelAllToAllvPlan_t points to. Like communicators' handles these are recycled and never
// returned to the system, so that use after destroy is an error and not a crash.
#pragma once

#include <atomic>
#include <cstdint>

#include "bindings/c/mycel.h"
#include "core/base/status.h"
#include "core/plan/types.h"
#include "core/runtime/vector_plan.h"

struct mycelAllToAllvPlan {
  std::atomic<bool> live{false};
  mycelComm* comm = nullptr;
  uint64_t generation = 0;  // of the communicator that the plan is bound to
  mycel::DataType type = mycel::DataType::kUint8;
  mycel::VectorPair pair;  // no programs until the creation has succeeded
};

namespace mycel {

mycelAllToAllvPlan* NewVectorHandle(mycelComm* comm, DataType type);
/// Frees what the plan holds and gives the handle back to the pool.
void RetireVectorHandle(mycelAllToAllvPlan* handle);
/// OK, or InvalidArgument when the handle is NULL or destroyed. `function` begins the text.
Status CheckVectorHandle(const mycelAllToAllvPlan* handle, const char* function);
/// Whether the communicator that the plan was made on is still there.
bool HasCommunicator(const mycelAllToAllvPlan* handle);

}  // namespace mycel
