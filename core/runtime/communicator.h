// Communicator: one rank's side of a group of ranks. Hop 2 (look up), 6 (bind) and the driving of hop 7.
//
// Field owners: everything is owned by the thread inside a call (the caller admits one at a time), except `aborted_`
// and `abort_word_` (any thread), the sticky error (mutex) and the board (single writer: this rank; readers: all).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/mutex.h"
#include "core/base/status.h"
#include "core/base/text_hash.h"
#include "core/base/wait.h"
#include "core/runtime/bind.h"
#include "core/runtime/call.h"
#include "core/runtime/call_facts.h"
#include "core/runtime/plan_cache.h"
#include "core/runtime/status_page.h"
#include "core/runtime/stream_flights.h"
#include "core/runtime/vector_plan.h"
#include "core/spi/device.h"
#include "core/spi/stream_device.h"
#include "core/spi/transport.h"

namespace mycel {

/// What a communicator is made of; the bindings put it together.
struct CommunicatorParts {
  Rank rank;
  int32_t rank_count = 0;
  std::string name;                      // what the user calls it, for texts; may be empty
  std::unique_ptr<Transport> transport;  // connected; null when rank_count == 1
  int32_t channels_per_pair = 2;         // the last one carries point-to-point messages
  const Device* device = nullptr;
  // Where given: what moves the program's data runs there, over `transport`, in the order of the calls' streams; what
  // the ranks' hosts say to each other runs on `device` over `host_transport`, which has one channel a pair.
  std::unique_ptr<StreamDevice> stream_device;
  Transport* host_transport = nullptr;  // part of `transport`
  PlanSource plan_source;
  PlanPairSource plan_pair_source;  // for exchanges that callers keep; may be empty where there are none
  WaitPolicy wait;
  int64_t timeout_ns = 0;
  size_t cache_bytes = 0;  // user buffers beyond this are written with non-temporal stores
  StatusOwner status;      // what others see of this rank (InitLog); none: nobody sees it
  std::string trace_file;  // timeline to write at the end (trace_file.h); empty: none
  // Equal on all ranks:
  bool plans_vectors = false;  // a plain alltoallv is planned; else the bindings make messages of it
  bool reproducible = false;   // every reduction is (PlanRequest::reproducible)
  // Whose plans for a plain alltoallv run as messages, which do the same. Then messages also serve where no planner
  // does; the ranks reach each other whatever the topology says. May be empty.
  std::string message_planner;
};

struct CommunicatorStats {
  uint64_t operations = 0;
  uint64_t plans_made = 0;
  uint64_t payload_bytes = 0;
  uint64_t messages = 0;  // sent: sums of ChannelTraffic
  uint64_t message_bytes = 0;
  uint64_t sleeps = 0;
  uint64_t scratch_bytes = 0;  // held for staging, the most that any operation needed
  uint64_t window_reads = 0;   // of peers' memory, through windows
};

/// Where a call stands that takes several launches. Of a new plan: the first rank hears how planning went everywhere
/// (kReports) and tells what follows (kVerdict). Of an alltoallv: ranks compare CountsWords, gather their rows where
/// the matrix is new, then move bytes.
enum class CallStage : uint8_t { kNone, kReports, kVerdict, kWords, kRows, kRefused, kMove };

/// An operation on its way: a launch with what error texts need. Reused, so that steady state allocates nothing.
struct Operation {
  Launch launch;
  uint32_t agreement = 0;  // what all ranks must be in; all launches of the call have it in their signatures
  CallStage stage = CallStage::kNone;
  int64_t timeout_ns = 0;
  std::vector<LaneState> lanes;
  std::vector<uint64_t> finished;
  CollectiveCall call;  // collectives
  UserReduction user;   // where call.op is kUser
  bool point_to_point = false;
  bool running = false;
  bool refused = false;            // the last call was, on all ranks
  FlightRecord* flight = nullptr;  // until its end is on record
  bool timed = false;              // its end is worth a look at the clock: large, or it had to wait
  bool waiting = false;            // the board says what it waits for
};

class Communicator {
 public:
  explicit Communicator(CommunicatorParts parts);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  Rank rank() const { return parts_.rank; }
  int32_t rank_count() const { return parts_.rank_count; }

