// CostModel: what one step costs on the device that will run the plan. Numbers only; estimate.h does the sums.
#pragma once

#include <cstdint>
#include <string>

namespace mycel {

struct CostModel {
  /// kHost: ranks are processes that share cores and memory, so work counts. kFabric: ranks are devices, links count.
  enum class Device : uint8_t { kHost, kFabric };
  Device device = Device::kFabric;
  int64_t channel_bytes = 512 * 1024;  // payload of a channel's ring
  double op_us = 0;                    // one op on one slice, besides its bytes
  bool allow_direct = false;           // the transport reads a peer's memory (Protocol::kDirect)

  // kHost
  int32_t rank_count = 0;
  int32_t cores = 1;
  double alpha_us = 0;           // publish -> seen, one hop
  double switch_us = 0;          // the kernel passes a core to the next rank
  double copy_cache_GBps = 0;    // payload of a copy, source and target in cache
  double reduce_cache_GBps = 0;  // payload of each further input of a reduction
  double copy_memory_GBps = 0;
  double reduce_memory_GBps = 0;
  double fan_out = 0;            // cost of each further output of an op, as a share of a copy
  double direct_us = 0;          // system call that reads a peer's memory, per slice
  int64_t cache_bytes = 0;       // user buffers of all ranks up to this stay in cache
  int64_t slot_cache_bytes = 0;  // rings of one rank up to this stay in its core's own cache
  double slot_spill = 1;         // what larger rings multiply the cost of a byte by

  // kFabric
  // Between servers, what an exchange in which all ranks send to all at once takes of the time that its links need:
  // flows that share an interface do not share it evenly.
  double crowd = 1;
  double lane_GBps = 0;  // what one lane (thread block) moves
  // A rank's lanes are queues of one core, not thread blocks: more of them are no faster and cost nothing. Of an
  // allreduce's shapes that come to the same the one with most lanes is taken, so that a slice on its way up holds up
  // none on its way down.
  bool lanes_share_core = false;
};

/// `rank_count` local processes on `cores` cores.
CostModel HostCostModel(int32_t rank_count, int32_t cores);
/// Devices joined by the links of the topology.
CostModel FabricCostModel();

/// Host ranks of several servers: links count, and each message costs a core far more than a device.
CostModel NetworkCostModel();

/// All numbers of `model` as text, without loss: models whose texts are equal choose equally.
std::string Fingerprint(const CostModel& model);

}  // namespace mycel
