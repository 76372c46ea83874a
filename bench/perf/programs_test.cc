// The ten programs as their users run them: exit codes, text, JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace mycel::perf {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

struct Outcome {
  int exit_code = -1;
  std::string text;  // standard output and standard error
};

// MYCEL_PERF_PROGRAMS is the folder of the programs.
Outcome RunProgram(const std::string& command, const std::string& environment = "") {
  const std::string line = environment + " " MYCEL_PERF_PROGRAMS "/" + command + " 2>&1";
  Outcome outcome;
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) outcome.text.append(buffer, n);
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

// The lines that are not comments, cut into words.
std::vector<std::vector<std::string>> Rows(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    rows.emplace_back();
    for (std::string word; words >> word;) rows.back().push_back(word);
  }
  return rows;
}

class Json : public testing::Test {
 protected:
  Json() {
    char folder[] = "/tmp/mycel_perf_XXXXXX";
    folder_ = mkdtemp(folder);
  }
  ~Json() override {
    for (const char* name : {"/out.json", "/out.json.0", "/out.json.1"}) unlink((folder_ + name).c_str());
    rmdir(folder_.c_str());
  }
  nlohmann::json Read(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    return nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  }
  std::string path() const { return folder_ + "/out.json"; }

 private:
  std::string folder_;
};

TEST_F(Json, SaysWhatTheTextSays) {
  const Outcome run = RunProgram("all_reduce_perf --procs 2 -b 8 -e 32K -f 8 -n 5 -J " + path());
  ASSERT_EQ(run.exit_code, 0) << run.text;
  const nlohmann::json json = Read("out.json");
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["config"]["devices"].size(), 2u);
  EXPECT_EQ(json["config"]["iterations"], 5);
  EXPECT_EQ(json["out_of_bounds"]["okay"], "true");
  EXPECT_EQ(json["average_bus_bandwidth"]["okay"], "unchecked");
  EXPECT_TRUE(json["errors"].empty());

  const auto rows = Rows(run.text);
  ASSERT_EQ(rows.size(), 5u) << run.text;
  ASSERT_EQ(json["results"].size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& result = json["results"][i];
    ASSERT_EQ(rows[i].size(), 13u) << run.text;
    EXPECT_EQ(result["size"], std::stoul(rows[i][0]));
    EXPECT_EQ(result["count"], std::stoul(rows[i][1]));
    EXPECT_EQ(result["type"], rows[i][2]);
    EXPECT_EQ(result["redop"], rows[i][3]);
    EXPECT_EQ(result["root"], "    -1");
    EXPECT_EQ(result["actual_iterations"], 5);
    const struct {
      const char* name;
      size_t column;
    } placements[] = {{"out_of_place", 5}, {"in_place", 9}};
    for (const auto& p : placements) {
      EXPECT_NEAR(result[p.name]["time"], std::stod(rows[i][p.column]), 0.051) << p.name;
      EXPECT_NEAR(result[p.name]["alg_bw"], std::stod(rows[i][p.column + 1]), 0.0051) << p.name;
      EXPECT_NEAR(result[p.name]["bus_bw"], std::stod(rows[i][p.column + 2]), 0.0051) << p.name;
      EXPECT_EQ(result[p.name]["nwrong"], 0) << p.name;
    }
  }
}

TEST_F(Json, NeverOverwrites) {
  for (const char* name : {"out.json", "out.json.0"}) {
    const Outcome run = RunProgram("broadcast_perf -b 8 -e 8 -n 1 -J " + path());
    ASSERT_EQ(run.exit_code, 0) << run.text;
    EXPECT_TRUE(Read(name).is_object()) << name;
  }
}