  /// Runs a validated collective to its end in the calling thread. One thread at a time.
  Status Run(const CollectiveCall& call);
  /// Runs point-to-point messages of one group together; sends and receives of a pair match in order.
  /// Of `settings` (may be null) the timeout counts.
  Status RunPoints(std::span<const PointCall> calls, const CallSettings* settings = nullptr, void* stream = nullptr);

  // The same in steps, so that one thread can drive several communicators (groups).
  Status Start(const CollectiveCall& call);
  Status StartPoints(std::span<const PointCall> calls, const CallSettings* settings = nullptr, void* stream = nullptr);
  /// Drives the started operation without waiting; sets `*idle` when nothing moved. OK and !running() when done.
  Status Advance(bool* idle);
  bool running() const { return current_.running; }
  /// The slow checks of a wait (abort, deadline, peers); `waited_ns`: how long nothing has moved.
  Status CheckWait(uint64_t waited_ns);
  const WaitPolicy& wait_policy() const { return parts_.wait; }
  Bell* bell() { return board_ == nullptr ? nullptr : &board_->bell; }
  void CountSleeps(uint64_t sleeps) { stats_.sleeps += sleeps; }

  /// Whether a plain alltoallv runs by plan (VectorArrays); else the bindings make messages of it.
  bool plans_vectors() const { return parts_.plans_vectors; }

  std::string_view device_name() const {
    return parts_.stream_device == nullptr ? parts_.device->name() : parts_.stream_device->name();
  }
  bool RunsUserFunctions() const { return parts_.stream_device == nullptr && parts_.device->RunsUserFunctions(); }

  /// On a StreamDevice: the calls from here to Join go into a stream of the communicator's own, which goes on from
  /// where `stream` is now; `stream` then waits for them. For calls on several communicators that share a stream.
  StatusOr<void*> Fork(void* stream) { return parts_.stream_device->Fork(stream); }
  Status Join(void* stream) { return parts_.stream_device->Join(stream); }

  /// One line about how `call` would run.
  StatusOr<std::string> Explain(const CollectiveCall& call);

  /// What served the last operation. InvalidUsage when there was none.
  StatusOr<CallFacts> LastCall() const;

  struct WindowFacts {
    uint64_t number = 0;       // for CloseWindow
    int32_t peers_mapped = 0;  // whose parts this rank reads through a mapping
  };
  /// Collective, by the thread inside: every rank says which of its memory peers may map. It must live until the rank
  /// has closed the window and made another call.
  StatusOr<WindowFacts> OpenWindow(const WindowPart& mine);
  /// By the thread inside; in the same place of every rank's order of calls.
  void CloseWindow(uint64_t number);
  bool reads_directly() const { return parts_.transport != nullptr && parts_.transport->AllReadDirectly(); }
  std::string_view transport_name() const {
    return parts_.transport == nullptr ? std::string_view("none") : parts_.transport->name();
  }

  /// Any thread: running and later operations end with AbortedError. `how`: a literal, "aborted" or "revoked".
  void Abort(const char* how = "aborted");
  /// By the thread inside: tells the peers, who see RemoteError.
  void TellAborted() {
    Fail(AbortedError("rank " + std::to_string(parts_.rank.value()) + " was " + AbortWord())).IgnoreError();
  }

  using Place = std::array<unsigned char, sizeof(ShrinkBoard::place)>;
  /// By the thread inside; works after failures too, since it needs only the boards. Waits until all `survivors`
  /// (ascending, this rank among them) have called it with the same list; then the first of them calls `host`, and all
  /// return what that gave. `given_up` is asked every now and then. InvalidUsage: another rank has another list.
  /// RemoteError: a survivor died or has left. Timeout names who did not come.
  StatusOr<Place> MeetSurvivors(std::span<const Rank> survivors, Deadline deadline,
                                const std::function<StatusOr<Place>()>& host, const std::function<bool()>& given_up);
  /// By the thread inside, when something was thrown in the middle of an operation: the communicator has failed.
  Status GiveUp(Status status) {
    current_.running = false;
    return Fail(std::move(status));
  }
  /// Any thread. OK, or the first error, which stays.
  Status error() const;
  CommunicatorStats stats() const;

