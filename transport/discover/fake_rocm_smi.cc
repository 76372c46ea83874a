// ROCm SMI as it would answer for three GPUs: four links between 0 and 1, one between 1 and 2, and none straight from 0
// to 2; for gpu_libraries_test.
#include <algorithm>
#include <cstdio>

#include "transport/discover/vendor_abi.h"

#pragma GCC visibility push(default)
extern "C" {

int rsmi_init(uint64_t /*flags*/) { return 0; }
int rsmi_shut_down() { return 0; }
int rsmi_num_monitor_devices(uint32_t* count) {
  *count = 3;
  return 0;
}
int rsmi_dev_pci_id_get(uint32_t device, uint64_t* id) {
  *id = uint64_t{1} << 32 | uint64_t{0xc1 + device} << 8 | uint64_t{2} << 3 | 1;
  return 0;
}
int rsmi_dev_name_get(uint32_t /*device*/, char* name, size_t length) {
  std::snprintf(name, length, "AMD Instinct MI250X");
  return 0;
}
int rsmi_topo_get_link_type(uint32_t /*source*/, uint32_t /*target*/, uint64_t* hops, int* type) {
  *hops = 1;
  *type = mycel::rocm_smi::kLinkXgmi;
  return 0;
}
int rsmi_topo_get_link_weight(uint32_t /*source*/, uint32_t /*target*/, uint64_t* weight) {
  *weight = 15;
  return 0;
}
int rsmi_minmax_bandwidth_get(uint32_t source, uint32_t target, uint64_t* least, uint64_t* most) {
  const uint32_t low = std::min(source, target);
  const uint32_t high = std::max(source, target);
  *least = high - low == 1 ? 50'000 : 0;
  *most = low == 0 && high == 1 ? 200'000 : *least;
  return 0;
}

}  // extern "C"
#pragma GCC visibility pop
