// D9, D10, F4, G6 and the seams' own promises: each call of a transport, bootstrap or device fails once in turn on one
// rank. That rank's communicator returns an error, the others hear of it, nobody hangs, nothing is left. And a network
// that delays, loses, repeats and truncates.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/c/compose.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/runtime/communicator.h"
#include "kernels/host/host_device.h"
#include "tests/conformance/rank_runner.h"
#include "tests/reports/faulty.h"
#include "tests/reports/refuse_call.h"
#include "transport/bootstrap/in_process.h"
#include "transport/chaos/chaos_transport.h"

namespace mycel::reports {
namespace {

using ::testing::HasSubstr;

constexpr int32_t kRanks = 3;
constexpr int kVictim = 1;

/// The calls of one rank, in order, with exact results; the first error ends them. "wrong data" is one, too.
class Calls {
 public:
  explicit Calls(Communicator* communicator) : communicator_(*communicator) {}

  Status AllReduce(size_t count, int32_t seed) {
    std::vector<int32_t> data(count), want(count);
    for (size_t i = 0; i < count; ++i) {
      data[i] = ValueOf(communicator_.rank().value(), seed, i);
      for (int32_t rank = 0; rank < communicator_.rank_count(); ++rank) want[i] += ValueOf(rank, seed, i);
    }
    CollectiveCall call;
    call.collective = Collective::kAllReduce;
    call.type = DataType::kInt32;
    call.count = count;
    call.send = data.data();
    call.recv = data.data();
    return Run(call, data, want);
  }

  Status Broadcast(size_t count, int32_t seed, int32_t root) {
    std::vector<int32_t> data(count, -1), want(count);
    for (size_t i = 0; i < count; ++i) want[i] = ValueOf(root, seed, i);
    if (communicator_.rank().value() == root) data = want;
    CollectiveCall call;
    call.collective = Collective::kBroadcast;
    call.type = DataType::kInt32;
    call.root = root;
    call.count = count;
    call.send = data.data();
    call.recv = data.data();
    return Run(call, data, want);
  }

  /// A message to the right, one from the left.
  Status PassOn(size_t count, int32_t seed) {
    const int32_t n = communicator_.rank_count();
    const int32_t me = communicator_.rank().value();
    std::vector<int32_t> out(count), in(count, -1), want(count);
    for (size_t i = 0; i < count; ++i) {
      out[i] = ValueOf(me, seed, i);
      want[i] = ValueOf((me + n - 1) % n, seed, i);
    }
    const PointCall points[2] = {{true, DataType::kInt32, (me + 1) % n, out.data(), count},
                                 {false, DataType::kInt32, (me + n - 1) % n, in.data(), count}};
    MYCEL_RETURN_IF_ERROR(communicator_.RunPoints(points));
    return in == want ? OkStatus() : InternalError("wrong data in a message");
  }

 private:
  static int32_t ValueOf(int32_t rank, int32_t seed, size_t index) {
    return static_cast<int32_t>(index % 1009) * (rank + 1) + seed;
  }
  Status Run(const CollectiveCall& call, const std::vector<int32_t>& got, const std::vector<int32_t>& want) {
    MYCEL_RETURN_IF_ERROR(communicator_.Run(call));
    return got == want ? OkStatus() : InternalError("wrong data in " + Describe(call));
  }

