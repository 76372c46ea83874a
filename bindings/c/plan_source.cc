#include "bindings/c/plan_source.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/hex.h"
#include "core/base/log.h"
#include "core/plan/rails.h"
#include "core/plan/verify.h"
#include "core/runtime/plan_store.h"
#include "scheduler/select/select.h"

namespace mycel {
namespace {

class Source {
 public:
  explicit Source(PlanSourceParts parts)
      : parts_(std::move(parts)),
        store_(parts_.store_folder),
        context_(parts_.store_folder.empty() ? "" : PlanStoreContext(*parts_.topology, Fingerprint(parts_.cost))) {}

  StatusOr<Plan> Make(const PlanRequest& wanted) const {
    const Plan* file = parts_.from_file.get();
    if (Serves(file, wanted)) {
      if (file->protocol == Protocol::kDirect && !parts_.cost.allow_direct) {
        return InvalidArgument(
            "the plan of MYCEL_PLAN_FILE reads peers' memory directly, which is off or impossible here");
      }
      MYCEL_LOG(kInfo) << Describe(wanted, *file) << "; from MYCEL_PLAN_FILE";
      return *file;
    }
    const bool vector = wanted.collective == Collective::kAllToAllV;
    const PlanRequest request = ByPlanner(wanted);
    // Matrices change from call to call: a file for each would be read by nobody.
    const std::string key = vector ? std::string() : PlanStoreKey(context_, request);
    if (std::optional<Plan> kept = store_.Find(key, *parts_.topology, request)) {
      MYCEL_LOG(kInfo) << Describe(request, *kept) << "; kept in " << store_.PathOf(key);
      return *std::move(kept);
    }
    const int64_t start_ns = NowNs();
    MYCEL_ASSIGN_OR_RETURN(Choice choice, Choose(request));
    MYCEL_RETURN_IF_ERROR(Verify(choice.plan));
    if (request.reproducible) MYCEL_RETURN_IF_ERROR(CheckRankOrder(choice.plan));
    if (NowNs() - start_ns >= parts_.kept_from_ns) store_.Keep(key, choice.plan);
    MYCEL_LOG(kInfo) << Describe(request, choice.plan) << "; " << choice.reason;
    return std::move(choice.plan);
  }

  StatusOr<PlanPair> MakePair(const PlanRequest& wanted) const {
    PlanPair pair;
    if (!Serves(parts_.from_file.get(), wanted)) {
      const PlanRequest request = ByPlanner(wanted);
      MYCEL_ASSIGN_OR_RETURN(Choice choice, ChoosePlan(*parts_.topology, request, parts_.cost));
      MYCEL_RETURN_IF_ERROR(Verify(choice.plan));
      StatusOr<Plan> back = PlanWayBack(choice, *parts_.topology, request, parts_.cost);
      MYCEL_LOG(kInfo) << Describe(request) << choice.plan.planner << "; " << choice.reason
                       << "; the way back: " << (back.ok() ? "the same, reversed" : StatusMessage(back.status()));
      pair.there = std::move(choice.plan);
      if (back.ok()) {
        MYCEL_RETURN_IF_ERROR(Verify(*back));
        pair.back = *std::move(back);
        return pair;
      }
    } else {
      MYCEL_ASSIGN_OR_RETURN(pair.there, Make(wanted));
    }
    MYCEL_ASSIGN_OR_RETURN(pair.back, Make(Transposed(wanted)));
    return pair;
  }

  StatusOr<double> TimeUs(const PlanRequest& wanted) const {
    if (Serves(parts_.from_file.get(), wanted)) {
      return InvalidUsage("the plan of MYCEL_PLAN_FILE serves this call and has no estimate; ask `mycel sim` for it");
    }
    MYCEL_ASSIGN_OR_RETURN(const Choice choice, Choose(ByPlanner(wanted)));
    const Candidate& winner = choice.contest.front();
    return winner.simulated_us >= 0 ? winner.simulated_us : winner.estimated_us;
  }

  /// Only networks have rails to choose among.
  void NameRailsOf(Plan* plan) const {
    if (parts_.cost.device == CostModel::Device::kFabric) NameRails(*parts_.topology, plan);
  }

