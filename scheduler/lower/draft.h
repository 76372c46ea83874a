// Draft: what lowering passes work on, between schedule and plan. Plain data, private to scheduler/lower.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/plan/contract.h"
#include "core/plan/plan.h"
#include "core/plan/schedule.h"
#include "core/topo/topology.h"
#include "scheduler/lower/depths.h"
#include "scheduler/lower/lower.h"

namespace mycel::lower {

/// A place in memory (`peer` invalid) or the channel from or to `peer`.
struct Port {
  Operand::Kind kind = Operand::Kind::kSend;
  Rank peer;
  int32_t route = -1;
  friend bool operator==(const Port&, const Port&) = default;
};

/// An op before it has channels: ports lie in Draft::ports, inputs then outputs.
struct DraftOp {
  Rank rank;
  int32_t lane = 0;
  int32_t tree = 0;  // breaks ties of order, equally on both sides of a channel
  int32_t phase = 0;
  int32_t lag = 0;   // slices that it is behind when pipelined
  int32_t turn = 0;  // order within the phase; see rotate.cc
  Chunk chunk;
  int32_t ports = 0;
  int32_t inputs = 0;
  int32_t outputs = 0;
  bool finish = false;
};

/// What the messages of all ops say together; no pass after "ops" changes who sends what in which phase.
struct MessageFacts {
  /// Per op: true when one of its channels carries another op of the same phase, so that only the tree number may
  /// decide their order.
  std::vector<bool> contested;
  /// Slots that rule out deadlock without and with skew; see slots.cc.
  int32_t slots_plain = 1;
  int32_t slots_skewed = 1;
};

/// Invariants once a pass has run: trees that touch the same bytes in place share a lane; `offset_of_tree` shifts all
/// phases of a tree alike, so that every message goes from one phase to the next.
struct Draft {
  Schedule schedule;
  Contract contract;
  std::vector<int32_t> lane_of_tree;
  std::vector<int32_t> offset_of_tree;
  std::vector<int32_t> group_of_tree;  // InPlaceGroups of the trees as they are, or empty; ask GroupsOf
  std::vector<DraftOp> ops;
  std::vector<Port> ports;
  std::optional<MessageFacts> messages;  // of the ops as they are; ask FactsOf
  int32_t lane_count = 1;
  bool pipelined = false;
  int32_t slot_count = 0;
  int64_t slice_bytes = 0;

  const Port* InputsOf(const DraftOp& op) const { return ports.data() + op.ports; }
  const Port* OutputsOf(const DraftOp& op) const { return ports.data() + op.ports + op.inputs; }
};

/// True when the rank's own data enters the tree: all ranks of a reducing collective's tree, else its root.
inline bool Contributes(const Draft& draft, Rank rank, int32_t block) {
  return draft.contract.SendPlace(rank, block) >= 0;
}
inline bool Wants(const Draft& draft, Rank rank, int32_t block) { return draft.contract.RecvPlace(rank, block) >= 0; }

/// Slices that a hop of a path lags behind the one before where stages overlap: with one, ranks wait for each other's
/// last slice in every round.
inline constexpr int32_t kStagedLag = 2;

/// From so many ranks on passes prefer what makes the ranks' parts of a plan alike, where it costs nothing: one then
/// stands for all in a simulation (sim/symmetry.h). Fewer are simulated whole soon enough.
inline constexpr int32_t kManyRanks = 65;

/// Hops that paths of overlapping stages make before the one that belongs to their stage, at most.
int32_t StageLead(const Schedule& schedule);

/// Group number of each tree. Trees of one group touch the same bytes of some rank when it runs in place, at least one
/// of them writing; they need a common lane and a common order. Groups are numbered by their first tree.
std::vector<int32_t> InPlaceGroups(const Draft& draft);
/// The same, kept until a pass changes the trees.
const std::vector<int32_t>& GroupsOf(Draft* draft);

/// A message as its sender or its receiver sees it.
struct MessageEnd {
  static constexpr int kPhaseBits = 24;
  uint64_t key;  // source (16 bits), target (16), lane (8); then the phase of the sender
  int32_t op;
  bool receives;
};
/// All ends of all messages, by key; those of one key by op.
std::vector<MessageEnd> SortedEnds(const Draft& draft);

/// Kept until a pass makes other ops.
MessageFacts& FactsOf(Draft* draft);

}  // namespace mycel::lower
