// Seeing inside while it happens: `mycel status` and SIGUSR2 say what the error texts say afterwards, and they name the
// rank to blame.
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/clock.h"
#include "tests/multiproc/rank_processes.h"

namespace mycel::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using Json = nlohmann::json;

void SleepMs(int ms) {
  const timespec pause{ms / 1000, (ms % 1000) * 1'000'000L};
  nanosleep(&pause, nullptr);
}

int AllReduce(mycelComm_t comm, size_t count, int times) {
  std::vector<float> data(count, 1);
  for (int i = 0; i < times; ++i) {
    const mycelResult_t result = mycelAllReduce(data.data(), data.data(), count, mycelFloat, mycelMax, comm, nullptr);
    if (result != mycelSuccess) {
      Note(mycelGetLastError(comm));
      return result;
    }
  }
  return 0;
}

std::string Output(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  for (size_t n = 0; pipe != nullptr && (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) text.append(buffer, n);
  if (pipe != nullptr) pclose(pipe);
  return text;
}

/// The communicator that a process belongs to, as `mycel status --json` shows it.
Json StatusOf(pid_t pid) {
  const std::string text = Output(std::string(MYCEL_CLI_PATH) + " status --json --flights " + std::to_string(pid));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json["communicators"].size() != 1) {
    ADD_FAILURE() << "pid " << pid << ": " << text;
    return Json();
  }
  return json["communicators"][0];
}

std::string FileText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A folder of this test's own, removed at the end.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/mycel-status-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() {
    for (const char* file : {"/flights.json", "/trace.json", "/err.0", "/err.1", "/err.2", "/err.3"}) {
      unlink((path_ + file).c_str());
    }
    rmdir(path_.c_str());
  }
  std::string operator/(const std::string& file) const { return path_ + "/" + file; }

 private:
  std::string path_;
};

// Rank 2 sleeps instead of calling operation 17.
TEST(Status, SleepingRankIsNamedByTheStatusAndByTheErrorTexts) {
  const Folder folder;
  setenv("MYCEL_TIMEOUT", "3", 1);
  setenv("MYCEL_FLIGHT_FILE", (folder / "flights.json").c_str(), 1);
  RunOptions options;
  Json seen;
  std::string table;
  options.before_init = [&folder](int rank) {
    (void)!freopen((folder / ("err." + std::to_string(rank))).c_str(), "w", stderr);
  };
  options.meanwhile = [&](const std::vector<pid_t>& pids) {
    SleepMs(1500);
    seen = StatusOf(pids[0]);
    table = Output(std::string(MYCEL_CLI_PATH) + " status " + std::to_string(pids[3]));
    kill(pids[1], SIGUSR2);
  };
  const auto outcomes = RunRanks(
      4,
      [](mycelComm_t comm, int rank) {
        const int first = AllReduce(comm, 1000, 16);
        if (first != 0) return first;
        if (rank == 2) SleepMs(4500);
        return rank == 2 ? 0 : AllReduce(comm, 1000, 1);
      },
      options);
  unsetenv("MYCEL_FLIGHT_FILE");

  for (const size_t rank : {0U, 1U, 3U}) {
    EXPECT_THAT(outcomes[rank].exit_code, AnyOf(Eq(mycelTimeout), Eq(mycelRemoteError))) << outcomes[rank].note;
    EXPECT_THAT(outcomes[rank].note,
                AllOf(HasSubstr("operation 17 allreduce(count 1000, float, max)"),
                      HasSubstr("rank 2, which has finished operation 16 and has not called the next one (pid " +
                                std::to_string(outcomes[2].pid) + " is alive)"),
                      HasSubstr("[communicator comm-"), HasSubstr("of 4 rank(s), host "), HasSubstr("transport shm]")));
  }

  ASSERT_TRUE(seen.is_object());
  EXPECT_EQ(seen["ranks"], 4);
  EXPECT_EQ(seen["transport"], "shm");
  ASSERT_EQ(seen["members"].size(), 4U) << seen;
  for (size_t rank = 0; rank < 4; ++rank) {
    const Json& member = seen["members"][rank];
    EXPECT_EQ(member["rank"], rank);
    EXPECT_EQ(member["pid"], outcomes[rank].pid);
    EXPECT_EQ(member["operation"], rank == 2 ? 16 : 17);
    EXPECT_EQ(member["running"], rank != 2);
    EXPECT_EQ(member["phase"], rank == 2 ? "idle" : "running");
    EXPECT_EQ(member["what"], "allreduce(count 1000, float, max)");
    EXPECT_GT(member["since_s"], 0.2);
    EXPECT_EQ(member["waits_for"].is_null(), rank == 2) << member;
    EXPECT_EQ(member["flights"].size(), rank == 2 ? 16U : 17U);
    EXPECT_EQ(member["flights"].back()["outcome"], rank == 2 ? "done" : "running");
    EXPECT_NE(member["flights"].back()["planner"], "");
    EXPECT_TRUE(member["init_s"].contains("meet")) << member;
  }
  ASSERT_EQ(seen["verdicts"].size(), 1U) << seen;
  EXPECT_EQ(seen["verdicts"][0], "rank 2 not yet at operation 17, which ranks 0, 1, 3 called");
  EXPECT_THAT(table, HasSubstr("> rank 2 not yet at operation 17"));
  // The signal's text is the same, on the standard error of the rank that got it.
  EXPECT_THAT(FileText(folder / "err.1"),
              AllOf(HasSubstr(", 4 of 4 ranks here, shm"),
                    HasSubstr("> rank 2 not yet at operation 17, which ranks 0, 1, 3 called")));
  EXPECT_EQ(FileText(folder / "err.3"), "");

  // The flight recorder: one record for each rank that failed, whole JSON although they came together.
  const Json flights = Json::parse(FileText(folder / "flights.json"), nullptr, false);
  ASSERT_TRUE(flights.is_array());
  ASSERT_EQ(flights.size(), 3U);
  for (const Json& of_rank : flights) {
    EXPECT_EQ(of_rank["format"], "mycel-flight");
    ASSERT_EQ(of_rank["operations"].size(), 17U);
    EXPECT_EQ(of_rank["operations"][15]["outcome"], "done");
    EXPECT_EQ(of_rank["operations"][16]["operation"], 17);
    EXPECT_EQ(of_rank["operations"][16]["outcome"], "failed");
    EXPECT_THAT(of_rank["error"], HasSubstr("operation 17"));
  }
}