 private:
  /// Whether the plan file is for what is wanted.
  static bool Serves(const Plan* file, const PlanRequest& wanted) {
    if (file == nullptr || file->collective != wanted.collective || file->root != wanted.root) return false;
    if (!wanted.planner.empty()) return false;  // the call names another
    int32_t lanes = 0;
    for (const RankPlan& rank : file->ranks) lanes = std::max(lanes, static_cast<int32_t>(rank.lanes.size()));
    if ((wanted.lanes != 0 && lanes > wanted.lanes) || lanes < wanted.lanes_min) {
      MYCEL_LOG(kInfo) << Describe(wanted) << "MYCEL_PLAN_FILE is passed over: its plan has " << lanes
                       << " lane(s), which the call's minLanes and maxLanes do not allow";
      return false;
    }
    if (!wanted.reproducible) return true;
    // The file's plan must keep the order that the request needs; if not the chooser's does.
    const Status status = CheckRankOrder(*file);
    if (!status.ok()) {
      MYCEL_LOG(kInfo) << Describe(wanted) << "MYCEL_PLAN_FILE is passed over: " << StatusMessage(status);
    }
    return status.ok();
  }
  PlanRequest ByPlanner(PlanRequest request) const {
    const bool vector = request.collective == Collective::kAllToAllV;
    // What the call leaves open. One bound of its own goes before the other of the communicator.
    const int32_t least = request.lanes_min;
    const int32_t most = request.lanes;
    request.lanes = most != 0 ? most : std::max(parts_.lanes_max, least);
    request.lanes_min = least != 0 ? least : std::min(parts_.lanes_min, request.lanes);
    if (request.planner.empty()) request.planner = parts_.planner;
    const bool exchange = vector || request.collective == Collective::kAllToAll;
    if (request.planner == kVectorPlanner && !vector) request.planner = "auto";
    if (request.planner == kExchangePlanner && !exchange) request.planner = "auto";
    return request;
  }
  PlanRequest Transposed(PlanRequest request) const {
    const auto n = static_cast<size_t>(parts_.topology->rank_count());
    const std::vector<int64_t> demand = request.demand;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) request.demand[j * n + i] = demand[i * n + j];
    }
    return request;
  }

  /// Order goes before the planner that was named.
  StatusOr<Choice> Choose(const PlanRequest& request) const {
    StatusOr<Choice> choice = ChoosePlan(*parts_.topology, request, parts_.cost);
    if (choice.ok() || !request.reproducible || request.planner == "auto" ||
        choice.status().code() != StatusCode::kUnimplemented) {
      return choice;
    }
    MYCEL_LOG(kInfo) << Describe(request) << "planner " << request.planner
                     << " is passed over: " << StatusMessage(choice.status());
    PlanRequest free = request;
    free.planner = "auto";
    return ChoosePlan(*parts_.topology, free, parts_.cost);
  }

  static std::string Describe(const PlanRequest& request) {
    return std::string(request.reproducible ? "reproducible " : "") + std::string(NameOf(request.collective)) +
           " of up to " + std::to_string(request.bytes) + " bytes: ";
  }

  /// The one record of an operation and size class.
  std::string Describe(const PlanRequest& request, const Plan& plan) const {
    static constexpr const char* kProtocols[] = {"inline", "slot", "direct"};
    size_t lanes = 0;
    for (const RankPlan& rank : plan.ranks) lanes = std::max(lanes, rank.lanes.size());
    std::string text =
        std::string(request.reproducible ? "reproducible " : "") + std::string(NameOf(request.collective));
    if (request.root.valid()) text += " from or to root " + std::to_string(request.root.value());
    return text + " of up to " + std::to_string(request.bytes) + " bytes: planner " + plan.planner + ", plan " +
           Hex(HashOf(plan)) + ", protocol " + kProtocols[static_cast<size_t>(plan.protocol)] + ", " +
           std::to_string(lanes) + " lane(s), slices of at most " + std::to_string(plan.slice_bytes) +
           " bytes, transport " + (parts_.transport.empty() ? "none" : parts_.transport);
  }

  PlanSourceParts parts_;
  PlanStore store_;
  std::string context_;
};

}  // namespace

PlanSource MakePlanSource(PlanSourceParts parts) {
  return [source = std::make_shared<const Source>(std::move(parts))](const PlanRequest& request) -> StatusOr<Plan> {
    MYCEL_ASSIGN_OR_RETURN(Plan plan, source->Make(request));
    source->NameRailsOf(&plan);
    return plan;
  };
}

PlanPairSource MakePlanPairSource(PlanSourceParts parts) {
  return [source = std::make_shared<const Source>(std::move(parts))](const PlanRequest& request) -> StatusOr<PlanPair> {
    MYCEL_ASSIGN_OR_RETURN(PlanPair pair, source->MakePair(request));
    source->NameRailsOf(&pair.there);
    source->NameRailsOf(&pair.back);
    return pair;
  };
}

TimeSource MakeTimeSource(PlanSourceParts parts) {
  parts.store_folder.clear();
  return [source = std::make_shared<const Source>(std::move(parts))](const PlanRequest& request) {
    return source->TimeUs(request);
  };
}

}  // namespace mycel
