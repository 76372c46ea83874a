// What is particular to meeting over TCP; tests/conformance holds what every bootstrap must do.
#include "transport/bootstrap/tcp.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>

/// A child of fork has copies of what the serving thread was using, but no such thread whose stack would point to them.
extern "C" __attribute__((visibility("default"))) const char*
__lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier): LeakSanitizer's name
extern "C" const char* __lsan_default_suppressions() { return "leak:Rendezvous::Main\n"; }

namespace mycel {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;

SteadyTime In(int64_t ms) { return steady_clock::now() + milliseconds(ms); }

/// Joins ranks 0..n-1 as threads; body gets the bootstrap or the error.
using Body = std::function<void(Rank, StatusOr<std::unique_ptr<Bootstrap>>)>;
void JoinThreads(const UniqueId& id, int32_t n, RendezvousHost& host, const Body& body, int64_t ms = 20'000) {
  std::vector<std::thread> threads;
  for (Rank rank : Ids<Rank>(n)) {
    threads.emplace_back([&, rank] { body(rank, JoinTcp(id, rank, n, In(ms), host)); });
  }
  for (std::thread& thread : threads) thread.join();
}

void ExpectOk(Rank rank, const StatusOr<std::unique_ptr<Bootstrap>>& joined) {
  ASSERT_TRUE(joined.ok()) << joined.status();
  const auto all = (*joined)->AllGather(std::to_string(rank.value()), In(20'000));
  ASSERT_TRUE(all.ok()) << all.status();
  for (size_t r = 0; r < all->size(); ++r) EXPECT_EQ((*all)[r], std::to_string(r));
}

int CountEntries(const char* folder) {
  DIR* entries = opendir(folder);
  int count = 0;
  while (readdir(entries) != nullptr) ++count;
  closedir(entries);
  return count;
}

/// Threads end a moment after the last rank has left.
void ExpectNothingServed(RendezvousHost& host) {
  const Deadline deadline = In(5000);
  while (host.Serving() > 0 && !deadline.Passed()) usleep(1000);
  EXPECT_EQ(host.Serving(), 0U);
}

int ConnectRaw(const UniqueId& id) {
  const MeetingPlace place = MeetingPlace::Unpack(id).value();
  sockaddr_storage address{};
  const socklen_t length = place.addresses.back().ToSocketAddress(place.port, &address);
  const int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), length), 0);
  return fd;
}

/// A port that nobody listens on at the moment.
uint16_t FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(fd);
  return ntohs(address.sin_port);
}

TEST(UniqueIdTest, KeepsWhatFits) {
  MeetingPlace place;
  place.port = 4242;
  for (size_t i = 0; i < place.secret.size(); ++i) place.secret[i] = static_cast<unsigned char>(0x11 * i);
  place.agreed = true;
  for (unsigned char i = 0; i < 30; ++i) {
    HostAddress address;
    address.v6 = i == 1;
    address.bytes[0] = i;
    address.bytes[15] = address.v6 ? 9 : 0;
    place.addresses.push_back(address);
  }
  const MeetingPlace back = MeetingPlace::Unpack(place.Pack()).value();
  EXPECT_EQ(back.port, place.port);
  EXPECT_EQ(back.secret, place.secret);
  EXPECT_TRUE(back.agreed);
  ASSERT_EQ(back.addresses.size(), 18U);  // 17 + 17 * 5 + 1 left over = 103
  EXPECT_EQ(back.addresses[0].ToString(), "0.0.0.0");
  EXPECT_EQ(back.addresses[1].ToString(), "100::9");
  EXPECT_EQ(back.addresses[17].ToString(), "17.0.0.0");
}

TEST(UniqueIdTest, DamagedOnesAreRefused) {
  RendezvousHost host;
  const UniqueId good = host.MakeUniqueId("").value();
  for (const size_t byte : {0U, 4U, 24U, 25U}) {
    UniqueId bad = good;
    bad.bytes[byte] = 0xff;
    const Status status = JoinTcp(bad, Rank(0), 1, In(1000), host).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << byte;
  }
  EXPECT_EQ(JoinTcp(UniqueId(), Rank(0), 1, In(1000), host).status().code(), StatusCode::kInvalidArgument);
}

