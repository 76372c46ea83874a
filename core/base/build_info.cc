#include "core/base/build_info.h"

#include "mycel_config.h"

namespace mycel {
namespace {

constexpr BuildFeature kFeatures[] = {
#define MYCEL_FEATURE(name, found, version, purpose) BuildFeature{name, found != 0, version, purpose},
    MYCEL_FEATURE_TABLE
#undef MYCEL_FEATURE
};

constexpr BuildInfo kInfo = {MYCEL_VERSION_TEXT, MYCEL_GIT_COMMIT, MYCEL_BUILD_TYPE,
                             MYCEL_COMPILER,     MYCEL_SANITIZERS, kFeatures};

}  // namespace

const BuildInfo& GetBuildInfo() { return kInfo; }

}  // namespace mycel
