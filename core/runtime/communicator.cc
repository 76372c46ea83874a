#include "core/runtime/communicator.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/plan/contract.h"
#include "core/runtime/flight.h"
#include "core/runtime/operation_word.h"
#include "core/runtime/plan_bytes.h"
#include "core/runtime/trace_file.h"

namespace mycel {
namespace {

constexpr size_t kBoundMax = 4096;  // distinct calls kept; a program with more starts over

}  // namespace

struct Communicator::Bound {
  CallKey key;
  std::unique_ptr<BoundProgram> program;
  CachedPlan* plan = nullptr;
  const void* kernel = nullptr;
  size_t element_bytes = 0;
  uint64_t user_bytes = 0;      // of the larger user buffer
  uint32_t call_signature = 0;  // of the call alone, without its sequence number
  uint32_t base_signature = 0;  // of the call and its plan
  uint64_t word = 0;            // OperationWord
  bool timed = false;           // worth two looks at the clock
};

Communicator::Communicator(CommunicatorParts parts)
    : parts_(std::move(parts)),
      channels_(parts_.host_transport != nullptr ? parts_.host_transport : parts_.transport.get(), parts_.rank_count,
                parts_.host_transport != nullptr ? 1 : parts_.channels_per_pair),
      stream_channels_(parts_.transport.get(), parts_.rank_count, parts_.channels_per_pair),
      plans_(parts_.rank, parts_.plan_source, parts_.plan_pair_source) {
  MYCEL_CHECK(parts_.device != nullptr);
  if (!parts_.status) parts_.status = StatusOwner::Hidden(parts_.rank.value(), parts_.rank_count);
  status_ = parts_.status.get();
  // release: publishes what InitLog wrote last.
  status_->state.store(static_cast<uint32_t>(EntryState::kLive), std::memory_order_release);
  if (!parts_.trace_file.empty()) trace_ = std::make_unique<StepTrace>();
  current_.launch.trace = trace_.get();
  boards_.resize(static_cast<size_t>(parts_.rank_count), nullptr);
  if (parts_.transport == nullptr) {
    if (has_stream()) StartWatch();
    return;
  }
  for (Rank rank : Ids<Rank>(parts_.rank_count)) boards_[rank.index()] = parts_.transport->BoardOf(rank);
  board_ = boards_[parts_.rank.index()];
  if (board_ != nullptr) board_->phase.store(static_cast<uint32_t>(Phase::kIdle), std::memory_order_relaxed);
  stats_.payload_bytes = parts_.transport->MemoryBytes();
  needs_progress_ = parts_.transport->NeedsProgress();
  if (has_stream()) StartWatch();
}

Communicator::~Communicator() {
  if (has_stream()) EndWatch();
  if (trace_ != nullptr) WriteTrace(parts_.trace_file, *status_, trace_.get());
  // relaxed: only read by error texts of others.
  if (board_ != nullptr) board_->phase.store(static_cast<uint32_t>(Phase::kFinalized), std::memory_order_relaxed);
}

PlanKey Communicator::PlanKeyOf(const CollectiveCall& call, int64_t bytes) const {
  PlanKey key;
  key.collective = call.collective;
  key.root = call.root;
  key.bucket_bytes = BucketOf(bytes);
  // A barrier combines nothing, so any order will do, also where the topology has no plan in rank order.
  const CallSettings* settings = call.settings;
  const bool wanted = settings == nullptr ? parts_.reproducible : settings->reproducible.value_or(parts_.reproducible);
  key.reproducible = InfoOf(call.collective).reduces && !call.barrier && (wanted || NeedsRankOrder(call));
  if (has_stream() && call.internal != 0) key.lanes_min = key.lanes_max = 1;  // hosts have one channel
  if (settings == nullptr) return key;
  key.planner = settings->planner;
  key.lanes_min = settings->lanes_min;
  key.lanes_max = settings->lanes_max;
  return key;
}

uint32_t Communicator::CallSignature(const CallKey& key) const {
  const uint32_t settings = SettingsSignature(key.settings == 0 ? nullptr : &settings_[key.settings - 1]);
  return MixSignature(MixSignature(key.count, key.what) ^ (uint64_t{settings} << 32), static_cast<uint32_t>(key.root));
}

/// Few: each is a combination of planner, lanes and order that the program has asked for.
uint32_t Communicator::NumberOf(const CallSettings& settings) {
  if (!settings.ChoosesPlans()) return 0;
  for (size_t i = 0; i < settings_.size(); ++i) {
    if (settings_[i].ChoosesLike(settings)) return static_cast<uint32_t>(i + 1);
  }
  settings_.push_back(settings);
  return static_cast<uint32_t>(settings_.size());
}

/// The caller's settings may be gone when the call has ended and is asked about.
void Communicator::SetSettings(const CallSettings* settings) {
  const bool times = settings != nullptr && settings->timeout_ns != 0;
  current_.timeout_ns = times ? settings->timeout_ns : parts_.timeout_ns;
  const uint32_t number = settings == nullptr ? 0 : NumberOf(*settings);
  current_.call.settings = number == 0 ? nullptr : &settings_[number - 1];
}

/// A plan's lanes need channels, which are made with the communicator.
Status Communicator::CheckSettings(const CollectiveCall& call) {
  const int32_t most = data_channels().channels_per_pair() - 1;
  if (call.settings == nullptr || std::max(call.settings->lanes_min, call.settings->lanes_max) <= most) {
    return OkStatus();
  }
  return InvalidArgument("the call's config asks for more lanes than the " + std::to_string(most) +
                         " of the communicator; create it with that many (maxLanes of mycelConfig_t)");
}

Communicator::PlanningShown::PlanningShown(Communicator* communicator) : communicator_(*communicator) {
  // relaxed throughout: for texts only, see board.h and status_page.h.
  communicator_.status_->planning.store(1, std::memory_order_relaxed);
  if (communicator_.board_ == nullptr) return;
  phase_ = communicator_.board_->phase.load(std::memory_order_relaxed);
  communicator_.board_->phase.store(static_cast<uint32_t>(Phase::kPlanning), std::memory_order_relaxed);
}

Communicator::PlanningShown::~PlanningShown() {
  communicator_.status_->planning.store(0, std::memory_order_relaxed);
  if (communicator_.board_ != nullptr) communicator_.board_->phase.store(phase_, std::memory_order_relaxed);
}

StatusOr<const Communicator::Bound*> Communicator::MakeBound(const CallKey& key, const CollectiveCall& call) {
  MYCEL_RETURN_IF_ERROR(CheckSettings(call));
  const int64_t bytes = PlanBytes(call, parts_.rank_count);
  MYCEL_ASSIGN_OR_RETURN(CachedPlan * plan, plans_.Find(PlanKeyOf(call, bytes)));
  auto bound = std::make_unique<Bound>();
  bound->key = key;
  bound->plan = plan;
  ChannelTable& channels = call.internal == 0 ? data_channels() : channels_;
  MYCEL_ASSIGN_OR_RETURN(bound->program, Bind(plan->program, call.type, static_cast<int64_t>(call.count), channels));
  bound->kernel = KernelFor(call);
  bound->element_bytes = SizeOf(call.type);
  bound->user_bytes = static_cast<uint64_t>(bytes);
  bound->timed = bound->user_bytes >= kTimedBytes;
  const uint32_t planner = PlannerNumber(plan->planner, status_);
  bound->word = WordOf(call, BoardNumberOf(call), planner).Pack();
  bound->call_signature = CallSignature(key);
  bound->base_signature = MixSignature(bound->call_signature, plan->program.plan_hash);
  if (bound_.size() >= kBoundMax) {
    bound_.clear();
    last_ = nullptr;
    served_ = nullptr;
  }
  return bound_.insert_or_assign(key, std::move(bound)).first->second.get();
}

const Communicator::Bound* Communicator::FindBound(const CallKey& key) {
  if (last_ != nullptr && last_->key == key) return last_;
  const auto known = bound_.find(key);
  if (known == bound_.end()) return nullptr;
  last_ = known->second.get();
  return last_;
}

StatusOr<const Communicator::Bound*> Communicator::LookUp(const CollectiveCall& call) {
  const CallKey key = KeyOf(call, call.count);
  if (const Bound* known = FindBound(key); known != nullptr) return known;
  MYCEL_ASSIGN_OR_RETURN(last_, Planned([&] { return MakeBound(key, call); }));
  return last_;
}

void Communicator::PostOnBoard(const CollectiveCall& call, uint32_t signature) {
  PostOnBoard(call, signature, WordOf(call, BoardNumberOf(call), 0).Pack(),
              call.count * SizeOf(call.type) >= kTimedBytes);
}

void Communicator::PostOnBoard(const CollectiveCall& call, uint32_t signature, uint64_t word, bool timed) {
  PostFlight(word, call.count, timed);
  if (board_ != nullptr) PostCall(call, signature);
}

void Communicator::PostCall(const CollectiveCall& call, uint32_t signature) {
  // relaxed throughout: error texts only, see board.h.
  constexpr auto kRelaxed = std::memory_order_relaxed;
  board_->operation.store(sequence_, kRelaxed);
  const uint32_t what = BoardNumberOf(call);
  board_->collective.store(what, kRelaxed);
  board_->type.store(static_cast<uint32_t>(call.type), kRelaxed);
  board_->op.store(static_cast<uint32_t>(call.op), kRelaxed);
  board_->root.store(call.root, kRelaxed);
  board_->count.store(call.count, kRelaxed);
  board_->counts_hash.store(call.counts_hash, kRelaxed);
  board_->phase.store(static_cast<uint32_t>(Phase::kRunning), kRelaxed);
  CallRecord record;
  record.operation = sequence_;
  record.count = call.count;
  record.counts_hash = call.counts_hash;
  record.signature = signature;
  record.collective = what;
  record.type = static_cast<uint32_t>(call.type);
  record.op = static_cast<uint32_t>(call.op);
  record.root = call.root;
  if (call.settings != nullptr) [[unlikely]] {
    record.settings = call.settings->Pack();
    SetField(record.planner, call.settings->planner);
  }
  board_->history.Post(record);
}

/// Scratch grows to the largest need and stays, without being cleared: a program writes it before it reads it.
Status Communicator::GrowScratch(size_t bytes, Runs runs) {
  if (has_stream() && runs == Runs::kData) {
    MYCEL_ASSIGN_OR_RETURN(current_.launch.bases[static_cast<size_t>(OperandBase::kScratch)],
                           parts_.stream_device->Scratch(bytes));
    return OkStatus();
  }
  if (bytes <= scratch_bytes_) return OkStatus();
  std::unique_ptr<std::byte[]> grown(new (std::nothrow) std::byte[bytes]);
  if (grown == nullptr) {
    return SystemError(Where() + ": the plan needs " + std::to_string(bytes) +
                       " bytes of scratch memory, which the system refuses; free memory, or name another planner in "
                       "MYCEL_PLANNER");
  }
  scratch_ = std::move(grown);
  scratch_bytes_ = bytes;
  return OkStatus();
}

Status Communicator::Begin(const BoundProgram& program, uint32_t signature, size_t element_bytes, Runs runs) {
  Status grown = GrowScratch(program.scratch_bytes, runs);
  if (!grown.ok()) [[unlikely]]
    return Fail(std::move(grown));
  Operation& operation = current_;
  Launch& launch = operation.launch;
  launch.program = &program;
  launch.element_bytes = element_bytes;
  launch.rank_count = parts_.rank_count;
  launch.signature = signature;
  if (has_stream() && runs == Runs::kData) [[unlikely]]
    return Submit(program);
  operation.lanes.assign(program.lanes.size(), LaneState());
  launch.lanes = operation.lanes.data();
  launch.finished = nullptr;
  if (!program.waits.empty()) {
    operation.finished.assign(program.instructions.size(), 0);
    launch.finished = operation.finished.data();
  }
  launch.bases[static_cast<size_t>(OperandBase::kScratch)] = scratch_.get();
  launch.bases[static_cast<size_t>(OperandBase::kAbsolute)] = nullptr;
  if (program.protocol == Protocol::kDirect) {
    const auto needed = static_cast<size_t>(program.slice_bytes) * static_cast<size_t>(parts_.rank_count);
    if (bounce_.size() < needed) bounce_.resize(needed);
    launch.bounce = bounce_.data();
    launch.direct_read = &DirectReadThunk;
    launch.direct_context = this;
  }
  launch.fault_channel = -1;
  launch.direct_failed = false;
  if (launch.trace != nullptr) [[unlikely]]
    launch.trace->Begin(sequence_, program.lanes.size());
  ClaimRings(program);
  operation.running = true;
  return OkStatus();
}

Status Communicator::SetOperands(const CollectiveCall& call, const void* kernel) {
  Launch& launch = current_.launch;
  launch.bases[static_cast<size_t>(OperandBase::kSend)] = static_cast<std::byte*>(const_cast<void*>(call.send));
  launch.bases[static_cast<size_t>(OperandBase::kRecv)] = static_cast<std::byte*>(call.recv);
  launch.kernel = kernel;
  if (call.dynamic != nullptr) [[unlikely]]
    return SetDynamic(call);
  return OkStatus();
}

Status Communicator::Start(const CollectiveCall& call) {
  MYCEL_CHECK(!current_.running);
  // relaxed: a late sight of a failure only delays its report to the next check.
  if (failed_.load(std::memory_order_relaxed) || aborted_.load(std::memory_order_relaxed)) [[unlikely]]
    return Fail(error());
  ++sequence_;
  ++stats_.operations;
  current_.call = call;
  current_.point_to_point = false;
  current_.stage = CallStage::kNone;
  current_.refused = false;
  SetSettings(call.settings);
  if (call.vector != nullptr) {
    return call.collective == Collective::kAllToAllV ? StartVector(current_.call) : StartBlocks(current_.call);
  }
  const Bound* bound = FindBound(KeyOf(current_.call, call.count));
  if (bound == nullptr || !bound->plan->agreed) [[unlikely]]
    return StartFirst(current_.call);
  current_.agreement = bound->call_signature + SequenceSalt();
  if (call.barrier) {
    PostOnBoard(current_.call, current_.agreement);
  } else {
    PostOnBoard(current_.call, current_.agreement, bound->word, bound->timed);
  }
  return RunBound(*bound);
}

/// The call is on the board.
Status Communicator::RunBound(const Bound& bound) {
  served_ = &bound;
  MYCEL_RETURN_IF_ERROR(SetOperands(current_.call, bound.kernel));
  current_.launch.stream_outputs = bound.user_bytes > parts_.cache_bytes;
  return Begin(*bound.program, bound.base_signature + SequenceSalt(), bound.element_bytes,
               current_.call.internal == 0 ? Runs::kData : Runs::kConversation);
}

/// A call that has to be planned, or whose plan has not run yet.
Status Communicator::StartFirst(const CollectiveCall& call) {
  current_.agreement = CallSignature(KeyOf(call, call.count)) + SequenceSalt();
  PostOnBoard(call, current_.agreement);
  StatusOr<const Bound*> made = LookUp(call);
  Status mine = made.status();
  first_ = made.ok() ? *made : nullptr;
  if (mine.ok())
    mine = GrowScratch(first_->program->scratch_bytes, call.internal == 0 ? Runs::kData : Runs::kConversation);
  CachedPlan* plan = mine.ok() ? first_->plan : nullptr;
  return AgreeOn(PlanKeyOf(call, PlanBytes(call, parts_.rank_count)), mine, plan, &Communicator::RunFirst);
}

Status Communicator::RunFirst() {
  const Bound& bound = *std::exchange(first_, nullptr);
  // Now it is known who planned it. relaxed: a text for people.
  if (!current_.call.barrier) current_.flight->what.store(bound.word, std::memory_order_relaxed);
  return RunBound(bound);
}

/// An allgather as a stage of the operation at hand.
Status Communicator::BeginGather(const void* mine, void* all, size_t bytes, uint32_t salt) {
  CollectiveCall gather;
  gather.collective = Collective::kAllGather;
  gather.count = bytes;
  if (has_stream()) gather.internal = kBoardVector + static_cast<uint32_t>(Collective::kAllToAllV);  // of the hosts
  StatusOr<const Bound*> found = LookUp(gather);
  gather_ = {mine, all, salt, found.ok() ? *found : nullptr};
  if (found.ok() && (*found)->plan->agreed) [[likely]]
    return RunGather();
  return AgreeOn(PlanKeyOf(gather, PlanBytes(gather, parts_.rank_count)), found.status(),
                 found.ok() ? (*found)->plan : nullptr, &Communicator::RunGather);
}

Status Communicator::RunGather() {
  const Bound& bound = *gather_.bound;
  Launch& launch = current_.launch;
  launch.bases[static_cast<size_t>(OperandBase::kSend)] = static_cast<std::byte*>(const_cast<void*>(gather_.mine));
  launch.bases[static_cast<size_t>(OperandBase::kRecv)] = static_cast<std::byte*>(gather_.all);
  launch.kernel = bound.kernel;
  launch.stream_outputs = false;
  return Begin(*bound.program, MixSignature(bound.base_signature, gather_.salt) + current_.agreement,
               bound.element_bytes, Runs::kConversation);
}

void Communicator::EndTimedFlight(FlightRecord& flight, FlightOutcome outcome) {
  const uint64_t end = ExactNowNs();
  EndFlight(flight, end, outcome);
  if (current_.waiting) PostWait(WaitWord(), 0);
  if (trace_ == nullptr) return;
  // relaxed: written by this thread.
  TraceEvent event;
  event.start_ns = static_cast<int64_t>(flight.start_ns.load(std::memory_order_relaxed));
  event.end_ns = static_cast<int64_t>(end);
  event.operation = flight.operation.load(std::memory_order_relaxed);
  event.what = flight.what.load(std::memory_order_relaxed);
  event.amount = flight.count.load(std::memory_order_relaxed);
  trace_->Add(event);
}

Status Communicator::Finish() {
  current_.running = false;
  EndFlightAs(FlightOutcome::kDone);
  if (board_ != nullptr) board_->phase.store(static_cast<uint32_t>(Phase::kIdle), std::memory_order_relaxed);
  return OkStatus();
}

Status Communicator::Advance(bool* idle) {
  // Not only in CheckWait: an operation that always finds something to do must end too. relaxed: as there.
  if (aborted_.load(std::memory_order_relaxed)) [[unlikely]]
    return Fail(AbortedError(Where() + ": the communicator was " + AbortWord()));
  const int polls = parts_.wait.oversubscribed ? 1 : Waiter::kPollsPerPause;
  const StepEvent event = parts_.device->Step(current_.launch, polls);
  *idle = event == StepEvent::kIdle;
  // Also when the lanes moved: what they have published must leave, the last message of an operation included.
  if (needs_progress_ && parts_.transport->Progress()) *idle = false;
  switch (event) {
    case StepEvent::kIdle:
    case StepEvent::kProgress:
      return OkStatus();
    case StepEvent::kDone:
      return current_.stage == CallStage::kNone ? Finish() : NextStage();
    case StepEvent::kMismatch:
      return Fail(Mismatch());
    case StepEvent::kFailed:
      return Fail(DirectReadFailure());
  }
  return InternalError("unreachable step event");
}

Status Communicator::Wait() {
  Waiter waiter(parts_.wait, bell());
  bool idle = false;
  while (current_.running) {
    MYCEL_RETURN_IF_ERROR(Advance(&idle));
    if (!idle) {
      waiter.Reset();
    } else if (waiter.Pause()) {
      MYCEL_RETURN_IF_ERROR(CheckWait(waiter.WaitedNs()));
    }
  }
  stats_.sleeps += waiter.sleeps();
  return OkStatus();
}

Status Communicator::Run(const CollectiveCall& call) {
  MYCEL_RETURN_IF_ERROR(Start(call));
  return Wait();
}

CallFacts Communicator::FactsOf(const Bound& bound) const {
  CallFacts facts;
  facts.planner = bound.plan->planner;
  facts.SetProgram(*bound.program);
  facts.plan_hash = bound.plan->program.plan_hash;
  facts.transport = parts_.transport == nullptr ? "none" : std::string(parts_.transport->name());
  return facts;
}

StatusOr<std::string> Communicator::Explain(const CollectiveCall& call) {
  if (call.collective == Collective::kAllToAllV) return ExplainVector();
  MYCEL_ASSIGN_OR_RETURN(const Bound* bound, LookUp(call));
  const CallFacts facts = FactsOf(*bound);
  return Describe(call) + ": planner " + facts.planner + ", protocol " + std::string(NameOf(facts.protocol)) + ", " +
         std::to_string(facts.lanes) + " lane(s), " + std::to_string(facts.slices) + " slice(s) of at most " +
         std::to_string(facts.slice_bytes) + " bytes, " + std::to_string(facts.slot_count) + " slots, transport " +
         facts.transport;
}

StatusOr<CallFacts> Communicator::LastCall() const {
  if (stats_.operations == 0) {
    return InvalidUsage("rank " + std::to_string(parts_.rank.value()) + ": this communicator has served no call yet");
  }
  if (current_.refused) return InvalidUsage(Where() + " was refused on all ranks");
  CallFacts facts;
  if (current_.point_to_point) {
    facts.call = "send/recv";
    facts.planner = "none";
    facts.SetProgram(points_);
  } else if (current_.call.vector == nullptr) {
    if (served_ == nullptr) return InvalidUsage(Where() + " was served by no plan");
    facts = FactsOf(*served_);
    facts.call = Describe(current_.call);
  } else {
    facts = vectors_.last_move;
    facts.call = Describe(current_.call);
  }
  facts.operation = sequence_;
  facts.transport = parts_.transport == nullptr ? "none" : std::string(parts_.transport->name());
  return facts;
}

StatusOr<Communicator::WindowFacts> Communicator::OpenWindow(const WindowPart& mine) {
  std::vector<WindowPart> parts(static_cast<size_t>(parts_.rank_count));
  CollectiveCall call;
  call.collective = Collective::kAllGather;
  call.internal = kBoardWindow;
  call.send = &mine;
  call.recv = parts.data();
  call.count = sizeof(mine);
  MYCEL_RETURN_IF_ERROR(Run(call));
  WindowFacts facts;
  facts.number = ++windows_;
  if (parts_.transport != nullptr) facts.peers_mapped = parts_.transport->MapWindow(facts.number, parts);
  return facts;
}

void Communicator::CloseWindow(uint64_t number) {
  if (parts_.transport != nullptr) parts_.transport->UnmapWindow(number);
}

CommunicatorStats Communicator::stats() const {
  CommunicatorStats stats = stats_;
  for (const ChannelTraffic& channel : Traffic()) {
    if (!channel.sends) continue;
    stats.messages += channel.messages;
    stats.message_bytes += channel.bytes;
  }
  stats.scratch_bytes = scratch_bytes_ + scaled_bytes_;
  if (parts_.transport != nullptr) stats.window_reads = parts_.transport->WindowReads();
  return stats;
}

}  // namespace mycel
