#include "transport/ucx/ucx_library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace mycel {
namespace {

StatusOr<UcxLibrary> Load() {
  // Read by UCX, some while it is loaded; there is no other way to say so. What the user has set stays.
  static constexpr const char* kWishes[][2] = {
      {"UCX_ERROR_SIGNALS", ""},         // a library does not take its host's signals
      {"UCX_LOG_LEVEL", "fatal"},        // what fails is told by our own error texts
      {"UCX_TCP_RX_SEG_SIZE", "272k"},   // a slice is one piece: neither cut up here nor put together there
      {"UCX_VFS_ENABLE", "n"},           // neither a thread nor a socket before there is a communicator
      {"UCX_WARN_UNUSED_ENV_VARS", "n"}  //
  };
  for (const auto& [name, value] : kWishes) setenv(name, value, 0);

  void* ucp = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
  void* ucs = ucp == nullptr ? nullptr : dlopen("libucs.so.0", RTLD_NOW | RTLD_LOCAL);
  if (ucs == nullptr) {
    return SystemError(std::string("ranks of other servers are reached through UCX, which cannot be loaded: ") +
                       dlerror() + "; install it (apt-get install libucx0) on every server");
  }
  UcxLibrary library;
  const char* missing = nullptr;
  const auto find = [&](void* from, const char* name) {
    void* found = dlsym(from, name);
    if (found == nullptr) missing = name;
    return found;
  };
#define MYCEL_UCP_FIND(name) library.name = reinterpret_cast<decltype(&::name)>(find(ucp, #name));
  MYCEL_UCP_FUNCTIONS(MYCEL_UCP_FIND)
#undef MYCEL_UCP_FIND
  library.ucs_status_string = reinterpret_cast<decltype(&::ucs_status_string)>(find(ucs, "ucs_status_string"));
  if (missing != nullptr) {
    return SystemError(std::string("the UCX found here lacks ") + missing +
                       ": Mycel needs version 1.10 or later; update libucx0 on every server");
  }
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  library.ucp_get_version(&major, &minor, &release);
  library.version = "UCX " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
  return library;
}

}  // namespace

StatusOr<const UcxLibrary*> LoadUcx() {
  static const StatusOr<UcxLibrary>* const loaded = new StatusOr<UcxLibrary>(Load());
  if (!loaded->ok()) return MakeStatus(loaded->status().code(), StatusMessage(loaded->status()));
  return &**loaded;
}

}  // namespace mycel
