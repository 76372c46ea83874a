// What each physical link carries: every message's units along its route, summed exactly.
#include <string>
#include <vector>

#include "core/base/int128.h"
#include "core/plan/structure.h"
#include "core/plan/verify.h"

namespace mycel {
namespace {

class LoadCounter {
 public:
  LoadCounter(const Plan& plan, const Topology& topology) : plan_(plan), topology_(topology) {}

  StatusOr<LinkLoads> Run() {
    if (plan_.rank_count != topology_.rank_count()) {
      return InvalidArgument("the plan has " + std::to_string(plan_.rank_count) + " ranks, topology " +
                             topology_.name() + " has " + std::to_string(topology_.rank_count()) +
                             "; give the topology the plan was made for");
    }
    units_.assign(topology_.links().size(), 0);
    MYCEL_RETURN_IF_ERROR(ResolveRoutes());
    MYCEL_RETURN_IF_ERROR(CountOps());
    return Sum();
  }

 private:
  Status ResolveRoutes();
  Status CountOps();
  Status Count(const Op& op, const Operand& operand);
  StatusOr<LinkLoads> Sum() const;
  std::string NameOf(NodeId node) const { return "'" + topology_.node(node).id + "'"; }

  const Plan& plan_;
  const Topology& topology_;
  std::vector<std::vector<LinkId>> route_links_;
  std::vector<int128> units_;  // of each link
};

Status LoadCounter::ResolveRoutes() {
  for (size_t i = 0; i < plan_.routes.size(); ++i) {
    const Route& route = plan_.routes[i];
    const std::string name = "route " + std::to_string(i);
    std::vector<LinkId>& links = route_links_.emplace_back();
    for (size_t hop = 0; hop < route.size(); ++hop) {
      if (route[hop].value() >= topology_.node_count()) {
        return InvalidArgument(name + ": topology " + topology_.name() + " has no node number " +
                               std::to_string(route[hop].value()) + "; give the topology the plan was made for");
      }
      const bool is_end = hop == 0 || hop + 1 == route.size();
      const bool is_rank = topology_.node(route[hop]).type == NodeType::kRank;
      if (is_rank != is_end) {
        return InvalidArgument(name + (is_rank ? " passes through rank node " : " ends at switch ") +
                               NameOf(route[hop]) + "; routes join two ranks through switches only");
      }
      if (hop == 0) continue;
      const LinkId link = topology_.FindLink(route[hop - 1], route[hop]);
      if (!link.valid()) {
        return InvalidArgument(name + ": topology " + topology_.name() + " has no link " + NameOf(route[hop - 1]) +
                               " -> " + NameOf(route[hop]));
      }
      links.push_back(link);
    }
  }
  return OkStatus();
}

Status LoadCounter::CountOps() {
  for (const RankPlan& rank : plan_.ranks) {
    for (const Lane& lane : rank.lanes) {
      for (const Op& op : lane.ops) {
        for (int32_t i = 0; i < op.outputs; ++i) {
          const Operand& operand = plan_.OutputsOf(op)[i];
          if (operand.kind == Operand::Kind::kChannel) MYCEL_RETURN_IF_ERROR(Count(op, operand));
        }
      }
    }
  }
  return OkStatus();
}

Status LoadCounter::Count(const Op& op, const Operand& operand) {
  const Channel& channel = plan_.channels[static_cast<size_t>(operand.index)];
  const NodeId source = topology_.NodeOf(channel.source);
  const NodeId target = topology_.NodeOf(channel.target);
  if (operand.route < 0) {
    const LinkId link = topology_.FindLink(source, target);
    if (!link.valid()) {
      return InvalidArgument(DescribeChannel(plan_, ChannelId(operand.index)) + " has no route, and topology " +
                             topology_.name() + " has no direct link " + NameOf(source) + " -> " + NameOf(target));
    }
    units_[link.index()] += op.chunk.units();
    return OkStatus();
  }
  const Route& route = plan_.routes[static_cast<size_t>(operand.route)];
  if (route.front() != source || route.back() != target) {
    return InvalidArgument("route " + std::to_string(operand.route) + " joins " + NameOf(route.front()) + " to " +
                           NameOf(route.back()) + ", but is used for " +
                           DescribeChannel(plan_, ChannelId(operand.index)));
  }
  for (const LinkId link : route_links_[static_cast<size_t>(operand.route)]) {
    units_[link.index()] += op.chunk.units();
  }
  return OkStatus();
}

StatusOr<LinkLoads> LoadCounter::Sum() const {
  LinkLoads loads;
  Rational busiest;
  const int64_t units_per_block = plan_.block_units.empty() ? plan_.units_per_block : 1;
  for (size_t i = 0; i < units_.size(); ++i) {
    const LinkId link(static_cast<int64_t>(i));
    MYCEL_ASSIGN_OR_RETURN(const Rational blocks, Rational::TryMake(units_[i], units_per_block));
    loads.blocks.push_back(blocks);
    const Rational& bandwidth = topology_.link(link).bandwidth;
    // ns until the link has carried its units, were each a byte. Links are compared so, since a block's share of a unit
    // over the bandwidth may leave 64 bits on links that do not matter.
    MYCEL_ASSIGN_OR_RETURN(const Rational per_numerator, Rational::TryMake(units_[i], bandwidth.numerator()));
    MYCEL_ASSIGN_OR_RETURN(const Rational time, Rational::TryMultiply(per_numerator, bandwidth.denominator()));
    if (loads.bottleneck.valid() && time <= busiest) continue;
    busiest = time;
    loads.bottleneck = link;
  }
  MYCEL_ASSIGN_OR_RETURN(loads.inv_x, Rational::TryMultiply(busiest, Rational(1, units_per_block)));
  return loads;
}

}  // namespace

StatusOr<LinkLoads> ComputeLinkLoads(const Plan& plan, const Topology& topology) {
  MYCEL_RETURN_IF_ERROR(CheckStructure(plan));
  return LoadCounter(plan, topology).Run();
}

}  // namespace mycel
