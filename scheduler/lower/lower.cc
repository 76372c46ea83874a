#include "scheduler/lower/lower.h"

#include <algorithm>
#include <string>

#include "core/plan/structure.h"
#include "core/plan/verify.h"
#include "scheduler/lower/passes.h"

namespace mycel {
namespace lower {
namespace {

struct Pass {
  PassInfo info;
  Status (*run)(const LowerOptions&, Draft*);
};

/// The table of contents.
const std::vector<Pass>& Passes() {
  static const std::vector<Pass> passes = {
      {{"merge", "trees with the same edges and adjacent chunks become one", true}, MergeTrees},
      {{"align", "trees that overlap in place get equal chunks", true}, AlignChunks},
      {{"lanes", "spread the trees over the lanes", true}, AssignLanes},
      {{"phases", "stages, and reads before in-place writes", false}, AssignPhases},
      {{"ops", "trees become ops", false}, ExpandOps},
      {{"share", "one read feeds several channels", true}, ShareReads},
      {{"rotate", "each rank starts with its right neighbour", true}, RotatePeers},
      {{"pipeline", "ops of phase tau lag tau slices behind", true}, ChoosePipeline},
      {{"slots", "enough slots to rule out deadlock", false}, ChooseSlots},
  };
  return passes;
}

bool IsDisabled(const LowerOptions& options, std::string_view name) {
  return std::find(options.disabled.begin(), options.disabled.end(), name) != options.disabled.end();
}

Status CheckOptions(const LowerOptions& options) {
  std::string names;
  for (const Pass& pass : Passes()) {
    if (pass.info.optional) names += (names.empty() ? "" : " ") + std::string(pass.info.name);
  }
  for (const std::string& name : options.disabled) {
    const bool known = std::any_of(Passes().begin(), Passes().end(),
                                   [&](const Pass& pass) { return pass.info.optional && pass.info.name == name; });
    if (!known) return InvalidArgument("lowering has no optional pass '" + name + "'; use one of: " + names);
  }
  const auto in_range = [](int64_t value, int64_t low, int64_t high) { return low <= value && value <= high; };
  if (!in_range(options.lanes, 1, 255)) {
    return InvalidArgument("lanes = " + std::to_string(options.lanes) + "; use 1..255");
  }
  if (!in_range(options.slot_count, 0, kSlotCountMax)) {
    return InvalidArgument("slot_count = " + std::to_string(options.slot_count) + "; use 0 (automatic) to " +
                           std::to_string(kSlotCountMax));
  }
  const int64_t least = int64_t{64} * kSlotCountMax;
  if (options.slice_bytes < 64 || options.channel_bytes < least) {
    return InvalidArgument("slice_bytes = " + std::to_string(options.slice_bytes) + ", channel_bytes = " +
                           std::to_string(options.channel_bytes) + "; use at least 64 and " + std::to_string(least));
  }
  return OkStatus();
}

Status CheckSchedule(const Schedule& schedule, const Topology& topology) {
  if (schedule.rank_count != topology.rank_count()) {
    return InvalidArgument("schedule of '" + schedule.planner + "' has " + std::to_string(schedule.rank_count) +
                           " ranks, topology '" + topology.name() + "' has " + std::to_string(topology.rank_count()));
  }
  const Contract contract{schedule.collective, schedule.rank_count, schedule.root};
  // What passes may multiply and add up rests on this.
  int64_t most = schedule.units_per_block;
  for (const int64_t units : schedule.block_units) most = std::max(most, units);
  if (most > kBlockUnitsMax) {
    return InvalidArgument("schedule of '" + schedule.planner + "' cuts a block into " + std::to_string(most) +
                           " units; a plan has at most " + std::to_string(kBlockUnitsMax));
  }
  for (const Tree& tree : schedule.trees) {
    const Chunk& chunk = tree.chunk;
    const bool known = chunk.block >= 0 && chunk.block < contract.BlockCount();
    if (!known || chunk.begin < 0 || chunk.begin >= chunk.end || chunk.end > schedule.UnitsOf(chunk.block)) {
      return InvalidArgument("schedule of '" + schedule.planner + "': chunk [" + std::to_string(chunk.begin) + ", " +
                             std::to_string(chunk.end) + ") of block " + std::to_string(chunk.block) +
                             " does not exist; the planner must be mended");
    }
  }
  return OkStatus();
}

/// What the required passes make of an unfinished draft: proves a pass right before the later ones hide it.
Status VerifyDraft(Draft draft, size_t next_pass, const Topology& topology, const LowerOptions& options) {
  for (size_t i = next_pass; i < Passes().size(); ++i) {
    if (!Passes()[i].info.optional) MYCEL_RETURN_IF_ERROR(Passes()[i].run(options, &draft));
  }
  return Verify(EmitPlan(draft, topology, options.protocol));
}

Status RunPass(size_t index, const Topology& topology, const LowerOptions& options, Draft* draft) {
  const Pass& pass = Passes()[index];
  if (IsDisabled(options, pass.info.name)) return OkStatus();
  const bool timed = options.clock_us != nullptr && options.times != nullptr;
  const double start = timed ? options.clock_us() : 0;
  MYCEL_RETURN_IF_ERROR(pass.run(options, draft));
  if (timed) options.times->push_back({pass.info.name, options.clock_us() - start});
  if (!options.verify_each) return OkStatus();
  Status verified = VerifyDraft(*draft, index + 1, topology, options);
  if (verified.ok()) return verified;
  return InternalError("after pass '" + std::string(pass.info.name) + "': " + StatusMessage(verified));
}

}  // namespace
}  // namespace lower

std::vector<PassInfo> LoweringPasses() {
  std::vector<PassInfo> infos;
  for (const lower::Pass& pass : lower::Passes()) infos.push_back(pass.info);
  return infos;
}

bool AllowsDirect(const Schedule& schedule) {
  if (!schedule.block_units.empty()) return true;  // v-collectives have no in-place form
  lower::Draft draft;
  draft.schedule = schedule;
  draft.contract = {schedule.collective, schedule.rank_count, schedule.root};
  const std::vector<int32_t> groups = lower::InPlaceGroups(draft);
  // Groups are numbered by their first tree: as many groups as trees means no tree shares one.
  return groups.empty() || groups.back() + 1 == static_cast<int32_t>(groups.size());
}

StatusOr<Plan> Lower(const Schedule& schedule, const Topology& topology, const LowerOptions& options) {
  MYCEL_RETURN_IF_ERROR(lower::CheckOptions(options));
  MYCEL_RETURN_IF_ERROR(lower::CheckSchedule(schedule, topology));
  lower::Draft draft;
  draft.schedule = schedule;
  draft.contract = {schedule.collective, schedule.rank_count, schedule.root};
  draft.lane_of_tree.assign(schedule.trees.size(), 0);
  for (size_t i = 0; i < lower::Passes().size(); ++i) {
    MYCEL_RETURN_IF_ERROR(lower::RunPass(i, topology, options, &draft));
  }
  return lower::EmitPlan(draft, topology, options.protocol);
}

}  // namespace mycel
