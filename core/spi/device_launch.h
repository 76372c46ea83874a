// DeviceLaunch: a program bound to buffers, a count and channels, as a GPU kernel takes it: what Launch (launch.h) is
// for the host's loop, in flat arrays. Plain data; passed BY VALUE as the kernel's only parameter, so that a launch
// reads nothing over the bus before it begins and a captured graph keeps its own copy.
//
//   entry      DeviceEntryName(type): "mycel_run_float", ...; "mycel_run_bytes" for a program without arithmetic
//   grid       blocks <= lanes: block b runs lanes b, b + blocks, ..., turn by turn. All blocks must be resident at the
//              same time: they wait for each other and for other ranks
//   block      a multiple of 64 threads, at most kDeviceBlockThreads: all of them where bandwidth counts, 64 for
//   messages
//              of a few KiB, whose time is barriers; no dynamic shared memory
//   on a CPU   RunDeviceBlockOnHost (kernels/device/run_on_host.h) is the same source, one call a block
//   memory     everything that is pointed to is reachable by the device: its own memory, or mapped pinned host memory
//
// What outlives a launch lies in the device's memory and is never reset or copied by the host: the channels' ends, the
// lanes' counts of runs and the instructions' counts of slices. They are zero when the program is first put there. So a
// launch, and each replay of a captured one, needs nothing from the host but a place in the stream's order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/plan/type_codes.h"
#include "core/spi/bound.h"
#include "core/spi/channel.h"

namespace mycel {

inline constexpr int kDeviceBlockThreads = 512;

/// The kernel that runs programs of this type; `combines`: whether any instruction has several inputs or finishes an
/// average (of one input). Without, plain bytes are moved, whatever the type.
constexpr const char* DeviceEntryName(DataType type, bool combines) {
  if (!combines) return "mycel_run_bytes";
  switch (type) {
#define MYCEL_TYPE(e, value, name, bytes, storage, kind) \
  case DataType::e:                                      \
    return "mycel_run_" name;
#include "core/plan/types.def"
  }
  return nullptr;
}

enum class DeviceFault : uint32_t {
  kNone = 0,
  kAborted = 1,      // the abort word was set while the lane waited for `channel` (-1: for another lane)
  kMismatch = 2,     // the message on `channel` carries `signature`, of another operation
  kUnmapped = 3,     // kDirect: the message on `channel` refers to memory of the peer that is not mapped here
  kWrongKernel = 4,  // the launch is not for this kernel (DeviceEntryName): nothing of it has run
};

/// The first fault of a launch. In pinned host memory, zeroed by the host before the launch. Writer: the thread that
/// sets DeviceLaunch::claimed; reader: the host, which looks at `code` with acquire order, or after the launch.
struct alignas(64) DeviceReport {
  uint32_t code;  // DeviceFault; a release store publishes the fields below
  int32_t lane;
  int32_t channel;     // index into DeviceLaunch::channels, or -1
  int32_t peer;        // the channel's, or -1
  uint32_t signature;  // kMismatch: of the message that does not belong
  uint64_t step;       // of the channel
  uint32_t receives;   // kAborted: 1: waited for a message; 0: for room, or until what was sent has been read
};
static_assert(sizeof(DeviceReport) == 64 && std::is_trivially_copyable_v<DeviceReport>);

/// Progress of one lane, in the device's memory; zero at first. Writer: the block that runs the lane; blocks whose
/// lanes come after it read `runs`.
struct alignas(64) DeviceLaneState {
  uint64_t runs;      // launches that this lane has completed
  int64_t iteration;  // within the launch
  int32_t pc;
  int32_t done;  // 1: the body is done, what was sent is still being read (kDirect)
};
static_assert(sizeof(DeviceLaneState) == 64 && std::is_trivially_copyable_v<DeviceLaneState>);

/// kDirect across address spaces: [address, address + bytes) of the channel's source is mapped here `shift` higher.
struct PeerRange {
  uint64_t address;
  uint64_t bytes;
  int64_t shift;
};

struct DeviceLaunch {
  // The bound program: BoundProgram's arrays. Lengths other than the lanes' follow from the lanes.
  const BoundLane* lanes;
  const BoundInstruction* instructions;
  const BoundOperand* operands;
  const BoundWait* waits;
  ChannelEnd* const* channels;   // by local channel number; the ends live in the device's memory
  DeviceLaneState* lane_states;  // one per lane
  uint64_t* finished;            // slices done, per instruction, over all launches; may be null without waits
  std::byte* bases[4];           // by OperandBase: send, recv, scratch, 0
  // kDirect: channel c of a peer in another address space finds its memory in ranges [first[c], first[c + 1]). Null:
  // every peer's address is valid here (ranks of one process with peer access).
  const PeerRange* peer_ranges;
  const int32_t* peer_ranges_first;
  const uint32_t* abort;  // pinned host memory; polled while a lane waits, non-zero ends the kernel; may be null
  DeviceReport* report;   // pinned host memory
  uint32_t* claimed;      // the device's memory, zero at first: set by the first thread that has something to report
  // A launch of the same kernel to be run when all lanes of this one are done, in memory that the device reaches; null:
  // none. The grid has no more blocks than any of them has lanes.
  const DeviceLaunch* next;
  int64_t slice_bytes;
  uint64_t geometry;  // GeometryOf(slice_bytes, slot_count)
  int32_t lane_count;
  int32_t slot_count;
  int32_t rank_count;
  uint32_t signature;
  uint32_t element_bytes;
  Protocol protocol;
  DataType type;
  ReduceOp op;       // kPreMulSum: as kSum; kUser: not here
  uint8_t combines;  // 1: what DeviceEntryName was asked with
};
static_assert(sizeof(DeviceLaunch) <= 256 && std::is_trivially_copyable_v<DeviceLaunch>);

/// What ScaleElements (kernels/host/apply.h) does, as kernel "mycel_scale": grid: any number of blocks of
/// kDeviceBlockThreads threads. Passed by value as the only parameter.
struct DeviceScale {
  const void* input;
  void* output;  // may be `input`
  uint64_t count;
  uint64_t factor;        // the element's bytes, first byte first, if `factor_at` is null
  const void* factor_at;  // memory that the device reaches
  DataType type;
};
static_assert(std::is_trivially_copyable_v<DeviceScale>);

}  // namespace mycel