  /// How one rank's planning went, or what follows for all.
  struct PlanReport {
    uint32_t code;   // StatusCode
    int32_t rank;    // whose report it is
    uint64_t plan;   // hash
    char text[496];  // of a refusal
  };
  static_assert(sizeof(PlanReport) == 512);
  /// What each open channel has carried. Between Enter and Leave, or by the thread that makes the calls.
  std::vector<ChannelTraffic> Traffic() const;

 private:
  struct Bound;  // a bound program with its key
  struct CallKey {
    uint64_t count;
    uint32_t what;  // collective, type, op, flags
    int32_t root;
    uint32_t settings;  // number of the call's own; 0: none
    friend bool operator==(const CallKey&, const CallKey&) = default;
  };
  static constexpr uint32_t kOrdered = 1u << 24;  // in `what`: a user's operation that does not commute
  static constexpr uint32_t kVector = 1u << 25;   // blocks of unlike counts
  struct CallKeyHash {
    size_t operator()(const CallKey& key) const {
      return MixSignature(key.count, key.what + (uint64_t{7} << 32) * static_cast<uint32_t>(key.root)) ^ key.settings;
    }
  };

  /// Null: not known.
  const Bound* FindBound(const CallKey& key);
  StatusOr<const Bound*> LookUp(const CollectiveCall& call);
  StatusOr<const Bound*> MakeBound(const CallKey& key, const CollectiveCall& call);
  struct PointUse {
    uint64_t group = 0;    // the other fields belong to this group of messages
    int32_t channel = -1;  // in points_.channels
    int32_t lane = -1;     // of the last message
  };

  void PostOnBoard(const CollectiveCall& call, uint32_t signature);
  /// `word`: OperationWord of the call; `timed`: it is worth two looks at the clock.
  void PostOnBoard(const CollectiveCall& call, uint32_t signature, uint64_t word, bool timed);
  void PostCall(const CollectiveCall& call, uint32_t signature);  // on the board alone
  Status StartFirst(const CollectiveCall& call);
  Status RunFirst();
  Status RunBound(const Bound& bound);
  void SetSettings(const CallSettings* settings);
  uint32_t NumberOf(const CallSettings& settings);
  Status CheckSettings(const CollectiveCall& call);

  // communicator_agree.cc
  using Resume = Status (Communicator::*)();
  /// Calls `resume` when all ranks have a plan for `key`; where one has not (`mine`: how it went here) all refuse the
  /// call and nothing stays. `plan`: null where there is none.
  Status AgreeOn(const PlanKey& key, const Status& mine, CachedPlan* plan, Resume resume);
  /// The same about something that is planned for this call alone.
  Status Agree(const Status& mine, uint64_t plan_hash, Resume resume);
  Status BeginReports(std::span<const PointCall> legs, CallStage stage);
  Status SendVerdict();
  Status Conclude(const PlanReport& verdict);

  /// Who runs a launch: what moves the program's data, or what the ranks' hosts say to each other.
  enum class Runs : uint8_t { kData, kConversation };
  Status Begin(const BoundProgram& program, uint32_t signature, size_t element_bytes, Runs runs = Runs::kData);
  Status GrowScratch(size_t bytes, Runs runs = Runs::kData);

  // communicator_stream.cc: on a StreamDevice
  bool has_stream() const { return parts_.stream_device != nullptr; }
  /// Of the program's data, wherever it moves.
  ChannelTable& data_channels() { return has_stream() ? stream_channels_ : channels_; }
  const void* KernelFor(const CollectiveCall& call) const;
  Status Submit(const BoundProgram& program);
  Status ScaleOnStream(const CollectiveCall& call, size_t elements);
  void StartWatch();
  void EndWatch();
  void Watch();
  void LookAtFlights();
  Status CheckPeers();
  std::string DisagreementAbout(Rank peer, uint64_t last, const std::string& where) const;
  Status JudgeFault(const StreamFault& fault, uint64_t last, const std::string& where) const;
  void FailStreams(const Status& cause, const std::string& where, bool tells_wait);
  std::string FlightText(const StreamFlight& flight) const;

  CallFacts FactsOf(const Bound& bound) const;