TEST(UniqueIdTest, AnUnknownInterfaceIsAnswaredWithThoseThereAre) {
  RendezvousHost host;
  const Status status = host.MakeUniqueId("nosuchif0").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(StatusMessage(status), AllOf(HasSubstr("nosuchif0"), HasSubstr("there are:"), HasSubstr("lo")));
  const MeetingPlace place = MeetingPlace::Unpack(host.MakeUniqueId("lo").value()).value();
  for (const HostAddress& address : place.addresses) EXPECT_TRUE(address.IsLoopback()) << address.ToString();
}

TEST(UniqueIdTest, HostAndPortAreParsed) {
  for (const char* good : {"127.0.0.1:4000", "localhost:4000", "[::1]:4000"}) {
    const StatusOr<UniqueId> id = UniqueIdFromHostPort(good);
    ASSERT_TRUE(id.ok()) << id.status();
    const MeetingPlace place = MeetingPlace::Unpack(*id).value();
    EXPECT_TRUE(place.agreed);
    EXPECT_EQ(place.port, 4000);
  }
  for (const char* bad : {"", "host", ":4000", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:12x",
                          "no.such.host.invalid:4000"}) {
    const Status status = UniqueIdFromHostPort(bad).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(StatusMessage(status), HasSubstr("MYCEL_COMM_ID=" + std::string(bad)));
  }
}

