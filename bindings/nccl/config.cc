#include "bindings/nccl/config.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "bindings/nccl/border.h"

namespace mycel::nccl {
namespace {

constexpr unsigned kMagic = 0xcafebeefU;
constexpr unsigned kFirstVersion = NCCL_VERSION(2, 14, 0);
constexpr size_t kSizeLeast = offsetof(ncclConfig_t, cgaClusterSize);
constexpr size_t kSizeMost = 4096;  // larger is no config of any version
constexpr int kAnyNumber = INT_MAX;

/// A whole number of the config: from when on it exists, and what it may be.
struct Field {
  const char* name;
  int ncclConfig_t::*place;
  unsigned since;
  int least;
  int most;
};
constexpr Field kFields[] = {
    {"blocking", &ncclConfig_t::blocking, NCCL_VERSION(2, 14, 0), 0, 1},
    {"cgaClusterSize", &ncclConfig_t::cgaClusterSize, NCCL_VERSION(2, 17, 0), 0, 8},
    {"minCTAs", &ncclConfig_t::minCTAs, NCCL_VERSION(2, 17, 0), 1, kAnyNumber},
    {"maxCTAs", &ncclConfig_t::maxCTAs, NCCL_VERSION(2, 17, 0), 1, kAnyNumber},
    {"splitShare", &ncclConfig_t::splitShare, NCCL_VERSION(2, 18, 0), 0, 1},
    {"trafficClass", &ncclConfig_t::trafficClass, NCCL_VERSION(2, 25, 0), 0, kAnyNumber},
    {"collnetEnable", &ncclConfig_t::collnetEnable, NCCL_VERSION(2, 27, 0), 0, 1},
    {"CTAPolicy", &ncclConfig_t::CTAPolicy, NCCL_VERSION(2, 27, 0), 0,
     NCCL_CTA_POLICY_EFFICIENCY | NCCL_CTA_POLICY_ZERO},
    {"shrinkShare", &ncclConfig_t::shrinkShare, NCCL_VERSION(2, 27, 0), 0, 1},
    {"nvlsCTAs", &ncclConfig_t::nvlsCTAs, NCCL_VERSION(2, 27, 0), 1, kAnyNumber},
    {"nChannelsPerNetPeer", &ncclConfig_t::nChannelsPerNetPeer, NCCL_VERSION(2, 28, 0), 1, kAnyNumber},
    {"nvlinkCentricSched", &ncclConfig_t::nvlinkCentricSched, NCCL_VERSION(2, 28, 0), 0, 1},
};

ncclResult_t CheckHeader(const ncclConfig_t& config, const char* function) {
  if (config.magic != kMagic) {
    return Refuse(ncclInvalidArgument, "%s: config is no ncclConfig_t (magic 0x%x); begin with NCCL_CONFIG_INITIALIZER",
                  function, config.magic);
  }
  if (config.size < kSizeLeast || config.size > kSizeMost) {
    return Refuse(ncclInvalidArgument, "%s: config->size is %zu, which no version of NCCL has; leave it as %s",
                  function, config.size, "NCCL_CONFIG_INITIALIZER sets it");
  }
  if (config.version < kFirstVersion) {
    return Refuse(ncclInvalidArgument, "%s: config->version is %u, and there were no configs before %u; leave it as %s",
                  function, config.version, kFirstVersion, "NCCL_CONFIG_INITIALIZER sets it");
  }
  return ncclSuccess;
}

}  // namespace

ncclResult_t ReadConfig(const ncclConfig_t* config, const char* function, Config* read) {
  if (config == nullptr) return ncclSuccess;
  if (const ncclResult_t result = CheckHeader(*config, function); result != ncclSuccess) return result;
  // A caller's struct may be shorter than ours, or longer; the bytes after its last field may be padding.
  ncclConfig_t known = NCCL_CONFIG_INITIALIZER;
  std::memcpy(&known, config, std::min(config->size, sizeof(known)));
  for (const Field& field : kFields) {
    int& value = known.*field.place;
    if (known.version < field.since) value = NCCL_CONFIG_UNDEF_INT;
    if (value == NCCL_CONFIG_UNDEF_INT || (value >= field.least && value <= field.most)) continue;
    if (field.most == kAnyNumber) {
      return Refuse(ncclInvalidArgument, "%s: config->%s is %d; it must be %d or more", function, field.name, value,
                    field.least);
    }
    return Refuse(ncclInvalidArgument, "%s: config->%s is %d; it must be in %d..%d", function, field.name, value,
                  field.least, field.most);
  }
  const bool both = known.minCTAs != NCCL_CONFIG_UNDEF_INT && known.maxCTAs != NCCL_CONFIG_UNDEF_INT;
  if (both && known.minCTAs > known.maxCTAs) {
    return Refuse(ncclInvalidArgument, "%s: config->minCTAs is %d, more than maxCTAs, which is %d", function,
                  known.minCTAs, known.maxCTAs);
  }
  read->value.blocking = known.blocking == NCCL_CONFIG_UNDEF_INT ? MYCEL_CONFIG_UNDEF_INT : known.blocking;
  if (known.version >= NCCL_VERSION(2, 27, 0) && known.commName != nullptr) {
    std::strncpy(read->name, known.commName, sizeof(read->name) - 1);
    read->value.commName = read->name;
  }
  return ncclSuccess;
}

}  // namespace mycel::nccl
