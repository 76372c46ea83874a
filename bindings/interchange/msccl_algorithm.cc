#include "bindings/interchange/msccl_algorithm.h"

#include <array>

namespace mycel::msccl {
namespace {

// In the order of StepType.       name    recvs  sends  reads  writes reads_too
constexpr std::array<StepInfo, 9> kSteps = {{
    {"s", false, true, true, false, false},
    {"r", true, false, false, true, false},
    {"cpy", false, false, true, true, false},
    {"re", false, false, true, true, true},
    {"rcs", true, true, false, true, false},
    {"rrc", true, false, true, true, false},
    {"rrs", true, true, true, false, false},
    {"rrcs", true, true, true, true, false},
    {"nop", false, false, false, false, false},
}};

}  // namespace

const StepInfo& InfoOf(StepType type) { return kSteps[static_cast<size_t>(type)]; }

StatusOr<StepType> ParseStepType(std::string_view name) {
  std::string names;
  for (size_t i = 0; i < kSteps.size(); ++i) {
    if (kSteps[i].name == name) return static_cast<StepType>(i);
    names += " " + std::string(kSteps[i].name);
  }
  return InvalidArgument("is '" + std::string(name) + "'; use one of:" + names);
}

std::string_view NameOf(Proto proto) {
  switch (proto) {
    case Proto::kSimple:
      return "Simple";
    case Proto::kLl:
      return "LL";
    case Proto::kLl128:
      return "LL128";
  }
  return "?";
}

std::string_view NameOf(Buffer buffer) {
  switch (buffer) {
    case Buffer::kInput:
      return "i";
    case Buffer::kOutput:
      return "o";
    case Buffer::kScratch:
      return "s";
  }
  return "?";
}

int32_t FifoSlotsOf(Proto proto) { return proto == Proto::kSimple ? 2 : 8; }

bool Serves(Collective collective) {
  switch (collective) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllReduce:
    case Collective::kAllToAll:
      return true;
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kAllToAllV:
      return false;
  }
  return false;
}

int32_t ChunksPerBlock(Collective collective, int32_t chunk_count, int32_t rank_count) {
  return collective == Collective::kAllReduce ? chunk_count : chunk_count / rank_count;
}

const std::vector<Limits>& AllLimits() {
  static const std::vector<Limits> limits = {
      {"msccl", 256, 216, 216, 32, "reduce_scatter", int64_t{1} << 40},
      {"rccl", 64, 64, 32, 32, "reducescatter", 0},
  };
  return limits;
}

std::string DescribeStep(int32_t rank, size_t block, size_t step) {
  return "gpu " + std::to_string(rank) + " tb " + std::to_string(block) + " step " + std::to_string(step);
}

}  // namespace mycel::msccl
