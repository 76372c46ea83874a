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

ChannelId PlanBuilder::ChannelFor(Rank source, Rank target, int32_t index) {
  if (by_source_.size() < static_cast<size_t>(plan_->rank_count)) {
    by_source_.resize(static_cast<size_t>(plan_->rank_count));
  }
  const int64_t key = (static_cast<int64_t>(target.value()) << 32) | index;
  auto& known = by_source_[source.index()];
  auto at = std::lower_bound(known.begin(), known.end(), key, [](const auto& a, int64_t k) { return a.first < k; });
  if (at != known.end() && at->first == key) return at->second;
  const ChannelId id(static_cast<int64_t>(plan_->channels.size()));
  plan_->channels.push_back({source, target, index});
  known.insert(at, {key, id});
  return id;
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
