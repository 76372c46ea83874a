#include "scheduler/bfb/step_cost.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/lower/depths.h"

namespace mycel {
namespace {

/// Units over each link in each step.
class UnitsByStep {
 public:
  UnitsByStep(const Schedule& schedule, const Topology& topology) : schedule_(schedule), topology_(topology) {}

  void Add(const TreeEdge& edge, int32_t step, int64_t units) {
    if (units_.size() < static_cast<size_t>(step)) units_.resize(static_cast<size_t>(step));
    std::vector<int64_t>& of_step = units_[static_cast<size_t>(step) - 1];
    if (of_step.empty()) of_step.resize(topology_.links().size());
    const auto add = [&](NodeId source, NodeId target) {
      const LinkId link = topology_.FindLink(source, target);
      MYCEL_CHECK(link.valid());  // a planner's routes exist
      of_step[link.index()] += units;
    };
    if (edge.route < 0) return add(topology_.NodeOf(edge.source), topology_.NodeOf(edge.target));
    const Route& route = schedule_.routes[static_cast<size_t>(edge.route)];
    for (size_t i = 0; i + 1 < route.size(); ++i) add(route[i], route[i + 1]);
  }

  StatusOr<StepCost> Cost() const {
    // allreduce counts in shards of its only block.
    const int64_t shards = schedule_.collective == Collective::kAllReduce ? schedule_.rank_count : 1;
    StepCost cost;
    for (const std::vector<int64_t>& of_step : units_) {
      Rational busiest;
      for (size_t i = 0; i < of_step.size(); ++i) {
        if (of_step[i] == 0) continue;
        MYCEL_ASSIGN_OR_RETURN(const Rational blocks,
                               Rational::TryMake(int128{of_step[i]} * shards, schedule_.units_per_block));
        const Rational& bandwidth = topology_.links()[i].bandwidth;
        MYCEL_ASSIGN_OR_RETURN(const Rational ns, Rational::TryMultiply(blocks, Rational(1) / bandwidth));
        busiest = std::max(busiest, ns);
      }
      cost.loads.push_back(busiest);
      MYCEL_ASSIGN_OR_RETURN(cost.inv_x, Rational::TryAdd(cost.inv_x, busiest));
    }
    return cost;
  }

 private:
  const Schedule& schedule_;
  const Topology& topology_;
  std::vector<std::vector<int64_t>> units_;  // by step, then link; empty: nothing
};

}  // namespace

StatusOr<StepCost> StepCostOf(const Schedule& schedule, const Topology& topology) {
  lower::Depths depths;
  int32_t height = 0;
  for (const Tree& tree : schedule.trees) {
    if (tree.stage != 0 || !schedule.block_units.empty()) {
      return InvalidArgument("schedule of '" + schedule.planner + "' has stages; steps are counted in trees without");
    }
    MYCEL_RETURN_IF_ERROR(lower::MeasureTree(tree, schedule.rank_count, &depths));
    height = std::max(height, depths.height);
  }
  UnitsByStep units(schedule, topology);
  for (const Tree& tree : schedule.trees) {
    MYCEL_RETURN_IF_ERROR(lower::MeasureTree(tree, schedule.rank_count, &depths));
    for (const TreeEdge& edge : tree.up)
      units.Add(edge, height - depths.up[edge.source.index()] + 1, tree.chunk.units());
    for (const TreeEdge& edge : tree.down)
      units.Add(edge, height + depths.down[edge.target.index()], tree.chunk.units());
  }
  return units.Cost();
}

}  // namespace mycel
