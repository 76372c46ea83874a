#include "bindings/c/plan_source.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/clock.h"
#include "core/base/hex.h"
#include "core/base/log.h"
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
    if (file != nullptr && file->collective == wanted.collective && file->root == wanted.root) {
      if (file->protocol == Protocol::kDirect && !parts_.cost.allow_direct) {
        return InvalidArgument(
            "the plan of MYCEL_PLAN_FILE reads peers' memory directly, which is off or impossible here");
      }
      MYCEL_LOG(kInfo) << Describe(wanted, *file) << "; from MYCEL_PLAN_FILE";
      return *file;
    }
    PlanRequest request = wanted;
    const bool vector = request.collective == Collective::kAllToAllV;
    request.planner = parts_.planner == kVectorPlanner && !vector ? "auto" : parts_.planner;
    // Matrices change from call to call: a file for each would be read by nobody.
    const std::string key = vector ? std::string() : PlanStoreKey(context_, request);
    if (std::optional<Plan> kept = store_.Find(key, *parts_.topology, request)) {
      MYCEL_LOG(kInfo) << Describe(request, *kept) << "; kept in " << store_.PathOf(key);
      return *std::move(kept);
    }
    const int64_t start_ns = NowNs();
    MYCEL_ASSIGN_OR_RETURN(Choice choice, ChoosePlan(*parts_.topology, request, parts_.cost));
    MYCEL_RETURN_IF_ERROR(Verify(choice.plan));
    if (NowNs() - start_ns >= parts_.kept_from_ns) store_.Keep(key, choice.plan);
    MYCEL_LOG(kInfo) << Describe(request, choice.plan) << "; " << choice.reason;
    return std::move(choice.plan);
  }

 private:
  /// The one record of an operation and size class.
  std::string Describe(const PlanRequest& request, const Plan& plan) const {
    static constexpr const char* kProtocols[] = {"inline", "slot", "direct"};
    size_t lanes = 0;
    for (const RankPlan& rank : plan.ranks) lanes = std::max(lanes, rank.lanes.size());
    std::string text = std::string(NameOf(request.collective));
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
  return [source = std::make_shared<const Source>(std::move(parts))](const PlanRequest& request) {
    return source->Make(request);
  };
}

}  // namespace mycel
