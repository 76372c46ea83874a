#include "scheduler/sim/model.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"

namespace mycel::sim {
namespace {

using Kind = Operand::Kind;

/// Numbers the ways as ops name them: one for each route, one for each link taken alone.
class WayTable {
 public:
  WayTable(const Plan& plan, const Topology& topology, Ways* ways)
      : plan_(plan),
        topology_(topology),
        ways_(*ways),
        of_route_(plan.routes.size(), -1),
        of_link_(topology.links().size(), -1) {
    ways_.first = {0};
  }

  StatusOr<int32_t> WayOf(const Operand& output) {
    const Channel& channel = plan_.channels[static_cast<size_t>(output.index)];
    if (output.route < 0) {
      const LinkId link = topology_.FindLink(topology_.NodeOf(channel.source), topology_.NodeOf(channel.target));
      if (!link.valid()) return NoRoute(channel);
      int32_t& way = of_link_[link.index()];
      if (way >= 0) return way;
      Append(link);
      return way = Finish();
    }
    int32_t& way = of_route_[static_cast<size_t>(output.route)];
    if (way >= 0) return way;
    const Route& route = plan_.routes[static_cast<size_t>(output.route)];
    for (size_t i = 0; i + 1 < route.size(); ++i) {
      const bool known = route[i].index() < topology_.nodes().size() && route[i + 1].index() < topology_.nodes().size();
      const LinkId link = known ? topology_.FindLink(route[i], route[i + 1]) : LinkId();
      if (!link.valid()) return NoRoute(channel);
      Append(link);
    }
    return way = Finish();
  }

 private:
  void Append(LinkId link) {
    ways_.links.push_back({link.value(), 1});
    latency_us_ += topology_.link(link).latency_us;
  }
  int32_t Finish() {
    ways_.first.push_back(static_cast<int32_t>(ways_.links.size()));
    ways_.latency_us.push_back(latency_us_);
    latency_us_ = 0;
    return static_cast<int32_t>(ways_.size()) - 1;
  }
  Status NoRoute(const Channel& channel) const {
    return InvalidArgument("the channel from rank " + std::to_string(channel.source.value()) + " to rank " +
                           std::to_string(channel.target.value()) + " has no route in topology '" + topology_.name() +
                           "'; simulate the plan on the topology it was made for ('" + plan_.topology + "')");
  }

  const Plan& plan_;
  const Topology& topology_;
  Ways& ways_;
  double latency_us_ = 0;
  std::vector<int32_t> of_route_;
  std::vector<int32_t> of_link_;
};

/// Adds the lanes of a plan one after the other.
class Flattener {
 public:
  Flattener(const Plan& plan, const PlanWays& ways, const RunShape& shape, Model* model)
      : plan_(plan), ways_(ways), shape_(shape), model_(*model) {}

  void AddAll() {
    int32_t first_actor = 0;  // of the rank
    for (size_t rank = 0; rank < plan_.ranks.size(); ++rank) {
      const std::vector<Lane>& lanes = plan_.ranks[rank].lanes;
      for (size_t lane = 0; lane < lanes.size(); ++lane) {
        ports_ = 0;
        model_.actors.push_back({static_cast<int32_t>(rank), static_cast<int32_t>(lane), Here(model_.ops)});
        for (const Op& op : lanes[lane].ops) AddOp(op, lane, first_actor);
      }
      first_actor += static_cast<int32_t>(lanes.size());
    }
    model_.actors.push_back({0, 0, Here(model_.ops)});
    Model::Op end;
    end.inputs = Here(model_.inputs);
    end.outputs = Here(model_.outputs);
    end.waits = Here(model_.waits);
    model_.ops.push_back(end);
  }

 private:
  struct End {
    int32_t distance;
    int32_t channel;
    int32_t operand;
  };

  template <typename T>
  static int32_t Here(const std::vector<T>& list) {
    return static_cast<int32_t>(list.size());
  }

  /// The channels among operands [begin, end), by how far to the right the other end is. The order of an op's operands
  /// means nothing here, and this one is the same on ranks that do the same with their neighbours.
  void ListChannels(int32_t begin, int32_t end, Rank Channel::*other_end) {
    const int32_t rank = model_.actors.back().rank;
    ends_.clear();
    for (int32_t i = begin; i < end; ++i) {
      const Operand& operand = plan_.operands[static_cast<size_t>(i)];
      if (operand.kind != Kind::kChannel) continue;
      const int32_t other = (plan_.channels[static_cast<size_t>(operand.index)].*other_end).value();
      ends_.push_back({(other - rank + plan_.rank_count) % plan_.rank_count, operand.index, i});
    }
    std::sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) {
      return a.distance != b.distance ? a.distance < b.distance : a.channel < b.channel;
    });
  }