TEST(Status, SendsThatWaitForEachOtherAreACircle) {
  setenv("MYCEL_TIMEOUT", "2", 1);
  RunOptions options;
  Json seen;
  options.meanwhile = [&seen](const std::vector<pid_t>& pids) {
    SleepMs(1000);
    seen = StatusOf(pids[0]);
  };
  const auto outcomes = RunRanks(
      2,
      [](mycelComm_t comm, int rank) {
        std::vector<char> buffer(100);
        const mycelResult_t result = mycelRecv(buffer.data(), buffer.size(), mycelInt8, 1 - rank, comm, nullptr);
        Note(mycelGetLastError(comm));
        return static_cast<int>(result);
      },
      options);
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.exit_code, AnyOf(Eq(mycelTimeout), Eq(mycelRemoteError))) << outcome.note;
    EXPECT_THAT(outcome.note, AllOf(HasSubstr("send/recv(first with rank "), HasSubstr("100 bytes"),
                                    HasSubstr("for a message of rank 0"), HasSubstr("for a message of rank 1"),
                                    HasSubstr("a circle of waits"), HasSubstr("belong in one group")));
  }
  EXPECT_THAT(seen["verdicts"],
              ElementsAre("rank 0 waits for a message of rank 1, rank 1 waits for a message of rank 0: a circle"));
}

TEST(Status, StoppedRankIsAliveButStopped) {
  setenv("MYCEL_TIMEOUT", "2", 1);
  RunOptions options;
  Json seen;
  options.meanwhile = [&seen](const std::vector<pid_t>& pids) {
    SleepMs(700);
    kill(pids[1], SIGSTOP);
    SleepMs(700);
    seen = StatusOf(pids[0]);
    SleepMs(3000);
    kill(pids[1], SIGKILL);
  };
  const auto outcomes = RunRanks(
      2, [](mycelComm_t comm, int) { return AllReduce(comm, 1 << 16, 1 << 30); }, options);
  EXPECT_EQ(outcomes[0].exit_code, mycelTimeout);
  EXPECT_THAT(outcomes[0].note,
              AllOf(HasSubstr("of rank 1, which"),
                    HasSubstr("(pid " + std::to_string(outcomes[1].pid) + " is alive but stopped by a signal)")));
  ASSERT_EQ(seen["members"].size(), 2U) << seen;
  EXPECT_THAT(seen["members"][1]["phase"], HasSubstr("stopped"));
  EXPECT_THAT(seen["verdicts"][0], Eq("rank 1 stopped by a signal or a debugger"));
}

TEST(Status, RanksThatMeetAreShownInTheirPhase) {
  setenv("MYCEL_TIMEOUT", "2", 1);
  RunOptions options;
  std::string table;
  options.before_init = [](int rank) {
    if (rank == 1) SleepMs(1200);
  };
  options.meanwhile = [&table](const std::vector<pid_t>& pids) {
    SleepMs(600);
    table = Output(std::string(MYCEL_CLI_PATH) + " status " + std::to_string(pids[0]));
  };
  const auto outcomes = RunRanks(
      2, [](mycelComm_t comm, int) { return AllReduce(comm, 10, 1); }, options);
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
  EXPECT_THAT(table, AllOf(HasSubstr("(its ranks have not met yet)"), HasSubstr("init: meet")));
}

