#include "bindings/interchange/mscclpp_plan.h"

#include <algorithm>
#include <array>

namespace mycel::mscclpp {
namespace {

// In the order of OpType:         name       srcs  more   remote  dst    remote channels
constexpr std::array<OpInfo, 18> kOps = {{
    {"nop", 0, false, false, false, false, false},
    {"barrier", 0, false, false, false, false, false},
    {"copy", 1, false, false, true, false, false},
    {"put", 1, false, false, false, true, false},
    {"pws", 1, false, false, false, true, true},
    {"pwsf", 1, false, false, false, true, true},
    {"get", 0, false, true, true, false, false},
    {"signal", 0, false, false, false, false, true},
    {"wait", 0, false, false, false, false, true},
    {"rlxsignal", 0, false, false, false, false, true},
    {"rlxwait", 0, false, false, false, false, true},
    {"flush", 0, false, false, false, false, false},
    {"re", 2, true, false, true, false, false},
    {"res", 2, true, false, true, true, false},
    {"rre", 1, false, true, true, false, false},
    {"rres", 1, false, true, true, true, false},
    {"sem_acquire", 0, false, false, false, false, false},
    {"sem_release", 0, false, false, false, false, false},
}};

constexpr std::string_view kOthers[] = {"ppkt",    "rppkt", "cpkt",  "upkt",   "repkt",     "recpkt",  "respkt",
                                        "recspkt", "glre",  "glres", "gstore", "gstorepkt", "pipeline"};

}  // namespace

const OpInfo& InfoOf(OpType type) { return kOps[static_cast<size_t>(type)]; }

StatusOr<OpType> ParseOpType(std::string_view name) {
  std::string names;
  for (size_t i = 0; i < kOps.size(); ++i) {
    if (kOps[i].name == name) return static_cast<OpType>(i);
    names += " " + std::string(kOps[i].name);
  }
  if (std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers)) {
    return Impossible(
        "is '" + std::string(name) +
        "': packets, multicast memory and pipelines of MSCCL++ have no like in Mycel's plans; it reads:" + names);
  }
  return InvalidArgument("is '" + std::string(name) + "'; use one of:" + names);
}

std::string_view NameOf(ChannelType type) { return type == ChannelType::kMemory ? "memory" : "port"; }

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

int32_t ChunksPerBlock(Collective collective, const Gpu& gpu, int32_t rank_count) {
  const int32_t larger = std::max(gpu.input_chunks, gpu.output_chunks);
  if (collective == Collective::kAllReduce) return larger;
  if (larger % rank_count != 0) return 0;
  // In place the smaller buffer may be all that is said.
  const bool gathers = collective == Collective::kAllGather;
  const bool scatters = collective == Collective::kReduceScatter;
  if (gathers && gpu.output_chunks == 0) return gpu.input_chunks;
  if (scatters && gpu.input_chunks == 0) return gpu.output_chunks;
  return larger / rank_count;
}

}  // namespace mycel::mscclpp
