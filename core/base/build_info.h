// What this library was built from and with: for `mycel info`, for logs and for benchmark records.
#pragma once

#include <span>
#include <string_view>

namespace mycel {

/// A third-party package that the configure step looked for.
struct BuildFeature {
  std::string_view name;
  bool found;
  std::string_view version;  // empty when unknown
  std::string_view purpose;
};

struct BuildInfo {
  std::string_view version;     // "0.1.0"
  std::string_view commit;      // of the tree when it was configured, "-dirty" when it differed; or "unknown"
  std::string_view build_type;  // "Release"
  std::string_view compiler;    // "GNU 12.2.0"
  std::string_view sanitizers;  // as for -fsanitize=, empty for none
  std::span<const BuildFeature> features;
};

/// Constant; any thread.
const BuildInfo& GetBuildInfo();

}  // namespace mycel
