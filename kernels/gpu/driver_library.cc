#include "kernels/gpu/driver_library.h"

#include <dlfcn.h>

namespace mycel {

StatusOr<DriverLibrary> DriverLibrary::Load(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return DriverLibrary(name, handle);
  const char* why = dlerror();
  return Impossible(name + " cannot be loaded: " + (why == nullptr ? "the loader says nothing" : why));
}

bool DriverLibrary::IsLoaded(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  dlclose(handle);
  return true;
}

void* DriverLibrary::Symbol(const char* name) {
  void* symbol = dlsym(handle_, name);
  if (symbol == nullptr) lacks_ += (lacks_.empty() ? "" : ", ") + std::string(name);
  return symbol;
}

Status DriverLibrary::Complete(const char* oldest) const {
  if (lacks_.empty()) return OkStatus();
  return Impossible(name_ + " lacks " + lacks_ + ": install the driver of " + oldest + " or a newer one");
}

}  // namespace mycel
