// `mycel plan`: the JSON contract, the facts in it, alltoallv, and wrong command lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bindings/cli/calibration.h"
#include "bindings/cli/run_cli.h"
#include "core/base/build_info.h"
#include "core/plan/collective.h"
#include "core/topo/gallery.h"
#include "core/topo/topology_json.h"

namespace mycel::cli {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kKeys = {"planner", "collective", "topology", "ranks",    "bytes",
                                        "optimal", "achieved",   "trees",    "verified", "plan_ms"};

bool HasClp() {
  const auto features = GetBuildInfo().features;
  return std::any_of(features.begin(), features.end(),
                     [](const BuildFeature& f) { return f.name == "CLP" && f.found; });
}

/// What must hold of every answer.
void CheckAnswer(const ordered_json& json, bool demand) {
  std::vector<std::string> keys = kKeys;
  if (demand) {
    keys.insert(keys.end(), {"lower_bound_us", "scheduled_us", "stages", "synthesis_us", "staging_bytes_max"});
  }
  if (json["planner"] == "bfb") {
    keys.insert(std::find(keys.begin(), keys.end(), "verified"), "steps");
    EXPECT_THAT(KeysOf(json["steps"]), ElementsAre("count", "inv_x", "loads"));
    EXPECT_EQ(json["steps"]["count"], json["steps"]["loads"].size());
    EXPECT_GE(FractionOf(json["steps"]["inv_x"]), FractionOf(json["achieved"]["inv_x"]));
  }
  if (json["planner"] == "flow") {
    keys.insert(std::find(keys.begin(), keys.end(), "verified"), "flow");
    EXPECT_THAT(KeysOf(json["flow"]), ElementsAre("method", "rounds", "inv_x", "bound", "gap"));
    EXPECT_GE(FractionOf(json["flow"]["inv_x"]), FractionOf(json["flow"]["bound"]));
    EXPECT_GE(json["flow"]["gap"], 0);
    EXPECT_GE(FractionOf(json["optimal"]["inv_x"]), FractionOf(json["flow"]["bound"]));
  }
  if (json["planner"] == "timeflow" && json.contains("epochs")) {  // its variant fluid searches no epochs
    keys.insert(std::find(keys.begin(), keys.end(), "verified"), "epochs");
    EXPECT_THAT(KeysOf(json["epochs"]), ElementsAre("count", "bound", "ns", "chunks", "rounds"));
    EXPECT_GE(json["epochs"]["count"], json["epochs"]["bound"]);
  }
  ASSERT_EQ(KeysOf(json), keys) << json;
  EXPECT_THAT(KeysOf(json["optimal"]), ElementsAre("inv_x", "algbw_GBps", "bottleneck_cut", "proof"));
  EXPECT_THAT(KeysOf(json["achieved"]), ElementsAre("inv_x", "algbw_GBps"));
  EXPECT_THAT(KeysOf(json["trees"]), ElementsAre("per_root", "distinct", "depth_max"));
  EXPECT_EQ(json["verified"], true) << json;
  EXPECT_GE(FractionOf(json["achieved"]["inv_x"]), FractionOf(json["optimal"]["inv_x"])) << json;
  EXPECT_GT(json["plan_ms"], 0);
  EXPECT_GE(json["trees"]["per_root"], 1);
  EXPECT_FALSE(json["optimal"]["proof"].get<std::string>().empty());
  EXPECT_FALSE(json["optimal"]["bottleneck_cut"].empty());
  if (!demand) {
    const std::string collective = json["collective"];
    const bool message = collective == "broadcast" || collective == "reduce";
    const double n = message ? 1 : json["ranks"].get<double>();
    EXPECT_DOUBLE_EQ(json["optimal"]["algbw_GBps"], n / FractionOf(json["optimal"]["inv_x"]).ToDouble());
    EXPECT_DOUBLE_EQ(json["achieved"]["algbw_GBps"], n / FractionOf(json["achieved"]["inv_x"]).ToDouble());
  }
}

// Unequal roots reach the bound of the linear program; without one reduce-scatter and allgather stay.
TEST(Plan, AllReduceOnIrregularFabrics) {
  struct Case {
    std::string topology;
    double optimum;
    double in_turn;
  };
  for (const Case& one : {Case{"mesh-3x3", 1.5, 1.125}, {"star-4-4-2-2", 2, 4.0 / 3}, {"mi250-8plus8", 128, 104}}) {
    const ordered_json json =
        RunJson({"plan", "--topo", one.topology, "--collective", "allreduce", "--planner", "forest", "--json"});
    CheckAnswer(json, false);
    EXPECT_DOUBLE_EQ(json["optimal"]["algbw_GBps"], one.optimum);
    EXPECT_DOUBLE_EQ(json["achieved"]["algbw_GBps"], HasClp() ? one.optimum : one.in_turn);
    EXPECT_EQ(json["optimal"]["proof"].get<std::string>().find("coinor-libclp-dev") == std::string::npos, HasClp());
  }
}

TEST(Plan, BreadthFirstStepsAreCounted) {
  struct Row {
    std::string topology, collective;
    int64_t steps;
    std::string inv_x, optimal;
  };
  for (const Row& row :
       {Row{"hypercube-3", "allgather", 3, "7/75", "7/75"}, Row{"torus-4x4", "reduce_scatter", 4, "3/20", "3/20"},
        Row{"hypercube-3", "allreduce", 6, "14/75", "14/75"}, Row{"dgx1-v100", "allgather", 2, "3/50", "7/150"}}) {
    const ordered_json json =
        RunJson({"plan", "--topo", row.topology, "--collective", row.collective, "--planner", "bfb", "--json"});
    CheckAnswer(json, false);
    EXPECT_EQ(json["planner"], "bfb");
    EXPECT_EQ(json["steps"]["count"], row.steps);
    EXPECT_EQ(json["steps"]["inv_x"], row.inv_x);
    EXPECT_EQ(json["achieved"]["inv_x"], row.inv_x);
    EXPECT_EQ(json["optimal"]["inv_x"], row.optimal);
  }
}

TEST(Plan, ConcurrentFlowProvesTheOptimum) {
  for (const auto& [topology, inv_x] : std::vector<std::pair<std::string, std::string>>{
           {"torus-4x4", "8/25"}, {"hypercube-3", "4/25"}, {"torus-3x4", "6/25"}}) {
    const ordered_json json =
        RunJson({"plan", "--topo", topology, "--collective", "alltoall", "--planner", "flow", "--json"});
    CheckAnswer(json, false);
    EXPECT_EQ(json["optimal"]["inv_x"], inv_x);
    if (HasClp()) {
      EXPECT_EQ(json["achieved"]["inv_x"], inv_x);
      EXPECT_EQ(json["flow"]["gap"], 0);
      EXPECT_EQ(json["flow"]["method"], "translations");
      EXPECT_THAT(json["optimal"]["proof"].get<std::string>(), HasSubstr("a concurrent flow reaches that"));
    }
  }
  // The prices of links know more than cuts: 13/3 blocks a link, not 4.
  const std::string file = testing::TempDir() + "kautz.json";
  TopologyBuilder builder("kautz");
  for (const Rank rank : Ids<Rank>(6)) builder.AddRank("r" + std::to_string(rank.value()), rank);
  for (int32_t i = 0; i < 6; ++i) {  // Kautz(2,2) is the generalised one on six ranks: i -> -2i - 1, -2i - 2
    for (const int32_t a : {1, 2}) builder.AddLink(NodeId(i), NodeId((12 + 12 - 2 * i - a) % 6), 1);
  }
  std::ofstream(file) << WriteTopology(*std::move(builder).Build());
  const ordered_json json =
      RunJson({"plan", "--topo", file, "--collective", "alltoall", "--planner", "flow", "--json"});
  CheckAnswer(json, false);
  EXPECT_LE(FractionOf(json["optimal"]["inv_x"]), Rational(13, 3));
  EXPECT_GT(FractionOf(json["optimal"]["inv_x"]), Rational(4));
  EXPECT_THAT(json["optimal"]["proof"].get<std::string>(), HasSubstr("prices of links"));
}

// Two steps of 3/2 against trees of 7/6: which of them is the faster one depends on the size.
TEST(Plan, ExplainsFromWhichSizeTreesBeatSteps) {
  for (const char* planner : {"bfb", "forest"}) {
    const CliResult result =
        RunCli({"plan", "--topo", "dgx1-v100", "--collective", "allgather", "--planner", planner, "--explain"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, testing::ContainsRegex("forest is faster than bfb from [0-9]+ MiB on"));
  }
  for (const auto& [topology, collective] :
       std::vector<std::pair<std::string, std::string>>{{"dgx1-v100", "broadcast"}, {"fullmesh-4", "alltoall"}}) {
    const CliResult result = RunCli({"plan", "--topo", topology, "--collective", collective, "--explain"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, Not(HasSubstr("steps against trees")));
  }
}

TEST(Plan, SaysWhatCopiesInSwitchesWouldBeWorth) {
  TopologyBuilder builder("nvls");
  const NodeId box = builder.AddSwitch("nvsw0", "s0", true, true);
  for (const Rank rank : Ids<Rank>(8)) {
    builder.AddDuplex(builder.AddRank("gpu" + std::to_string(rank.value()), rank, "s0"), box, Rational(450));
  }
  const std::string file = testing::TempDir() + "nvls.json";
  std::ofstream(file) << WriteTopology(*std::move(builder).Build());
  const ordered_json json = RunJson({"plan", "--topo", file, "--collective", "allreduce", "--json"});
  EXPECT_EQ(json["optimal"]["inv_x"], "7/225");  // of what can be executed
  EXPECT_EQ(json.contains("in_network"), HasClp());
  if (HasClp()) {
    EXPECT_EQ(json["in_network"], (ordered_json{{"inv_x", "4/225"}, {"algbw_GBps", 450.0}}));
  }
  const std::string text = RunCli({"plan", "--topo", file, "--collective", "allreduce", "--explain"}).out;
  EXPECT_THAT(text, HasSubstr("with copies in the switches"));
  EXPECT_THAT(text, HasSubstr(HasClp() ? "450 GB/s" : "not known"));
}

TEST(Plan, RingAllGather) {
  const ordered_json json =
      RunJson({"plan", "--topo", "ring8", "--collective", "allgather", "--planner", "ring", "--json"});
  CheckAnswer(json, false);
  EXPECT_EQ(json["planner"], "ring");
  EXPECT_EQ(json["collective"], "allgather");
  EXPECT_EQ(json["topology"], "ring8");
  EXPECT_EQ(json["ranks"], 8);
  EXPECT_EQ(json["bytes"], 64 << 20);
  EXPECT_EQ(json["optimal"]["inv_x"], "7/50");
  EXPECT_EQ(json["achieved"]["inv_x"], "7/50");
  EXPECT_EQ(json["trees"], (ordered_json{{"per_root", 2}, {"distinct", 16}, {"depth_max", 4}}));
}

TEST(Plan, EveryRegularCollective) {
  for (const std::string topology : {"ring4", "dgx1-v100", "servers-2x2"}) {
    for (const CollectiveInfo& info : AllCollectives()) {
      if (info.collective == Collective::kAllToAllV) continue;
      SCOPED_TRACE(topology + " " + std::string(info.name));
      CheckAnswer(RunJson({"plan", "--topo", topology, "--collective", std::string(info.name), "--bytes", "1M",
                           "--lanes", "2", "--json"}),
                  false);
    }
  }
}

TEST(Plan, ACompleteExchangeBehindOneSwitchIsOptimal) {
  const ordered_json json = RunJson(
      {"plan", "--topo", "dgx-a100", "--collective", "alltoall", "--planner", "direct", "--bytes", "8M", "--json"});
  CheckAnswer(json, false);
  EXPECT_EQ(json["achieved"]["inv_x"], "7/300");
  EXPECT_EQ(json["optimal"]["inv_x"], "7/300");
}

TEST(Plan, OneRankMovesNothing) {
  const ordered_json json = RunJson({"plan", "--topo", "ring1", "--collective", "allreduce", "--json"});
  EXPECT_EQ(KeysOf(json), kKeys);
  EXPECT_EQ(json["optimal"]["inv_x"], "0");
  EXPECT_EQ(json["achieved"]["inv_x"], "0");
  EXPECT_TRUE(json["optimal"]["algbw_GBps"].is_null());
  EXPECT_EQ(json["verified"], true);
}

TEST(Plan, SizesRootsAndRepeats) {
  for (const auto& [text, bytes] :
       std::vector<std::pair<std::string, int64_t>>{{"8", 8}, {"16K", 16384}, {"64M", 64 << 20}, {"1G", 1 << 30}}) {
    EXPECT_EQ(RunJson({"plan", "--topo", "ring4", "--collective", "reduce", "--root", "3", "--bytes", text, "--repeat",
                       "3", "--lanes", "1", "--json"})["bytes"],
              bytes);
  }
  EXPECT_EQ(RunJson({"plan", "--topo", "ring4", "--collective", "all_gather", "--lanes", "1", "--bytes", "0",
                     "--json"})["bytes"],
            0);
}

TEST(Plan, ATopologyFileGivesWhatItsNameGives) {
  const std::string file = WriteTemp("dgx1.json", WriteTopology(*GalleryTopology("dgx1-v100")));
  const std::vector<std::string> rest = {"--collective", "allgather", "--lanes", "2", "--bytes", "1M", "--json"};
  std::vector<std::string> by_name = {"plan", "--topo", "dgx1-v100"};
  std::vector<std::string> by_file = {"plan", "--topo", file};
  by_name.insert(by_name.end(), rest.begin(), rest.end());
  by_file.insert(by_file.end(), rest.begin(), rest.end());
  ordered_json a = RunJson(by_name);
  ordered_json b = RunJson(by_file);
  a.erase("plan_ms");
  b.erase("plan_ms");
  EXPECT_EQ(a, b);
}

TEST(Plan, TextAndExplanation) {
  const CliResult brief = RunCli({"plan", "--topo", "ring8", "--collective", "allgather", "--planner", "ring"});
  EXPECT_EQ(brief.exit_code, 0) << brief.err;
  for (const char* said : {"allgather on ring8  8 ranks, 64 MiB", "1/x* = 7/50", "100 % of the optimum", "verified"}) {
    EXPECT_THAT(brief.out, HasSubstr(said));
  }
  const CliResult full = RunCli({"plan", "--topo", "ring8", "--collective", "allgather", "--explain", "--text"});
  EXPECT_EQ(full.exit_code, 0) << full.err;
  for (const char* said : {"why this planner", "ring/two-way", "refused", "what bounds it", "bottleneck: gpu0",
                           "what each link carries", "####", "algbw", "busbw", "channel"}) {
    EXPECT_THAT(full.out, HasSubstr(said));
  }
  EXPECT_EQ(full.out.find('\033'), std::string::npos);
}

TEST(Plan, TheExplanationNamesCutTreesAndLinks) {
  struct Row {
    std::string topology, collective;
    std::vector<std::string> said;
  };
  const std::vector<Row> rows = {
      {"dgx-a100-x2",
       "allreduce",
       {"bottleneck: gpu0\n", "325 GB/s enter over 2 links: nvsw0 -> gpu0, ib -> gpu0", "6 trees per root, 29 distinct",
        "reduce, towards the root:", "broadcast, away from the root:", "nvsw0 -> gpu0..gpu7", "predicted algbw"}},
      {"mixed-14",
       "allgather",
       {"bottleneck: gpu12 gpu13 host2", "12.5 GB/s enter over 1 link: fabric -> host2", "1 tree per root, 14 distinct",
        "hops on average (by data), at most", "fabric -> host2", "busbw"}},
      {"mesh-3x3",
       "allgather",
       {"--planner forest asks nobody else", "2 GB/s enter over 2 links: gpu1 -> gpu0, gpu3 -> gpu0", "at most",
        "the plan's limit for long messages is algbw 2.25 GB/s"}},
  };
  for (const Row& row : rows) {
    const CliResult result =
        RunCli({"plan", "--topo", row.topology, "--collective", row.collective, "--planner", "forest", "--explain"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    for (const std::string& said : row.said) EXPECT_THAT(result.out, HasSubstr(said));
    EXPECT_THAT(result.out, Not(HasSubstr("nothing else serves it")));
  }
  // Many heights are shown in groups.
  const CliResult many =
      RunCli({"plan", "--topo", "ring16", "--collective", "broadcast", "--planner", "ring", "--explain"});
  EXPECT_THAT(many.out, HasSubstr("what the trees look like"));
  // One rank has no trees, no cut and no links.
  const CliResult alone = RunCli({"plan", "--topo", "ring1", "--collective", "allgather", "--explain"});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(alone.out, Not(HasSubstr("what the trees look like")));
}

/// The lines of the table of forests, split at two or more blanks; one line where there is none.
std::vector<std::vector<std::string>> TradeoffOf(const std::vector<std::string>& arguments) {
  const CliResult result = RunCli(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::istringstream text(result.out);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(text, line);) {
    if (rows.empty() && line.find("what more trees would buy") == std::string::npos) continue;
    if (line.empty()) break;
    std::vector<std::string>& row = rows.emplace_back();
    for (size_t at = line.find_first_not_of(' '); at < line.size(); at = line.find_first_not_of(' ', at)) {
      const size_t end = std::min(line.find("  ", at), line.size());
      row.push_back(line.substr(at, end - at));
      at = end;
    }
  }
  return rows;
}

TEST(Plan, TheExplanationSaysWhatMoreTreesWouldBuy) {
  std::vector<std::string> arguments = {"plan",      "--topo", "dgx1-v100", "--collective", "allgather",
                                        "--planner", "forest", "--bytes",   "16M",          "--explain"};
  const auto rows = TradeoffOf(arguments);
  ASSERT_EQ(rows.size(), 7U);
  EXPECT_THAT(rows[1], ElementsAre("trees per root", "1/x", "of the optimum", "most hops", "on average",
                                   "distinct trees", "estimated for 16 MiB"));
  const std::vector<std::string> counts = {"1", "2", "3", "4", "6 (exact)"};
  for (size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(rows[i + 2][0], counts[i]);
  EXPECT_EQ(rows[2][1], "3/50");
  EXPECT_EQ(rows[2][2], "77.8 %");
  EXPECT_EQ(rows[6][1], "7/150");
  EXPECT_EQ(rows[6][2], "100 %");
  EXPECT_EQ(rows[6].back(), "this plan");
  // Every row is what the planner makes when asked for so many trees.
  for (const size_t i : {2U, 3U, 4U}) {
    const ordered_json json = RunJson({"plan", "--topo", "dgx1-v100", "--collective", "allgather", "--planner",
                                       "forest", "--trees-per-root", rows[i][0], "--json"});
    EXPECT_EQ(json["achieved"]["inv_x"], rows[i][1]);
    EXPECT_EQ(json["trees"]["depth_max"].dump(), rows[i][3]);
    EXPECT_EQ(json["trees"]["distinct"].dump(), rows[i][5]);
  }
  // The plan at hand is marked, also where it is not the exact one.
  arguments.insert(arguments.end(), {"--trees-per-root", "2"});
  const auto asked = TradeoffOf(arguments);
  ASSERT_EQ(asked.size(), 7U);
  EXPECT_EQ(asked[3].back(), "this plan");
  EXPECT_EQ(asked[6].size(), 7U);
}

TEST(Plan, TheTableOfForestsIsShortOrAbsentWhereItSaysNothing) {
  // Counts that make the same forest share a row.
  const auto same =
      TradeoffOf({"plan", "--topo", "torus-4x4", "--collective", "reduce_scatter", "--planner", "forest", "--explain"});
  ASSERT_EQ(same.size(), 4U);
  EXPECT_EQ(same[2][0], "1, 2, 3");
  EXPECT_EQ(same[3][0], "4 (exact)");
  const auto one =
      TradeoffOf({"plan", "--topo", "mesh-3x3", "--collective", "allgather", "--planner", "forest", "--explain"});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_THAT(one[0].back(), HasSubstr("one tree per root"));
  EXPECT_TRUE(
      TradeoffOf({"plan", "--topo", "ring8", "--collective", "allgather", "--planner", "ring", "--explain"}).empty());
}

// Equal trees are one tree of the schedule, which is no reason to say that the planner did not obey.
TEST(Plan, EqualTreesCountAsOftenAsTheyAre) {
  for (const char* collective : {"allgather", "allreduce", "reduce_scatter"}) {
    const ordered_json json = RunJson({"plan", "--topo", "dgx-a100-x2", "--collective", collective, "--planner",
                                       "forest", "--trees-per-root", "3", "--json"});
    EXPECT_EQ(json["trees"]["per_root"], 1);
    EXPECT_EQ(json["trees"]["distinct"], 16);
  }
}

TEST(Plan, AllToAllV) {
  const std::string file = WriteTemp("demand.csv",
                                     "# row = sender\n"
                                     "0, 1M, 300, 0\n"
                                     "0,0,100,0\n\n"
                                     "0,0,7,50\r\n"
                                     "0,70,0,0");
  const ordered_json json =
      RunJson({"plan", "--topo", "servers-2x2", "--collective", "alltoallv", "--demand", file, "--json"});
  CheckAnswer(json, true);
  EXPECT_EQ(json["bytes"], ((1 << 20) + 300 + 100 + 7 + 50 + 70) / 4);
  EXPECT_GE(json["scheduled_us"], json["lower_bound_us"]);
  EXPECT_DOUBLE_EQ(json["lower_bound_us"], FractionOf(json["optimal"]["inv_x"]).ToDouble() * 1e-3);
  EXPECT_GE(json["stages"], 1);
  EXPECT_GT(json["synthesis_us"], 0);
  EXPECT_GE(json["staging_bytes_max"], 0);
  EXPECT_THAT(RunCli({"plan", "--topo", "servers-2x2", "--collective", "alltoallv", "--demand", file, "--explain"}).out,
              HasSubstr("stage"));
}

// What rank 0 has for server s1 takes its own way out 800 us, and both ways of s0 half of that.
constexpr const char* kSkewed =
    "0,500000,4000000,0\n"
    "0,0,0,0\n"
    "0,0,0,0\n"
    "0,1000000,0,0\n";

TEST(Plan, ExplainsAnExchangeBetweenServers) {
  const std::string file = WriteTemp("skewed.csv", kSkewed);
  const std::string text = RunCli({"plan", "--topo", "servers-2x2", "--collective", "alltoallv", "--planner", "fast",
                                   "--demand", file, "--explain"})
                               .out;
  for (const char* said : {"who has how much for whom, by server\n"
                           "  KiB; in brackets what stays within a server\n"
                           "  from \\ to         s0        s1  sends      time\n"
                           "  s0         (488.3)      3906 \u2588   3906  400 us <\n"
                           "  s1           976.6 \u2591     (0)    976.6  100 us  \n"
                           "  gets         976.6      3906  \n"
                           "  time        100 us    400 us  \n",
                           "  lower bound              400 us, set by s0 (its row: what it sends)\n",
                           "  without rebalancing      at least 800 us, the own way out of gpu0, 2 of the bound\n"
                           "                           planner direct: ",
                           "  moved for balance        2.384 MiB, 50 % of the 4.768 MiB between servers\n"
                           "  passed on at the target  2.384 MiB, 50 % of the 4.768 MiB between servers\n",
                           "  balance     =====      ",
                           "  0 s0        .....111111111111111111111111111111111111111111111111111111.....  83.3 %\n"
                           "  1 s1        .....00000000000000.............................................  20.8 %\n"
                           "  passing on                                                             =====\n"
                           "  480 us stage by stage, balance and passing on included; ",
                           "  stage    time  who sends to whom\n"
                           "      1  400 us  s0 -> s1 3.815 MiB, s1 -> s0 976.6 KiB\n"}) {
    EXPECT_THAT(text, HasSubstr(said));
  }
  // Nothing of it where all ranks share a server.
  const std::string inside =
      RunCli({"plan", "--topo", "servers-1x4", "--collective", "alltoallv", "--demand", file, "--explain"}).out;
  EXPECT_THAT(inside, Not(HasSubstr("by server")));
  EXPECT_THAT(inside, HasSubstr("what to expect"));
}

TEST(Plan, ExplainsManyServersInShades) {
  std::string demand;
  for (int i = 0; i < 12; ++i) {
    for (int j = 0; j < 12; ++j)
      demand += std::to_string(i == j ? 0 : 1000 * (1 + (i + j) % 5)) + (j < 11 ? "," : "\n");
  }
  const std::string text = RunCli({"plan", "--topo", "servers-12x1", "--collective", "alltoallv", "--planner", "fast",
                                   "--demand", WriteTemp("twelve.csv", demand), "--explain"})
                               .out;
  // Row 0: 1000 * (1 + j % 5) for j = 1, 2, ..., against 5000.
  EXPECT_THAT(text, HasSubstr("\n   \u2592\u2593\u2588\u2588\u2591\u2592\u2593\u2588\u2588\u2591\u2592  s0  "));
  EXPECT_THAT(text, HasSubstr("b s11"));
}

TEST(Plan, EveryBadDemandNamesTheCell) {
  struct Row {
    std::string text;
    std::vector<std::string> said;
  };
  const std::vector<Row> rows = {
      {"", {"0 rows", "2 ranks"}},
      {"0,1\n", {"1 row ", "2 ranks"}},
      {"0,1\n1,0\n0,0\n", {":3:", "row 3", "too many"}},
      {"0,1,2\n1,0,2\n", {":1:", "row 1", "3 columns", "2 ranks"}},
      {"0,1\n1\n", {":2:", "row 2", "1 column ", "2 ranks"}},
      {"0,-1\n1,0\n", {":1:", "row 1", "sender rank 0", "column 2", "receiver rank 1", "-1"}},
      {"0,1\nmany,0\n", {":2:", "row 2", "column 1", "many"}},
      {"0,1.5\n1,0\n", {"row 1", "column 2", "1.5"}},
      {"0,\n1,0\n", {"row 1", "column 2"}},
      {"0,99999999999999999999\n1,0\n", {"row 1", "column 2", "too large"}},
      {"0,9223372036854775807\n1,0\n", {"row 2", "column 1", "2^63"}},
      {std::string(10 << 20, '7') + "\n", {"row 1", "column 1"}},
  };
  for (const Row& row : rows) {
    const std::string file = WriteTemp("bad.csv", row.text);
    SCOPED_TRACE(row.text.substr(0, 100));
    std::vector<std::string> said = row.said;
    said.push_back(file);
    ExpectRefused({"plan", "--topo", "ring2", "--collective", "alltoallv", "--demand", file, "--json"}, 3, said);
  }
  for (const std::string path : {"/no/such.csv", "/"}) {
    ExpectRefused({"plan", "--topo", "ring2", "--collective", "alltoallv", "--demand", path}, 3, {path, "CSV"});
  }
}

TEST(Plan, WrongCommandLines) {
  const auto refused = [](std::vector<std::string> arguments, int exit_code, const std::vector<std::string>& said) {
    arguments.insert(arguments.begin(), "plan");
    ExpectRefused(arguments, exit_code, said);
  };
  // Usage: wrong whatever the files say.
  refused({}, 2, {"is required"});
  refused({"--topo", "ring8"}, 2, {"--collective is required"});
  refused({"--topo"}, 2, {"--topo"});
  refused({"--collective", "allgather"}, 2, {"--topo is required"});
  refused({"--topo", "ring8", "--collective", "algather"}, 2, {"algather", "did you mean allgather?", "broadcast"});
  refused({"--topo", "ring8", "--collective", "allgather", "--planner", "rnig"}, 2, {"rnig", "did you mean ring?"});
  refused({"--topo", "ring8", "--collective", "allgather", "--bytes", "6x"}, 2, {"--bytes", "6x", "64M"});
  refused({"--topo", "ring8", "--collective", "allgather", "--bytes", "-1"}, 2, {"--bytes", "-1", "negative"});
  refused({"--topo", "ring8", "--collective", "allgather", "--bytes", "99999999999999999999"}, 2, {"too large"});
  refused({"--topo", "ring8", "--collective", "allgather", "--repeat", "0"}, 2, {"--repeat", "'0'", "from 1"});
  refused({"--topo", "ring8", "--collective", "allgather", "--lanes", "two"}, 2, {"--lanes", "'two'"});
  refused({"--topo", "ring8", "--collective", "allgather", "--trees-per-root", "-3"}, 2, {"--trees-per-root", "'-3'"});
  refused({"--topo", "ring8", "--collective", "broadcast", "--root", "-1"}, 2, {"--root", "'-1'"});
  refused({"--topo", "ring8", "--collective", "allgather", "--root", "1"}, 2, {"--root", "allgather has no root"});
  refused({"--topo", "ring8", "--collective", "alltoallv"}, 2, {"--demand"});
  refused({"--topo", "ring8", "--collective", "alltoall", "--demand", "x.csv"}, 2, {"--demand", "alltoallv"});
  refused({"--topo", "ring8", "--collective", "alltoallv", "--demand", "x.csv", "--bytes", "1M"}, 2, {"--bytes"});
  refused({"--topo", "ring8", "--collective", "allgather", "--json", "--explain"}, 2, {"--json"});
  refused({"--topo", "ring8", "--topo", "ring4", "--collective", "allgather"}, 2, {"--topo"});
  // Bad input: does not fit the topology or the disk.
  refused({"--topo", "rign8", "--collective", "allgather"}, 3, {"rign8", "ring8"});
  refused({"--topo", "ring8", "--collective", "broadcast", "--root", "8"}, 3, {"--root 8", "0..7"});
  refused({"--topo", "ring4", "--collective", "allgather", "--out", "/no/such/folder/p.json"}, 3,
          {"/no/such/folder/p.json", "folder"});
  // Impossible: says why.
  refused({"--topo", "ring8", "--collective", "allgather", "--planner", "direct"}, 4, {"rank 0", "rank 2"});
  refused({"--topo", "ring8", "--collective", "allgather", "--planner", "ring", "--trees-per-root", "3"}, 4,
          {"ring", "2 trees per root", "not 3"});
}

/// fullmesh-4 as `mycel topo calibrate` writes it when the cable between gpu0 and gpu1 reaches `GBps`.
std::string CalibratedMesh(const Rational& GBps) {
  const Topology mesh = *GalleryTopology("fullmesh-4");
  TopologyBuilder builder("fullmesh-4-calibrated", std::string(kCalibratedNote));
  for (const Node& node : mesh.nodes()) builder.AddRank(node.id, node.rank, node.server);
  for (const Link& link : mesh.links()) {
    const bool slow = link.source.value() + link.target.value() == 1;
    builder.AddLink(link.source, link.target, slow ? GBps : link.bandwidth, link.latency_us, link.kind);
  }
  return WriteTemp("calibrated.json", WriteTopology(*std::move(builder).Build()));
}

// Neighbours of a full mesh talk directly, until one cable turns out to reach a fraction of its nominal 25 GB/s.
TEST(Plan, ACalibrationChangesTheChoice) {
  const auto plan = [](const std::string& topology) {
    return RunJson({"plan", "--topo", topology, "--collective", "allgather", "--bytes", "64M", "--json"});
  };
  EXPECT_EQ(plan("fullmesh-4")["planner"], "direct");
  const std::string slow = CalibratedMesh(Rational(3, 2));
  EXPECT_EQ(plan(slow)["planner"], "forest");
  const std::vector<std::string> explain = {"plan", "--collective", "allgather", "--bytes",
                                            "64M",  "--explain",    "--topo"};
  const auto explained = [&](const std::string& topology) {
    std::vector<std::string> command = explain;
    command.push_back(topology);
    return RunCli(command).out;
  };
  EXPECT_THAT(explained(slow), HasSubstr("measured capacities"));
  EXPECT_THAT(explained("fullmesh-4"), Not(HasSubstr("measured capacities")));
}

}  // namespace
}  // namespace mycel::cli
