#include "bindings/c/creation.h"

#include <utility>

#include "bindings/c/background.h"
#include "bindings/c/group_state.h"
#include "bindings/c/guard.h"
#include "bindings/c/status_map.h"
#include "core/base/cancel.h"

namespace mycel {
namespace {

Status CreateNow(mycelComm_t* comm, const char* function, const Recipe& recipe) {
  return Guarded(function, [&]() -> Status {
    MYCEL_ASSIGN_OR_RETURN(Composed composed, recipe());
    *comm = composed.communicator == nullptr ? nullptr : NewHandle(std::move(composed));
    return OkStatus();
  });
}

Status CreateLater(mycelComm_t* comm, const char* function, Recipe recipe) {
  return Guarded(function, [&]() -> Status {
    mycelComm* handle = ReserveHandle();
    *comm = handle;
    const auto work = [handle, function, recipe = std::move(recipe)] {
      const CancelScope scope(&handle->magic, kMycelStarting);
      StatusOr<Composed> composed = InternalError("no result");
      const Status status = Guarded(function, [&]() -> Status {
        composed = recipe();
        return composed.status();
      });
      FinishStart(handle, status.ok() ? std::move(composed) : StatusOr<Composed>(status));
    };
    Status started = RunInBackground(work, &GiveUpAllStarts);
    if (!started.ok()) {
      *comm = nullptr;
      EndCommunicator(handle, true, function).IgnoreError();
      FinishStart(handle, started);
    }
    return started;
  });
}

}  // namespace

mycelResult_t Create(mycelComm_t* comm, bool blocking, const char* function, Recipe recipe) {
  if (!blocking) {
    const Status status = CreateLater(comm, function, std::move(recipe));
    if (!status.ok()) return Refuse(status);
    NoteInProgress();
    return mycelInProgress;
  }
  if (InGroup()) {
    DeferInit([comm, function, recipe = std::move(recipe)] { return CreateNow(comm, function, recipe); });
    return mycelSuccess;
  }
  return Report(CreateNow(comm, function, recipe));
}

}  // namespace mycel
