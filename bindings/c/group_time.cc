#include "bindings/c/group_time.h"

#include "core/plan/collective.h"
#include "core/runtime/plan_bytes.h"

namespace mycel {

StatusOr<double> TimeUsOf(const CollectiveCall& call, int32_t rank_count, const Lineage& lineage) {
  if (call.vector != nullptr || call.barrier || call.count == 0 || rank_count == 1) return 0.0;
  const CollectiveInfo& info = InfoOf(call.collective);
  // As the communicator asks for the plan, but for the size, which it rounds up.
  PlanRequest request;
  request.collective = call.collective;
  request.root = Rank(call.root);
  request.bytes = PlanBytes(call, rank_count);
  request.planner.clear();
  request.lanes = 0;
  request.lanes_min = 0;
  bool reproducible = lineage.reproducible;
  if (const CallSettings* settings = call.settings; settings != nullptr) {
    request.planner = settings->planner;
    request.lanes = settings->lanes_max;
    request.lanes_min = settings->lanes_min;
    reproducible = settings->reproducible.value_or(reproducible);
  }
  request.reproducible = info.reduces && (reproducible || NeedsRankOrder(call));
  return lineage.time(request);
}

}  // namespace mycel