  Communicator& communicator_;
};

/// Everything one rank does in these tests.
Status DoAll(Communicator* communicator) {
  Calls calls(communicator);
  int32_t seed = 1;
  for (const size_t count : {size_t{3}, size_t{5000}, size_t{300'000}}) {
    MYCEL_RETURN_IF_ERROR(calls.AllReduce(count, seed++));
    MYCEL_RETURN_IF_ERROR(calls.Broadcast(count, seed++, 0));
    MYCEL_RETURN_IF_ERROR(calls.PassOn(count, seed++));
  }
  // The others wait, so that their slow checks run.
  if (communicator->rank().value() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(60));
  MYCEL_RETURN_IF_ERROR(calls.AllReduce(10, seed++));
  return calls.AllReduce(0, 0);  // nobody leaves with good news while another has bad ones
}

/// Variables of the environment while it lives.
class Timeout {
 public:
  explicit Timeout(const char* seconds) { setenv("MYCEL_TIMEOUT", seconds, 1); }
  ~Timeout() { unsetenv("MYCEL_TIMEOUT"); }
  Timeout(const Timeout&) = delete;
  Timeout& operator=(const Timeout&) = delete;
};

/// What a rank came to; in memory that processes share.
struct Outcome {
  int code;  // StatusCode
  bool struck;
  char text[500];
};

class Outcomes {
 public:
  Outcomes()
      : outcomes_(static_cast<Outcome*>(
            mmap(nullptr, sizeof(Outcome) * kRanks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Outcomes() { munmap(outcomes_, sizeof(Outcome) * kRanks); }
  Outcomes(const Outcomes&) = delete;
  Outcomes& operator=(const Outcomes&) = delete;
  Outcome& operator[](int rank) { return outcomes_[rank]; }
  void Set(int rank, const Status& status, bool struck) {
    Outcome& outcome = outcomes_[rank];
    outcome.code = static_cast<int>(status.code());
    outcome.struck = struck;
    std::snprintf(outcome.text, sizeof(outcome.text), "%s", StatusMessage(status).c_str());
  }
  bool ok(int rank) const { return outcomes_[rank].code == static_cast<int>(StatusCode::kOk); }

 private:
  Outcome* outcomes_;
};

/// How the ranks are connected.
enum class Over : uint8_t { kLoopback, kSharedMemory, kProcesses };

using Wrap = std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)>;

Status ComposeAndDo(Bootstrap* bootstrap, Over over, const Wrap& wrap, const Device* device,
                    const std::function<Status(Communicator*)>& work) {
  ComposeOptions options;
  options.one_process = over == Over::kLoopback;
  MYCEL_ASSIGN_OR_RETURN(options.deadline, InitDeadline(options.config));
  options.wrap_transport = wrap;
  options.device = device;
  MYCEL_ASSIGN_OR_RETURN(const Composed composed, Compose(*bootstrap, options));
  return work(composed.communicator.get());
}

Status ComposeAndDoAll(Bootstrap* bootstrap, Over over, const Wrap& wrap, const Device* device) {
  return ComposeAndDo(bootstrap, over, wrap, device, DoAll);
}

/// All ranks, of which kVictim has the fault. Whether it struck.
bool RunWithFault(Over over, const std::string& call, int nth, Outcomes* outcomes) {
  const RanksAre ranks_are = over == Over::kProcesses ? RanksAre::kProcesses : RanksAre::kThreads;
  RunRanks(ranks_are, kRanks, [&](const RankContext& context) {
    const int rank = context.rank.value();
    Fault fault(rank == kVictim ? call : "", nth);
    FaultyBootstrap bootstrap(context.bootstrap, &fault);
    const FaultyDevice device(&HostDevice(), &fault);
    const auto wrap = [&fault](std::unique_ptr<Transport> transport) -> std::unique_ptr<Transport> {
      return std::make_unique<FaultyTransport>(std::move(transport), &fault);
    };
    const Status status = ComposeAndDoAll(&bootstrap, over, wrap, &device);
    outcomes->Set(rank, status, fault.struck());
  });
  return (*outcomes)[kVictim].struck;
}

class FaultsOfSeams : public ::testing::TestWithParam<const char*> {};

TEST_P(FaultsOfSeams, EachCallFailsOnceAndEveryRankHearsOfIt) {
  const std::string call = GetParam();
  const Timeout timeout("60");
  for (const Over over : {Over::kLoopback, Over::kSharedMemory, Over::kProcesses}) {
    if (call == "Transport::DirectRead" && over != Over::kProcesses) continue;  // threads use each other's pointers
    // The page by which forked processes meet has no way to tell that a rank left it: its tests are the bootstraps'
    // own.
    if (call == "Bootstrap::AllGather" && over == Over::kProcesses) continue;
    int struck = 0;
    // Who cannot read a peer's memory looks for half a second whether the peer died.
    const int step = call == "Transport::DirectRead" || call == "Device::Step failure" ? 9 : 1;
    for (int nth = 1; nth <= 40; nth += nth < 8 ? step : 40) {
      SCOPED_TRACE(call + " call " + std::to_string(nth) + ", over " + std::to_string(static_cast<int>(over)));
      const int32_t descriptors = OpenDescriptorCount();
      const int32_t mappings = MappingCount();
      Outcomes outcomes;
      const int64_t start = NowNs();
      const bool strikes = RunWithFault(over, call, nth, &outcomes);
      EXPECT_LT(NowNs() - start, 30 * kNsPerSecond) << "waited for the deadline";
      EXPECT_EQ(OpenDescriptorCount(), descriptors);
      EXPECT_EQ(MappingCount(), mappings);
      if (!strikes) {
        for (int rank = 0; rank < kRanks; ++rank) EXPECT_TRUE(outcomes.ok(rank)) << outcomes[rank].text;
        break;
      }
      ++struck;
      for (int rank = 0; rank < kRanks; ++rank) {
        const std::string text = outcomes[rank].text;
        // A look at the peers may fail when the others need nothing more from this rank.
        if (call == "Transport::CheckAlive" && rank != kVictim && outcomes.ok(rank)) continue;
        EXPECT_FALSE(outcomes.ok(rank)) << "rank " << rank;
        EXPECT_EQ(text.find("wrong data"), std::string::npos) << text;
        if (call.find("Device") != std::string::npos || call == "Transport::DirectRead") continue;
        // The victim returns the seam's own words, the others the victim's name.
        EXPECT_THAT(text, HasSubstr(rank == kVictim ? "injected: " + call : "rank 1")) << "rank " << rank;
      }
    }
    EXPECT_GE(struck, 1) << "the call is never made, over " << static_cast<int>(over);
  }
}

INSTANTIATE_TEST_SUITE_P(All, FaultsOfSeams,
                         ::testing::Values("Bootstrap::AllGather", "Transport::Prepare", "Transport::Connect",
                                           "Transport::OpenSend", "Transport::OpenRecv", "Transport::CheckAlive",
                                           "Transport::DirectRead", "Device::Step mismatch", "Device::Step failure"),
                         [](const ::testing::TestParamInfo<const char*>& test) {
                           std::string name;
                           for (const char c : std::string(test.param)) {
                             if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
                           }
                           return name;
                         });

/// Each look at a peer takes as long as that peer lives, a second at most: whatever it does meanwhile, it does between
/// the caller's look at its board and the answer.
class LateLook final : public FaultyTransport {
 public:
  using FaultyTransport::FaultyTransport;
  Status CheckAlive(Rank peer) override {
    const int64_t end = NowNs() + kNsPerSecond;
    Status status = OkStatus();
    while (status.ok() && NowNs() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      status = FaultyTransport::CheckAlive(peer);
    }
    return status;
  }
};

// B1: a rank finds the mistake and leaves while another looks whether it lives: the mistake is told, not the leave.
TEST(FaultsOfLooks, WhatARankSaidCountsMoreThanThatItLeft) {
  const Timeout timeout("20");
  for (const Over over : {Over::kLoopback, Over::kSharedMemory, Over::kProcesses}) {
    SCOPED_TRACE(static_cast<int>(over));
    Outcomes outcomes;
    RunRanks(over == Over::kProcesses ? RanksAre::kProcesses : RanksAre::kThreads, kRanks, [&](const RankContext& it) {
      Fault none("", 0);
      const auto wrap = [&none](std::unique_ptr<Transport> transport) -> std::unique_ptr<Transport> {
        return std::make_unique<LateLook>(std::move(transport), &none);
      };
      const bool odd = it.rank.value() == kVictim;
      outcomes.Set(it.rank.value(),
                   ComposeAndDo(it.bootstrap, over, wrap, nullptr,
                                [odd](Communicator* communicator) {
                                  // The others wait so long that they look.
                                  if (odd) std::this_thread::sleep_for(std::chrono::milliseconds(60));
                                  return Calls(communicator).AllReduce(odd ? 1001 : 1000, 1);
                                }),
                   false);
    });
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_EQ(outcomes[rank].code, static_cast<int>(StatusCode::kFailedPrecondition)) << "rank " << rank;
      EXPECT_THAT(outcomes[rank].text, HasSubstr("allreduce(count 1000, int32, sum)")) << "rank " << rank;
      EXPECT_THAT(outcomes[rank].text, HasSubstr("allreduce(count 1001, int32, sum)")) << "rank " << rank;
    }
  }
}

// A rank shrinks and leaves while another looks whether it lives: the offer of the lowest counts.
TEST(FaultsOfLooks, WhoShrankAndLeftIsNotMissing) {
  const Timeout timeout("20");
  for (const Over over : {Over::kLoopback, Over::kSharedMemory}) {
    SCOPED_TRACE(static_cast<int>(over));
    Outcomes outcomes;
    RunRanks(RanksAre::kThreads, kRanks, [&](const RankContext& it) {
      Fault none("", 0);
      const int rank = it.rank.value();
      const auto wrap = [&none, rank](std::unique_ptr<Transport> transport) -> std::unique_ptr<Transport> {
        if (rank != kRanks - 1) return transport;
        return std::make_unique<LateLook>(std::move(transport), &none);
      };
      outcomes.Set(rank,
                   ComposeAndDo(it.bootstrap, over, wrap, nullptr,
                                [rank](Communicator* communicator) {
                                  // The last rank waits so long for this one that it looks.
                                  if (rank == kVictim) std::this_thread::sleep_for(std::chrono::milliseconds(60));
                                  const std::vector<Rank> all = {Rank(0), Rank(1), Rank(2)};
                                  const auto host = [] { return StatusOr<Communicator::Place>(Communicator::Place()); };
                                  return communicator
                                      ->MeetSurvivors(all, Deadline::After(20 * kNsPerSecond), host,
                                                      [] { return false; })
                                      .status();
                                }),
                   false);
    });
    for (int rank = 0; rank < kRanks; ++rank) EXPECT_TRUE(outcomes.ok(rank)) << outcomes[rank].text;
  }
}

/// Three threads over loopback under chaos.
void RunUnderChaos(const ChaosOptions& chaos, Outcomes* outcomes) {
  RunRanks(RanksAre::kThreads, kRanks, [&](const RankContext& context) {
    const auto wrap = [&chaos](std::unique_ptr<Transport> transport) -> std::unique_ptr<Transport> {
      return std::make_unique<ChaosTransport>(std::move(transport), chaos);
    };
    outcomes->Set(context.rank.value(), ComposeAndDoAll(context.bootstrap, Over::kLoopback, wrap, nullptr), false);
  });
}

ChaosOptions Weather(uint64_t seed) {
  ChaosOptions options;
  options.seed = seed;
  options.now_ns = [] { return static_cast<uint64_t>(NowNs()); };
  options.delay_ns_max = 30'000;
  options.stall_ns = 300'000;
  return options;
}

TEST(FaultsOfTraffic, DelayedReorderedAndRepeatedMessagesGiveExactResults) {
  const Timeout timeout("60");
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    ChaosOptions options = Weather(seed);
    options.duplicate_probability = seed % 2 == 0 ? 0.3 : 0;
    Outcomes outcomes;
    RunUnderChaos(options, &outcomes);
    for (int rank = 0; rank < kRanks; ++rank) EXPECT_TRUE(outcomes.ok(rank)) << "seed " << seed << outcomes[rank].text;
  }
}

TEST(FaultsOfTraffic, LostMessagesEndInATimeoutThatNamesARankAndNeverInWrongData) {
  const Timeout timeout("0.4");
  int lost = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    ChaosOptions options = Weather(seed);
    options.drop_probability = 0.01;
    Outcomes outcomes;
    RunUnderChaos(options, &outcomes);
    for (int rank = 0; rank < kRanks; ++rank) {
      if (outcomes.ok(rank)) continue;
      ++lost;
      EXPECT_THAT(outcomes[rank].text, ::testing::AnyOf(HasSubstr(" of rank "), HasSubstr("has left"))) << seed;
    }
  }
  EXPECT_GT(lost, 3) << "hardly anything was lost";
}

TEST(FaultsOfTraffic, TruncatedMessagesAreRefusedAndNeverTaken) {
  const Timeout timeout("60");
  int refused = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    ChaosOptions options = Weather(seed);
    options.truncate_probability = 0.02;
    Outcomes outcomes;
    RunUnderChaos(options, &outcomes);
    for (int rank = 0; rank < kRanks; ++rank) {
      if (outcomes.ok(rank)) continue;
      ++refused;
      // A message on its own, or one of a collective.
      EXPECT_THAT(outcomes[rank].text, ::testing::AnyOf(HasSubstr("bytes (or more, in slices) that has another size"),
                                                        HasSubstr(" bytes arrived where ")))
          << "seed " << seed;
    }
  }
  EXPECT_GT(refused, 3) << "hardly anything was truncated";
}

/// Everything the process writes to standard error while it lives.
class ErrorOutput {
 public:
  ErrorOutput() : file_(std::tmpfile()), saved_(dup(STDERR_FILENO)) {
    std::fflush(stderr);
    dup2(fileno(file_), STDERR_FILENO);
  }
  ~ErrorOutput() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    std::fclose(file_);
  }
  ErrorOutput(const ErrorOutput&) = delete;
  ErrorOutput& operator=(const ErrorOutput&) = delete;
  std::string Text() const {
    std::fflush(stderr);
    std::string text;
    char buffer[4096];
    std::rewind(file_);
    while (const size_t got = std::fread(buffer, 1, sizeof(buffer), file_)) text.append(buffer, got);
    return text;
  }

