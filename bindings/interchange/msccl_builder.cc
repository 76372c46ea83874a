#include "bindings/interchange/msccl_builder.h"

#include <algorithm>

#include "core/base/check.h"

namespace mycel::msccl {
namespace {

size_t U(int64_t value) { return static_cast<size_t>(value); }

/// known[block], where blocks that came later count as unknown.
int32_t KnownOf(const std::vector<int32_t>& known, int32_t block) {
  return U(block) < known.size() ? known[U(block)] : 0;
}

void Join(const std::vector<int32_t>& other, std::vector<int32_t>* known) {
  if (known->size() < other.size()) known->resize(other.size(), 0);
  for (size_t i = 0; i < other.size(); ++i) (*known)[i] = std::max((*known)[i], other[i]);
}

}  // namespace

int32_t RankBuilder::AddBlock(int32_t send, int32_t recv, int32_t channel) {
  Block block;
  block.send = send;
  block.recv = recv;
  block.channel = channel;
  gpu_->blocks.push_back(std::move(block));
  known_.emplace_back();
  known_at_.emplace_back();
  return static_cast<int32_t>(gpu_->blocks.size()) - 1;
}

int32_t RankBuilder::AddScratch(int32_t count) {
  const int32_t first = gpu_->scratch_chunks;
  gpu_->scratch_chunks += count;
  return first;
}

RankBuilder::Touches& RankBuilder::At(const Place& place, int32_t chunk) {
  const int64_t offset = int64_t{place.offset} + chunk;
  switch (place.buffer) {
    case Buffer::kScratch:
      return memory_[{true, offset}];
    case Buffer::kInput:
      return memory_[{false, offset}];
    case Buffer::kOutput:
      return memory_[{false, offset + shift_}];
  }
  return memory_[{true, offset}];
}

/// Notes in `needed` (steps to wait for, by block) that `step` must be over.
void RankBuilder::Need(int32_t block, const StepId& step, std::vector<int32_t>* needed) const {
  if (step.block < 0 || step.block == block) return;
  if (KnownOf(known_[U(block)], step.block) > step.step) return;
  if (needed->size() <= U(step.block)) needed->resize(U(step.block) + 1, 0);
  (*needed)[U(step.block)] = std::max((*needed)[U(step.block)], step.step + 1);
}

void RankBuilder::Add(int32_t block, Step step) {
  const StepInfo& info = InfoOf(step.type);
  std::vector<int32_t> needed;
  // Run in place, such a copy changes nothing, so readers of the source need not be over.
  const bool onto_itself = step.type == StepType::kCopy && &At(step.source, 0) == &At(step.target, 0);
  for (int32_t chunk = 0; chunk < step.count; ++chunk) {
    if (info.reads) Need(block, At(step.source, chunk).writer, &needed);
    if (!info.writes) continue;
    const Touches& touches = At(step.target, chunk);
    Need(block, touches.writer, &needed);
    if (onto_itself) continue;
    for (const StepId& reader : touches.readers) Need(block, reader, &needed);
  }
  // Leave out what another needed step already knows to be over.
  std::vector<StepId> deps;
  for (size_t b = 0; b < needed.size(); ++b) {
    if (needed[b] == 0) continue;
    bool implied = false;
    for (size_t other = 0; other < needed.size() && !implied; ++other) {
      if (other == b || needed[other] == 0) continue;
      implied = KnownOf(known_at_[other][U(needed[other] - 1)], static_cast<int32_t>(b)) >= needed[b];
    }
    if (!implied) deps.push_back({static_cast<int32_t>(b), needed[b] - 1});
  }
  std::vector<Step>& steps = gpu_->blocks[U(block)].steps;
  const auto append = [&](const Step& next) {
    if (next.dep_block >= 0) {
      gpu_->blocks[U(next.dep_block)].steps[U(next.dep_step)].has_dependents = true;
      Join(known_at_[U(next.dep_block)][U(next.dep_step)], &known_[U(block)]);
    }
    steps.push_back(next);
    if (known_[U(block)].size() <= U(block)) known_[U(block)].resize(U(block) + 1, 0);
    known_[U(block)][U(block)] = static_cast<int32_t>(steps.size());
    known_at_[U(block)].push_back(known_[U(block)]);
  };
  for (size_t i = 0; i < deps.size(); ++i) {
    Step next = step;
    if (i + 1 < deps.size()) next = Step{};
    next.dep_block = deps[i].block;
    next.dep_step = deps[i].step;
    append(next);
  }
  if (deps.empty()) append(step);
  const StepId me{block, static_cast<int32_t>(steps.size()) - 1};
  for (int32_t chunk = 0; chunk < step.count; ++chunk) {
    if (info.reads) At(step.source, chunk).readers.push_back(me);
    if (!info.writes) continue;
    Touches& touches = At(step.target, chunk);
    touches.writer = me;
    if (!onto_itself) touches.readers.clear();
  }
}

void RankBuilder::DropEmptyBlocks() {
  std::vector<int32_t> number;
  std::vector<Block> kept;
  for (Block& block : gpu_->blocks) {
    number.push_back(block.steps.empty() ? -1 : static_cast<int32_t>(kept.size()));
    if (!block.steps.empty()) kept.push_back(std::move(block));
  }
  for (Block& block : kept) {
    for (Step& step : block.steps) {
      if (step.dep_block >= 0) step.dep_block = number[U(step.dep_block)];
    }
  }
  gpu_->blocks = std::move(kept);
}

}  // namespace mycel::msccl
