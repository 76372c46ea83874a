// The one table of measured and assumed costs. Recalibrate here; the chooser's tests fix expectations, not numbers.
#include "scheduler/select/cost_model.h"

#include <algorithm>
#include <cstdio>

namespace mycel {

CostModel HostCostModel(int32_t rank_count, int32_t cores) {
  CostModel model;
  model.device = CostModel::Device::kHost;
  model.rank_count = rank_count;
  model.cores = std::max(1, cores);
  model.alpha_us = 0.12;  // a cache line changes its owner: flag and small payload
  model.op_us = 0.18;     // readiness checks, flag stores, and the line of the released word
  model.switch_us = 1.5;  // sched_yield to a rank that has work, with its cold caches
  model.copy_cache_GBps = 20;
  model.reduce_cache_GBps = 15;
  model.copy_memory_GBps = 9;  // 11 alone, 9 with both cores busy
  model.reduce_memory_GBps = 7;
  model.fan_out = 0.6;                 // one read is shared, the write is not
  model.direct_us = 1.0;               // process_vm_readv
  model.cache_bytes = 16 << 20;        // last level cache that a guest can count on
  model.slot_cache_bytes = 512 << 10;  // half of a second level cache; user data need the rest
  model.slot_spill = 1.25;
  return model;
}

CostModel FabricCostModel() {
  CostModel model;
  model.device = CostModel::Device::kFabric;
  model.op_us = 0.5;              // flag over the link and a barrier of the thread block
  model.lane_GBps = 40;           // one thread block, load/store
  model.channel_bytes = 4 << 20;  // device memory is not scarce
  return model;
}

CostModel NetworkCostModel() {
  CostModel model;
  model.device = CostModel::Device::kFabric;
  model.crowd = 1.5;    // TCP: 0.62 of what the interfaces pass, staged exchanges 0.97
  model.op_us = 4;      // the engine sends a slot, and the kernel takes it to the wire
  model.lane_GBps = 3;  // a core copies into a ring and out of one
  model.lanes_share_core = true;
  return model;
}

std::string Fingerprint(const CostModel& model) {
  // Every field, so that a new one stops the compiler here.
  const auto& [device, channel_bytes, op_us, allow_direct, rank_count, cores, alpha_us, switch_us, copy_cache,
               reduce_cache, copy_memory, reduce_memory, fan_out, direct_us, cache_bytes, slot_cache_bytes, slot_spill,
               crowd, lane, free] = model;
  std::string text = device == CostModel::Device::kHost ? "host" : "fabric";
  for (const int64_t number : {channel_bytes, int64_t{allow_direct}, int64_t{rank_count}, int64_t{cores}, cache_bytes,
                               slot_cache_bytes, int64_t{free}}) {
    text += " " + std::to_string(number);
  }
  for (const double number : {op_us, alpha_us, switch_us, copy_cache, reduce_cache, copy_memory, reduce_memory, fan_out,
                              direct_us, slot_spill, crowd, lane}) {
    char digits[32];
    std::snprintf(digits, sizeof digits, " %a", number);
    text += digits;
  }
  return text;
}

}  // namespace mycel