TEST(Programs, TextIsThatOfNcclTests) {
  const Outcome run = RunProgram("all_reduce_perf --procs 2 -b 1M -e 1M -n 2");
  ASSERT_EQ(run.exit_code, 0) << run.text;
  EXPECT_THAT(run.text,
              HasSubstr("\n# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 1048576(bytes) warmup "
                        "iters: 1 iters: 2 agg iters: 1 validation: 1 graph: 0 unalign: 0\n#\n# Using devices\n"
                        "#  Rank  0 Group  0 Pid "));
  EXPECT_THAT(run.text,
              HasSubstr("\n#       size         count      type   redop    root     time   algbw   busbw  #wrong"
                        "     time   algbw   busbw  #wrong \n"
                        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)        "
                        "     (us)  (GB/s)  (GB/s)         \n"
                        "     1048576        262144     float     sum      -1  "));
  EXPECT_THAT(run.text, HasSubstr("\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : "));
  EXPECT_THAT(run.text, HasSubstr("\n# Collective test concluded: all_reduce_perf\n"));
}

TEST(Programs, ASuccessfulRunSaysNothingOnStandardError) {
  for (const char* ways : {"--procs 2", "-t 2"}) {
    // Standard error into the pipe, standard output away.
    const Outcome run = RunProgram("all_reduce_perf -b 8 -e 64K -f 64 -n 2 " + std::string(ways) +
                                   " 3>&1 1>/dev/null 2>&3 3>&-; echo exit $?; true");
    EXPECT_EQ(run.text, "exit 0\n") << ways;
  }
}

TEST(Programs, WrongElementIsCountedAndFailsTheRun) {
  for (const char* program : {"all_reduce_perf", "alltoall_perf", "sendrecv_perf", "reduce_scatter_perf"}) {
    const Outcome run = RunProgram(std::string(program) + " --procs 2 -b 1K -e 1K -n 2", "PERF_TEST_CORRUPT=1");
    EXPECT_EQ(run.exit_code, 1) << run.text;
    EXPECT_THAT(run.text, HasSubstr(" FAILED")) << program;
    const auto rows = Rows(run.text);
    ASSERT_FALSE(rows.empty()) << run.text;
    ASSERT_GE(rows[0].size(), 9u);
    EXPECT_EQ(rows[0][8], "1") << run.text;
  }
}

TEST(Programs, UncheckedIsNotApplicable) {
  const Outcome run = RunProgram("all_gather_perf -t 2 -b 1K -e 1K -n 2 -c 0");
  ASSERT_EQ(run.exit_code, 0) << run.text;
  EXPECT_EQ(Rows(run.text).at(0).at(8), "N/A");
}

TEST(Programs, BandwidthFloorFailsTheRun) {
  EXPECT_EQ(RunProgram("all_reduce_perf -t 2 -b 8 -e 8 -n 2", "NCCL_TESTS_MIN_BW=1000000").exit_code, 1);
  EXPECT_EQ(RunProgram("all_reduce_perf -t 2 -b 1M -e 1M -n 2", "NCCL_TESTS_MIN_BW=0.000001").exit_code, 0);
}

TEST(Programs, BadInputIsUsage) {
  const struct {
    const char* command;
    const char* text;
  } cases[] = {
      {"all_reduce_perf --procs 2 -b eight", "eight"},
      {"broadcast_perf --procs 2 -r 2", "-r 2 is no rank of a run with 2 ranks"},
      {"alltoallv_perf --procs 2 --demand gen:nothing", "gen:zipf:S:SEED"},
  };
  for (const auto& c : cases) {
    const Outcome run = RunProgram(c.command);
    EXPECT_EQ(run.exit_code, 2) << c.command << run.text;
    EXPECT_THAT(run.text, HasSubstr(c.text));
  }
}

TEST(Programs, GroupsRunSideBySide) {
  const Outcome run = RunProgram("all_reduce_perf --procs 4 -b 1K -e 1K -n 2", "NCCL_TESTS_SPLIT='MOD 2'");
  ASSERT_EQ(run.exit_code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr("Rank  3 Group  1 "));
  const Outcome bad = RunProgram("all_reduce_perf --procs 2", "NCCL_TESTS_SPLIT='XOR 2'");
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.text, HasSubstr("XOR 2"));
}

