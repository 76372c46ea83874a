#include "bindings/c/plan_source.h"

#include <optional>
#include <utility>

#include "core/base/clock.h"
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
    if (file != nullptr && file->collective == wanted.collective && file->root == wanted.root &&
        MayServe(*file, wanted)) {
      if (file->protocol == Protocol::kDirect && !parts_.cost.allow_direct) {
        return InvalidArgument(
            "the plan of MYCEL_PLAN_FILE reads peers' memory directly, which is off or impossible here");
      }
      return *file;
    }
    PlanRequest request = wanted;
    request.lanes = parts_.lanes_max;
    request.lanes_min = parts_.lanes_min;
    const bool vector = request.collective == Collective::kAllToAllV;
    request.planner = parts_.planner == kVectorPlanner && !vector ? "auto" : parts_.planner;
    // Matrices change from call to call: a file for each would be read by nobody.
    const std::string key = vector ? std::string() : PlanStoreKey(context_, request);
    if (std::optional<Plan> kept = store_.Find(key, *parts_.topology, request)) {
      MYCEL_LOG(kInfo) << Describe(request) << kept->planner << "; kept in " << store_.PathOf(key);
      return *std::move(kept);
    }
    const int64_t start_ns = NowNs();
    MYCEL_ASSIGN_OR_RETURN(Choice choice, Choose(request));
    MYCEL_RETURN_IF_ERROR(Verify(choice.plan));
    if (request.reproducible) MYCEL_RETURN_IF_ERROR(CheckRankOrder(choice.plan));
    if (NowNs() - start_ns >= parts_.kept_from_ns) store_.Keep(key, choice.plan);
    MYCEL_LOG(kInfo) << Describe(request) << choice.plan.planner << "; " << choice.reason;
    return std::move(choice.plan);
  }

 private:
  /// Whether the file's plan keeps the order that the request needs; if not the chooser's does.
  static bool MayServe(const Plan& file, const PlanRequest& request) {
    if (!request.reproducible) return true;
    const Status status = CheckRankOrder(file);
    if (!status.ok())
      MYCEL_LOG(kInfo) << Describe(request) << "MYCEL_PLAN_FILE is passed over: " << StatusMessage(status);
    return status.ok();
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
