#include "kernels/gpu/program_image.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "core/base/check.h"

namespace mycel {
namespace {

template <typename T>
size_t Place(const std::vector<T>& array, size_t* at) {
  const size_t begin = (*at + 63) / 64 * 64;
  *at = begin + std::as_bytes(std::span(array)).size();
  return begin;
}

template <typename T>
void Write(const std::vector<T>& array, std::byte* target) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(array));
  if (!bytes.empty()) std::memcpy(target, bytes.data(), bytes.size());
}

}  // namespace

ImageLayout LayoutOf(const BoundProgram& program) {
  ImageLayout layout;
  size_t at = 0;
  layout.lanes = Place(program.lanes, &at);
  layout.instructions = Place(program.instructions, &at);
  layout.operands = Place(program.operands, &at);
  layout.waits = Place(program.waits, &at);
  layout.channels = Place(program.channels, &at);
  layout.lane_states = (at + 63) / 64 * 64;
  at = layout.lane_states + program.lanes.size() * sizeof(DeviceLaneState);
  layout.finished = at;
  if (!program.waits.empty()) at += program.instructions.size() * sizeof(uint64_t);
  layout.bytes = (at + 63) / 64 * 64;
  return layout;
}

void WriteImage(const BoundProgram& program, const ImageLayout& layout, const std::vector<ChannelEnd*>& ends,
                std::byte* target) {
  MYCEL_CHECK_EQ(ends.size(), program.channels.size());
  Write(program.lanes, target + layout.lanes);
  Write(program.instructions, target + layout.instructions);
  Write(program.operands, target + layout.operands);
  Write(program.waits, target + layout.waits);
  Write(ends, target + layout.channels);
  std::memset(target + layout.lane_states, 0, layout.bytes - layout.lane_states);
}

ImageFacts FactsOf(const BoundProgram& program) {
  ImageFacts facts;
  facts.lanes = static_cast<int32_t>(program.lanes.size());
  for (const BoundInstruction& instruction : program.instructions) {
    facts.combines |= instruction.inputs > 1 || instruction.finish != 0;
    facts.elements_max = std::max(facts.elements_max, instruction.elements);
  }
  return facts;
}

void PointInto(std::byte* base, const ImageLayout& layout, const BoundProgram& program, DeviceLaunch* launch) {
  launch->lanes = reinterpret_cast<const BoundLane*>(base + layout.lanes);
  launch->instructions = reinterpret_cast<const BoundInstruction*>(base + layout.instructions);
  launch->operands = reinterpret_cast<const BoundOperand*>(base + layout.operands);
  launch->waits = reinterpret_cast<const BoundWait*>(base + layout.waits);
  launch->channels = reinterpret_cast<ChannelEnd* const*>(base + layout.channels);
  launch->lane_states = reinterpret_cast<DeviceLaneState*>(base + layout.lane_states);
  launch->finished = program.waits.empty() ? nullptr : reinterpret_cast<uint64_t*>(base + layout.finished);
}

}  // namespace mycel
