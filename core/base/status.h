// Operating errors as values. The function that decides an error writes its message with all the facts and the cure;
// callers return it unchanged. This header is the only place where Abseil enters Mycel.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <utility>

namespace mycel {

using Status = absl::Status;
template <typename T>
using StatusOr = absl::StatusOr<T>;
using StatusCode = absl::StatusCode;

inline Status OkStatus() { return absl::OkStatus(); }
inline Status MakeStatus(StatusCode code, const std::string& message) { return Status(code, message); }

/// Bad input: an argument, a file, an environment value. CLI exit code 3.
inline Status InvalidArgument(const std::string& m) { return absl::InvalidArgumentError(m); }
/// Right arguments at the wrong time: a destroyed communicator, an unmatched group. CLI exit code 3.
inline Status InvalidUsage(const std::string& m) { return absl::FailedPreconditionError(m); }
/// No answer exists: disconnected ranks, a planner that does not serve the collective. CLI exit code 4.
inline Status Impossible(const std::string& m) { return absl::UnimplementedError(m); }
/// The operating system refused something (memory, descriptors, permissions).
inline Status SystemError(const std::string& m) { return absl::ResourceExhaustedError(m); }
/// Another rank died, left or reported an error.
inline Status RemoteError(const std::string& m) { return absl::UnavailableError(m); }
/// A deadline passed; the text names who was waited for.
inline Status TimeoutError(const std::string& m) { return absl::DeadlineExceededError(m); }
/// The communicator was aborted.
inline Status AbortedError(const std::string& m) { return absl::AbortedError(m); }
/// A defect of Mycel that was caught before it did harm.
inline Status InternalError(const std::string& m) { return absl::InternalError(m); }

inline std::string StatusMessage(const Status& status) {
  return std::string(status.message().data(), status.message().size());
}

}  // namespace mycel

#define MYCEL_CONCAT_INNER_(a, b) a##b
#define MYCEL_CONCAT_(a, b) MYCEL_CONCAT_INNER_(a, b)

/// Returns the status of `expr` from the enclosing function unless it is OK.
#define MYCEL_RETURN_IF_ERROR(expr)                \
  do {                                             \
    ::mycel::Status mycel_status_ = (expr);        \
    if (!mycel_status_.ok()) return mycel_status_; \
  } while (false)

/// `MYCEL_ASSIGN_OR_RETURN(auto x, F())`: x = value of F(), or return its status.
#define MYCEL_ASSIGN_OR_RETURN(decl, expr) MYCEL_ASSIGN_OR_RETURN_IMPL_(MYCEL_CONCAT_(mycel_or_, __LINE__), decl, expr)
#define MYCEL_ASSIGN_OR_RETURN_IMPL_(tmp, decl, expr) \
  auto tmp = (expr);                                  \
  if (!tmp.ok()) return std::move(tmp).status();      \
  decl = std::move(tmp).value()
