// Nothing is thrown through the C border: memory and threads that the system refuses become errors, and so does
// anything else that a library of ours throws.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "bindings/c/mycel.h"
#include "core/base/status.h"

namespace mycel {

/// What `f` returns, or an error for what it throws.
template <typename F>
Status Guarded(const char* function, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const std::bad_alloc&) {
    return SystemError(std::string(function) + ": the system refuses memory");
  } catch (const std::system_error& error) {
    return SystemError(std::string(function) + ": the system refuses a thread or a lock (" + error.what() + ")");
  } catch (const std::exception& error) {
    return InternalError(std::string(function) + ": " + error.what());
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled, which nobody may stop
  } catch (...) {
    return InternalError(std::string(function) + ": something was thrown that is no std::exception");
  }
}

/// For the end of a function of the C API, `try { ... } catch (...) { return Caught(...); }`: reports what was thrown.
/// Inside a group it is remembered as a refused argument is.
mycelResult_t Caught(const char* function) noexcept;

/// Runs run(i) for each i < count on a thread of its own and waits for all. `refused(i, error)` instead, on the calling
/// thread, where the system gives no thread.
template <typename Run, typename Refused>
void RunThreads(size_t count, Run&& run, Refused&& refused) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    try {
      threads.emplace_back([&run, i] { run(i); });
    } catch (const std::system_error& error) {
      refused(i, SystemError("the system gives no thread for rank " + std::to_string(i) + " (" + error.what() +
                             "); raise the limit (ulimit -u) or start fewer ranks"));
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace mycel
