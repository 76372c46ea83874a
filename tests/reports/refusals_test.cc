// A call that one rank cannot plan, by its planner, its build or its memory: refused on all ranks alike, with the rank
// and its reason, before anything moved; calls before it end well, and so do those after it.
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/clock.h"
#include "core/plan/verify.h"
#include "core/runtime/communicator.h"
#include "core/topo/gallery.h"
#include "kernels/host/host_device.h"
#include "scheduler/lower/lower.h"
#include "scheduler/select/cost_model.h"
#include "scheduler/select/select.h"
#include "tests/conformance/rank_runner.h"
#include "transport/loopback/loopback_transport.h"
#include "transport/shm/shm_transport.h"

namespace mycel::reports {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kPayloadBytes = 64 << 10;

/// In which way a rank's planning goes wrong.
enum class Wrong : uint8_t { kRefused, kAnotherPlan, kNoMemory };

struct Case {
  RanksAre ranks_are;
  int32_t ranks;
  int32_t victim;
  Wrong wrong;
};

std::string NameOf(const Case& it) {
  static constexpr const char* kWrong[] = {"refused", "another plan", "no memory"};
  return std::string(it.ranks_are == RanksAre::kThreads ? "threads" : "processes") + ", rank " +
         std::to_string(it.victim) + " of " + std::to_string(it.ranks) + ", " + kWrong[static_cast<size_t>(it.wrong)];
}

/// The chooser on a host, whose next plan goes wrong where told so.
struct Planning {
  Topology topology;
  bool armed = false;
  Wrong wrong = Wrong::kRefused;
  std::chrono::milliseconds takes{0};

  explicit Planning(int32_t ranks) : topology(*GalleryTopology("host-" + std::to_string(ranks))) {}

