// alltoallv by plan: agree on the matrix (counts.h), look its plan up or make it, run it.
//
// The stages of one operation are launches after each other; Advance begins the next when one is done, so a group
// drives several communicators through them. They share a sequence number and differ in salt, and the board shows one
// agreement word throughout: ranks in different stages of one alltoallv do not disagree.
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/check.h"
#include "core/base/log.h"
#include "core/runtime/communicator.h"

namespace mycel {
namespace {

constexpr uint32_t kWordsSalt = 0x5bd1e995u;
constexpr uint32_t kRowsSalt = 0x7feb352du;
constexpr uint32_t kRefusedSalt = 0x846ca68bu;

/// What ranks must have in common before they know each other's counts.
uint32_t AgreementOf(const CollectiveCall& call) {
  const VectorArrays& arrays = *call.vector;
  const uint64_t kind = arrays.make != nullptr ? 2 : arrays.plan != nullptr ? 1 : 0;
  const uint64_t what = static_cast<uint64_t>(Collective::kAllToAllV) << 16 | static_cast<uint64_t>(call.type) << 8;
  return MixSignature(what | kind, arrays.plan == nullptr ? 0 : arrays.plan->plan_hash ^ arrays.plan->key);
}

template <typename T>
T SumOf(const std::vector<T>& values) {
  return std::accumulate(values.begin(), values.end(), T{0});
}

/// Whether the plan was made for these counts of this rank: true but for a collision of hashes.
bool Fits(const VectorPlan& plan, const VectorArrays& arrays, size_t element_bytes) {
  bool fits = true;
  for (size_t peer = 0; peer < plan.send_bytes.size(); ++peer) {
    fits &= plan.send_bytes[peer] == arrays.send_counts[peer] * element_bytes;
    fits &= plan.recv_bytes[peer] == arrays.recv_counts[peer] * element_bytes;
  }
  return fits;
}

}  // namespace

Status Communicator::Decline(const Status& status) {
  current_.running = false;
  current_.refused = true;
  EndFlightAs(FlightOutcome::kRefused);
  if (board_ != nullptr) board_->phase.store(static_cast<uint32_t>(Phase::kIdle), std::memory_order_relaxed);
  return MakeStatus(status.code(), Where() + ": " + StatusMessage(status) + Context());
}

/// What a count cannot tell; hence about the last matrix.
std::string Communicator::ExplainVector() const {
  if (!parts_.plans_vectors) return "alltoallv: as messages, one for each leg";
  std::string text = "alltoallv: a plan for each matrix of counts, " + std::to_string(vectors_.known.size()) + " known";
  const VectorPlan* last = nullptr;
  for (const auto& [key, plan] : vectors_.known) {
    if (last == nullptr || plan->last_used > last->last_used) last = plan.get();
  }
  if (last == nullptr) return text;
  text += "; the last one: planner " + last->planner;
  if (last->as_messages) return text + ", run as messages";
  return text + ", " + std::to_string(last->program->lanes.size()) + " lane(s), slices of at most " +
         std::to_string(last->program->slice_bytes) + " bytes, " + std::to_string(last->program->scratch_bytes) +
         " bytes of staging on this rank";
}

Status Communicator::StartVector(const CollectiveCall& call) {
  current_.agreement = MixSignature(AgreementOf(call), SettingsSignature(call.settings)) + SequenceSalt();
  PostOnBoard(call, current_.agreement);
  if (call.vector->plan != nullptr) return BeginMove(call.vector->plan);
  current_.stage = CallStage::kWords;
  vectors_.words.resize(static_cast<size_t>(parts_.rank_count));
  vectors_.word = WordOf(parts_.rank.value(), parts_.rank_count, call.vector->send_counts, call.vector->recv_counts,
                         SizeOf(call.type));
  return BeginGather(&vectors_.word, vectors_.words.data(), sizeof(CountsWord), kWordsSalt);
}

Status Communicator::NextStage() {
  switch (current_.stage) {
    case CallStage::kWords:
      return JudgeCounts();
    case CallStage::kRows:
      return PlanRows();
    case CallStage::kRefused: {
      const Status why = WhyRefused(vectors_.tables.data(), parts_.rank_count, SizeOf(current_.call.type));
      // A number that cannot be is an argument like any other; ranks that disagree have gone separate ways.
      if (why.code() == StatusCode::kInvalidArgument) return Decline(why);
      return Fail(MakeStatus(why.code(), Where() + ": " + StatusMessage(why)));
    }
    case CallStage::kReports:
      return SendVerdict();
    case CallStage::kVerdict:
      return Conclude(agreeing_.verdict);
    case CallStage::kNone:
    case CallStage::kMove:
      break;
  }
  return Finish();
}

Status Communicator::JudgeCounts() {
  const VectorArrays& arrays = *current_.call.vector;
  const CountsVerdict verdict = Judge(vectors_.words.data(), parts_.rank_count, &vectors_.key);
  vectors_.key ^= uint64_t{SettingsSignature(current_.call.settings)} << 32;
  if (verdict == CountsVerdict::kAgree && arrays.make == nullptr) {
    const auto known = vectors_.known.find(vectors_.key);
    if (known != vectors_.known.end()) {
      if (!Fits(*known->second, arrays, SizeOf(current_.call.type))) {
        return Fail(InternalError(Where() + ": two matrices of counts have one hash; change any count"));
      }
      return BeginMove(known->second.get());
    }
  }
  // Rows make the matrix; to name a pair that disagrees takes the columns, too.
  const bool refused = verdict != CountsVerdict::kAgree;
  const auto n = static_cast<size_t>(parts_.rank_count);
  const size_t numbers = refused ? 2 * n : n;
  vectors_.table.assign(arrays.send_counts, arrays.send_counts + n);
  if (refused) vectors_.table.insert(vectors_.table.end(), arrays.recv_counts, arrays.recv_counts + n);
  vectors_.tables.resize(n * numbers);
  current_.stage = refused ? CallStage::kRefused : CallStage::kRows;
  return BeginGather(vectors_.table.data(), vectors_.tables.data(), numbers * sizeof(uint64_t),
                     refused ? kRefusedSalt : kRowsSalt);
}

StatusOr<VectorPlan> Communicator::MakeVectorPlan(uint64_t key, const std::vector<int64_t>& demand,
                                                  const StatusOr<CachedPlan>& found) {
  const auto n = static_cast<size_t>(parts_.rank_count);
  VectorPlan made;
  made.key = key;
  made.last_used = sequence_;
  for (size_t peer = 0; peer < n; ++peer) {
    made.send_bytes.push_back(static_cast<uint64_t>(demand[parts_.rank.index() * n + peer]));
    made.recv_bytes.push_back(static_cast<uint64_t>(demand[peer * n + parts_.rank.index()]));
  }
  made.send_total = SumOf(made.send_bytes);
  made.recv_total = SumOf(made.recv_bytes);
  const CallSettings* settings = current_.call.settings;
  const bool named = settings != nullptr && !settings->planner.empty() && settings->planner != "auto";
  const bool may_be_messages = current_.call.vector->make == nullptr && !parts_.message_planner.empty() && !named;
  if (may_be_messages && found.status().code() == StatusCode::kUnimplemented) {
    MYCEL_LOG(kInfo) << Where() << ": runs as messages; " << StatusMessage(found.status());
    made.planner = "none";
    made.as_messages = true;
    return made;
  }
  if (!found.ok()) return found.status();
  const CachedPlan& plan = *found;
  // A plan file may be for another matrix; a planner's units are the bytes it was asked for.
  for (size_t block = 0; block < n * n; ++block) {
    if (plan.program.block_units.size() == n * n && plan.program.block_units[block] == demand[block]) continue;
    return InvalidArgument("the plan of planner '" + plan.planner + "' is for another matrix: this call has " +
                           std::to_string(demand[block]) + " bytes from rank " + std::to_string(block / n) +
                           " to rank " + std::to_string(block % n) + ", the plan " +
                           (plan.program.block_units.size() == n * n ? std::to_string(plan.program.block_units[block])
                                                                     : std::string("has no such block")));
  }
  made.planner = plan.planner;
  made.plan_hash = plan.program.plan_hash;
  made.as_messages = may_be_messages && plan.planner == parts_.message_planner;
  if (made.as_messages) return made;
  MYCEL_ASSIGN_OR_RETURN(made.program, Bind(plan.program, DataType::kUint8, 0, data_channels()));
  return made;
}

StatusOr<VectorPair> Communicator::MakeVectorPair(const PlanRequest& request, const std::vector<int64_t>& transposed) {
  MYCEL_RETURN_IF_ERROR(CheckSettings(current_.call));
  MYCEL_ASSIGN_OR_RETURN(PlanCache::Pair found, plans_.MakePair(request));
  VectorPair pair;
  MYCEL_ASSIGN_OR_RETURN(pair.dispatch, MakeVectorPlan(vectors_.key, request.demand, std::move(found.there)));
  MYCEL_ASSIGN_OR_RETURN(pair.combine, MakeVectorPlan(~vectors_.key, transposed, std::move(found.back)));
  pair.element_bytes = SizeOf(current_.call.type);
  return pair;
}

Status Communicator::PlanRows() {
  const auto n = static_cast<size_t>(parts_.rank_count);
  const size_t element_bytes = SizeOf(current_.call.type);
  std::vector<int64_t> demand(n * n);
  for (size_t pair = 0; pair < n * n; ++pair) {
    demand[pair] = static_cast<int64_t>(vectors_.tables[pair] * element_bytes);
  }
  VectorPair* pair = current_.call.vector->make;
  PlanRequest request;
  request.collective = Collective::kAllToAllV;
  request.bytes = SumOf(demand) / parts_.rank_count;
  request.demand = demand;
  const CallSettings* settings = current_.call.settings;
  request.planner = settings == nullptr ? "" : settings->planner;  // empty, 0: the communicator's
  request.lanes = settings == nullptr ? 0 : settings->lanes_max;
  request.lanes_min = settings == nullptr ? 0 : settings->lanes_min;
  if (pair != nullptr) {
    std::vector<int64_t> transposed(n * n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) transposed[j * n + i] = demand[i * n + j];
    }
    StatusOr<VectorPair> made = Planned([&] { return MakeVectorPair(request, transposed); });
    const uint64_t hash = made.ok() ? MixSignature(made->dispatch.plan_hash, made->combine.plan_hash) : 0;
    const Status mine = made.status();
    if (mine.ok()) vectors_.pending_pair = *std::move(made);
    return Agree(mine, hash, &Communicator::KeepPair);
  }
  StatusOr<VectorPlan> made = Planned([&]() -> StatusOr<VectorPlan> {
    MYCEL_RETURN_IF_ERROR(CheckSettings(current_.call));
    return MakeVectorPlan(vectors_.key, demand, plans_.Make(request));
  });
  const uint64_t hash = made.ok() ? made->plan_hash : 0;
  const Status mine = made.status();
  if (mine.ok()) vectors_.pending = std::make_unique<VectorPlan>(*std::move(made));
  return Agree(mine, hash, &Communicator::KeepRows);
}

