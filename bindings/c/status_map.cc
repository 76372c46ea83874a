#include "bindings/c/status_map.h"

#include <new>

namespace mycel {
namespace {

std::string& LastErrorSlot() {
  thread_local std::string text;
  return text;
}

}  // namespace

mycelResult_t ResultOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return mycelSuccess;
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kOutOfRange:
    case StatusCode::kAlreadyExists:
      return mycelInvalidArgument;
    case StatusCode::kFailedPrecondition:
    case StatusCode::kUnimplemented:
      return mycelInvalidUsage;
    case StatusCode::kResourceExhausted:
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnauthenticated:
    case StatusCode::kDataLoss:
      return mycelSystemError;
    case StatusCode::kUnavailable:
      return mycelRemoteError;
    case StatusCode::kDeadlineExceeded:
      return mycelTimeout;
    case StatusCode::kAborted:
    case StatusCode::kCancelled:
      return mycelAborted;
    case StatusCode::kInternal:
    case StatusCode::kUnknown:
    default:
      return mycelInternalError;
  }
}

const char* TextOf(mycelResult_t result) {
  switch (result) {
    case mycelSuccess:
      return "success";
    case mycelUnhandledCudaError:
      return "unhandled GPU runtime error";
    case mycelSystemError:
      return "system error: the operating system refused something";
    case mycelInternalError:
      return "internal error: a defect of Mycel";
    case mycelInvalidArgument:
      return "invalid argument";
    case mycelInvalidUsage:
      return "invalid usage, or ranks disagree about an operation";
    case mycelRemoteError:
      return "remote error: another rank died, left or failed";
    case mycelInProgress:
      return "in progress";
    case mycelTimeout:
      return "timeout";
    case mycelAborted:
      return "aborted";
  }
  return "unknown result";
}

mycelResult_t Report(const Status& status) {
  try {
    if (!status.ok()) LastErrorSlot() = StatusMessage(status);
  } catch (const std::bad_alloc&) {
    LastErrorSlot().clear();  // better no text than an old one
  }
  return ResultOf(status);
}

const std::string& LastReported() { return LastErrorSlot(); }

}  // namespace mycel