  StatusOr<Plan> Make(PlanRequest request) {
    request.planner = "auto";
    request.lanes = request.lanes_min = 1;
    const bool strikes = std::exchange(armed, false);
    std::this_thread::sleep_for(takes);
    if (strikes && wrong == Wrong::kRefused) return Impossible("injected: no planner serves this");
    if (strikes && wrong == Wrong::kNoMemory) throw std::bad_alloc();
    CostModel cost = HostCostModel(topology.rank_count(), 2);
    cost.channel_bytes = kPayloadBytes;
    MYCEL_ASSIGN_OR_RETURN(Choice choice, ChoosePlan(topology, request, cost));
    if (strikes) choice.plan.slice_bytes = choice.plan.slice_bytes / 128 * 64;
    MYCEL_RETURN_IF_ERROR(Verify(choice.plan));
    return std::move(choice.plan);
  }
};

std::unique_ptr<Communicator> Connected(const RankContext& context, RanksAre ranks_are, Planning* planning,
                                        double timeout_s = 30) {
  TransportOptions options;
  options.rank = context.rank;
  options.rank_count = context.rank_count;
  options.payload_bytes = kPayloadBytes;
  options.communicator = 0x5e;
  CommunicatorParts parts;
  if (ranks_are == RanksAre::kThreads) {
    parts.transport = std::make_unique<LoopbackTransport>();
  } else {
    parts.transport = std::make_unique<ShmTransport>();
  }
  const StatusOr<std::string> address = parts.transport->Prepare(options);
  EXPECT_TRUE(address.ok()) << address.status();
  const auto addresses = context.bootstrap->AllGather(*address, InSeconds(60));
  EXPECT_TRUE(addresses.ok()) << addresses.status();
  const Status connected = parts.transport->Connect(*addresses, InSeconds(60));
  EXPECT_TRUE(connected.ok()) << connected;
  if (!connected.ok()) return nullptr;
  parts.rank = context.rank;
  parts.rank_count = context.rank_count;
  parts.device = &HostDevice();
  parts.plan_source = [planning](const PlanRequest& request) { return planning->Make(request); };
  parts.plan_pair_source = [planning](const PlanRequest& request) -> StatusOr<PlanPair> {
    PlanRequest back = request;
    const auto n = static_cast<size_t>(planning->topology.rank_count());
    for (size_t i = 0; i < n * n; ++i) back.demand[i % n * n + i / n] = request.demand[i];
    PlanPair pair;
    MYCEL_ASSIGN_OR_RETURN(pair.there, planning->Make(request));
    MYCEL_ASSIGN_OR_RETURN(pair.back, planning->Make(back));
    return pair;
  };
  parts.plans_vectors = true;
  parts.wait.oversubscribed = true;
  parts.timeout_ns = SecondsToNs(timeout_s);
  return std::make_unique<Communicator>(std::move(parts));
}

/// One kind of call, made on every rank: its status, or what is wrong with what it brought.
using OneCall = std::function<Status(Communicator*)>;

Status Compared(const Status& status, const std::vector<int32_t>& got, const std::vector<int32_t>& want) {
  if (!status.ok()) return status;
  return got == want ? OkStatus() : InternalError("wrong data");
}

Status AllReduce(Communicator* comm, size_t count) {
  std::vector<int32_t> data(count, comm->rank().value() + 1);
  const int32_t n = comm->rank_count();
  CollectiveCall call;
  call.collective = Collective::kAllReduce;
  call.type = DataType::kInt32;
  call.count = count;
  call.send = call.recv = data.data();
  const Status status = comm->Run(call);
  return Compared(status, data, std::vector<int32_t>(count, n * (n + 1) / 2));
}

Status Broadcast(Communicator* comm, int32_t root) {
  std::vector<int32_t> data(3, comm->rank().value() == root ? 42 : -1);
  CollectiveCall call;
  call.collective = Collective::kBroadcast;
  call.type = DataType::kInt32;
  call.root = root;
  call.count = data.size();
  call.send = call.recv = data.data();
  const Status status = comm->Run(call);
  return Compared(status, data, std::vector<int32_t>(3, 42));
}

/// Rank r gives r + 1 elements.
Status AllGatherV(Communicator* comm) {
  const auto n = static_cast<size_t>(comm->rank_count());
  std::vector<size_t> counts, at;
  std::vector<int32_t> want;
  for (size_t rank = 0; rank < n; ++rank) {
    at.push_back(want.size());
    counts.push_back(rank + 1);
    want.insert(want.end(), rank + 1, static_cast<int32_t>(rank));
  }
  std::vector<int32_t> got(want.size(), -1);
  const std::vector<int32_t> mine(comm->rank().index() + 1, comm->rank().value());
  VectorArrays arrays;
  arrays.recv_counts = counts.data();
  arrays.recv_at = at.data();
  CollectiveCall call;
  call.collective = Collective::kAllGather;
  call.type = DataType::kInt32;
  call.vector = &arrays;
  call.count = want.size();
  call.send = mine.data();
  call.recv = got.data();
  const Status status = comm->Run(call);
  return Compared(status, got, want);
}

/// Every rank sends every rank `count` elements; `make`: plans it and moves nothing.
Status AllToAllV(Communicator* comm, size_t count, bool make) {
  const auto n = static_cast<size_t>(comm->rank_count());
  const std::vector<size_t> counts(n, count);
  std::vector<size_t> at;
  std::vector<int32_t> send(n * count), recv(n * count, -1), want;
  for (size_t peer = 0; peer < n; ++peer) {
    at.push_back(peer * count);
    for (size_t i = 0; i < count; ++i) {
      send[peer * count + i] = static_cast<int32_t>(comm->rank().index() * 100 + peer);
      want.push_back(static_cast<int32_t>(peer * 100 + comm->rank().index()));
    }
  }
  VectorPair pair;
  VectorArrays arrays;
  arrays.send_counts = arrays.recv_counts = counts.data();
  arrays.send_at = arrays.recv_at = at.data();
  if (make) arrays.make = &pair;
  CollectiveCall call;
  call.collective = Collective::kAllToAllV;
  call.type = DataType::kInt32;
  call.vector = &arrays;
  call.count = n * count;
  call.send = send.data();
  call.recv = recv.data();
  const Status status = comm->Run(call);
  if (make) {
    if (status.ok() != (pair.dispatch.program != nullptr)) return InternalError("a refused plan was handed out");
    return status;
  }
  return Compared(status, recv, want);
}

void ExpectRefusedAlone(const Case& it, const char* what, const OneCall& refused, const OneCall& again) {
  SCOPED_TRACE(NameOf(it) + ", " + what);
  RunRanks(it.ranks_are, it.ranks, [&](const RankContext& context) {
    const int32_t rank = context.rank.value();
    Planning planning(it.ranks);
    planning.wrong = it.wrong;
    const std::unique_ptr<Communicator> comm = Connected(context, it.ranks_are, &planning);
    ASSERT_NE(comm, nullptr);
    // Twice, so that the second one waits for nobody at its root; then that rank is ahead of the others.
    ASSERT_EQ(Broadcast(comm.get(), it.victim), OkStatus());
    if (again != nullptr) {
      ASSERT_EQ(again(comm.get()), OkStatus());
    }
    if (rank != it.victim) std::this_thread::sleep_for(std::chrono::milliseconds(rank % 2 == 0 ? 1 : 10));
    EXPECT_EQ(Broadcast(comm.get(), it.victim), OkStatus());
    planning.armed = rank == it.victim;
    const int64_t start_ns = NowNs();
    const Status status = refused(comm.get());
    EXPECT_LT(NowNs() - start_ns, 20 * kNsPerSecond) << "waited for the deadline";
    const StatusCode code = it.wrong == Wrong::kRefused    ? StatusCode::kUnimplemented
                            : it.wrong == Wrong::kNoMemory ? SystemError("").code()
                                                           : StatusCode::kFailedPrecondition;
    EXPECT_EQ(status.code(), code) << "rank " << rank << ": " << status;
    const std::string text(status.message());
    const char* const reason = it.wrong == Wrong::kRefused    ? "injected: no planner serves this"
                               : it.wrong == Wrong::kNoMemory ? "the system refuses memory for a plan"
                                                              : ": every rank must run the same build";
    EXPECT_THAT(text, HasSubstr(reason)) << "rank " << rank;
    // Where rank 0 has the odd plan, the first that differs from it is named.
    const int32_t named = it.wrong == Wrong::kAnotherPlan && it.victim == 0 ? 1 : it.victim;
    EXPECT_THAT(text, HasSubstr("rank " + std::to_string(named))) << "rank " << rank;
    EXPECT_EQ(comm->error(), OkStatus()) << "rank " << rank << ": it stayed";
    EXPECT_FALSE(comm->LastCall().ok()) << "no plan served it";
    EXPECT_EQ(AllReduce(comm.get(), 5), OkStatus()) << "rank " << rank << ": the next call";
    if (it.wrong != Wrong::kAnotherPlan) {
      EXPECT_EQ(refused(comm.get()), OkStatus()) << "rank " << rank << ": again";
    }
    context.Meet();
  });
}

/// Each rank of so many goes wrong in each way.
std::vector<Case> CasesOf(const std::vector<int32_t>& rank_counts) {
  std::vector<Case> cases;
#if defined(__SANITIZE_THREAD__)
  const std::vector<RanksAre> living = {RanksAre::kThreads};
#else
  const std::vector<RanksAre> living = {RanksAre::kThreads, RanksAre::kProcesses};
#endif
  for (const RanksAre ranks_are : living) {
    for (const int32_t ranks : rank_counts) {
      for (int32_t victim = 0; victim < ranks; ++victim) {
        for (const Wrong wrong : {Wrong::kRefused, Wrong::kAnotherPlan, Wrong::kNoMemory}) {
          if (ranks == 1 && wrong == Wrong::kAnotherPlan) continue;  // than whose?
          cases.push_back({ranks_are, ranks, victim, wrong});
        }
      }
    }
  }
  return cases;
}

TEST(PlansRefusedAlone, ACollectiveIsRefusedOnAllRanksAndNothingStays) {
  for (const Case& it : CasesOf({1, 2, 3, 4})) {
    ExpectRefusedAlone(
        it, "allreduce", [](Communicator* comm) { return AllReduce(comm, 5000); }, nullptr);
  }
}

TEST(PlansRefusedAlone, BlocksOfUnlikeCounts) {
  for (const Case& it : CasesOf({1, 3})) ExpectRefusedAlone(it, "allgatherv", &AllGatherV, nullptr);
}

// The gathers that compare counts have been agreed upon by the exchange before: it is the new matrix that is refused.
TEST(PlansRefusedAlone, AMatrixOfCounts) {
  for (const Case& it : CasesOf({1, 3})) {
    ExpectRefusedAlone(
        it, "alltoallv", [](Communicator* comm) { return AllToAllV(comm, 7, false); },
        [](Communicator* comm) { return AllToAllV(comm, 9, false); });
  }
}

// And here the gather itself is.
TEST(PlansRefusedAlone, TheFirstExchange) {
  for (const Case& it : CasesOf({1, 3})) {
    ExpectRefusedAlone(
        it, "first alltoallv", [](Communicator* comm) { return AllToAllV(comm, 7, false); }, nullptr);
  }
}

TEST(PlansRefusedAlone, AKeptPlan) {
  for (const Case& it : CasesOf({1, 3})) {
    ExpectRefusedAlone(
        it, "kept plan", [](Communicator* comm) { return AllToAllV(comm, 7, true); },
        [](Communicator* comm) { return AllToAllV(comm, 9, true); });
  }
}

// Who waits for a rank that takes long to plan is told that it plans.
TEST(PlansThatTakeLong, TheOthersSaySo) {
  RunRanks(RanksAre::kThreads, 3, [](const RankContext& context) {
    const bool slow = context.rank == Rank(2);
    Planning planning(3);
    const std::unique_ptr<Communicator> comm = Connected(context, RanksAre::kThreads, &planning, 0.3);
    ASSERT_NE(comm, nullptr);
    if (slow) planning.takes = std::chrono::milliseconds(1500);
    const Status status = AllReduce(comm.get(), 5);
    EXPECT_FALSE(status.ok());
    if (!slow) {
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("rank 2, which is making the plan for operation 1 allreduce(count 5, int32, sum)"));
    }
    context.Meet();
  });
}

}  // namespace
}  // namespace mycel::reports