  // communicator_vector.cc
  std::string ExplainVector() const;
  Status StartVector(const CollectiveCall& call);
  Status NextStage();
  Status JudgeCounts();
  Status PlanRows();
  Status BeginGather(const void* mine, void* all, size_t bytes, uint32_t salt);
  Status RunGather();
  Status KeepRows();
  Status KeepPair();
  Status BeginMove(VectorPlan* plan);
  StatusOr<VectorPair> MakeVectorPair(const PlanRequest& request, const std::vector<int64_t>& transposed);
  StatusOr<VectorPlan> MakeVectorPlan(uint64_t key, const std::vector<int64_t>& demand,
                                      const StatusOr<CachedPlan>& found);
  /// Ends an operation that all ranks refuse alike before anything moved: nothing stays.
  Status Decline(const Status& status);

  // communicator_blocks.cc: allgatherv, reduce_scatterv, gatherv, scatterv
  /// A program bound to blocks of these counts.
  struct BlockCall {
    std::vector<size_t> counts;
    std::vector<size_t> packed_at;  // where blocks begin that follow each other
    std::unique_ptr<BoundProgram> program;
    CachedPlan* plan = nullptr;
    const void* kernel = nullptr;
    uint32_t base_signature = 0;
    bool stream_outputs = false;
  };
  StatusOr<BlockCall*> LookUpBlocks(const CollectiveCall& call, uint64_t counts_key);
  StatusOr<BlockCall*> MakeBlocks(const CollectiveCall& call, const CallKey& key);
  Status StartBlocks(const CollectiveCall& call);
  Status RunBlocks();
  Status StartRootedBlocks(const CollectiveCall& call);

  /// `count`: what stands for the call's counts.
  CallKey KeyOf(const CollectiveCall& call, uint64_t count) {
    CallKey key;
    key.count = count;
    key.what = (static_cast<uint32_t>(call.collective) << 16) | (static_cast<uint32_t>(call.type) << 8) |
               static_cast<uint32_t>(call.op);
    if (call.dynamic != nullptr && !call.dynamic->commutes) key.what |= kOrdered;
    if (call.vector != nullptr) key.what |= kVector;
    // Our own allgathers must not be taken for the caller's.
    key.root = call.internal != 0 ? -static_cast<int32_t>(call.internal) : call.root;
    key.settings = call.settings == nullptr ? 0 : NumberOf(*call.settings);
    return key;
  }
  PlanKey PlanKeyOf(const CollectiveCall& call, int64_t bytes) const;
  /// Equal on all ranks that make the same call, whatever they know about its plan.
  uint32_t CallSignature(const CallKey& key) const;
  static uint32_t SettingsSignature(const CallSettings* settings) {
    return settings == nullptr ? 0 : MixSignature(settings->Pack(), HashOfText(settings->planner));
  }
  static constexpr uint32_t kSequenceStep = 0x9E3779B1u;
  uint32_t SequenceSalt() const { return static_cast<uint32_t>(sequence_) * kSequenceStep; }
  /// Buffers and arithmetic of a call that runs a plan.
  Status SetOperands(const CollectiveCall& call, const void* kernel);
  Status SetDynamic(const CollectiveCall& call);  // communicator_dynamic.cc
  Status ScaleInput(const CollectiveCall& call);

  StatusOr<ChannelEnd*> OpenPoint(const PointCall& call, int32_t index, Runs runs);
  /// `index`: of each pair's channel.
  Status BuildPoints(std::span<const PointCall> calls, int32_t index, Runs runs = Runs::kData);
  int32_t point_index() { return data_channels().channels_per_pair() - 1; }
  Status AddSelfMessages(std::span<const PointCall> calls);
  Status Finish();
  Status Wait();
  Status Mismatch();
  std::string Disagreement(Rank peer) const;
  Status DirectReadFailure();
  Status PeerStatus(Rank peer, bool blocked_on);
  Status AliveStatus(Rank peer);
  const char* AbortWord() const { return abort_word_.load(std::memory_order_relaxed); }
  Status Fail(Status status);
  bool KeepError(const Status& status);
  Rank PeerOf(int32_t channel) const;  // of the current launch
  std::string Me() const;              // "rank 2", "rank 2 of tp0"
  std::string Where() const;           // "rank 2, operation 17 allreduce(...)"
  std::string Context() const;         // " [communicator ..., host ...]": the end of every error text
  std::string WaitText(WaitWord wait) const;
  std::string LastFlightText() const;
  std::string StandingOf(const RankBoard& board) const;
  static std::string PlaceOf(const RankBoard& board);
  void PostFlight(uint64_t what, uint64_t count, bool timed) {
    current_.timed = timed | (current_.launch.trace != nullptr);
    current_.flight = &BeginFlight(*status_, sequence_, what, count, current_.timed ? ExactNowNs() : CoarseNowNs());
  }
  /// The operation at hand is over, as far as others see.
  void EndFlightAs(FlightOutcome outcome) {
    FlightRecord* flight = std::exchange(current_.flight, nullptr);
    if (flight == nullptr) return;
    if (current_.timed) [[unlikely]]
      return EndTimedFlight(*flight, outcome);
    // Neither large nor did it have to wait: over within the tick of the clock that its start has. relaxed: our own.
    EndFlight(*flight, flight->start_ns.load(std::memory_order_relaxed), outcome);
  }
  void EndTimedFlight(FlightRecord& flight, FlightOutcome outcome);
  void PostWait(WaitWord wait, uint64_t waited_ns);
  /// Shows others that this rank makes a plan, while it lives.
  class PlanningShown {
   public:
    explicit PlanningShown(Communicator* communicator);
    ~PlanningShown();
    PlanningShown(const PlanningShown&) = delete;
    PlanningShown& operator=(const PlanningShown&) = delete;

