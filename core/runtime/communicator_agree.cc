// The first time that a plan runs, all ranks run it or none does.
//
// Plans follow from what all ranks have in common, so mostly all can plan a call or none can. But one may fail alone:
// memory that its system refuses, another build, a file that changed. Before a plan's first run every rank therefore
// tells the first rank how its planning went, and that one tells everybody what follows: 2 (n - 1) messages, on the
// first channel of each pair. They need no plan, so calls can be refused that nobody has a plan for. What is refused is
// refused on every rank, with the rank and its reason, before anything moved; nothing stays of it. A plan that was
// agreed upon is never asked about again: every rank makes the same calls, so all know the same plans to be agreed.
#include <cstring>
#include <string>

#include "core/base/hex.h"
#include "core/runtime/communicator.h"

namespace mycel {
namespace {

constexpr uint32_t kAgreeSalt = 0x2c1b3c6du;

Communicator::PlanReport ReportOf(const Status& status, Rank rank, uint64_t plan) {
  Communicator::PlanReport report{};
  report.code = static_cast<uint32_t>(status.code());
  report.rank = rank.value();
  report.plan = plan;
  if (!status.ok()) SetField(report.text, StatusMessage(status));
  return report;
}

/// What follows from all reports: the first refusal, else the first rank that has made another plan than rank 0.
Communicator::PlanReport VerdictOf(const std::vector<Communicator::PlanReport>& reports) {
  for (const Communicator::PlanReport& report : reports) {
    if (report.code != 0) return report;
  }
  const uint64_t plan = reports.front().plan;
  for (const Communicator::PlanReport& report : reports) {
    if (report.plan == plan) continue;
    return ReportOf(InvalidUsage("its plan is " + Hex(report.plan) + ", that of rank 0 is " + Hex(plan) +
                                 ": every rank must run the same build with the same topology and plan files"),
                    Rank(report.rank), report.plan);
  }
  return reports.front();
}

}  // namespace

Status Communicator::AgreeOn(const PlanKey& key, const Status& mine, CachedPlan* plan, Resume resume) {
  // Agreed before: the others do not ask, and what this rank cannot do now (bind it to another size) they will wait
  // for.
  if (plans_.Agreed(key)) return mine.ok() ? (this->*resume)() : Fail(mine);
  agreeing_.plan = plan;
  return Agree(mine, plan == nullptr ? 0 : plan->program.plan_hash, resume);
}

Status Communicator::Agree(const Status& mine, uint64_t plan_hash, Resume resume) {
  agreeing_.mine = mine;
  agreeing_.resume = resume;
  agreeing_.stage = current_.stage;
  const Rank first(0);
  std::vector<PlanReport>& reports = agreeing_.reports;
  reports.assign(parts_.rank == first ? static_cast<size_t>(parts_.rank_count) : 1, PlanReport());
  reports.front() = ReportOf(mine, parts_.rank, plan_hash);
  if (parts_.rank_count == 1) return Conclude(reports.front());
  std::vector<PointCall> legs;
  if (parts_.rank == first) {
    for (int32_t peer = 1; peer < parts_.rank_count; ++peer) {
      legs.push_back({false, DataType::kUint8, peer, &reports[static_cast<size_t>(peer)], sizeof(PlanReport)});
    }
  } else {
    legs.push_back({true, DataType::kUint8, 0, &reports.front(), sizeof(PlanReport)});
    legs.push_back({false, DataType::kUint8, 0, &agreeing_.verdict, sizeof(PlanReport)});
  }
  return BeginReports(legs, parts_.rank == first ? CallStage::kReports : CallStage::kVerdict);
}

Status Communicator::BeginReports(std::span<const PointCall> legs, CallStage stage) {
  const Status built = BuildPoints(legs, 0, Runs::kConversation);
  if (!built.ok()) return Fail(built);
  // All are of one size: one that is not was damaged, and says nothing about who called what (Mismatch).
  for (BoundInstruction& instruction : points_.instructions) instruction.salt = 0;
  current_.stage = stage;
  current_.launch.kernel = nullptr;
  current_.launch.stream_outputs = false;
  return Begin(points_, MixSignature(current_.agreement, kAgreeSalt), 1, Runs::kConversation);
}

Status Communicator::SendVerdict() {
  agreeing_.verdict = VerdictOf(agreeing_.reports);
  std::vector<PointCall> legs;
  for (int32_t peer = 1; peer < parts_.rank_count; ++peer) {
    legs.push_back({true, DataType::kUint8, peer, &agreeing_.verdict, sizeof(PlanReport)});
  }
  return BeginReports(legs, CallStage::kVerdict);
}

Status Communicator::Conclude(const PlanReport& verdict) {
  current_.stage = agreeing_.stage;
  CachedPlan* plan = std::exchange(agreeing_.plan, nullptr);
  if (verdict.code == 0) {
    if (plan != nullptr) plan->agreed = true;
    return (this->*agreeing_.resume)();
  }
  const auto code = static_cast<StatusCode>(verdict.code);
  // One's own words where they are about the same.
  if (agreeing_.mine.code() == code) return Decline(agreeing_.mine);
  const std::string text(FieldText(verdict.text));
  return Decline(MakeStatus(code, "rank " + std::to_string(verdict.rank) + " cannot run it: " + text +
                                      "; nothing has moved, and the communicator can be used"));
}

}  // namespace mycel