TEST(JoinTcpTest, SixtyFourRanksMeetQuickly) {
  RendezvousHost host;
  const UniqueId id = host.MakeUniqueId("").value();
  const SteadyTime start = steady_clock::now();
  JoinThreads(id, 64, host, [](Rank rank, auto joined) {
    ASSERT_TRUE(joined.ok()) << joined.status();
    for (int round = 0; round < 4; ++round) {
      const auto all = (*joined)->AllGather(std::string(200, static_cast<char>(rank.value())), In(20'000));
      ASSERT_TRUE(all.ok()) << all.status();
      EXPECT_EQ((*all)[63], std::string(200, 63));
    }
  });
  const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - start).count();
  RecordProperty("milliseconds", static_cast<int>(took));
  EXPECT_LT(took, 10'000);  // 20 to 50 ms when the machine is quiet
  ExpectNothingServed(host);
}

TEST(JoinTcpTest, StraysDoNotDisturb) {
  RendezvousHost host;
  const UniqueId id = host.MakeUniqueId("").value();
  std::vector<int> strays;
  for (int i = 0; i < 300; ++i) {
    const int fd = ConnectRaw(id);
    const std::string garbage = i % 4 == 1 ? std::string(100'000, 'x') : i % 4 == 2 ? "GET / HTTP/1.0\r\n\r\n" : "";
    if (!garbage.empty()) (void)send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (i % 4 == 3) {
      close(fd);
    } else {
      strays.push_back(fd);
    }
  }
  // Those that know our frames but not the secret: one stays silent after Hello, one sends a wrong proof and claims a
  // rank, one announces more than there is memory for, one stops in the middle of a header.
  const std::string hello = *Encode(FrameType::kHello, "12345678");
  const std::string claim = hello + *Encode(FrameType::kProof, "12345678") +
                            *Encode(FrameType::kRegister, std::string(8, '\0') + std::string(8, '\1'));
  std::string huge = hello;
  huge.replace(8, 8, "\xff\xff\xff\xff\xff\xff\xff\x7f");
  for (const std::string& text : {hello, claim, huge, hello.substr(0, 5)}) {
    strays.push_back(ConnectRaw(id));
    EXPECT_EQ(send(strays.back(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  JoinThreads(id, 3, host, ExpectOk);
  ExpectNothingServed(host);  // silent strays do not keep it alive
  for (const int fd : strays) close(fd);
}

// Published vectors: the paper's appendix (15 bytes) and the reference code's first two.
TEST(ProofTest, SipHashIsThePublishedOne) {
  Secret key;
  std::string message;
  for (unsigned char i = 0; i < 16; ++i) key[i] = i;
  for (char i = 0; i < 15; ++i) message += i;
  EXPECT_EQ(SipHash(key, ""), 0x726fdb47dd0e0e31U);
  EXPECT_EQ(SipHash(key, message.substr(0, 1)), 0x74f839c593dc67fdU);
  EXPECT_EQ(SipHash(key, message), 0xa129ca6149be45e5U);
}

TEST(ProofTest, NamesItsSideAndBothNonces) {
  const Secret secret = RandomSecret();
  const uint64_t proof = ProofOf(secret, ProofSide::kGuest, 1, 2);
  EXPECT_NE(proof, ProofOf(secret, ProofSide::kRendezvous, 1, 2));
  EXPECT_NE(proof, ProofOf(secret, ProofSide::kGuest, 2, 1));
  EXPECT_NE(proof, ProofOf(RandomSecret(), ProofSide::kGuest, 1, 2));
}

TEST(JoinTcpTest, AFalseListenerLearnsNothingAndIsNotBelieved) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener, 4), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  MeetingPlace place;
  place.port = ntohs(address.sin_port);
  place.secret = RandomSecret();
  place.addresses.push_back(HostAddress::Of(reinterpret_cast<const sockaddr*>(&address)));
  std::string heard;
  std::thread false_listener([&] {
    while (true) {
      const int fd = accept(listener, nullptr, nullptr);
      if (fd < 0) return;  // shut down
      char bytes[24];
      if (recv(fd, bytes, sizeof(bytes), MSG_WAITALL) == sizeof(bytes)) heard.append(bytes, sizeof(bytes));
      // The rank's own nonce and a made-up proof.
      const std::string answer = *Encode(FrameType::kChallenge, heard.substr(heard.size() - 8) + "87654321") +
                                 *Encode(FrameType::kRegistered, "");
      (void)send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      char more = 0;
      while (recv(fd, &more, 1, 0) == 1) heard += more;
      close(fd);
    }
  });
  RendezvousHost host;
  const Status status = JoinTcp(place.Pack(), Rank(1), 2, In(300), host).status();
  shutdown(listener, SHUT_RDWR);
  false_listener.join();
  close(listener);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(StatusMessage(status), HasSubstr("somebody else listens there"));
  ASSERT_GE(heard.size(), 24U);
  EXPECT_EQ(heard.size() % 24, 0U) << "a rank went on after a wrong proof";
  const std::string secret(place.secret.begin(), place.secret.end());
  EXPECT_EQ(heard.find(secret.substr(0, 8)), std::string::npos);
}

TEST(JoinTcpTest, OneRankClaimedTwiceIsToldToAll) {
  RendezvousHost host;
  const UniqueId id = host.MakeUniqueId("").value();
  std::vector<Status> statuses(3);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 3; ++i) {
    // 0, 1, 1 of 4 ranks.
    threads.emplace_back([&, i] { statuses[i] = JoinTcp(id, Rank(i == 0 ? 0 : 1), 4, In(20'000), host).status(); });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string pid = "pid " + std::to_string(getpid());
  for (const Status& status : statuses) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
    const std::string text = StatusMessage(status);
    EXPECT_THAT(text, HasSubstr("claimed twice"));
    const size_t first = text.find("rank 1 (" + pid);
    ASSERT_NE(first, std::string::npos) << text;
    EXPECT_NE(text.find("rank 1 (" + pid, first + 1), std::string::npos) << text;
  }
  // A rank that comes a little late hears it too.
  const Status late = JoinTcp(id, Rank(3), 4, In(20'000), host).status();
  EXPECT_TRUE(late.code() == StatusCode::kFailedPrecondition || late.code() == StatusCode::kUnavailable) << late;
  ExpectNothingServed(host);
}

TEST(JoinTcpTest, RanksThatDisagreeAboutTheirCountAreTold) {
  RendezvousHost host;
  const UniqueId id = host.MakeUniqueId("").value();
  std::vector<Status> statuses(2);
  std::thread first([&] { statuses[0] = JoinTcp(id, Rank(0), 4, In(20'000), host).status(); });
  std::thread second([&] { statuses[1] = JoinTcp(id, Rank(1), 5, In(20'000), host).status(); });
  first.join();
  second.join();
  for (const Status& status : statuses) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(StatusMessage(status), AllOf(HasSubstr("rank 0"), HasSubstr("rank 1"), HasSubstr("4"), HasSubstr("5")));
  }
  EXPECT_EQ(JoinTcp(id, Rank(4), 4, In(1000), host).status().code(), StatusCode::kInvalidArgument);
  ExpectNothingServed(host);
}

TEST(JoinTcpTest, MissingRanksAreListedWithinTheDeadline) {
  RendezvousHost host;
  const UniqueId id = host.MakeUniqueId("").value();
  const SteadyTime start = steady_clock::now();
  std::vector<Status> statuses(2);
  std::thread patient([&] { statuses[0] = JoinTcp(id, Rank(4), 6, In(20'000), host).status(); });
  std::thread hasty([&] { statuses[1] = JoinTcp(id, Rank(0), 6, In(300), host).status(); });
  patient.join();
  hasty.join();
  EXPECT_LT(steady_clock::now() - start, milliseconds(3000));
  for (const Status& status : statuses) {
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(StatusMessage(status), HasSubstr("ranks 1-3 and 5 to join"));
  }
  ExpectNothingServed(host);
}

TEST(JoinTcpTest, AUsedIdIsRefused) {
  RendezvousHost host;
  const UniqueId id = host.MakeUniqueId("").value();
  JoinThreads(id, 2, host, [&](Rank rank, auto joined) {
    ASSERT_TRUE(joined.ok()) << joined.status();
    if (rank == Rank(0)) {
      const Status status = JoinTcp(id, Rank(0), 2, In(20'000), host).status();
      EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
      EXPECT_THAT(StatusMessage(status), HasSubstr("make one unique id for each communicator"));
    }
    ExpectOk(rank, joined);
  });
  ExpectNothingServed(host);
  const SteadyTime start = steady_clock::now();
  const Status gone = JoinTcp(id, Rank(0), 2, In(20'000), host).status();
  EXPECT_EQ(gone.code(), StatusCode::kUnavailable) << gone;
  EXPECT_THAT(StatusMessage(gone), HasSubstr("127.0.0.1:"));
  EXPECT_LT(steady_clock::now() - start, milliseconds(10'000));
}

TEST(JoinTcpTest, TheEndOfTheMakerIsNoticed) {
  auto host = std::make_unique<RendezvousHost>();
  const UniqueId id = host->MakeUniqueId("").value();
  RendezvousHost other;
  std::thread ender([&] {
    usleep(100'000);
    host.reset();
  });
  const Status status = JoinTcp(id, Rank(0), 2, In(20'000), other).status();
  ender.join();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
  EXPECT_THAT(StatusMessage(status), HasSubstr("rank 0 lost its connection"));
}

TEST(JoinTcpTest, AKilledRankIsNamed) {
  RendezvousHost host;
  const UniqueId id = host.MakeUniqueId("").value();
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const auto joined = JoinTcp(id, Rank(1), 2, In(20'000), host);
    raise(SIGKILL);
  }
  auto joined = JoinTcp(id, Rank(0), 2, In(20'000), host);
  ASSERT_TRUE(joined.ok()) << joined.status();
  const Status status = (*joined)->Barrier(In(20'000));
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
  EXPECT_THAT(StatusMessage(status), HasSubstr("rank 1 (pid " + std::to_string(pid)));
  waitpid(pid, nullptr, 0);
  joined->reset();
  ExpectNothingServed(host);
}

TEST(JoinTcpTest, ChildrenOfTheMakerJoinAndEndNormally) {
  RendezvousHost host;
  const UniqueId id = host.MakeUniqueId("").value();
  std::vector<pid_t> children;
  std::fflush(nullptr);
  for (Rank rank : Ids<Rank>(3)) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    ExpectOk(rank, JoinTcp(id, rank, 3, In(20'000), host));
    const bool failed = testing::Test::HasFailure();
    std::fflush(nullptr);
    // Runs the copy's destructor and those of static objects: they must not wait for threads that are not there.
    host.~RendezvousHost();
    exit(failed ? 1 : 0);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  ExpectNothingServed(host);
}

TEST(JoinTcpTest, ManyIdsAtOnce) {
  RendezvousHost host;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { JoinThreads(host.MakeUniqueId("").value(), 3, host, ExpectOk); });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectNothingServed(host);
}

TEST(JoinTcpTest, NothingIsLeftAfterManyMeetings) {
  RendezvousHost host;
  const auto succeed = [&] { JoinThreads(host.MakeUniqueId("").value(), 2, host, ExpectOk); };
  const auto fail = [&] {
    const UniqueId id = host.MakeUniqueId("").value();
    // Long enough to connect on a busy machine: a place that nobody has come to goes on waiting.
    EXPECT_FALSE(JoinTcp(id, Rank(0), 2, In(50), host).ok());
  };
  succeed();
  ExpectNothingServed(host);
  const int descriptors = CountEntries("/proc/self/fd");
  const int threads = CountEntries("/proc/self/task");
  for (int i = 0; i < 200; ++i) i % 4 == 0 ? fail() : succeed();
  ExpectNothingServed(host);
  EXPECT_EQ(CountEntries("/proc/self/fd"), descriptors);
  EXPECT_EQ(CountEntries("/proc/self/task"), threads);
}

TEST(JoinTcpTest, AnAgreedPlaceServesOneCommunicatorAfterAnother) {
  const std::string place = "127.0.0.1:" + std::to_string(FreePort());
  const UniqueId id = UniqueIdFromHostPort(place).value();
  RendezvousHost host;
  std::vector<std::thread> threads;
  for (Rank rank : Ids<Rank>(3)) {
    threads.emplace_back([&, rank] {
      if (rank == Rank(0)) usleep(100'000);  // the others are there first
      for (int i = 0; i < 5; ++i) ExpectOk(rank, JoinTcp(id, rank, 3, In(20'000), host));
    });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectNothingServed(host);
}

TEST(JoinTcpTest, ATakenPortIsAnError) {
  RendezvousHost host;
  const MeetingPlace taken = MeetingPlace::Unpack(host.MakeUniqueId("").value()).value();
  const UniqueId id = UniqueIdFromHostPort("127.0.0.1:" + std::to_string(taken.port)).value();
  RendezvousHost other;
  const Status status = JoinTcp(id, Rank(0), 2, In(5000), other).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(StatusMessage(status), AllOf(HasSubstr(std::to_string(taken.port)), HasSubstr("MYCEL_COMM_ID")));
}

TEST(JoinTcpTest, NobodyAtAnAgreedPlaceIsNamedAtTheDeadline) {
  const std::string place = "127.0.0.1:" + std::to_string(FreePort());
  RendezvousHost host;
  const Status status = JoinTcp(UniqueIdFromHostPort(place).value(), Rank(1), 2, In(200), host).status();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(StatusMessage(status), AllOf(HasSubstr("rank 1"), HasSubstr(place), HasSubstr("rank 0 must run there")));
}

TEST(JoinTcpTest, AddressesThatDoNotAnswerDoNotDelay) {
  RendezvousHost host;
  MeetingPlace place = MeetingPlace::Unpack(host.MakeUniqueId("lo").value()).value();
  // Reserved for documentation: nobody is there, and whether anything says so depends on the network.
  for (const char* nobody : {"192.0.2.1", "198.51.100.7", "203.0.113.9"}) {
    HostAddress address;
    ASSERT_EQ(inet_pton(AF_INET, nobody, address.bytes), 1);
    place.addresses.insert(place.addresses.begin(), address);
  }
  const SteadyTime start = steady_clock::now();
  JoinThreads(place.Pack(), 2, host, ExpectOk);
  EXPECT_LT(steady_clock::now() - start, milliseconds(5000));
  ExpectNothingServed(host);
}

TEST(JoinTcpTest, NoDescriptorsLeftNamesTheLimit) {
  RendezvousHost host;
  const UniqueId id = host.MakeUniqueId("").value();
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const int lowest_free = dup(0);
    close(lowest_free);
    const rlimit limit{static_cast<rlim_t>(lowest_free), static_cast<rlim_t>(lowest_free)};
    setrlimit(RLIMIT_NOFILE, &limit);
    const Status status = JoinTcp(id, Rank(0), 2, In(5000), host).status();
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(StatusMessage(status), AllOf(HasSubstr("rank 0"), HasSubstr("ulimit -n")));
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace mycel