   private:
    Communicator& communicator_;
    uint32_t phase_ = 0;
  };
  /// What `make` returns, seen by others as planning. Memory that the system refuses is a refusal like any other.
  template <typename Make>
  auto Planned(Make&& make) -> decltype(make()) {
    const PlanningShown shown(this);
    try {
      auto made = make();
      stats_.plans_made = plans_.misses();
      return made;
    } catch (const std::bad_alloc&) {
      return SystemError("the system refuses memory for a plan");
    }
  }
  WaitWord BlockedWait() const;
  static bool DirectReadThunk(void* context, int32_t peer, uint64_t address, void* target, size_t bytes);

  CommunicatorParts parts_;
  StatusEntry* status_;  // parts_.status
  std::unique_ptr<StepTrace> trace_;
  bool needs_progress_ = false;
  ChannelTable channels_;
  mutable ChannelTable stream_channels_;  // on a StreamDevice; else unused
  PlanCache plans_;
  RankBoard* board_ = nullptr;  // own
  std::vector<RankBoard*> boards_;
  std::unordered_map<CallKey, std::unique_ptr<Bound>, CallKeyHash> bound_;
  const Bound* last_ = nullptr;
  const Bound* served_ = nullptr;      // what runs the last collective; null before it and for alltoallv
  std::deque<CallSettings> settings_;  // calls' own that were seen; CallKey::settings counts from 1
  Operation current_;
  const Bound* first_ = nullptr;  // whose plan is being agreed upon
  BlockCall* blocks_ = nullptr;   // of the call at hand
  struct {
    const void* mine;
    void* all;
    uint32_t salt;
    const Bound* bound;
  } gather_{};  // the stage at hand, where it is one
  struct {
    CachedPlan* plan = nullptr;  // null: not kept
    Status mine;
    Resume resume = nullptr;
    CallStage stage = CallStage::kNone;  // to go on with
    std::vector<PlanReport> reports;     // on the first rank of all, else the own one
    PlanReport verdict{};
  } agreeing_;
  BoundProgram points_;
  std::vector<PointUse> point_uses_;  // [direction][peer]
  uint64_t point_group_ = 0;
  VectorPlans vectors_;
  std::unordered_map<CallKey, std::unique_ptr<BlockCall>, CallKeyHash> block_calls_;
  std::unique_ptr<std::byte[]> scaled_;  // premulsum: this rank's data times its factor
  size_t scaled_bytes_ = 0;
  std::unique_ptr<std::byte[]> scratch_;
  size_t scratch_bytes_ = 0;
  std::vector<std::byte> bounce_;
  std::unique_ptr<StreamFlights> flights_;  // on a StreamDevice
  uint64_t sequence_ = 0;                   // collectives so far
  uint64_t windows_ = 0;                    // opened so far
  uint64_t wait_checks_ = 0;
  CommunicatorStats stats_;

  std::atomic<bool> aborted_{false};
  std::atomic<const char*> abort_word_{"aborted"};  // any thread, before aborted_; a literal
  std::atomic<bool> failed_{false};
  mutable Mutex error_mutex_;
  Status error_ ABSL_GUARDED_BY(error_mutex_);
};

}  // namespace mycel
