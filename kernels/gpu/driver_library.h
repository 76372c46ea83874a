// A vendor's driver library, loaded at run time: every function by name, the first that lacks is named.
#pragma once

#include <string>
#include <utility>

#include "core/base/status.h"

namespace mycel {

/// Loaded until the process ends: drivers do not survive being unloaded.
class DriverLibrary {
 public:
  /// Impossible: "libcuda.so.1 cannot be loaded: <the loader's text>".
  static StatusOr<DriverLibrary> Load(const std::string& name);
  /// Whether this process has it loaded already.
  static bool IsLoaded(const std::string& name);

  /// Puts the function into `*function`; what lacks is remembered.
  template <typename Function>
  void Find(const char* name, Function** function) {
    *function = reinterpret_cast<Function*>(Symbol(name));
  }
  /// OK when all were found. Impossible: "libcuda.so.1 lacks cuFoo: ..., install a newer driver".
  Status Complete(const char* oldest) const;

 private:
  DriverLibrary(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}
  void* Symbol(const char* name);

  std::string name_;
  void* handle_;
  std::string lacks_;
};

}  // namespace mycel
