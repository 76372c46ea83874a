#include "core/plan/plan.h"

#include <algorithm>

#include "core/base/check.h"

namespace mycel {

std::string_view NameOf(Protocol protocol) {
  switch (protocol) {
    case Protocol::kInline:
      return "inline";
    case Protocol::kSlot:
      return "slot";
    case Protocol::kDirect:
      return "direct";
  }
  return "?";
}

StatusOr<Protocol> ParseProtocol(std::string_view name) {
  for (Protocol protocol : {Protocol::kInline, Protocol::kSlot, Protocol::kDirect}) {
    if (NameOf(protocol) == name) return protocol;
  }
  return InvalidArgument("unknown protocol '" + std::string(name) + "'; use one of: inline slot direct");
}

/// Where the channel stands in the table, or the free place where it belongs: linear probing.
size_t PlanBuilder::PlaceOf(Rank source, Rank target, int32_t index) const {
  const auto ends = static_cast<uint64_t>(source.value()) << 32 | static_cast<uint32_t>(target.value());
  uint64_t hash = (ends ^ static_cast<uint64_t>(index) << 24) * 0x9e3779b97f4a7c15U;
  hash ^= hash >> 32;
  const size_t mask = table_.size() - 1;
  for (size_t place = hash & mask;; place = (place + 1) & mask) {
    if (table_[place] < 0) return place;
    const Channel& known = plan_->channels[static_cast<size_t>(table_[place])];
    if (known.source == source && known.target == target && known.index == index) return place;
  }
}

void PlanBuilder::Grow() {
  constexpr size_t kLeast = 64;
  table_.assign(std::max(kLeast, 2 * table_.size()), -1);
  for (size_t c = 0; c < plan_->channels.size(); ++c) {
    const Channel& channel = plan_->channels[c];
    table_[PlaceOf(channel.source, channel.target, channel.index)] = static_cast<int32_t>(c);
  }
}

ChannelId PlanBuilder::ChannelFor(Rank source, Rank target, int32_t index) {
  while (2 * (plan_->channels.size() + 1) > table_.size()) Grow();
  int32_t& place = table_[PlaceOf(source, target, index)];
  if (place < 0) {
    place = static_cast<int32_t>(plan_->channels.size());
    plan_->channels.push_back({source, target, index});
  }
  return ChannelId(place);
}

Op& PlanBuilder::Add(Rank rank, LaneId lane, const Chunk& chunk, const std::vector<Operand>& inputs,
                     const std::vector<Operand>& outputs, int32_t skew) {
  MYCEL_CHECK(!inputs.empty() && !outputs.empty());
  auto& lanes = plan_->ranks[rank.index()].lanes;
  if (lanes.size() <= lane.index()) lanes.resize(lane.index() + 1);
  Op op;
  op.chunk = chunk;
  op.operands = static_cast<int32_t>(plan_->operands.size());
  op.inputs = static_cast<int32_t>(inputs.size());
  op.outputs = static_cast<int32_t>(outputs.size());
  op.skew = skew;
  plan_->operands.insert(plan_->operands.end(), inputs.begin(), inputs.end());
  plan_->operands.insert(plan_->operands.end(), outputs.begin(), outputs.end());
  lanes[lane.index()].ops.push_back(op);
  return lanes[lane.index()].ops.back();
}

int32_t PlanBuilder::AddScratch(Rank rank, const Chunk& chunk) {
  auto& cells = plan_->ranks[rank.index()].scratch;
  cells.push_back({chunk});
  return static_cast<int32_t>(cells.size() - 1);
}

}  // namespace mycel
