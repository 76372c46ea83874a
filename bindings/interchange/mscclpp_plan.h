// An MSCCL++ execution plan as plain data, as far as Mycel reads and writes it.
//
// Model (MSCCL++'s executor)
//  * A rank has thread blocks; each runs its ops in order, once for the whole message. Memory is cut into chunks:
//  input,
//    output, scratch. Blocks reach other ranks' memory directly, and order what they do there by tokens: `signal` puts
//    one into a channel, `wait` at the other end takes one.
//  * A rank lists its memory channels and, apart, its port channels, each with a peer. The k-th channel to a peer is
//    joined to that peer's k-th channel of the same type back.
//  * A rank lists the remote buffers it touches; blocks name channels and buffers by their place in lists of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/interchange/notes.h"
#include "core/base/status.h"
#include "core/plan/collective.h"

namespace mycel::mscclpp {

enum class OpType : uint8_t {
  kNop,
  kBarrier,
  kCopy,
  kPut,
  kPutSignal,
  kPutSignalFlush,
  kGet,
  kSignal,
  kWait,
  kRelaxedSignal,
  kRelaxedWait,
  kFlush,
  kReduce,
  kReduceSend,
  kReadReduce,
  kReadReduceSend,
  kSemAcquire,
  kSemRelease
};

/// A row of the table of ops that Mycel understands.
struct OpInfo {
  std::string_view name;        // "rres"
  int local_sources = 0;        // least number; kReduce takes more
  bool more_local = false;      // further local sources
  bool remote_sources = false;  // at least one
  bool local_target = false;
  bool remote_targets = false;  // at least one
  bool channels = false;        // signals or waits on them
};
const OpInfo& InfoOf(OpType type);
/// InvalidArgument, starting "is ...", listing the names; Impossible for an op of MSCCL++ that Mycel does not know.
StatusOr<OpType> ParseOpType(std::string_view name);

enum class ChannelType : uint8_t { kMemory, kPort };
enum class Buffer : uint8_t { kInput, kOutput, kScratch };
std::string_view NameOf(ChannelType type);  // "memory"
std::string_view NameOf(Buffer buffer);     // "i"

/// Chunks [index, index + size) of a local buffer, or of a remote one (then `remote` indexes Gpu::remote_buffers).
struct Span {
  Buffer buffer = Buffer::kInput;
  int32_t remote = -1;
  int32_t index = 0;
  int32_t size = 0;
};

struct Op {
  OpType type = OpType::kNop;
  std::vector<Span> sources;
  std::vector<Span> targets;
  ChannelType channel_type = ChannelType::kMemory;
  std::vector<int32_t> channels;  // of Gpu::channels of the type
  int32_t barrier = -1;
  int32_t barrier_blocks = 0;
  std::vector<int32_t> semaphores;
  int32_t route = -1;  // of PlanNotes::routes; kPut
  int32_t line = 0;
};

struct Block {
  std::vector<Op> ops;
};

struct RemoteBuffer {
  int32_t rank = 0;
  Buffer buffer = Buffer::kInput;
  friend bool operator==(const RemoteBuffer&, const RemoteBuffer&) = default;
};

struct Gpu {
  int32_t input_chunks = 0;
  int32_t output_chunks = 0;
  int32_t scratch_chunks = 0;
  std::vector<int32_t> channels[2];  // peers, by ChannelType
  std::vector<RemoteBuffer> remote_buffers;
  std::vector<int32_t> semaphores;  // tokens at the start
  std::vector<Block> blocks;
};

struct ExecutionPlan {
  std::string file;  // for messages
  std::string name;
  Collective collective = Collective::kAllReduce;
  bool is_ll = false;  // protocol
  bool in_place = false;
  std::vector<Gpu> gpus;
  PlanNotes notes;

  int32_t rank_count() const { return static_cast<int32_t>(gpus.size()); }
};

// The executor's limits.
inline constexpr int32_t kOpsPerBlockMax = 64;
inline constexpr int32_t kChannelsPerBlockMax = 16;
inline constexpr int32_t kChannelsPerOpMax = 8;
inline constexpr int32_t kSemaphoresMax = 16;
inline constexpr int32_t kChunksMax = 1 << 20;  // of a buffer; more is taken for a mistake

/// Chunks of one block (contract.h), from the larger user buffer of `gpu`; 0 where the numbers do not fit.
int32_t ChunksPerBlock(Collective collective, const Gpu& gpu, int32_t rank_count);

}  // namespace mycel::mscclpp
