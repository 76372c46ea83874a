// UCX, loaded when the first communicator needs it: a job on one server never pays for it, and a machine without it
// misses only the network. The functions keep their names: `ucx.ucp_init(...)`.
#pragma once

#include <ucp/api/ucp.h>

#include <string>

#include "core/base/status.h"

namespace mycel {

// X(name): every function of libucp that we call.
#define MYCEL_UCP_FUNCTIONS(X)  \
  X(ucp_am_recv_data_nbx)       \
  X(ucp_am_send_nbx)            \
  X(ucp_cleanup)                \
  X(ucp_config_modify)          \
  X(ucp_config_read)            \
  X(ucp_config_release)         \
  X(ucp_ep_close_nbx)           \
  X(ucp_ep_create)              \
  X(ucp_get_version)            \
  X(ucp_init_version)           \
  X(ucp_request_check_status)   \
  X(ucp_request_free)           \
  X(ucp_worker_arm)             \
  X(ucp_worker_create)          \
  X(ucp_worker_destroy)         \
  X(ucp_worker_get_address)     \
  X(ucp_worker_get_efd)         \
  X(ucp_worker_progress)        \
  X(ucp_worker_release_address) \
  X(ucp_worker_set_am_recv_handler)

/// The functions of the loaded library.
struct UcxLibrary {
#define MYCEL_UCP_MEMBER(name) decltype(&::name) name = nullptr;
  MYCEL_UCP_FUNCTIONS(MYCEL_UCP_MEMBER)
#undef MYCEL_UCP_MEMBER
  decltype(&::ucs_status_string) ucs_status_string = nullptr;

  /// "UCX 1.13.1"
  std::string version;
};

/// Loads libucp.so.0 at the first call; any thread. SystemError names what is missing and the cure. The library stays
/// loaded until the process ends. Switches off, unless the user's environment says otherwise, what UCX does to a whole
/// process: signal handlers, its own messages on standard error, its monitoring thread.
StatusOr<const UcxLibrary*> LoadUcx();

}  // namespace mycel
