#include "core/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace mycel {

void CheckFailed(const char* file, int line, const char* expression, const std::string& values) {
  std::fprintf(stderr, "mycel: %s:%d: check failed: %s%s\n", file, line, expression, values.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace mycel
