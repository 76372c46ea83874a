// An MSCCL algorithm file as plain data: thread blocks of steps, as the XML says them.
//
// Model (the runtimes': microsoft/msccl and RCCL's msccl)
//  * A user buffer is cut into equal chunks; `chunk_count` (nchunksperloop) is that of the larger one. A step moves
//    `count` consecutive chunks from a place (buffer, offset) to another.
//  * Each rank has thread blocks; a block runs its steps in order, once for every tile of a chunk. It owns at most one
//    connection it sends on and one it receives from. The connection a -> b on channel c joins the block of a with
//    send = b, chan = c to the block of b with recv = a, chan = c; its k-th send meets its k-th receive.
//  * A connection holds a few messages (FifoSlotsOf); a block whose send finds it full waits.
//  * A step may wait until a step of another block of the same rank is done (dep); that step must say `has_dependents`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/interchange/notes.h"
#include "core/base/status.h"
#include "core/plan/collective.h"

namespace mycel::msccl {

enum class Proto : uint8_t { kSimple, kLl, kLl128 };
enum class Buffer : uint8_t { kInput, kOutput, kScratch };

/// What a step does; see StepInfo for the letters.
enum class StepType : uint8_t {
  kSend,
  kRecv,
  kCopy,
  kReduce,
  kRecvCopySend,
  kRecvReduceCopy,
  kRecvReduceSend,
  kRecvReduceCopySend,
  kNop
};

/// A row of the table of step types.
struct StepInfo {
  std::string_view name;   // "rrcs"
  bool receives = false;   // takes the next message of the block's receiving connection
  bool sends = false;      // puts its result on the block's sending connection
  bool reads = false;      // reads its source place
  bool writes = false;     // stores its result at its destination place
  bool reads_too = false;  // and reads the destination first: dst = dst + src
};
const StepInfo& InfoOf(StepType type);
/// InvalidArgument, starting "is ...", listing the names.
StatusOr<StepType> ParseStepType(std::string_view name);

struct Place {
  Buffer buffer = Buffer::kInput;
  int32_t offset = -1;  // chunk; -1 where the step does not look at it
  friend bool operator==(const Place&, const Place&) = default;
};

struct Step {
  StepType type = StepType::kNop;
  Place source;
  Place target;
  int32_t count = 0;
  int32_t dep_block = -1;  // -1: waits for nobody
  int32_t dep_step = -1;
  bool has_dependents = false;
  int32_t route = -1;  // of PlanNotes::routes; steps that send
  int32_t line = 0;    // of the file; 0: none
};

struct Block {
  int32_t send = -1;  // peer, -1: none
  int32_t recv = -1;
  int32_t channel = 0;
  std::vector<Step> steps;
  int32_t line = 0;
};

struct Gpu {
  int32_t input_chunks = 0;
  int32_t output_chunks = 0;
  int32_t scratch_chunks = 0;
  std::vector<Block> blocks;
  int32_t line = 0;
};

struct Algorithm {
  std::string file;  // for messages
  std::string name;
  Proto proto = Proto::kSimple;
  Collective collective = Collective::kAllReduce;
  int32_t channel_count = 1;
  int32_t chunk_count = 1;
  bool in_place = true;      // may serve calls in place
  bool out_of_place = true;  // and out of place
  int64_t min_bytes = 0;
  int64_t max_bytes = 0;  // 0: no limit
  std::vector<Gpu> gpus;
  PlanNotes notes;

  int32_t rank_count() const { return static_cast<int32_t>(gpus.size()); }
};

std::string_view NameOf(Proto proto);
/// "i", "o", "s".
std::string_view NameOf(Buffer buffer);
/// Messages that a connection holds: two of Simple's, whose chunks take four of NCCL's eight steps; eight of LL's.
int32_t FifoSlotsOf(Proto proto);
/// Whether MSCCL has the collective and we read and write it: allgather, reduce_scatter, allreduce, alltoall.
bool Serves(Collective collective);
/// Chunks of one block (contract.h): chunk_count, divided by the ranks where the larger buffer has a block for each.
int32_t ChunksPerBlock(Collective collective, int32_t chunk_count, int32_t rank_count);

/// What the two runtimes allow, and how they spell.
struct Limits {
  std::string_view runtime;  // "msccl", "rccl"
  int32_t steps_per_block = 0;
  int32_t blocks_per_gpu = 0;
  int32_t blocks_per_channel = 0;
  int32_t channels = 0;
  std::string_view reduce_scatter;  // the name of that collective
  int64_t max_bytes = 0;            // written as "no limit"
};
/// All runtimes that a file can be written for; the first is the default.
const std::vector<Limits>& AllLimits();
inline constexpr int32_t kCountMax = 71;         // chunks that one step moves
inline constexpr int32_t kOffsetMax = 32767;     // chunk offsets are 16 bits wide in the runtimes
inline constexpr int32_t kScratchMax = 1 << 20;  // chunks; more is taken for a mistake

/// "gpu 2 tb 3 step 4", as the file numbers them.
std::string DescribeStep(int32_t rank, size_t block, size_t step);

}  // namespace mycel::msccl
