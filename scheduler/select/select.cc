#include "scheduler/select/select.h"

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "scheduler/fast/fast.h"
#include "scheduler/lower/lower.h"
#include "scheduler/select/estimate.h"
#include "scheduler/sim/sim.h"

namespace mycel {
namespace select {
namespace {

/// Chunks up to this travel with their flag (Protocol::kInline).
constexpr int64_t kInlineSliceBytes = 4096;
constexpr int64_t kSliceBytesMin = 8 * 1024;
constexpr int64_t kSliceBytesMax = 256 * 1024;
/// Schedules worth a simulation: so many, if they may be that much slower than the best by their estimates.
constexpr size_t kSimulatedMax = 4;
constexpr double kPlayoffFactor = 2;
/// Estimates of overlapping stages are coarse where little is sent.
constexpr double kStagedPlayoffFactor = 4;
/// Slices and messages of each simulation.
constexpr int32_t kSimulatedSlices = 16;
constexpr int64_t kSimulatedMessages = 200'000;
/// Plans with more messages per slice go by their estimate alone: simulating them would take seconds.
constexpr int64_t kPlayoffMessagesMax = 8'000;
/// Slots beyond its messages per slice that a skewed channel may need (lower/slots.cc), by rule of thumb.
constexpr int64_t kSlotsSpare = 2;

/// A schedule of the contest with what is known about it.
struct Entrant {
  Schedule schedule;
  Estimate estimate;
  bool allows_direct = false;
};

struct Contest {
  std::vector<Entrant> entrants;
  std::vector<std::pair<Candidate, size_t>> candidates;  // with the index of its entrant
  std::vector<Candidate> refused;
  Status first_refusal;
};

StatusOr<std::vector<const Planner*>> PlannersFor(const PlanRequest& request) {
  if (request.planner.empty() || request.planner == "auto") return AllPlanners();
  MYCEL_ASSIGN_OR_RETURN(const Planner* planner, FindPlanner(request.planner));
  return std::vector<const Planner*>{planner};
}

void Refuse(const std::string& who, const Status& status, Contest* contest) {
  Candidate candidate;
  candidate.planner = who;
  candidate.refused = StatusMessage(status);
  contest->refused.push_back(std::move(candidate));
  // "Impossible" from one planner says less than an argument that none can accept.
  const bool first = contest->first_refusal.ok();
  if (first ||
      (contest->first_refusal.code() == StatusCode::kUnimplemented && status.code() != StatusCode::kUnimplemented)) {
    contest->first_refusal = status;
  }
}

/// Relays of direct reads need memory for all that passes them (slots hold a few slices of it): at most this share of
/// what a rank sends.
constexpr int64_t kStagingShare = 10;

bool FitsStaging(const Schedule& schedule, const PlanRequest& request) {
  if (schedule.collective != Collective::kAllToAllV) return true;
  std::vector<int64_t> relayed(static_cast<size_t>(schedule.rank_count));
  for (const Tree& tree : schedule.trees) {
    for (size_t hop = 0; hop + 1 < tree.down.size(); ++hop) {
      relayed[tree.down[hop].target.index()] += tree.chunk.units();
    }
  }
  return *std::max_element(relayed.begin(), relayed.end()) <= request.bytes / kStagingShare;
}

Status Enter(const Topology& topology, const PlanRequest& request, const CostModel& cost, Contest* contest) {
  MYCEL_ASSIGN_OR_RETURN(const std::vector<const Planner*> planners, PlannersFor(request));
  const bool asked = planners.size() == 1;
  for (const Planner* planner : planners) {
    if (const Status contends = planner->Contends(topology, request); !asked && !contends.ok()) {
      const Status serves = planner->Serves(topology, request);
      Refuse(std::string(planner->name()), serves.ok() ? contends : serves, contest);
      continue;
    }
    std::vector<std::string> variants = {request.variant};
    if (request.variant.empty()) variants = planner->VariantsFor(topology, request);
    for (const std::string& variant : variants) {
      PlanRequest wanted = request;
      wanted.variant = variant;
      StatusOr<Schedule> schedule = planner->MakeSchedule(topology, wanted);
      if (!schedule.ok()) {
        const std::string name(planner->name());
        Refuse(variant.empty() ? name : name + "/" + variant, schedule.status(), contest);
        continue;
      }
      if (request.reproducible && !ReducesInRankOrder(*schedule)) {
        Refuse(schedule->planner, Impossible("it reduces step by step, which is not reproducible"), contest);
        continue;
      }
      MYCEL_ASSIGN_OR_RETURN(Estimate estimate, Estimate::Make(*schedule, topology, request.bytes));
      const bool direct = cost.allow_direct && AllowsDirect(*schedule) && FitsStaging(*schedule, request);
      contest->entrants.push_back({*std::move(schedule), std::move(estimate), direct});
    }
  }
  return OkStatus();
}

/// Slice sizes to try: one for chunks that fit a message, else powers of two up to the chunk.
std::vector<int64_t> SliceSizes(const Estimate& estimate, const CostModel& cost) {
  const int64_t longest = estimate.longest_bytes();
  if (longest <= kInlineSliceBytes) return {kInlineSliceBytes};
  std::vector<int64_t> sizes;
  for (int64_t size = kSliceBytesMin; size <= std::min(kSliceBytesMax, cost.channel_bytes / 2); size *= 2) {
    sizes.push_back(size);
    if (size >= longest) break;
  }
  if (sizes.empty()) sizes.push_back(kInlineSliceBytes);
  return sizes;
}

/// Powers of two within the request's bounds; the most it allows where none lies there.
std::vector<int32_t> LaneCounts(const PlanRequest& request) {
  const int32_t most = std::max(1, request.lanes);
  std::vector<int32_t> counts;
  for (int32_t lanes = 1; lanes <= most; lanes *= 2) {
    if (lanes >= request.lanes_min) counts.push_back(lanes);
  }
  if (counts.empty()) counts.push_back(most);
  return counts;
}

/// What the predicted times of a schedule are to be multiplied by: an exchange without stages is a crowd.
double CrowdOf(const Schedule& schedule, const CostModel& cost) {
  const bool exchange = schedule.collective == Collective::kAllToAll || schedule.collective == Collective::kAllToAllV;
  return exchange && !schedule.stages_overlap ? cost.crowd : 1;
}

/// All shapes of one entrant.
void EnterShapes(size_t index, const PlanRequest& request, const CostModel& cost, Contest* contest) {
  const Entrant& entrant = contest->entrants[index];
  const Estimate& estimate = entrant.estimate;
  const auto enter = [&](const Shape& shape) {
    Candidate candidate;
    candidate.planner = entrant.schedule.planner;
    candidate.slice_bytes = shape.slice_bytes;
    candidate.pipelined = shape.pipelined;
    candidate.lanes = shape.lanes;
    candidate.protocol = shape.protocol;
    candidate.estimated_us = estimate.Us(cost, shape) * CrowdOf(entrant.schedule, cost);
    contest->candidates.emplace_back(std::move(candidate), index);
  };
  for (const int64_t slice_bytes : SliceSizes(estimate, cost)) {
    const bool one_slice = slice_bytes >= estimate.longest_bytes();
    for (const int32_t lanes : LaneCounts(request)) {
      // At best the lanes share a channel's messages evenly; what lowering makes of it is looked at later.
      const int64_t skew_slots = (estimate.channel_messages() + lanes - 1) / lanes + kSlotsSpare;
      const bool fits_skewed = skew_slots <= kSlotCountMax && skew_slots * slice_bytes <= cost.channel_bytes;
      for (const bool pipelined : {false, true}) {
        if (pipelined && (one_slice || estimate.phases() == 1 || !fits_skewed)) continue;
        Shape shape{slice_bytes, pipelined, lanes,
                    slice_bytes <= kInlineSliceBytes ? Protocol::kInline : Protocol::kSlot};
        enter(shape);
        if (entrant.allows_direct && shape.protocol == Protocol::kSlot) {
          shape.protocol = Protocol::kDirect;
          enter(shape);
        }
      }
    }
  }
}

double TimeOf(const Candidate& candidate) {
  return candidate.simulated_us >= 0 ? candidate.simulated_us : candidate.estimated_us;
}

/// Fastest first; then by name, and from the simplest shape to the least simple.
struct Better {
  bool more_lanes = false;  // the most lanes are the simplest