 private:
  std::FILE* file_;
  int saved_;
};

size_t LinesWith(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line.find(part) != std::string::npos ? 1 : 0;
  return count;
}

// F4, D9: process_vm_readv is refused, to one rank or to all: one line at INFO, none by default, and right results.
TEST(FaultsOfDirectReads, ARefusedRankSwitchesThemOffForAllWithOneLine) {
  const Timeout timeout("60");
  for (const bool all : {false, true}) {
    for (const LogLevel level : {LogLevel::kInfo, LogLevel::kWarn}) {
      SCOPED_TRACE(std::string(level == LogLevel::kInfo ? "INFO" : "WARN") + (all ? ", all ranks" : ", rank 1"));
      Outcomes outcomes;
      std::string said;
      {
        const ErrorOutput output;
        RunRanks(RanksAre::kProcesses, kRanks, [&](const RankContext& context) {
          SetLogLevel(level);
          const int rank = context.rank.value();
          if (all || rank == kVictim) RefuseSystemCall(SYS_process_vm_readv, EPERM);
          outcomes.Set(rank, ComposeAndDoAll(context.bootstrap, Over::kProcesses, nullptr, nullptr), false);
        });
        said = output.Text();
      }
      for (int rank = 0; rank < kRanks; ++rank) EXPECT_TRUE(outcomes.ok(rank)) << outcomes[rank].text;
      if (level == LogLevel::kWarn) {
        EXPECT_EQ(said, "");
        continue;
      }
      EXPECT_EQ(LinesWith(said, "not by direct reads"), 1U) << said;
      EXPECT_THAT(said, HasSubstr(all ? "rank 0 (pid " : "rank 1 (pid "));
      EXPECT_THAT(said, HasSubstr("not permitted"));
    }
  }
}

}  // namespace
}  // namespace mycel::reports
