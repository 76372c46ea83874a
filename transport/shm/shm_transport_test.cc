// What is particular to shared memory: who may join, what is refused and how, and what one rank's failure tells the
// others. tests/conformance holds what every transport must do.
#include "transport/shm/shm_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <thread>

#include "transport/shm/available_memory.h"

namespace mycel {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;

SteadyTime In(int64_t ms) { return steady_clock::now() + milliseconds(ms); }

TransportOptions OptionsOf(int32_t rank, int32_t rank_count, size_t payload_bytes = 16384) {
  TransportOptions options;
  options.rank = Rank(rank);
  options.rank_count = rank_count;
  options.payload_bytes = payload_bytes;
  options.communicator = 42;
  return options;
}

/// The ranks of one communicator as threads, prepared and ready to connect.
struct Ranks {
  std::vector<std::unique_ptr<ShmTransport>> transports;
  std::vector<std::string> addresses;

  explicit Ranks(const std::vector<ShmOptions>& options, size_t payload_bytes = 16384) {
    const int32_t n = static_cast<int32_t>(options.size());
    for (int32_t r = 0; r < n; ++r) {
      transports.push_back(std::make_unique<ShmTransport>(options[static_cast<size_t>(r)]));
      addresses.push_back(transports.back()->Prepare(OptionsOf(r, n, payload_bytes)).value());
    }
  }