  bool operator()(const std::pair<Candidate, size_t>& a, const std::pair<Candidate, size_t>& b) const {
    const auto key = [this](const Candidate& c) {
      return std::tuple(std::string_view(c.planner), c.pipelined, more_lanes ? -c.lanes : c.lanes, c.protocol,
                        c.slice_bytes);
    };
    const double x = TimeOf(a.first), y = TimeOf(b.first);
    return x != y ? x < y : key(a.first) < key(b.first);
  }
};

Better BetterFor(const PlanRequest& request, const CostModel& cost) {
  return {cost.lanes_share_core && request.collective == Collective::kAllReduce};
}

StatusOr<Plan> LowerCandidate(const Contest& contest, const std::pair<Candidate, size_t>& entry,
                              const Topology& topology, const CostModel& cost) {
  LowerOptions options;
  options.lanes = entry.first.lanes;
  options.lane_excess = contest.entrants[entry.second].estimate.LaneExcess(
      cost, {entry.first.slice_bytes, entry.first.pipelined, entry.first.lanes, entry.first.protocol});
  options.pipelined = entry.first.pipelined ? Pipelining::kOn : Pipelining::kOff;
  options.slice_bytes = entry.first.slice_bytes;
  options.channel_bytes = cost.channel_bytes;
  options.protocol = entry.first.protocol;
  return Lower(contest.entrants[entry.second].schedule, topology, options);
}

bool IsPipelined(const Plan& plan) {
  for (const RankPlan& rank : plan.ranks) {
    for (const Lane& lane : rank.lanes) {
      if (std::any_of(lane.ops.begin(), lane.ops.end(), [](const Op& op) { return op.skew > 0; })) return true;
    }
  }
  return false;
}

/// Makes the first candidate whose plan is what its estimate speaks of the winner: lowering leaves the skew out where a
/// channel would need too many slots. At least the last one is.
StatusOr<Plan> LowerWinner(const Topology& topology, const CostModel& cost, Contest* contest) {
  auto& candidates = contest->candidates;
  for (auto at = candidates.begin();; ++at) {
    MYCEL_ASSIGN_OR_RETURN(Plan plan, LowerCandidate(*contest, *at, topology, cost));
    if (at->first.pipelined && !IsPipelined(plan) && at + 1 != candidates.end()) continue;
    std::rotate(candidates.begin(), at, at + 1);
    return plan;
  }
}

int64_t MessagesPerSlice(const Plan& plan) {
  int64_t messages = 0;
  for (const RankPlan& rank : plan.ranks) {
    for (const Lane& lane : rank.lanes) {
      for (const Op& op : lane.ops) {
        const Operand* outputs = plan.OutputsOf(op);
        messages += std::count_if(outputs, outputs + op.outputs,
                                  [](const Operand& output) { return output.kind == Operand::Kind::kChannel; });
      }
    }
  }
  return messages;
}

StatusOr<double> SimulatedUs(const Plan& plan, const Topology& topology, const PlanRequest& request,
                             const CostModel& cost) {
  SimOptions options;
  options.bytes = request.bytes;
  options.op_overhead_us = cost.op_us;
  options.lane_GBps = cost.lane_GBps;
  options.slices_max = kSimulatedSlices;
  options.messages_max = kSimulatedMessages;
  MYCEL_ASSIGN_OR_RETURN(const SimResult result, Simulate(plan, topology, options));
  return result.time_us;
}

/// The contest's candidates are sorted. Simulates the best shape of each schedule that may win and reorders them;
/// returns the plan of the winner. Where one schedule stands alone, its estimates are left to choose its shape: they
/// rank shapes of one schedule well, and simulation takes longer than planning. All or none are simulated, since
/// simulated times must not be compared with estimates, but for those that their busiest link alone rules out.
StatusOr<Plan> Playoff(const Topology& topology, const PlanRequest& request, const CostModel& cost, Contest* contest) {
  std::vector<size_t> finalists;
  std::vector<bool> seen(contest->entrants.size(), false);
  const double best_us = TimeOf(contest->candidates.front().first);
  for (size_t i = 0; i < contest->candidates.size() && finalists.size() < kSimulatedMax; ++i) {
    const auto& [candidate, entrant] = contest->candidates[i];
    const bool staged = contest->entrants[entrant].schedule.stages_overlap;
    if (seen[entrant] || TimeOf(candidate) > (staged ? kStagedPlayoffFactor : kPlayoffFactor) * best_us) continue;
    seen[entrant] = true;
    finalists.push_back(i);
  }
  if (finalists.size() == 1) return LowerWinner(topology, cost, contest);
  std::vector<Plan> plans(finalists.size());
  const Better better = BetterFor(request, cost);
  size_t best = 0;
  for (size_t k = 0; k < finalists.size(); ++k) {
    auto& [candidate, entrant] = contest->candidates[finalists[k]];
    const double best_so_far_us = contest->candidates[finalists[best]].first.simulated_us;
    // No simulation is faster than the busiest link.
    if (k > 0 && contest->entrants[entrant].estimate.link_us() >= best_so_far_us) continue;
    MYCEL_ASSIGN_OR_RETURN(plans[k], LowerCandidate(*contest, contest->candidates[finalists[k]], topology, cost));
    if (MessagesPerSlice(plans[k]) > kPlayoffMessagesMax) {
      for (const size_t i : finalists) contest->candidates[i].first.simulated_us = -1;
      return std::move(plans.front());
    }
    MYCEL_ASSIGN_OR_RETURN(const double alone_us, SimulatedUs(plans[k], topology, request, cost));
    candidate.simulated_us = alone_us * CrowdOf(contest->entrants[entrant].schedule, cost);
    if (better(contest->candidates[finalists[k]], contest->candidates[finalists[best]])) best = k;
  }
  // The finalists first, in their order.
  std::stable_sort(contest->candidates.begin(), contest->candidates.end(), [&](const auto& a, const auto& b) {
    const bool x = a.first.simulated_us >= 0, y = b.first.simulated_us >= 0;
    return x != y ? x : x && better(a, b);
  });
  return std::move(plans[best]);
}

std::string Microseconds(double us) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f us", us < 100 ? 2 : 0, us);
  return text;
}

std::string ReasonOf(const Contest& contest, int64_t bytes) {
  const Candidate& winner = contest.candidates.front().first;
  std::string reason = Describe(winner) + ": " + Microseconds(TimeOf(winner)) +
                       (winner.simulated_us >= 0 ? " simulated" : " estimated") + " for " + std::to_string(bytes) +
                       " bytes";
  for (const auto& [candidate, entrant] : contest.candidates) {
    if (candidate.planner == winner.planner) continue;
    return reason + "; next " + candidate.planner + " with " + Microseconds(TimeOf(candidate));
  }
  return reason + "; nothing else serves it";
}

Status NobodyServes(const Topology& topology, const PlanRequest& request, const Contest& contest) {
  if (contest.refused.size() == 1 || contest.first_refusal.code() != StatusCode::kUnimplemented)
    return contest.first_refusal;
  std::string text = "no planner serves " + std::string(request.reproducible ? "reproducible " : "") +
                     std::string(NameOf(request.collective)) + " on topology '" + topology.name() + "'";
  for (const Candidate& candidate : contest.refused) text += "; " + candidate.planner + ": " + candidate.refused;
  return Impossible(text);
}

}  // namespace
}  // namespace select

