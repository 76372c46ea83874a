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

/// Finds out whose own data an op's input is.
class Origins {
 public:
  Origins(const verify::FlatPlan& flat, const verify::Messages& messages) : flat_(flat), messages_(messages) {}

  /// The rank whose send buffer input `input` of `op` is, perhaps passed on by others; invalid when it is something
  /// else: a partial sum, or data that lay in memory on its way.
  Rank Of(int32_t op, int32_t input) const {
    // A message's producer comes before its consumer, so this ends.
    while (true) {
      const Op& it = flat_.op(op);
      const Operand& operand = flat_.plan.InputsOf(it)[input];
      if (operand.kind == Operand::Kind::kSend) return flat_.RankOf(op);
      if (operand.kind != Operand::Kind::kChannel) return Rank();
      op = ProducerOf(op, input);
      if (flat_.op(op).inputs != 1) return Rank();
      input = 0;
    }
  }

 private:
  int32_t ProducerOf(int32_t op, int32_t input) const {
    const Operand* inputs = flat_.plan.InputsOf(flat_.op(op));
    int32_t message = messages_.read_first[static_cast<size_t>(op)];
    for (int32_t i = 0; i < input; ++i) message += inputs[i].kind == Operand::Kind::kChannel ? 1 : 0;
    return messages_.producer[static_cast<size_t>(messages_.read[static_cast<size_t>(message)])];
  }

  const verify::FlatPlan& flat_;
  const verify::Messages& messages_;
};

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
  const Origins origins(flat, messages);
  for (int32_t op = 0; op < flat.op_count(); ++op) {
    const Op& it = flat.op(op);
    if (it.inputs == 1 && !it.finish) continue;  // moves data
    if (it.inputs != plan.rank_count) {
      return Impossible("the plan of planner '" + plan.planner + "' is not reproducible: " + flat.Describe(op) +
                        " combines " + std::to_string(it.inputs) + " of " + std::to_string(plan.rank_count) +
                        " contributions, so the bits depend on how they are grouped");
    }
    for (int32_t input = 0; input < it.inputs; ++input) {
      const Rank origin = origins.Of(op, input);
      if (origin == Rank(input)) continue;
      return Impossible("the plan of planner '" + plan.planner + "' is not reproducible: input " +
                        std::to_string(input) + " of " + flat.Describe(op) + " is " + NameOf(origin) +
                        ", not that of rank " + std::to_string(input));
    }
  }
  return OkStatus();
}

}  // namespace mycel
