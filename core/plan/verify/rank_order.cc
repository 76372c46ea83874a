// Reproducible plans: what a plan must be so that the bits of a reduction depend on the ranks' values alone.
//
// An op accumulates its inputs in their order and rounds once. So the bits of an element are decided by the tree of ops
// that its contributions went through, and by the order in each. There is one tree that every size, slicing and planner
// can agree on: a single op whose inputs are the ranks' own data, by rank. Chains would give the same bits for float32
// and float64, but not for the short types, which are rounded at every hop.
#include <algorithm>
#include <string>

#include "core/plan/structure.h"
#include "core/plan/verify.h"
#include "core/plan/verify/flat_plan.h"
#include "core/plan/verify/messages.h"

namespace mycel {
namespace {

/// Whose own data a message is, perhaps passed on by others; invalid when it is something else: a partial sum, or data
/// that lay in memory on its way.
Rank OriginOf(const verify::FlatPlan& flat, const verify::Messages& messages, int32_t message) {
  // No way is longer than all ops, unless messages go round in circles, which Verify refuses.
  for (int32_t hops = 0; hops < flat.op_count(); ++hops) {
    const int32_t op = messages.producer[static_cast<size_t>(message)];
    if (flat.op(op).inputs != 1) return Rank();
    const Operand& operand = flat.plan.InputsOf(flat.op(op))[0];
    if (operand.kind == Operand::Kind::kSend) return flat.RankOf(op);
    if (operand.kind != Operand::Kind::kChannel) return Rank();
    message = messages.read[static_cast<size_t>(messages.read_first[static_cast<size_t>(op)])];
  }
  return Rank();
}

std::string NameOf(Rank rank) {
  return rank.valid() ? "the data of rank " + std::to_string(rank.value()) : std::string("no rank's own data");
}

}  // namespace

bool ReducesInRankOrder(const Schedule& schedule) {
  if (!InfoOf(schedule.collective).reduces) return true;
  return std::all_of(schedule.trees.begin(), schedule.trees.end(), [](const Tree& tree) {
    return std::all_of(tree.up.begin(), tree.up.end(),
                       [&tree](const TreeEdge& edge) { return edge.target == tree.root; });
  });
}

Status CheckRankOrder(const Plan& plan) {
  if (!InfoOf(plan.collective).reduces) return OkStatus();
  MYCEL_RETURN_IF_ERROR(CheckStructure(plan));
  const verify::FlatPlan flat(plan);
  MYCEL_ASSIGN_OR_RETURN(const verify::Messages messages, verify::MatchMessages(flat));
  for (int32_t op = 0; op < flat.op_count(); ++op) {
    const Op& it = flat.op(op);
    if (it.inputs == 1 && !it.finish) continue;  // moves data
    if (it.inputs != plan.rank_count) {
      return Impossible("the plan of planner '" + plan.planner + "' is not reproducible: " + flat.Describe(op) +
                        " combines " + std::to_string(it.inputs) + " of " + std::to_string(plan.rank_count) +
                        " contributions, so the bits depend on how they are grouped");
    }
    int32_t next_message = messages.read_first[static_cast<size_t>(op)];
    for (int32_t input = 0; input < it.inputs; ++input) {
      const Operand& operand = plan.operands[static_cast<size_t>(it.operands + input)];
      Rank origin;
      if (operand.kind == Operand::Kind::kSend) origin = flat.RankOf(op);
      if (operand.kind == Operand::Kind::kChannel) {
        origin = OriginOf(flat, messages, messages.read[static_cast<size_t>(next_message++)]);
      }
      if (origin == Rank(input)) continue;
      return Impossible("the plan of planner '" + plan.planner + "' is not reproducible: input " +
                        std::to_string(input) + " of " + flat.Describe(op) + " is " + NameOf(origin) +
                        ", not that of rank " + std::to_string(input));
    }
  }
  return OkStatus();
}

}  // namespace mycel
