// `mycel sim`: times, traces, and wrong command lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "bindings/cli/run_cli.h"

namespace mycel::cli {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Sim, ByPlannerAndCollective) {
  const ordered_json json =
      RunJson({"sim", "--planner", "ring", "--collective", "allgather", "--topo", "ring8", "--bytes", "64M", "--json"});
  EXPECT_THAT(KeysOf(json),
              ElementsAre("planner", "collective", "topology", "ranks", "bytes", "time_us", "algbw_GBps", "busbw_GBps",
                          "optimal", "busiest_link_us", "busiest_links", "slices", "slices_simulated", "sim_ms"));
  EXPECT_EQ(json["planner"], "ring");
  EXPECT_EQ(json["bytes"], 64 << 20);
  EXPECT_EQ(json["optimal"]["inv_x"], "7/50");
  EXPECT_LE(json["optimal"]["share"], 1.0);
  EXPECT_GT(json["optimal"]["share"], 0.9);
  EXPECT_GE(json["time_us"], json["busiest_link_us"]);
  EXPECT_DOUBLE_EQ(json["algbw_GBps"], (64 << 20) / (json["time_us"].get<double>() * 1e3));
  EXPECT_DOUBLE_EQ(json["busbw_GBps"], json["algbw_GBps"].get<double>() * 7 / 8);
  EXPECT_THAT(KeysOf(json["busiest_links"][0]), ElementsAre("from", "to", "bytes", "utilisation"));
}

TEST(Sim, APlanFileWithATrace) {
  const std::string plan = TempPath("plan.json");
  ASSERT_EQ(RunCli({"plan", "--topo", "ring4", "--collective", "allreduce", "--planner", "ring", "--bytes", "1M",
                    "--lanes", "2", "--out", plan})
                .exit_code,
            0);
  const std::string trace = TempPath("trace.json");
  const CliResult result = RunCli({"sim", plan, "--topo", "ring4", "--bytes", "1M", "--trace", trace});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("allreduce on ring4  4 ranks, 1 MiB"));
  EXPECT_THAT(result.out, HasSubstr("Perfetto"));
  std::ifstream file(trace);
  const ordered_json events = ordered_json::parse(file, nullptr, false);
  ASSERT_TRUE(events.is_object());
  EXPECT_GT(events["traceEvents"].size(), 20U);
  const ordered_json by_file = RunJson({"sim", plan, "--topo", "ring4", "--bytes", "1M", "--json"});
  EXPECT_EQ(by_file["collective"], "allreduce");
  EXPECT_GT(by_file["time_us"], 0);
}

TEST(Sim, AllToAllV) {
  const std::string demand = WriteTemp("demand.csv", "0,1M\n2M,0\n");
  const ordered_json json =
      RunJson({"sim", "--collective", "alltoallv", "--demand", demand, "--topo", "ring2", "--json"});
  EXPECT_EQ(json["bytes"], (3 << 20) / 2);
  EXPECT_LE(json["optimal"]["share"], 1.0);
}

TEST(Sim, MoreBytesTakeLonger) {
  double last = 0;
  for (const char* bytes : {"1K", "1M", "64M"}) {
    const ordered_json json = RunJson({"sim", "--collective", "reduce_scatter", "--topo", "dgx1-v100", "--planner",
                                       "ring", "--bytes", bytes, "--json"});
    EXPECT_GT(json["time_us"], last);
    last = json["time_us"];
  }
}

TEST(Sim, WrongCommandLinesAndInput) {
  const std::string plan = TempPath("plan.json");
  ASSERT_EQ(RunCli({"plan", "--topo", "ring4", "--collective", "allgather", "--planner", "ring", "--lanes", "1",
                    "--out", plan})
                .exit_code,
            0);
  ExpectRefused({"sim"}, 2, {"--topo is required"});
  ExpectRefused({"sim", "--topo", "ring4"}, 2, {"PLAN", "--collective"});
  ExpectRefused({"sim", plan, "--topo", "ring4", "--collective", "allgather"}, 2, {"PLAN", "--collective"});
  ExpectRefused({"sim", plan, "--topo", "ring4", "--planner", "ring"}, 2, {"PLAN", "--planner"});
  ExpectRefused({"sim", plan, "--topo", "ring4", "--bytes", "x"}, 2, {"--bytes"});
  ExpectRefused({"sim", plan, "--topo", "ring5"}, 3, {"4 ranks", "ring5 has 5"});
  ExpectRefused({"sim", plan, "--topo", "nowhere"}, 3, {"nowhere"});
  ExpectRefused({"sim", "/no/such/plan.json", "--topo", "ring4"}, 3, {"/no/such/plan.json"});
  ExpectRefused({"sim", plan, "--topo", "ring4", "--trace", "/no/such/folder/t.json"}, 3, {"/no/such/folder/t.json"});
  ExpectRefused({"sim", plan, "--topo", "star-1-1-1-1"}, 3, {"route"});
  ordered_json wrong = ordered_json::parse(std::ifstream(plan));
  wrong["ranks"][0]["lanes"][0].erase(0);
  ExpectRefused({"sim", WriteTemp("wrong.json", wrong.dump()), "--topo", "ring4"}, 3, {"wrong.json", "mycel verify"});
}

}  // namespace
}  // namespace mycel::cli
