#include "core/plan/verify.h"

#include "core/plan/structure.h"
#include "core/plan/verify/contributors.h"
#include "core/plan/verify/deadlock.h"
#include "core/plan/verify/firing_order.h"
#include "core/plan/verify/flat_plan.h"
#include "core/plan/verify/happens_before.h"
#include "core/plan/verify/messages.h"
#include "core/plan/verify/symbolic.h"

namespace mycel {

// Each phase leans on the ones before it: the numbers below are plan.h's invariants.
Status Verify(const Plan& plan, const VerifyOptions& options) {
  MYCEL_RETURN_IF_ERROR(CheckStructure(plan));  // what each op says is possible at all
  const verify::FlatPlan flat(plan);
  MYCEL_ASSIGN_OR_RETURN(const verify::Messages messages, verify::MatchMessages(flat));  // 4
  MYCEL_RETURN_IF_ERROR(verify::CheckNoDeadlock(flat, messages));                        // 3
  const std::vector<int32_t> firing_order = verify::FiringOrder(flat, messages);
  const verify::BlockBorders borders(flat);
  verify::ContributorSets sets(plan.rank_count);
  verify::HappensBefore order(flat, messages);
  MYCEL_RETURN_IF_ERROR(verify::RunSymbolically(flat, messages, borders, firing_order, false, sets, order));  // 1, 2, 5
  // Collectives whose blocks differ in size have no in-place form.
  if (!options.in_place || IsVariable(plan.collective)) return OkStatus();
  return verify::RunSymbolically(flat, messages, borders, firing_order, true, sets, order);
}

}  // namespace mycel
