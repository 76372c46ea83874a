// ncclConfig_t of any version, read and checked.
#pragma once

#include "bindings/c/mycel.h"
#include "bindings/nccl/nccl.h"

namespace mycel::nccl {

/// What Mycel makes of an ncclConfig_t. Must stay where it is while `value` is used: it points into it.
struct Config {
  mycelConfig_t value = MYCEL_CONFIG_INITIALIZER;
  char name[64] = {};  // commName, cut to what mycelConfig_t takes

  Config() = default;
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;
};

/// `config` may be null: nothing is set. What its version did not have is not set either. InvalidArgument names the
/// field, its value and what is allowed; `function` begins the text.
ncclResult_t ReadConfig(const ncclConfig_t* config, const char* function, Config* read);

}  // namespace mycel::nccl