  std::vector<Status> ConnectAll(int64_t ms = 20'000) {
    std::vector<Status> statuses(transports.size());
    std::vector<std::thread> threads;
    for (size_t r = 0; r < transports.size(); ++r) {
      threads.emplace_back([this, r, ms, &statuses] { statuses[r] = transports[r]->Connect(addresses, In(ms)); });
    }
    for (std::thread& thread : threads) thread.join();
    return statuses;
  }
};

/// Runs `body` in a forked process and returns its exit code, or minus the signal that ended it.
int InChild(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const int code = body();
    std::fflush(nullptr);
    _exit(code);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// A connection to the socket whose name is in `address`.
int StrangerTo(const std::string& address) {
  const std::string name = address.substr(address.find("mycel-"), 22);
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::memcpy(where.sun_path + 1, name.data(), name.size());
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (connect(fd, reinterpret_cast<const sockaddr*>(&where), length) == 0) return fd;
  close(fd);
  return -1;
}

TEST(ShmTransportTest, StrangersDoNotDisturb) {
  Ranks ranks(std::vector<ShmOptions>(3));
  std::vector<int> strangers;
  for (int i = 0; i < 100; ++i) {
    strangers.push_back(StrangerTo(ranks.addresses[0]));
    ASSERT_GE(strangers.back(), 0);
    // Every third is silent, the others say something long or short that is not a Hello.
    const std::string garbage(static_cast<size_t>(i % 3 * 16), 'x');
    if (garbage.empty()) continue;
    ASSERT_GT(send(strangers.back(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
  }
  for (const Status& status : ranks.ConnectAll()) EXPECT_TRUE(status.ok()) << status;
  for (const int fd : strangers) {
    char byte = 0;
    EXPECT_LE(recv(fd, &byte, 1, MSG_DONTWAIT), 0);  // nothing was given to them
    close(fd);
  }
}

TEST(ShmTransportTest, AnotherUserIsTurnedAway) {
  Ranks ranks(std::vector<ShmOptions>(2));
  // The child inherits the listening socket: a connection made after the leader has closed its own copy would wait for
  // an answer for ever. So it comes first.
  int came[2];
  ASSERT_EQ(pipe(came), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    // Without the right to change the user it is a stranger all the same: it does not know the cookie.
    if (setuid(65534) != 0) errno = 0;
    const int fd = StrangerTo(ranks.addresses[0]);
    std::string hello(40, 'h');
    char byte = 0;
    (void)send(fd, hello.data(), hello.size(), MSG_NOSIGNAL);
    (void)!write(came[1], "", 1);
    _exit(fd >= 0 && recv(fd, &byte, 1, 0) <= 0 ? 0 : 1);
  }
  char byte = 0;
  EXPECT_EQ(read(came[0], &byte, 1), 1);
  for (const Status& status : ranks.ConnectAll()) EXPECT_TRUE(status.ok()) << status;
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  close(came[0]);
  close(came[1]);
}

TEST(ShmTransportTest, TooLittleMemorySaysNeededAvailableAndCure) {
  Ranks ranks(std::vector<ShmOptions>(4), size_t{1} << 38);
  for (const Status& status : ranks.ConnectAll()) {
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(StatusMessage(status), AllOf(HasSubstr("rank 0"), HasSubstr("needs 6291457 MiB"), HasSubstr("4 ranks"),
                                             HasSubstr("MiB are available"), HasSubstr("MYCEL_PAYLOAD_BYTES")));
  }
}

TEST(ShmTransportTest, AFileSizeLimitIsAnErrorAndNoSignal) {
  EXPECT_EQ(0, InChild([] {
              const rlimit limit{65536, 65536};
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
              Ranks ranks(std::vector<ShmOptions>(2));
              for (const Status& status : ranks.ConnectAll()) {
                EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
                EXPECT_THAT(StatusMessage(status), HasSubstr("RLIMIT_FSIZE"));
              }
              return testing::Test::HasFailure() ? 1 : 0;
            }));
}

TEST(ShmTransportTest, NoDescriptorsLeftNamesTheLimit) {
  EXPECT_EQ(0, InChild([] {
              rlimit limit{};
              getrlimit(RLIMIT_NOFILE, &limit);
              const int lowest_free = dup(0);
              close(lowest_free);
              limit.rlim_cur = static_cast<rlim_t>(lowest_free);
              setrlimit(RLIMIT_NOFILE, &limit);
              ShmTransport transport;
              const Status status = transport.Prepare(OptionsOf(0, 2)).status();
              EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
              EXPECT_THAT(StatusMessage(status), AllOf(HasSubstr("rank 0"), HasSubstr("ulimit -n"),
                                                       HasSubstr(std::to_string(lowest_free) + " descriptors")));
              return testing::Test::HasFailure() ? 1 : 0;
            }));
}

/// Two processes, this one and a child, that exchange addresses over a socket pair. `child` and `parent` get the
/// transport (not yet connected) and all addresses.
using Side = std::function<void(ShmTransport&, const std::vector<std::string>&)>;
void TwoProcesses(int32_t child_rank, const Side& child, const Side& parent) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  const auto side = [&](int32_t rank, int fd, const Side& body) {
    ShmTransport transport;
    const StatusOr<std::string> mine = transport.Prepare(OptionsOf(rank, 2));
    ASSERT_TRUE(mine.ok()) << mine.status();
    ASSERT_EQ(write(fd, mine->data(), mine->size()), static_cast<ssize_t>(mine->size()));
    std::string theirs(mine->size(), 0);
    ASSERT_EQ(read(fd, theirs.data(), theirs.size()), static_cast<ssize_t>(theirs.size()));
    body(transport, rank == 0 ? std::vector<std::string>{*mine, theirs} : std::vector<std::string>{theirs, *mine});
  };
  std::fflush(nullptr);
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    side(child_rank, pair[1], child);
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  side(1 - child_rank, pair[0], parent);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  close(pair[0]);
  close(pair[1]);
}

TEST(ShmTransportTest, AMemberWithoutDescriptorsTellsTheLeader) {
  const Side starved = [](ShmTransport& transport, const std::vector<std::string>& addresses) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const int lowest_free = dup(0);
    close(lowest_free);
    limit.rlim_cur = static_cast<rlim_t>(lowest_free);
    setrlimit(RLIMIT_NOFILE, &limit);
    const Status status = transport.Connect(addresses, In(20'000));
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(StatusMessage(status), HasSubstr("RLIMIT_NOFILE"));
  };
  TwoProcesses(1, starved, [](ShmTransport& transport, const std::vector<std::string>& addresses) {
    const SteadyTime start = steady_clock::now();
    const Status status = transport.Connect(addresses, In(20'000));
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(StatusMessage(status), AllOf(HasSubstr("rank 1"), HasSubstr("RLIMIT_NOFILE")));
    EXPECT_LT(steady_clock::now() - start, milliseconds(5000));
  });
}

TEST(ShmTransportTest, AMemberThatDiesInConnectIsNamed) {
  for (const int32_t victim : {0, 1}) {
    int gate[2];
    ASSERT_EQ(pipe(gate), 0);
    const pid_t pid = fork();
    std::vector<std::string> addresses(2);
    ShmTransport transport;
    if (pid == 0) {
      const std::string mine = transport.Prepare(OptionsOf(victim, 2)).value();
      if (write(gate[1], mine.data(), mine.size()) < 0) _exit(1);
      usleep(50'000);
      raise(SIGKILL);
    }
    std::string theirs(4096, 0);
    theirs.resize(static_cast<size_t>(read(gate[0], theirs.data(), theirs.size())));
    addresses[static_cast<size_t>(victim)] = theirs;
    addresses[static_cast<size_t>(1 - victim)] = transport.Prepare(OptionsOf(1 - victim, 2)).value();
    const Status status = transport.Connect(addresses, In(20'000));
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
    EXPECT_THAT(StatusMessage(status), HasSubstr("rank " + std::to_string(victim) + " (pid "));
    waitpid(pid, nullptr, 0);
    close(gate[0]);
    close(gate[1]);
  }
}

TEST(ShmTransportTest, AcrossPidNamespacesOnlyDirectReadsAreMissing) {
  int apart = 0;
  const Side both = [&](ShmTransport& transport, const std::vector<std::string>& addresses) {
    const Status status = transport.Connect(addresses, In(20'000));
    ASSERT_TRUE(status.ok()) << status;
    const Rank peer(transport.OpenSend(Rank(0), 0).ok() ? 0 : 1);
    EXPECT_EQ(transport.OpenRecv(peer, 0).value().direct_read, apart != 0);
    EXPECT_TRUE(transport.CheckAlive(peer).ok() ||
                StatusMessage(transport.CheckAlive(peer)).find("left") != std::string::npos);
  };
  // The namespace is for children to come; where it is refused the processes see each other and direct reads work.
  const int code = InChild([&] {
    apart = unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0 ? 0 : 1;
    TwoProcesses(1, both, both);
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(code, 0);
}

TEST(ShmTransportTest, MissingRanksAreNamedAtTheDeadline) {
  Ranks ranks(std::vector<ShmOptions>(4));
  std::thread present([&] {
    const Status status = ranks.transports[1]->Connect(ranks.addresses, In(150));
    EXPECT_FALSE(status.ok());
  });
  const SteadyTime start = steady_clock::now();
  const Status status = ranks.transports[0]->Connect(ranks.addresses, In(200));
  present.join();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(StatusMessage(status), AllOf(HasSubstr("rank 0"), HasSubstr("ranks 2 and 3")));
  EXPECT_LT(steady_clock::now() - start, milliseconds(2000));
  const Status late = ranks.transports[2]->Connect(ranks.addresses, In(200));
  EXPECT_EQ(late.code(), StatusCode::kUnavailable);
  EXPECT_THAT(StatusMessage(late), HasSubstr("rank 0"));
}

TEST(ShmTransportTest, AMissingLeaderIsNamedAtTheDeadline) {
  Ranks ranks(std::vector<ShmOptions>(2));
  const Status status = ranks.transports[1]->Connect(ranks.addresses, In(100));
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(StatusMessage(status), HasSubstr("rank 0"));
  Ranks others(std::vector<ShmOptions>(2));
  others.transports[0].reset();
  const Status gone = others.transports[1]->Connect(others.addresses, In(20'000));
  EXPECT_EQ(gone.code(), StatusCode::kUnavailable);
  EXPECT_THAT(StatusMessage(gone), HasSubstr("rank 0"));
}

TEST(ShmTransportTest, RanksThatDisagreeAreRefused) {
  ShmTransport first;
  ShmTransport second;
  const std::vector<std::string> addresses = {first.Prepare(OptionsOf(0, 2, 16384)).value(),
                                              second.Prepare(OptionsOf(1, 2, 32768)).value()};
  for (ShmTransport* transport : {&first, &second}) {
    const Status status = transport->Connect(addresses, In(20'000));
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(StatusMessage(status), AllOf(HasSubstr("rank 0"), HasSubstr("rank 1"), HasSubstr("32768")));
  }
}

TEST(ShmTransportTest, ForeignAddressesAreOtherServers) {
  ShmTransport transport;
  const std::string mine = transport.Prepare(OptionsOf(1, 3)).value();
  ASSERT_TRUE(transport.Connect({"loopback", mine, std::string(mine.size(), 'x')}, In(1000)).ok());
  EXPECT_FALSE(transport.Reaches(Rank(0)));
  EXPECT_TRUE(transport.Reaches(Rank(1)));
  EXPECT_FALSE(transport.Reaches(Rank(2)));
  EXPECT_EQ(transport.MemoryBytes(), sizeof(RankBoard));
}

TEST(ShmTransportTest, OptionsOutOfRangeAreRefused) {
  ShmTransport transport;
  EXPECT_EQ(transport.Prepare(OptionsOf(0, 2, 100)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(transport.Prepare(OptionsOf(0, 5000)).status().code(), StatusCode::kInvalidArgument);
}

TEST(ShmTransportTest, OneRankCanSwitchDirectReadsOffForAll) {
  Ranks ranks({{HugePages::kOff, DirectMode::kAuto}, {HugePages::kOff, DirectMode::kOff}, {}});
  for (const Status& status : ranks.ConnectAll()) ASSERT_TRUE(status.ok()) << status;
  const ChannelEnd end = ranks.transports[0]->OpenRecv(Rank(2), 0).value();
  EXPECT_FALSE(end.direct_read);
  EXPECT_FALSE(end.same_address_space);
  Ranks insisting({{HugePages::kOff, DirectMode::kOn}, {HugePages::kOff, DirectMode::kOff}});
  const std::vector<Status> statuses = insisting.ConnectAll();
  EXPECT_EQ(statuses[0].code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(StatusMessage(statuses[0]), HasSubstr("MYCEL_DIRECT"));
}

TEST(ShmTransportTest, AnUnreadableAddressIsAnError) {
  TwoProcesses(
      1,
      [](ShmTransport& transport, const std::vector<std::string>& addresses) {
        ASSERT_TRUE(transport.Connect(addresses, In(20'000)).ok());
        ASSERT_TRUE(transport.OpenRecv(Rank(0), 0).value().direct_read);
        char byte = 0;
        const Status status = transport.DirectRead(Rank(0), 64, &byte, 1);
        EXPECT_FALSE(status.ok());
        EXPECT_THAT(StatusMessage(status), HasSubstr("rank 0"));
        transport.BoardOf(Rank(1))->operation.store(1);
      },
      [](ShmTransport& transport, const std::vector<std::string>& addresses) {
        ASSERT_TRUE(transport.Connect(addresses, In(20'000)).ok());
        const Deadline deadline = In(20'000);
        while (transport.BoardOf(Rank(1))->operation.load() == 0 && !deadline.Passed()) usleep(100);
      });
}

TEST(ShmTransportTest, HugePagesComeFromThePoolOrAreAnError) {
  Ranks ranks(std::vector<ShmOptions>(2, {HugePages::kOn, DirectMode::kAuto}));
  std::ifstream file("/proc/sys/vm/nr_hugepages");
  int64_t pool = 0;
  file >> pool;
  for (const Status& status : ranks.ConnectAll()) {
    if (pool >= 3) {
      EXPECT_TRUE(status.ok()) << status;
    } else {
      EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
      EXPECT_THAT(StatusMessage(status), HasSubstr("MYCEL_HUGE_PAGES"));
    }
  }
}

TEST(SegmentLayoutTest, ChannelsTileTheRegions) {
  SegmentLayout layout;
  layout.members = 5;
  layout.channels_per_pair = 3;
  layout.payload_bytes = 20480;
  size_t expected = layout.ControlBytes();
  for (int32_t target = 0; target < 5; ++target) {
    EXPECT_EQ(layout.RegionAt(target), expected);
    for (int32_t source = 0; source < 5; ++source) {
      for (int32_t index = 0; index < 3 && source != target; ++index) {
        EXPECT_EQ(layout.ChannelAt(source, target, index), expected);
        expected += ChannelBytes(20480);
      }
    }
  }
  EXPECT_EQ(layout.TotalBytes(), expected);
}

TEST(PayloadBytesForTest, KeepsTheInboundRingsWithinBudget) {
  EXPECT_EQ(PayloadBytesFor(1), 512U * 1024);
  EXPECT_EQ(PayloadBytesFor(9), 512U * 1024);
  EXPECT_EQ(PayloadBytesFor(17), 256U * 1024);
  EXPECT_EQ(PayloadBytesFor(257), 16U * 1024);
  EXPECT_EQ(PayloadBytesFor(1000), 16U * 1024);
  for (int32_t n = 2; n <= 257; ++n) {
    EXPECT_EQ(PayloadBytesFor(n) % 4096, 0U);
    EXPECT_LE(PayloadBytesFor(n) * 2 * static_cast<size_t>(n - 1), size_t{8} << 20) << n;
  }
}

TEST(AvailableMemoryTest, IsMoreThanNothingAndLessThanEverything) {
  EXPECT_GT(AvailableMemoryBytes(), size_t{1} << 20);
  EXPECT_LT(AvailableMemoryBytes(), size_t{1} << 50);
}

}  // namespace
}  // namespace mycel
