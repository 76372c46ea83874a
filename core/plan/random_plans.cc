#include "core/plan/random_plans.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/plan/contract.h"

namespace mycel {
namespace {

Operand Send() { return {Operand::Kind::kSend, -1, -1}; }
Operand Recv() { return {Operand::Kind::kRecv, -1, -1}; }

class Grower {
 public:
  Grower(Rng& rng, int32_t ranks_max, bool own_channels) : rng_(rng), own_channels_(own_channels) {
    constexpr Collective kChoices[] = {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllReduce,
                                       Collective::kBroadcast, Collective::kReduce};
    plan_.collective = kChoices[rng.Below(std::size(kChoices))];
    plan_.rank_count = static_cast<int32_t>(rng.Between(1, ranks_max));
    if (InfoOf(plan_.collective).rooted) plan_.root = AnyRank();
    plan_.units_per_block = rng.Between(1, 6);
    plan_.planner = "random";
    plan_.protocol = static_cast<Protocol>(rng.Below(3));
    plan_.slice_bytes = 64 * rng.Between(1, 4);
    plan_.slot_count = static_cast<int32_t>(rng.Between(1, 8));
    plan_.ranks.resize(static_cast<size_t>(plan_.rank_count));
    lanes_ = static_cast<int32_t>(rng.Between(1, 3));
  }

  Plan Grow() {
    const Contract contract{plan_.collective, plan_.rank_count, plan_.root};
    for (int32_t block = 0; block < contract.BlockCount(); ++block) {
      for (int64_t begin = 0; begin < plan_.units_per_block;) {
        const int64_t end = rng_.Between(begin + 1, plan_.units_per_block);
        GrowTree({block, begin, end}, RootOf(block), static_cast<int32_t>(rng_.Below(static_cast<uint64_t>(lanes_))));
        begin = end;
      }
    }
    return std::move(plan_);
  }

 private:
  Rank AnyRank() { return Rank(static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(plan_.rank_count)))); }
  Rank RootOf(int32_t block) {
    if (plan_.root.valid()) return plan_.root;
    return plan_.collective == Collective::kAllReduce ? AnyRank() : Rank(block);
  }
  Operand To(Rank source, Rank target, int32_t lane) {
    const int32_t index = own_channels_ ? tree_ : lane;
    return {Operand::Kind::kChannel, builder_.ChannelFor(source, target, index).value(), -1};
  }

  /// Ranks are joined to the tree in random order, each to any that is in it already.
  void GrowTree(const Chunk& chunk, Rank root, int32_t lane) {
    ++tree_;
    joined_ = {root};
    parent_.assign(static_cast<size_t>(plan_.rank_count), Rank());
    std::vector<Rank> others;
    for (Rank rank : Ids<Rank>(plan_.rank_count)) {
      if (rank != root) others.push_back(rank);
    }
    rng_.Shuffle(others);
    for (Rank rank : others) {
      parent_[rank.index()] = joined_[rng_.Below(joined_.size())];
      joined_.push_back(rank);
    }
    const CollectiveInfo& info = InfoOf(plan_.collective);
    if (info.reduces) AddUp(chunk, lane);
    if (!info.reduces || plan_.collective == Collective::kAllReduce) AddDown(chunk, lane, info.reduces);
  }

  std::vector<Rank> ChildrenOf(Rank rank) const {
    std::vector<Rank> children;
    for (Rank child : joined_) {
      if (parent_[child.index()] == rank) children.push_back(child);
    }
    return children;
  }

  /// Children before parents; the root's result goes to its receive buffer and, in an allreduce, down again.
  void AddUp(const Chunk& chunk, int32_t lane) {
    for (auto at = joined_.rbegin(); at != joined_.rend(); ++at) {
      const Rank rank = *at;
      std::vector<Operand> inputs = {Send()};
      for (Rank child : ChildrenOf(rank)) inputs.push_back(To(child, rank, lane));
      const bool is_root = !parent_[rank.index()].valid();
      std::vector<Operand> outputs = {is_root ? Recv() : To(rank, parent_[rank.index()], lane)};
      if (!is_root && plan_.protocol == Protocol::kDirect && inputs.size() > 1) {
        outputs.insert(outputs.begin(), {Operand::Kind::kScratch, builder_.AddScratch(rank, chunk), -1});
      }
      if (is_root && plan_.collective == Collective::kAllReduce) AppendChildren(rank, lane, outputs);
      builder_.Add(rank, LaneId(lane), chunk, inputs, outputs, 0).finish = is_root;
    }
  }

  void AddDown(const Chunk& chunk, int32_t lane, bool root_is_done) {
    for (Rank rank : joined_) {
      const bool is_root = !parent_[rank.index()].valid();
      if (is_root && root_is_done) continue;
      std::vector<Operand> outputs = {Recv()};
      AppendChildren(rank, lane, outputs);
      builder_.Add(rank, LaneId(lane), chunk, {is_root ? Send() : To(parent_[rank.index()], rank, lane)}, outputs, 0);
    }
  }

  void AppendChildren(Rank rank, int32_t lane, std::vector<Operand>& outputs) {
    for (Rank child : ChildrenOf(rank)) outputs.push_back(To(rank, child, lane));
  }

  Rng& rng_;
  Plan plan_;
  PlanBuilder builder_{&plan_};
  const bool own_channels_;
  int32_t lanes_ = 1;
  int32_t tree_ = 0;
  std::vector<Rank> joined_;  // of the tree at hand, root first
  std::vector<Rank> parent_;
};

}  // namespace

Plan RandomTreePlan(Rng& rng, int32_t ranks_max) { return Grower(rng, ranks_max, false).Grow(); }

Plan ShuffledTreePlan(Rng& rng, int32_t ranks_max) {
  Plan plan = Grower(rng, ranks_max, true).Grow();
  const int64_t skew_max = rng.Between(0, 3);
  for (RankPlan& rank : plan.ranks) {
    for (Lane& lane : rank.lanes) {
      for (uint64_t swaps = rng.Below(3); swaps > 0 && lane.ops.size() > 1; --swaps) {
        const size_t at = rng.Below(lane.ops.size() - 1);
        std::swap(lane.ops[at], lane.ops[at + 1]);
      }
      for (Op& op : lane.ops) op.skew = static_cast<int32_t>(rng.Between(0, skew_max));
    }
  }
  return plan;
}

}  // namespace mycel
