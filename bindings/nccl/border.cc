#include "bindings/nccl/border.h"

#include <cstdarg>
#include <cstdio>
#include <utility>

namespace mycel::nccl {
namespace {

struct Refusal {
  bool told = false;
  char text[512] = {};
};

/// Nothing but plain numbers: reading them costs one load, and no destructor runs late.
constinit thread_local Refusal t_refusal;
constinit thread_local Refusal t_group_refusal;  // the first one of the open group
constinit thread_local ncclResult_t t_group_result = ncclSuccess;
constinit thread_local int t_depth = 0;

}  // namespace

ncclResult_t Refuse(ncclResult_t result, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(t_refusal.text, sizeof(t_refusal.text), format, arguments);
  va_end(arguments);
  t_refusal.told = true;
  if (t_depth > 0 && t_group_result == ncclSuccess) {
    t_group_refusal = t_refusal;
    t_group_result = result;
  }
  return result;
}

ncclResult_t NotSupported(const char* function, const char* cure) {
  return Refuse(ncclInvalidUsage, "not supported by Mycel: %s: %s", function, cure);
}

const char* RefusalText() { return t_refusal.told ? t_refusal.text : nullptr; }

void ForgetRefusal() { t_refusal.told = false; }

void EnterGroup() { ++t_depth; }

ncclResult_t LeaveGroup() {
  if (t_depth > 0) --t_depth;
  if (t_depth > 0 || t_group_result == ncclSuccess) return ncclSuccess;
  t_refusal = t_group_refusal;
  return std::exchange(t_group_result, ncclSuccess);
}

}  // namespace mycel::nccl