Status Communicator::KeepPair() {
  VectorPair& pair = *current_.call.vector->make;
  pair = std::exchange(vectors_.pending_pair, VectorPair());
  return Finish();
}

Status Communicator::KeepRows() {
  auto& known = vectors_.known;
  if (known.size() >= VectorPlans::kMost) {
    known.erase(std::min_element(known.begin(), known.end(), [](const auto& a, const auto& b) {
      return a.second->last_used < b.second->last_used;
    }));
  }
  auto& kept = known[vectors_.key];
  kept = std::move(vectors_.pending);
  return BeginMove(kept.get());
}

Status Communicator::BeginMove(VectorPlan* plan) {
  const CollectiveCall& call = current_.call;
  current_.stage = CallStage::kMove;
  plan->last_used = sequence_;
  vectors_.last_move.planner = plan->planner;
  vectors_.last_move.plan_hash = plan->plan_hash;
  const uint32_t signature = MixSignature(plan->plan_hash, plan->key) + current_.agreement;
  if (plan->as_messages) {
    vectors_.legs.clear();
    AppendLegs(call, parts_.rank.value(), parts_.rank_count, &vectors_.legs);
    const Status built = BuildPoints(vectors_.legs, point_index());
    if (!built.ok()) return Fail(built);
    vectors_.last_move.SetProgram(points_);
    current_.launch.kernel = nullptr;
    current_.launch.stream_outputs = false;
    return Begin(points_, signature, 1);
  }
  vectors_.last_move.SetProgram(*plan->program);
  PlaceBlocks(call.vector->send_at, call.vector->recv_at, SizeOf(call.type), plan->program.get());
  Launch& launch = current_.launch;
  launch.bases[static_cast<size_t>(OperandBase::kSend)] = static_cast<std::byte*>(const_cast<void*>(call.send));
  launch.bases[static_cast<size_t>(OperandBase::kRecv)] = static_cast<std::byte*>(call.recv);
  launch.kernel = nullptr;  // nothing is reduced
  launch.stream_outputs = std::max(plan->send_total, plan->recv_total) > parts_.cache_bytes;
  return Begin(*plan->program, signature, 1);
}

}  // namespace mycel
