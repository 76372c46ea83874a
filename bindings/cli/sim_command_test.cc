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
  EXPECT_THAT(KeysOf(json), ElementsAre("planner", "collective", "topology", "ranks", "bytes", "time_us", "algbw_GBps",
                                        "busbw_GBps", "optimal", "busiest_link_us", "busiest_links", "slices",
                                        "slices_simulated", "sim_ms", "lanes", "lanes_simulated"));
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

/// Each colour's polygons in a picture.
size_t Filled(const std::string& svg, const std::string& colour) {
  size_t count = 0;
  for (size_t at = 0; (at = svg.find("fill=\"" + colour + "\"", at)) != std::string::npos; ++at) ++count;
  return count;
}

std::string Drawn(const std::vector<std::string>& arguments) {
  const std::string file = TempPath("timeline.svg");
  std::vector<std::string> command = {"sim", "--svg", file};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const CliResult result = RunCli(command);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Lanes that stand for others must keep each rank's own colour: where all are neighbours a rank sends its own data
// only.
TEST(Sim, TimelineColoursWhoseDataItIs) {
  const std::string mesh = Drawn({"--topo", "fullmesh-4", "--collective", "allgather", "--planner", "direct"});
  EXPECT_THAT(mesh, HasSubstr("allgather on fullmesh-4: who sends when"));
  EXPECT_THAT(mesh, HasSubstr("rank 3, data of rank 3: "));
  EXPECT_EQ(mesh.find("rank 3, data of rank 0: "), std::string::npos);
  EXPECT_THAT(mesh, HasSubstr("time, "));
  EXPECT_EQ(Filled(mesh, "#0072b2"), 2U);  // the legend and rank 0
  const std::string reduce = Drawn({"--topo", "fullmesh-4", "--collective", "allreduce", "--bytes", "64M"});
  EXPECT_THAT(reduce, HasSubstr("rank 0, to be reduced: "));
  EXPECT_THAT(reduce, HasSubstr("rank 0, reduced, passed on: "));
  EXPECT_THAT(reduce, testing::EndsWith("</svg>\n"));
}

TEST(Sim, TimelineOfManyRanksHasRowsOfSeveral) {
  const std::string svg =
      Drawn({"--topo", "ring96", "--collective", "allgather", "--planner", "ring", "--bytes", "96M"});
  EXPECT_THAT(svg, HasSubstr(">ranks 94-95<"));
  EXPECT_THAT(svg, HasSubstr("data of ranks 84-95"));
  EXPECT_THAT(svg, HasSubstr("provably"));
  EXPECT_LT(svg.size(), size_t{4} << 20);
}

TEST(Sim, WhatIfALinkFails) {
  // A ring that loses a cable is a line: 7/50 becomes 7/25.
  const ordered_json ring = RunJson({"sim", "--topo", "ring8", "--collective", "allgather", "--planner", "forest",
                                     "--bytes", "1G", "--fail", "gpu0-gpu1", "--json"});
  const ordered_json& what_if = ring["what_if"];
  EXPECT_EQ(what_if["failed"], ordered_json::array({"gpu0-gpu1"}));
  EXPECT_TRUE(what_if["old_plan"].is_null());
  EXPECT_THAT(what_if["old_plan_refusal"], HasSubstr("ring8 without gpu0-gpu1"));
  EXPECT_EQ(what_if["replanned"]["planner"], "forest");
  EXPECT_NEAR(what_if["replanned"]["loss_percent"].get<double>(), 50, 3);
  EXPECT_NEAR(what_if["replanned"]["algbw_GBps"].get<double>(),
              ring["algbw_GBps"].get<double>() * (1 - what_if["replanned"]["loss_percent"].get<double>() / 100), 1e-6);
  // A plan that does not need the links still works, and takes as long as before. The name goes both ways.
  const ordered_json tree = RunJson({"sim", "--topo", "fullmesh-4", "--collective", "gather", "--bytes", "4M", "--fail",
                                     "gpu2-gpu1", "--fail", "gpu2-gpu3", "--json"});
  EXPECT_DOUBLE_EQ(tree["what_if"]["old_plan"]["time_us"], tree["time_us"]);
  EXPECT_EQ(tree["what_if"]["old_plan"]["loss_percent"], 0);
  const CliResult text = RunCli({"sim", "--topo", "ring8", "--collective", "allgather", "--fail", "gpu0-gpu1"});
  EXPECT_THAT(text.out, HasSubstr("without gpu0-gpu1"));
  EXPECT_THAT(text.out, HasSubstr("The plan as it is no longer works"));

  ExpectRefused({"sim", "--topo", "ring8", "--collective", "allgather", "--fail", "gpu0-gpu2"}, 3,
                {"gpu0-gpu2", "no such link", "gpu0-gpu1", "gpu0-gpu7"});
  ExpectRefused({"sim", "--topo", "ring8", "--collective", "allgather", "--fail", "gpu0-gpu1", "--fail", "gpu0-gpu7"},
                4, {"not connected", "rank 1 (gpu1)"});
  ExpectRefused({"sim", "--topo", "ring8", "--collective", "allgather", "--fail"}, 2, {"--fail"});
}

// What the simulator said when each message was an event of its own flow, rates followed every change at once and no
// lane stood for another.
TEST(Sim, TimesOfTheEventByEventModel) {
  const struct {
    const char *topology, *collective, *planner;
    double time_us;
  } cases[] = {
      {"ring8", "allgather", "ring", 594.1522533333439},        {"dgx1-v100", "allreduce", "forest", 525.9619151060313},
      {"mi250", "allgather", "forest", 268.498646525418},       {"torus-4x4", "allreduce", "bfb", 643.2098571094373},
      {"dgx-a100-x2", "alltoall", "direct", 702.8940982212484}, {"hypercube-3", "alltoall", "flow", 686.1817600000013},
      {"dgx-a100-x4", "broadcast", "forest", 315.5797653333334}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.topology);
    const ordered_json json = RunJson({"sim", "--topo", c.topology, "--collective", c.collective, "--planner",
                                       c.planner, "--bytes", "32M", "--json"});
    EXPECT_NEAR(json["time_us"].get<double>(), c.time_us, c.time_us * 1e-6);
  }
}

TEST(Sim, OneServerStandsForAll) {
  const ordered_json json = RunJson({"sim", "--topo", "dgx-h100-x32", "--collective", "allgather", "--planner",
                                     "forest", "--bytes", "256M", "--json"});
  EXPECT_EQ(json["lanes_simulated"].get<int64_t>() * 32, json["lanes"].get<int64_t>());
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
  ExpectRefused({"sim", plan, "--topo", "ring4", "--svg", "/no/such/folder/t.svg"}, 3, {"/no/such/folder/t.svg"});
  ExpectRefused({"sim", plan, "--topo", "star-1-1-1-1"}, 3, {"route"});
  ordered_json wrong = ordered_json::parse(std::ifstream(plan));
  wrong["ranks"][0]["lanes"][0].erase(0);
  ExpectRefused({"sim", WriteTemp("wrong.json", wrong.dump()), "--topo", "ring4"}, 3, {"wrong.json", "mycel verify"});
}

}  // namespace
}  // namespace mycel::cli