  void AddOp(const Op& op, size_t lane, int32_t first_actor) {
    const auto actor = static_cast<int32_t>(model_.actors.size() - 1);
    Model::Op flat;
    flat.slicing = SlicesOf(shape_.ChunkBytesMax(plan_, op.chunk), shape_.slicing[lane]);
    flat.bytes = shape_.ChunkBytes(plan_, op.chunk);
    flat.skew = op.skew;
    flat.breadth = std::max(op.inputs, op.outputs);
    flat.inputs = Here(model_.inputs);
    flat.outputs = Here(model_.outputs);
    flat.waits = Here(model_.waits);
    ListChannels(op.operands, op.operands + op.inputs, &Channel::source);
    for (const auto& [distance, id, operand] : ends_) {
      Model::Channel& channel = model_.channels[static_cast<size_t>(id)];
      if (channel.target_port < 0) channel.target_port = ports_++;
      channel.target = actor;
      model_.inputs.push_back(id);
    }
    ListChannels(op.operands + op.inputs, op.operands + op.inputs + op.outputs, &Channel::target);
    for (const auto& [distance, id, operand] : ends_) {
      Model::Channel& channel = model_.channels[static_cast<size_t>(id)];
      const int32_t way = ways_.of_operand[static_cast<size_t>(operand)];
      if (channel.source_port < 0) {
        channel.source_port = ports_++;
        channel.back_us = ways_.ways.latency_us[static_cast<size_t>(way)];
      }
      channel.source = actor;
      model_.outputs.push_back({id, way});
    }
    for (int32_t i = 0; i < op.wait_count; ++i) {
      const Wait& wait = plan_.waits[static_cast<size_t>(op.waits + i)];
      model_.waits.push_back({first_actor + wait.lane.value(), wait.op});
    }
    model_.ops.push_back(flat);
  }

  const Plan& plan_;
  const PlanWays& ways_;
  const RunShape& shape_;
  Model& model_;
  std::vector<End> ends_;
  int32_t ports_ = 0;
};

}  // namespace

StatusOr<PlanWays> WaysOf(const Plan& plan, const Topology& topology) {
  if (plan.rank_count != topology.rank_count()) {
    return InvalidArgument("the plan has " + std::to_string(plan.rank_count) + " ranks, topology '" + topology.name() +
                           "' has " + std::to_string(topology.rank_count()));
  }
  PlanWays table;
  table.of_operand.assign(plan.operands.size(), -1);
  WayTable ways(plan, topology, &table.ways);
  for (const RankPlan& rank : plan.ranks) {
    for (const Lane& lane : rank.lanes) {
      for (const Op& op : lane.ops) {
        for (int32_t i = op.operands + op.inputs; i < op.operands + op.inputs + op.outputs; ++i) {
          const Operand& output = plan.operands[static_cast<size_t>(i)];
          if (output.kind != Kind::kChannel) continue;
          MYCEL_ASSIGN_OR_RETURN(table.of_operand[static_cast<size_t>(i)], ways.WayOf(output));
        }
      }
    }
  }
  return table;
}

Model MakeModel(const Plan& plan, const Topology& topology, const PlanWays& ways, const RunShape& shape) {
  Model model;
  model.slot_count = plan.slot_count;
  for (const Link& link : topology.links()) model.capacities.push_back(link.bandwidth.ToDouble() * 1e3);
  model.ways = ways.ways;
  model.channels.resize(plan.channels.size());
  for (size_t c = 0; c < plan.channels.size(); ++c) model.channel_of_plan.push_back(static_cast<int32_t>(c));
  Flattener(plan, ways, shape, &model).AddAll();
  ListWakes(&model);
  return model;
}

void ListWakes(Model* model) {
  std::vector<std::pair<int32_t, int32_t>> pairs;  // (waited for, waiting)
  for (int32_t a = 0; a < model->actor_count(); ++a) {
    const auto actor = static_cast<size_t>(a);
    const int32_t first = model->ops[static_cast<size_t>(model->actors[actor].ops)].waits;
    const int32_t last = model->ops[static_cast<size_t>(model->actors[actor + 1].ops)].waits;
    for (int32_t i = first; i < last; ++i) pairs.emplace_back(model->waits[static_cast<size_t>(i)].actor, a);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  model->wakes.clear();
  model->wakes_first.assign(static_cast<size_t>(model->actor_count()) + 1, 0);
  for (const auto& [awaited, waiting] : pairs) {
    model->wakes.push_back(waiting);
    ++model->wakes_first[static_cast<size_t>(awaited) + 1];
  }
  for (size_t a = 1; a < model->wakes_first.size(); ++a) model->wakes_first[a] += model->wakes_first[a - 1];
}

}  // namespace mycel::sim
