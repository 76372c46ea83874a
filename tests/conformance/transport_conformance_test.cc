// What every transport must do, whatever its ranks are: one body of tests, one line per transport at the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "core/base/clock.h"
#include "tests/conformance/rank_runner.h"
#include "tests/conformance/slot_protocol.h"
#include "tests/gpu/fake_driver.h"
#include "transport/chaos/chaos_transport.h"
#include "transport/ipc/ipc_transport.h"
#include "transport/loopback/loopback_transport.h"
#include "transport/shm/shm_transport.h"
#include "transport/ucx/ucx.h"

namespace mycel {
namespace {

using testing::HasSubstr;

struct Backend {
  std::string name;
  RanksAre ranks_are = RanksAre::kThreads;
  std::function<std::unique_ptr<Transport>()> make;
  // What it can do beyond, and what it cannot help:
  bool reads_directly = true;          // peers' memory can be read
  size_t rings_per_channel = 1;        // 2: its ends share no memory, each has its own
  bool descriptors_inherited = false;  // UCX opens its own without FD_CLOEXEC
  size_t host_channels = 0;            // of each pair, beside those that are asked for: what hosts talk through
};

TransportOptions OptionsFor(const RankContext& context, size_t payload_bytes) {
  static uint64_t communicator = static_cast<uint64_t>(getpid()) << 32;
  TransportOptions options;
  options.rank = context.rank;
  options.rank_count = context.rank_count;
  options.payload_bytes = payload_bytes;
  options.communicator = communicator;
  return options;
}

class TransportConformance : public testing::TestWithParam<Backend> {
 protected:
  /// Makes and connects this rank's transport; null (and a failed test) when that fails.
  static std::unique_ptr<Transport> Connected(const RankContext& context, TransportOptions options) {
    std::unique_ptr<Transport> transport = GetParam().make();
    const StatusOr<std::string> address = transport->Prepare(options);
    EXPECT_TRUE(address.ok()) << address.status();
    if (!address.ok()) return nullptr;
    const auto addresses = context.bootstrap->AllGather(*address, InSeconds(60));
    EXPECT_TRUE(addresses.ok()) << addresses.status();
    if (!addresses.ok()) return nullptr;
    const Status status = transport->Connect(*addresses, InSeconds(60));
    EXPECT_TRUE(status.ok()) << status;
    return status.ok() ? std::move(transport) : nullptr;
  }
  static std::unique_ptr<Transport> Connected(const RankContext& context, size_t payload_bytes = 32768) {
    return Connected(context, OptionsFor(context, payload_bytes));
  }
  static void Run(int32_t rank_count, const std::function<void(const RankContext&)>& body, Rank killed = Rank()) {
    RunRanks(GetParam().ranks_are, rank_count, body, killed);
  }
};

/// What (source, target, index) says: long enough to need a slot, different for each channel.
Bytes Greeting(Rank source, Rank target, int32_t index) {
  const uint64_t seed = static_cast<uint64_t>(source.value() * 10000 + target.value() * 10 + index);
  return PatternOf(seed, 100 + seed % 1000);
}

/// Every rank greets every other one over each channel.
void GreetAll(const RankContext& context, Transport& transport, int32_t channels_per_pair) {
  for (Rank peer : Ids<Rank>(context.rank_count)) {
    ASSERT_TRUE(transport.Reaches(peer));
    if (peer == context.rank) continue;
    for (int32_t index = 0; index < channels_per_pair; ++index) {
      StatusOr<ChannelEnd> end = transport.OpenSend(peer, index);
      ASSERT_TRUE(end.ok()) << end.status();
      EXPECT_EQ(end->peer, peer.value());
      ASSERT_TRUE(TrySend(*end, Geometry(), Greeting(context.rank, peer, index), 7));
    }
  }
  for (Rank peer : Ids<Rank>(context.rank_count)) {
    if (peer == context.rank) continue;
    for (int32_t index = 0; index < channels_per_pair; ++index) {
      StatusOr<ChannelEnd> end = transport.OpenRecv(peer, index);
      ASSERT_TRUE(end.ok()) << end.status();
      Bytes message;
      uint32_t signature = 0;
      ASSERT_TRUE(WaitUntilDone([&] { return TryReceive(*end, Geometry(), &message, &signature); },
                                [&] { transport.Progress(); }));
      EXPECT_TRUE(Same(message, Greeting(peer, context.rank, index)))
          << peer << " -> " << context.rank << " # " << index;
      EXPECT_EQ(signature, 7U);
    }
  }
}

/// Nobody leaves before the others have what is theirs.
void LeaveTogether(const RankContext& context, Transport& transport) {
  while (transport.Progress()) {
  }
  context.Meet();
}

TEST_P(TransportConformance, EveryOrderedPairAndIndex) {
  Run(5, [](const RankContext& context) {
    TransportOptions options = OptionsFor(context, 32768);
    options.channels_per_pair = 3;
    const auto transport = Connected(context, options);
    ASSERT_NE(transport, nullptr);
    GreetAll(context, *transport, 3);
    LeaveTogether(context, *transport);
  });
}

TEST_P(TransportConformance, SixteenRanks) {
  Run(16, [](const RankContext& context) {
    const auto transport = Connected(context);
    ASSERT_NE(transport, nullptr);
    GreetAll(context, *transport, 2);
    LeaveTogether(context, *transport);
  });
}

TEST_P(TransportConformance, RefusesChannelsThatDoNotExist) {
  Run(2, [](const RankContext& context) {
    const auto transport = Connected(context);
    ASSERT_NE(transport, nullptr);
    const Rank peer(1 - context.rank.value());
    EXPECT_EQ(transport->OpenSend(context.rank, 0).status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(transport->OpenSend(peer, 2).status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(transport->OpenRecv(peer, -1).status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(transport->OpenRecv(Rank(2), 0).status().code(), StatusCode::kInvalidArgument);
    EXPECT_FALSE(transport->Reaches(Rank(2)));
    EXPECT_FALSE(transport->Reaches(Rank()));
    EXPECT_EQ(transport->BoardOf(Rank(2)), nullptr);
    EXPECT_TRUE(transport->CheckAlive(peer).ok());
    EXPECT_TRUE(transport->CheckAlive(context.rank).ok());
    LeaveTogether(context, *transport);
  });
}

/// One direction of the FIFO test: message k's size and bytes follow from (direction, k).
class Stream {
 public:
  explicit Stream(uint64_t direction) : sizes_(direction), seed_(direction << 32) {}

  Bytes Next() {
    // Mostly small: inline ones, short ones, full slots.
    static constexpr size_t kMost[] = {48, 48, 48, 300, 300, 1024, 2048, 4096};
    const size_t bytes = static_cast<size_t>(sizes_.Below(kMost[sizes_.Below(8)] + 1));
    return PatternOf(seed_ + count_++, bytes);
  }
  uint64_t count() const { return count_; }

 private:
  Rng sizes_;
  uint64_t seed_;
  uint64_t count_ = 0;
};

TEST_P(TransportConformance, MessagesArriveInOrderAndWhole) {
  // Through the kernel's network each costs some ten microseconds more.
  const uint64_t messages = GetParam().rings_per_channel == 1 ? 100'000 : 10'000;
  Run(2, [messages](const RankContext& context) {
    const auto transport = Connected(context);
    ASSERT_NE(transport, nullptr);
    const Rank peer(1 - context.rank.value());
    ChannelEnd out = transport->OpenSend(peer, 1).value();
    ChannelEnd in = transport->OpenRecv(peer, 1).value();
    Stream outgoing(static_cast<uint64_t>(context.rank.value()));
    Stream expected(static_cast<uint64_t>(peer.value()));
    const Geometry geometry{7, 4096};
    Bytes pending = outgoing.Next();
    Bytes message;
    uint32_t signature = 0;
    const auto step = [&] {
      if (out.step < messages && TrySend(out, geometry, pending, static_cast<uint32_t>(out.step))) {
        pending = outgoing.Next();
      }
      if (in.step < messages && TryReceive(in, geometry, &message, &signature)) {
        if (!Same(message, expected.Next()) || signature != static_cast<uint32_t>(in.step - 1)) {
          ADD_FAILURE() << "message " << in.step - 1 << " is damaged";
          return true;
        }
      }
      return out.step == messages && in.step == messages;
    };
    const auto many_steps = [&] {
      for (int i = 0; i < 100; ++i) {
        if (step()) return true;
      }
      return false;
    };
    EXPECT_TRUE(WaitUntilDone(many_steps, [&] { transport->Progress(); }));
    LeaveTogether(context, *transport);
  });
}

TEST_P(TransportConformance, CreditsEndWhenTheTargetHoldsAllSlots) {
  Run(2, [](const RankContext& context) {
    const auto transport = Connected(context);
    ASSERT_NE(transport, nullptr);
    const Geometry geometry{3, 8192};
    const auto progress = [&] { transport->Progress(); };
    if (context.rank == Rank(0)) {
      ChannelEnd end = transport->OpenSend(Rank(1), 0).value();
      for (uint64_t k = 0; k < 3; ++k) ASSERT_TRUE(TrySend(end, geometry, PatternOf(k, 8192), 0));
      EXPECT_FALSE(TrySend(end, geometry, PatternOf(3, 8192), 0));
      context.Meet();  // now the target gives back two
      ASSERT_TRUE(WaitUntilDone([&] { return TrySend(end, geometry, PatternOf(3, 8192), 0); }, progress));
      ASSERT_TRUE(WaitUntilDone([&] { return TrySend(end, geometry, PatternOf(4, 8192), 0); }, progress));
      EXPECT_FALSE(TrySend(end, geometry, PatternOf(5, 8192), 0));
      LeaveTogether(context, *transport);
      return;
    }
    ChannelEnd end = transport->OpenRecv(Rank(0), 0).value();
    Bytes message;
    uint32_t signature = 0;
    context.Meet();
    for (uint64_t k = 0; k < 2; ++k) {
      ASSERT_TRUE(WaitUntilDone([&] { return TryReceive(end, geometry, &message, &signature); }, progress));
      EXPECT_TRUE(Same(message, PatternOf(k, 8192)));
    }
    // The third slot is still held, whatever the source does meanwhile.
    ASSERT_TRUE(WaitUntilDone([&] { return TryReceive(end, geometry, &message, &signature, true); }, progress));
    EXPECT_TRUE(Same(message, PatternOf(2, 8192)));
    LeaveTogether(context, *transport);
    EXPECT_TRUE(TryReceive(end, geometry, &message, &signature, true));
    EXPECT_TRUE(Same(message, PatternOf(2, 8192)));
  });
}

TEST_P(TransportConformance, BoardsAreSeenByAll) {
  Run(4, [](const RankContext& context) {
    const auto transport = Connected(context);
    ASSERT_NE(transport, nullptr);
    RankBoard* own = transport->BoardOf(context.rank);
    ASSERT_NE(own, nullptr);
    EXPECT_EQ(own->operation.load(), 0U);
    EXPECT_EQ(own->error_text[0], 0);
    own->operation.store(100 + static_cast<uint64_t>(context.rank.value()));
    context.Meet();
    for (Rank peer : Ids<Rank>(context.rank_count)) {
      const RankBoard* board = transport->BoardOf(peer);
      ASSERT_NE(board, nullptr);
      // Soon: a transport may have to send it.
      ASSERT_TRUE(WaitUntilDone([&] { return board->operation.load() == 100 + static_cast<uint64_t>(peer.value()); },
                                [] { usleep(100); }));
      if (peer == context.rank) continue;
      EXPECT_NE(transport->OpenSend(peer, 0).value().peer_bell, nullptr);
    }
    LeaveTogether(context, *transport);
  });
}

TEST_P(TransportConformance, StaysWithinItsMemoryBudget) {
  Run(12, [](const RankContext& context) {
    const auto transport = Connected(context, PayloadBytesFor(12));
    ASSERT_NE(transport, nullptr);
    for (Rank peer : Ids<Rank>(context.rank_count)) {
      if (peer == context.rank) continue;
      for (int32_t index = 0; index < 2; ++index) EXPECT_TRUE(transport->OpenRecv(peer, index).ok());
    }
    const size_t rings = GetParam().rings_per_channel;
    if (rings == 2) {
      for (Rank peer : Ids<Rank>(context.rank_count)) {
        if (peer == context.rank) continue;
        for (int32_t index = 0; index < 2; ++index) EXPECT_TRUE(transport->OpenSend(peer, index).ok());
      }
    }
    const size_t headers = 11 * 2 * (ChannelBytes(4096) - 4096);
    const size_t host = GetParam().host_channels * (11 * ChannelBytes(PayloadBytesFor(12)) + 12 * 2048);
    EXPECT_GE(transport->MemoryBytes(), 11 * 2 * PayloadBytesFor(12));
    EXPECT_LE(transport->MemoryBytes(), rings * ((size_t{8} << 20) + headers) + host + 12 * 2048);
    LeaveTogether(context, *transport);
  });
}

TEST_P(TransportConformance, OneRankNeedsNoChannels) {
  Run(1, [](const RankContext& context) {
    const int32_t descriptors = OpenDescriptorCount();
    const auto transport = Connected(context, size_t{1} << 30);
    ASSERT_NE(transport, nullptr);
    EXPECT_TRUE(transport->Reaches(Rank(0)));
    EXPECT_NE(transport->BoardOf(Rank(0)), nullptr);
    EXPECT_LE(transport->MemoryBytes(), 4096U);
    EXPECT_EQ(OpenDescriptorCount(), descriptors);
    EXPECT_EQ(MappingCount(), 0);
  });
}

TEST_P(TransportConformance, NothingIsLeftAfterManyCommunicators) {
  constexpr int kTimes = 200;
  const auto once = [](const RankContext& context, uint64_t communicator) {
    TransportOptions options = OptionsFor(context, 16384);
    options.communicator += communicator;
    const auto transport = Connected(context, options);
    ASSERT_NE(transport, nullptr);
    const Rank next((context.rank.value() + 1) % context.rank_count);
    ChannelEnd end = transport->OpenSend(next, 0).value();
    EXPECT_TRUE(TrySend(end, Geometry(), PatternOf(1, 64), 0));
  };
  // Threads share what is counted: one of them counts while the others wait.
  const bool threads = GetParam().ranks_are == RanksAre::kThreads;
  Run(3, [&](const RankContext& context) {
    std::vector<int32_t> before;
    std::vector<int32_t> after;
    const auto count = [&](std::vector<int32_t>* counts) {
      context.Meet();
      if (!threads || context.rank == Rank(0)) *counts = {OpenDescriptorCount(), MappingCount(), ThreadCount()};
      context.Meet();
    };
    once(context, 0);
    count(&before);
    for (uint64_t i = 1; i <= kTimes && !testing::Test::HasFailure(); ++i) once(context, i);
    count(&after);
    EXPECT_EQ(before, after);
    EXPECT_THAT(after, testing::AnyOf(testing::IsEmpty(), testing::Contains(0))) << "a mapping is left";
  });
}

TEST_P(TransportConformance, ADeadPeerIsNamed) {
  const bool processes = GetParam().ranks_are == RanksAre::kProcesses;
  Run(
      3,
      [&](const RankContext& context) {
        auto transport = Connected(context);
        ASSERT_NE(transport, nullptr);
        context.Meet();
        if (context.rank == Rank(2)) {
          if (processes) raise(SIGKILL);
          return;  // a thread can only leave
        }
        ASSERT_TRUE(WaitUntilDone([&] { return !transport->CheckAlive(Rank(2)).ok(); }, [] { usleep(100); }));
        const Status status = transport->CheckAlive(Rank(2));
        EXPECT_EQ(status.code(), StatusCode::kUnavailable);
        EXPECT_THAT(StatusMessage(status), HasSubstr("rank 2"));
        EXPECT_THAT(StatusMessage(status), HasSubstr(processes ? ") died" : " left "));
        if (context.rank == Rank(1)) {
          // Rank 0 may have left meanwhile, but it cannot have died.
          const Status other = transport->CheckAlive(Rank(0));
          EXPECT_TRUE(other.ok() || StatusMessage(other).find(" left ") != std::string::npos) << other;
        }
      },
      processes ? Rank(2) : Rank());
}

TEST_P(TransportConformance, DirectReadsReachThePeersMemory) {
  Run(3, [](const RankContext& context) {
    const auto transport = Connected(context);
    ASSERT_NE(transport, nullptr);
    const size_t sizes[] = {1, 8, 4097, (size_t{9} << 20) + 5};
    const Bytes mine = PatternOf(static_cast<uint64_t>(context.rank.value()), sizes[3]);
    const auto addresses =
        context.bootstrap->AllGather(std::to_string(reinterpret_cast<uint64_t>(mine.data())), InSeconds(60));
    ASSERT_TRUE(addresses.ok());
    for (Rank peer : Ids<Rank>(context.rank_count)) {
      if (peer == context.rank) continue;
      const ChannelEnd end = transport->OpenRecv(peer, 0).value();
      ASSERT_EQ(end.direct_read, GetParam().reads_directly);
      if (!GetParam().reads_directly) {
        EXPECT_FALSE(transport->AllReadDirectly());
        continue;
      }
      EXPECT_EQ(end.same_address_space, GetParam().ranks_are == RanksAre::kThreads);
      const uint64_t address = std::stoull((*addresses)[peer.index()]);
      const Bytes expected = PatternOf(static_cast<uint64_t>(peer.value()), sizes[3]);
      for (const size_t bytes : sizes) {
        Bytes read(bytes);
        const Status status = transport->DirectRead(peer, address, read.data(), bytes);
        ASSERT_TRUE(status.ok()) << status;
        EXPECT_TRUE(Begins(expected, read.data(), bytes)) << bytes << " bytes of rank " << peer;
      }
    }
    context.Meet();
  });
}

TEST_P(TransportConformance, DescriptorsAreNotInherited) {
  Run(3, [](const RankContext& context) {
    context.Meet();
    const std::vector<int> known = InheritableDescriptors({});
    context.Meet();
    std::unique_ptr<Transport> transport = GetParam().make();
    const StatusOr<std::string> address = transport->Prepare(OptionsFor(context, 16384));
    ASSERT_TRUE(address.ok());
    EXPECT_EQ(InheritableDescriptors(known).empty(), !GetParam().descriptors_inherited);
    const auto addresses = context.bootstrap->AllGather(*address, InSeconds(60));
    ASSERT_TRUE(transport->Connect(addresses.value(), InSeconds(60)).ok());
    // Where the library beneath opens its own otherwise, this tells when it has stopped to.
    EXPECT_EQ(InheritableDescriptors(known).empty(), !GetParam().descriptors_inherited);
    context.Meet();
  });
}

std::unique_ptr<Transport> ChaosOverLoopback() {
  ChaosOptions options;
  options.seed = 20'240'501;
  options.now_ns = [] { return static_cast<uint64_t>(NowNs()); };
  options.stall_probability = 0.0005;
  return std::make_unique<ChaosTransport>(std::make_unique<LoopbackTransport>(), options);
}

std::vector<Backend> Backends() {
  return {
      {"Loopback", RanksAre::kThreads, [] { return std::make_unique<LoopbackTransport>(); }},
      {"ChaosOverLoopback", RanksAre::kThreads, ChaosOverLoopback},
      {"ShmThreads", RanksAre::kThreads, [] { return std::make_unique<ShmTransport>(); }},
      {"ShmProcesses", RanksAre::kProcesses, [] { return std::make_unique<ShmTransport>(); }},
  };
}

/// Ranks share the fake driver's devices, whose memory the host reads as well.
std::unique_ptr<Transport> Ipc(bool processes, bool maps_peers) {
  static std::atomic<int32_t> next{0};
  IpcOptions options;
  options.driver = FakeDriver();
  options.device = next.fetch_add(1) % options.driver->device_count();
  options.maps_peers = maps_peers;
  options.host = [processes]() -> std::unique_ptr<Transport> {
    if (!processes) return std::make_unique<LoopbackTransport>();
    ShmOptions shm;
    shm.direct = DirectMode::kOff;
    return std::make_unique<ShmTransport>(shm);
  };
  return std::make_unique<IpcTransport>(options);
}

std::vector<Backend> IpcBackends() {
  Backend threads{"Threads", RanksAre::kThreads, [] { return Ipc(false, true); }, false};
  Backend processes{"Processes", RanksAre::kProcesses, [] { return Ipc(true, true); }, false};
  Backend pinned{"PinnedProcesses", RanksAre::kProcesses, [] { return Ipc(true, false); }, false};
  threads.host_channels = processes.host_channels = 2;
  pinned.host_channels = 4;  // its slots are the host's, and the device's lie unused
  return {threads, processes, pinned};
}

/// Over TCP; none where this build has no UCX, or ThreadSanitizer, which does not survive UCX: both want to be the one
/// that watches the program's memory calls.
std::vector<Backend> UcxBackends() {
#if defined(__SANITIZE_THREAD__)
  constexpr bool kBearable = false;
#else
  constexpr bool kBearable = true;
#endif
  if (!kBearable || !UcxIsBuilt()) return {};
  const auto make = [] { return MakeUcxTransport(UcxOptions()).value(); };
  return {{"Threads", RanksAre::kThreads, make, false, 2, true},
          {"Processes", RanksAre::kProcesses, make, false, 2, true}};
}

INSTANTIATE_TEST_SUITE_P(Transports, TransportConformance, testing::ValuesIn(Backends()),
                         [](const auto& backend) { return backend.param.name; });

INSTANTIATE_TEST_SUITE_P(Ipc, TransportConformance, testing::ValuesIn(IpcBackends()),
                         [](const auto& backend) { return backend.param.name; });

INSTANTIATE_TEST_SUITE_P(Ucx, TransportConformance, testing::ValuesIn(UcxBackends()),
                         [](const auto& backend) { return backend.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TransportConformance);

}  // namespace
}  // namespace mycel