TEST(Programs, EveryWayToHaveRanks) {
  for (const char* ways : {"-t 3", "-g 3", "-p 1 -t 3", "--procs 2 -t 2", "--procs 2 -g 2 -p 1", "--procs 3 -y 0"}) {
    const Outcome run = RunProgram(std::string("reduce_scatter_perf -b 6K -e 6K -n 3 ") + ways);
    EXPECT_EQ(run.exit_code, 0) << ways << "\n" << run.text;
    EXPECT_EQ(Rows(run.text).size(), 1u) << ways;
  }
}

TEST(Programs, EveryWayToLoop) {
  for (const char* ways : {"-m 3", "-z 1", "-z 2 -m 2", "-z 3 -y 0", "-C 1 -y 0", "-N 2", "-u 1", "-a 0", "-a 3 --min",
                           "-I 1 -K 1", "-S 1", "-M 1", "-w 3", "-c 3", "-T 20"}) {
    const Outcome run = RunProgram(std::string("all_gather_perf --procs 2 -b 4K -e 4K -n 4 ") + ways);
    EXPECT_EQ(run.exit_code, 0) << ways << "\n" << run.text;
    EXPECT_THAT(run.text, HasSubstr("# Out of bounds values : 0 OK")) << ways;
  }
}

TEST(Programs, AllTypesOperationsAndRoots) {
  const Outcome all = RunProgram("all_reduce_perf --procs 2 -b 1K -e 1K -n 1 -d all -o all");
  EXPECT_EQ(all.exit_code, 0) << all.text;
  EXPECT_EQ(Rows(all.text).size(), 14u * 6 + 8u * 3) << "bitwise operations of the 8 integer types only";
  EXPECT_THAT(all.text, HasSubstr("# Note: half band: N/A, band is for int8"));
  const Outcome roots = RunProgram("reduce_perf --procs 3 -b 1K -e 1K -n 1 -r all");
  EXPECT_EQ(roots.exit_code, 0) << roots.text;
  EXPECT_EQ(Rows(roots.text).size(), 3u);
}

TEST(Programs, OddSizes) {
  const Outcome run = RunProgram("all_reduce_perf --procs 7 -b 1 -e 10007 -i 1251 -d uint8 -n 1");
  EXPECT_EQ(run.exit_code, 0) << run.text;
  EXPECT_EQ(Rows(run.text).size(), 8u);
}

TEST(Programs, LatencyShowsPercentilesInOrder) {
  const Outcome run = RunProgram("all_reduce_perf --procs 2 -b 8 -e 8 -n 200 --latency");
  ASSERT_EQ(run.exit_code, 0) << run.text;
  const auto rows = Rows(run.text);
  ASSERT_EQ(rows.size(), 1u) << run.text;
  ASSERT_EQ(rows[0].size(), 13u);  // size type redop root avg min p50 p90 p99 p99.9 max iterations #wrong
  for (size_t column = 5; column < 10; ++column) {
    EXPECT_LE(std::stod(rows[0][column]), std::stod(rows[0][column + 1])) << run.text;
  }
  EXPECT_EQ(rows[0][11], "200");
  EXPECT_EQ(rows[0][12], "0");
}

TEST(Programs, RooflineShowsSpeedsAndShares) {
  const Outcome run = RunProgram("all_reduce_perf -t 2 -b 64K -e 64K -n 10 --roofline");
  ASSERT_EQ(run.exit_code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr("# Roofline of this machine"));
  const auto rows = Rows(run.text);
  ASSERT_EQ(rows.size(), 1u) << run.text;
  ASSERT_EQ(rows[0].size(), 16u);
  EXPECT_GT(std::stod(rows[0][13]), 0);
}

}  // namespace
}  // namespace mycel::perf