std::string Describe(const Candidate& candidate) {
  const char* protocol = candidate.protocol == Protocol::kInline ? "inline"
                         : candidate.protocol == Protocol::kSlot ? "slot"
                                                                 : "direct";
  return candidate.planner + ", slices of " + std::to_string(candidate.slice_bytes) + " bytes" +
         (candidate.pipelined ? ", pipelined" : "") + ", " + std::to_string(candidate.lanes) +
         (candidate.lanes == 1 ? " lane, " : " lanes, ") + protocol;
}

StatusOr<Choice> ChoosePlan(const Topology& topology, const PlanRequest& request, const CostModel& cost) {
  select::Contest contest;
  MYCEL_RETURN_IF_ERROR(select::Enter(topology, request, cost, &contest));
  if (contest.entrants.empty()) return select::NobodyServes(topology, request, contest);
  for (size_t i = 0; i < contest.entrants.size(); ++i) select::EnterShapes(i, request, cost, &contest);
  std::sort(contest.candidates.begin(), contest.candidates.end(), select::BetterFor(request, cost));
  MYCEL_CHECK(!contest.candidates.empty());
  Choice choice;
  if (cost.device == CostModel::Device::kFabric && request.bytes > 0) {
    MYCEL_ASSIGN_OR_RETURN(choice.plan, select::Playoff(topology, request, cost, &contest));
  } else {
    MYCEL_ASSIGN_OR_RETURN(choice.plan, select::LowerWinner(topology, cost, &contest));
  }
  choice.schedule = std::move(contest.entrants[contest.candidates.front().second].schedule);
  choice.reason = select::ReasonOf(contest, request.bytes);
  for (auto& [candidate, entrant] : contest.candidates) choice.contest.push_back(std::move(candidate));
  for (Candidate& candidate : contest.refused) choice.contest.push_back(std::move(candidate));
  return choice;
}

StatusOr<Plan> PlanWayBack(const Choice& choice, const Topology& topology, const PlanRequest& request,
                           const CostModel& cost) {
  select::Contest contest;
  Candidate shape = choice.contest.front();
  MYCEL_ASSIGN_OR_RETURN(Schedule schedule, ReversedAllToAllV(choice.schedule, topology));
  MYCEL_ASSIGN_OR_RETURN(select::Estimate estimate, select::Estimate::Make(schedule, topology, request.bytes));
  const bool direct = cost.allow_direct && AllowsDirect(schedule) && select::FitsStaging(schedule, request);
  if (shape.protocol == Protocol::kDirect && !direct) shape.protocol = Protocol::kSlot;
  contest.entrants.push_back({std::move(schedule), std::move(estimate), direct});
  return select::LowerCandidate(contest, {shape, 0}, topology, cost);
}

}  // namespace mycel
