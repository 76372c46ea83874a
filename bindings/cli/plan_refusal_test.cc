// `mycel plan` on topologies that cannot be planned, or only just: what is said, and the exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bindings/cli/run_cli.h"
#include "core/base/build_info.h"

namespace mycel::cli {
namespace {

using nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

bool HasClp() {
  const auto features = GetBuildInfo().features;
  return std::any_of(features.begin(), features.end(),
                     [](const BuildFeature& f) { return f.name == "CLP" && f.found; });
}

struct Wire {
  std::string from;
  std::string to;
  std::string bandwidth;
  bool duplex = true;
};

/// A topology file of ranks 0..ranks-1 named r0, r1, ..., a switch w if a link uses it, and the links. `more`: nodes.
std::string FileOf(const std::string& name, int ranks, const std::vector<Wire>& wires,
                   const std::vector<ordered_json>& more = {}) {
  ordered_json json = {{"format", "mycel-topology"}, {"version", 1}, {"name", name}};
  json["nodes"] = ordered_json::array();
  for (int rank = 0; rank < ranks; ++rank) {
    json["nodes"].push_back({{"id", "r" + std::to_string(rank)}, {"type", "rank"}, {"rank", rank}});
  }
  const bool has_switch =
      std::any_of(wires.begin(), wires.end(), [](const Wire& wire) { return wire.from == "w" || wire.to == "w"; });
  if (has_switch) json["nodes"].push_back({{"id", "w"}, {"type", "switch"}});
  for (const ordered_json& node : more) json["nodes"].push_back(node);
  json["links"] = ordered_json::array();
  for (const Wire& wire : wires) {
    json["links"].push_back(
        {{"from", wire.from}, {"to", wire.to}, {"bandwidth", wire.bandwidth}, {"duplex", wire.duplex}});
  }
  return WriteTemp(name + ".json", json.dump());
}

std::vector<std::string> PlanArguments(const std::string& file, const std::string& collective,
                                       const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"plan", "--topo", file, "--collective", collective};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string Fan() {
  return FileOf("fan", 3,
                {{"r0", "w", "2", false},
                 {"w", "r1", "2", false},
                 {"w", "r2", "2", false},
                 {"r1", "r0", "4", false},
                 {"r2", "r0", "4", false}});
}

TEST(PlanRefusal, RanksThatAreCutOffAreNamed) {
  const std::string islands = FileOf("islands", 4, {{"r0", "r1", "1"}, {"r2", "r3", "1"}});
  const std::string one_way = FileOf("one-way", 3, {{"r0", "r1", "1"}, {"r1", "r2", "1", false}});
  for (const std::string collective : {"allgather", "reduce_scatter", "allreduce", "broadcast", "reduce"}) {
    for (const std::string planner : {"auto", "forest"}) {
      ExpectRefused(PlanArguments(islands, collective, {"--planner", planner}), 4,
                    {"islands is not connected", "rank 2 (r2), rank 3 (r3)", "add a link"});
      ExpectRefused(PlanArguments(one_way, collective, {"--planner", planner, "--json"}), 4,
                    {"nothing leads from rank 2 (r2) to rank 0 (r0)", "add a link"});
    }
  }
}

TEST(PlanRefusal, BreadthFirstSaysWhatItServes) {
  const std::string islands = FileOf("islands", 4, {{"r0", "r1", "1"}, {"r2", "r3", "1"}});
  const std::vector<std::string> bfb = {"--planner", "bfb"};
  ExpectRefused(PlanArguments(islands, "allreduce", bfb), 4, {"islands is not connected", "rank 2 (r2), rank 3 (r3)"});
  for (const std::string collective : {"broadcast", "alltoall"}) {
    ExpectRefused(PlanArguments("ring4", collective, bfb), 4,
                  {"serve allgather, reduce_scatter and allreduce, not " + collective});
  }
  ExpectRefused(PlanArguments("hypercube-3", "allgather", {"--planner", "bfb", "--trees-per-root", "2"}), 4,
                {"planner bfb", "trees per root", "not 2"});
  EXPECT_EQ(RunJson(PlanArguments("hypercube-3", "allgather",
                                  {"--planner", "bfb", "--trees-per-root", "1", "--json"}))["trees"]["per_root"],
            1);
}

TEST(PlanRefusal, FlowSaysWhatItServes) {
  const std::vector<std::string> flow = {"--planner", "flow"};
  ExpectRefused(PlanArguments("ring4", "allreduce", flow), 4, {"serves alltoall and alltoallv, not allreduce"});
  const std::string islands = FileOf("islands", 4, {{"r0", "r1", "1"}, {"r2", "r3", "1"}});
  ExpectRefused(PlanArguments(islands, "alltoall", flow), 4, {"islands is not connected", "rank 2 (r2), rank 3 (r3)"});
}

TEST(PlanRefusal, NumbersBeyondExactFractions) {
  const std::string fine = FileOf(
      "fine", 3, {{"r0", "r1", "1/4611686018427387847"}, {"r1", "r2", "1/4611686018427387817"}, {"r0", "r2", "1"}});
  ExpectRefused(PlanArguments(fine, "allgather", {"--planner", "forest"}), 3,
                {"no common unit in 62 bits", "link r1 -> r2 has 1/4611686018427387817 GB/s", "use rounder numbers"});
  const std::string huge = FileOf("huge", 2, {{"r0", "r1", "4611686018427387904"}});
  ExpectRefused(PlanArguments(huge, "allgather"), 3, {huge, "\"bandwidth\"", "4611686018427387904", "up to 1e9"});
  // As coarse as one bandwidth, as fine as another: still exact.
  const std::string far = FileOf("far", 3, {{"r0", "r1", "1e9"}, {"r1", "r2", "1e-9"}, {"r0", "r2", "3"}});
  const ordered_json json = RunJson(PlanArguments(far, "allgather", {"--planner", "forest", "--json"}));
  EXPECT_EQ(json["achieved"]["inv_x"], "2000000000/3000000001");
  EXPECT_EQ(json["optimal"]["inv_x"], "2000000000/3000000001");
  EXPECT_EQ(RunCli(PlanArguments(far, "allreduce", {"--planner", "forest"})).exit_code, 0);
}

TEST(PlanRefusal, MoreUnitsThanABlockMayHave) {
  const std::string fine = FileOf("fine-units", 3,
                                  {{"r0", "r1", "809501435", false},
                                   {"r0", "r2", "750803557", false},
                                   {"r1", "r0", "366679801", false},
                                   {"r1", "w", "690141561", false},
                                   {"r2", "w", "625756330/963474721", false},
                                   {"w", "r0", "678178027", false},
                                   {"w", "r1", "769434367", false},
                                   {"w", "r2", "353313127", false}});
  ExpectRefused(PlanArguments(fine, "broadcast", {"--planner", "forest"}), 3,
                {"broadcast on topology fine-units: ", "too fine, or too far apart", "at most 2^50 units",
                 "round them in the topology file, or use --trees-per-root K"});
  EXPECT_EQ(RunCli(PlanArguments(fine, "broadcast", {"--planner", "forest", "--trees-per-root", "2"})).exit_code, 0);
  EXPECT_EQ(RunCli(PlanArguments(fine, "broadcast")).exit_code, 0);  // others serve it
}

TEST(PlanRefusal, FractionsBeyond64BitsNameTopologyAndCollective) {
  // Seven shards over 1/1500000001 + 1/1500000007 GB/s.
  std::vector<Wire> wires = {{"r5", "r7", "1/1500000001"}, {"r6", "r7", "1/1500000007"}};
  for (int rank = 0; rank < 6; ++rank) {
    wires.push_back({"r" + std::to_string(rank), "r" + std::to_string(rank + 1), "3/1500000001"});
  }
  const std::string file = FileOf("narrow", 8, wires);
  for (const std::string collective : {"allgather", "allreduce"}) {
    ExpectRefused(PlanArguments(file, collective, {"--planner", "forest"}), 3,
                  {collective + " on topology narrow: a fraction leaves 64-bit integers; use rounder numbers"});
  }
}

TEST(PlanRefusal, AHairShortOfTheOptimumIsNotTheOptimum) {
  if (!HasClp()) return;  // no rates to round
  const std::string file = FileOf(
      "hair", 5, {{"r0", "r1", "46799791", false}, {"r0", "r2", "11796794", false}, {"r0", "w", "40621336", false},
                  {"r1", "r0", "56268433", false}, {"r1", "r2", "3286982", false},  {"r1", "r3", "5258833", false},
                  {"r1", "r4", "7212154", false},  {"r1", "w", "40210138", false},  {"r2", "r1", "3957850", false},
                  {"r2", "r3", "84681395", false}, {"r2", "r4", "49874050", false}, {"r2", "w", "94845120", false},
                  {"r3", "r0", "29513919", false}, {"r3", "r1", "24594330", false}, {"r3", "r2", "28571471", false},
                  {"r3", "r4", "47205967", false}, {"r4", "r1", "51579687", false}, {"r4", "r2", "74508526", false},
                  {"r4", "r3", "35990869", false}, {"w", "r0", "93725623", false},  {"w", "r1", "6500770", false},
                  {"w", "r2", "29061242", false},  {"w", "r3", "76592126", false}});
  const std::vector<std::string> arguments = PlanArguments(file, "allreduce", {"--planner", "forest"});
  std::vector<std::string> as_json = arguments;
  as_json.push_back("--json");
  const ordered_json json = RunJson(as_json);
  const Rational best = FractionOf(json["optimal"]["inv_x"]);
  EXPECT_EQ(best, Rational(8, 147355529));
  EXPECT_GT(FractionOf(json["achieved"]["inv_x"]), best);
  EXPECT_LT(FractionOf(json["achieved"]["inv_x"]).ToDouble(), best.ToDouble() * 1.0005);
  const std::string text = RunCli(arguments).out;
  EXPECT_THAT(text, AllOf(HasSubstr(" 99.9"), HasSubstr("% of the optimum"), Not(HasSubstr("100 %"))));
  for (const std::string& said : {text, json["optimal"]["proof"].get<std::string>()}) {
    EXPECT_THAT(said,
                HasSubstr("trees with exactly the root shares of a linear program reach that; this plan does not"));
  }
  // One that reaches it says so.
  const std::string ring = RunCli({"plan", "--topo", "ring8", "--collective", "allgather"}).out;
  EXPECT_THAT(ring, AllOf(HasSubstr("100 % of the optimum"), Not(HasSubstr("this plan does not"))));
}

TEST(PlanRefusal, DuplicatesAreRefusedOrAddUp) {
  ExpectRefused(PlanArguments(FileOf("twice", 2, {{"r0", "r1", "1"}}, {{{"id", "x"}, {"type", "rank"}, {"rank", 1}}}),
                              "allgather"),
                3, {"rank 1"});
  ExpectRefused(
      PlanArguments(FileOf("same", 2, {{"r0", "r1", "1"}}, {{{"id", "r1"}, {"type", "switch"}}}), "allgather"), 3,
      {"r1"});
  // Five links, one of them one-way each way: 6 GB/s in both directions.
  const std::string pair = FileOf("pair", 2,
                                  {{"r0", "r1", "1"},
                                   {"r1", "r0", "2"},
                                   {"r0", "r1", "1", false},
                                   {"r0", "r1", "2", false},
                                   {"r1", "r0", "3", false}});
  for (const std::string collective : {"allgather", "reduce_scatter", "broadcast", "reduce"}) {
    for (const std::string trees : {"1", "3"}) {
      const ordered_json json =
          RunJson(PlanArguments(pair, collective, {"--planner", "forest", "--trees-per-root", trees, "--json"}));
      EXPECT_EQ(json["achieved"]["inv_x"], "1/6");
      EXPECT_EQ(json["optimal"]["inv_x"], "1/6");
    }
  }
}

TEST(PlanRefusal, AnUnbalancedSwitchIsPlannedAroundOrNamed) {
  const std::string fan = Fan();
  if (!HasClp()) {
    ExpectRefused(PlanArguments(fan, "allgather", {"--planner", "forest"}), 4,
                  {"cut bound of 1 ns a byte", "switch w (2 GB/s in, 4 GB/s out)", "coinor-libclp-dev",
                   "make what enters the switch equal to what leaves it"});
    return;
  }
  struct Row {
    std::string collective;
    std::string inv_x;
  };
  for (const auto& [collective, inv_x] :
       std::vector<Row>{{"allgather", "2"}, {"reduce_scatter", "1"}, {"broadcast", "1"}}) {
    for (const std::string trees : {"", "1", "2", "5"}) {
      std::vector<std::string> more = {"--planner", "forest", "--json"};
      if (!trees.empty()) more.insert(more.end(), {"--trees-per-root", trees});
      const ordered_json json = RunJson(PlanArguments(fan, collective, more));
      EXPECT_EQ(json["achieved"]["inv_x"], inv_x) << collective << " " << trees;
      EXPECT_EQ(json["optimal"]["inv_x"], inv_x);
      EXPECT_EQ(json["verified"], true);
    }
  }
  const ordered_json json = RunJson(PlanArguments(fan, "broadcast", {"--json"}));
  EXPECT_THAT(json["optimal"]["proof"].get<std::string>(),
              AllOf(HasSubstr("no schedule needs less than 1/2 ns a byte"),
                    HasSubstr("copies inside switch w (2 GB/s in, 4 GB/s out)"),
                    HasSubstr("without them it takes 1 ns a byte at least")));
}

TEST(PlanRefusal, AnUnbalancedSwitchThatIsTooLargeIsNamed) {
  std::vector<Wire> wires = {{"r0", "w", "2", false}};
  for (int rank = 1; rank <= 5000; ++rank) {
    wires.push_back({"w", "r" + std::to_string(rank), "2", false});
    wires.push_back({"r" + std::to_string(rank), "r0", "1", false});
  }
  ExpectRefused(PlanArguments(FileOf("wide", 5001, wires), "broadcast", {"--planner", "forest"}), 4,
                {"cut bound of 1/2 ns a byte", "switch w (2 GB/s in, 10000 GB/s out)",
                 HasClp() ? "10002 variables, more than 10000" : "coinor-libclp-dev",
                 "make what enters the switch equal to what leaves it"});
}

}  // namespace
}  // namespace mycel::cli