TEST(Status, TheProgramsOwnSignalHandlerStays) {
  setenv("MYCEL_TIMEOUT", "20", 1);
  static volatile sig_atomic_t caught = 0;
  RunOptions options;
  options.before_init = [](int) { signal(SIGUSR2, [](int) { caught = 1; }); };
  const auto outcomes = RunRanks(
      2,
      [](mycelComm_t comm, int) {
        raise(SIGUSR2);
        return caught == 1 ? AllReduce(comm, 10, 1) : 51;
      },
      options);
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
}

TEST(Log, OneRecordForEachOperationAndSizeClassSaysWhatServesIt) {
  const Folder folder;
  setenv("MYCEL_TIMEOUT", "20", 1);
  setenv("MYCEL_DEBUG", "INFO", 1);
  setenv("MYCEL_DIRECT", "off", 1);
  RunOptions options;
  options.before_init = [&folder](int rank) {
    (void)!freopen((folder / ("err." + std::to_string(rank))).c_str(), "w", stderr);
  };
  const auto outcomes = RunRanks(
      2,
      [](mycelComm_t comm, int) {
        const int small = AllReduce(comm, 1000, 3);  // 4000 and 3600 bytes are one class, 400000 another
        return small + AllReduce(comm, 900, 3) + AllReduce(comm, 100000, 3);
      },
      options);
  unsetenv("MYCEL_DEBUG");
  unsetenv("MYCEL_DIRECT");
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
  const std::string log = FileText(folder / "err.0");
  const auto count = [&log](const std::string& text) {
    int times = 0;
    for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++times;
    return times;
  };
  EXPECT_EQ(count("allreduce of up to"), 2) << log;
  EXPECT_THAT(log,
              ::testing::ContainsRegex(
                  "INFO  allreduce of up to 4096 bytes: planner [^ ]+, plan [0-9a-f]+, protocol (inline|slot), [0-9]+ "
                  "lane\\(s\\), slices of at most [0-9]+ bytes, transport shm, direct reads off: MYCEL_DIRECT=off; "));
  EXPECT_EQ(count("rank 0 reaches all 2 ranks through shm, direct reads off: MYCEL_DIRECT=off"), 1) << log;
  EXPECT_EQ(count("MYCEL_DIRECT=off (environment)"), 1) << log;
  EXPECT_THAT(log, ::testing::ContainsRegex(
                       "made in [0-9.]+ ms: meet [0-9.]+ ms, settings [0-9.]+ ms, connect.*; [0-9]+ messages of"));
}

TEST(Trace, OneFileHoldsTheLanesStepsAndWaitsOfAllRanks) {
  const Folder folder;
  const std::string path = folder / "trace.json";
  std::ofstream(path) << "an old file";
  setenv("MYCEL_TIMEOUT", "20", 1);
  setenv("MYCEL_TRACE", path.c_str(), 1);
  const auto outcomes = RunRanks(3, [](mycelComm_t comm, int rank) {
    if (rank == 1) SleepMs(50);  // so that the others wait
    return AllReduce(comm, 50000, 4);
  });
  unsetenv("MYCEL_TRACE");
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
  const Json trace = Json::parse(FileText(path), nullptr, false);
  ASSERT_TRUE(trace.is_array()) << FileText(path).substr(0, 300);
  int operations[3] = {};
  int steps[3] = {};
  int reductions[3] = {};
  double waited_us[3] = {};
  std::vector<std::string> tracks;
  for (const Json& event : trace) {
    const std::string name = event["name"];
    if (event["ph"] == "M") {
      tracks.push_back(event["args"]["name"]);
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    const size_t rank = event["pid"];
    ASSERT_LT(rank, 3U);
    EXPECT_GE(event["dur"], 0) << event;
    if (event["tid"] == 0) {
      EXPECT_EQ(name, "allreduce(count 50000, float, max)");
      EXPECT_EQ(event["args"]["operation"], ++operations[rank]);
    } else if (name.starts_with("wait")) {
      waited_us[rank] += event["dur"].get<double>();
    } else {
      ++steps[rank];
      reductions[rank] += name.find("reduce") != std::string::npos ? 1 : 0;
    }
  }
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(operations[rank], 4);
    EXPECT_GE(steps[rank], 4 * 3);
    EXPECT_GE(reductions[rank], 4);
  }
  EXPECT_GT(waited_us[0] + waited_us[2], 20'000);
  EXPECT_THAT(tracks, ::testing::Contains(HasSubstr("rank 1 of comm-")));
  EXPECT_THAT(tracks, ::testing::Contains("lane 0"));
  EXPECT_THAT(tracks, ::testing::Contains("operations"));
}

}  // namespace
}  // namespace mycel::testing
