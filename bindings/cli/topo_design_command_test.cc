// `mycel topo design`: the frontier, the file it writes, and wrong arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bindings/cli/run_cli.h"
#include "core/topo/topology_json.h"

namespace mycel::cli {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(TopoDesign, FrontierOfSixtyFourRanksOfFourPorts) {
  const ordered_json json = RunJson({"topo", "design", "--ranks", "64", "--degree", "4", "--alpha", "10", "--bandwidth",
                                     "25/2", "--bytes", "1M", "--json"});
  EXPECT_THAT(KeysOf(json),
              ElementsAre("ranks", "degree", "alpha_us", "bandwidth_GBps", "bytes", "bounds", "frontier", "best"));
  EXPECT_EQ(json["bounds"]["steps"], 3);
  EXPECT_EQ(json["bounds"]["bandwidth"], "63/64");
  ASSERT_EQ(json["frontier"].size(), 3U);
  const auto point = [&](size_t i) {
    const ordered_json& design = json["frontier"][i];
    EXPECT_THAT(KeysOf(design), ElementsAre("recipe", "steps", "bandwidth", "links", "unused_ports", "bytes_from",
                                            "bytes_to", "time_us"));
    return std::to_string(design["steps"].get<int>()) + " " + design["bandwidth"].get<std::string>();
  };
  EXPECT_EQ(point(0), "3 21/16");
  EXPECT_EQ(point(1), "4 1");
  EXPECT_EQ(point(2), "6 63/64");
  EXPECT_EQ(json["frontier"][0]["bytes_to"], 400'000);
  EXPECT_EQ(json["frontier"][1]["bytes_from"], 400'000);
  EXPECT_EQ(json["frontier"][1]["bytes_to"], 16'000'000);
  EXPECT_TRUE(json["frontier"][2]["bytes_to"].is_null());
  EXPECT_EQ(json["best"], json["frontier"][1]["recipe"]);
}

// What it writes is a topology on which planner bfb reaches what was promised.
TEST(TopoDesign, WritesTheBestForTheSize) {
  const std::string file = WriteTemp("design.json", "");
  struct Row {
    const char* bytes;
    int steps;
    Rational inv_x;  // shards over 100 GB/s
  };
  for (const auto& [bytes, steps, inv_x] : {Row{"1K", 2, Rational(20, 100)}, Row{"1G", 3, Rational(15, 100)}}) {
    const CliResult result = RunCli({"topo", "design", "--ranks", "16", "--degree", "4", "--bandwidth", "100",
                                     "--alpha", "2.5", "--bytes", bytes, "--out", file});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("written to " + file));
    const StatusOr<Topology> topology = ReadTopologyFile(file);
    ASSERT_TRUE(topology.ok()) << topology.status();
    EXPECT_EQ(topology->rank_count(), 16);
    for (const Link& link : topology->links()) EXPECT_EQ(link.latency_us, 2.5);
    const ordered_json json =
        RunJson({"plan", "--topo", file, "--collective", "allgather", "--planner", "bfb", "--json"});
    EXPECT_EQ(json["steps"]["count"], steps);
    EXPECT_EQ(FractionOf(json["steps"]["inv_x"]), inv_x);
  }
}

TEST(TopoDesign, ReadsWellAsText) {
  const CliResult result = RunCli({"topo", "design", "--ranks", "12", "--degree", "4"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* said : {"12 ranks of 4 ports", "100 GB/s a rank", "no graph has fewer than 2 steps (Moore)", "11/12",
                           "C(12,{2,3})", "always", "--out FILE"}) {
    EXPECT_THAT(result.out, HasSubstr(said));
  }
}

TEST(TopoDesign, WrongArgumentsNameTheCure) {
  const std::vector<std::string> design = {"topo", "design"};
  const auto refused = [&](std::vector<std::string> rest, int code, const std::vector<std::string>& said) {
    rest.insert(rest.begin(), design.begin(), design.end());
    ExpectRefused(rest, code, said);
  };
  refused({"--ranks", "64"}, 2, {"--degree"});
  refused({"--ranks", "1", "--degree", "1"}, 2, {"--ranks", "'1'", "from 2 to 4096"});
  refused({"--ranks", "64", "--degree", "none"}, 2, {"--degree", "'none'"});
  refused({"--ranks", "64", "--degree", "4", "--alpha", "0"}, 2, {"--alpha", "'0'", "greater than 0"});
  refused({"--ranks", "64", "--degree", "4", "--bandwidth", "fast"}, 2, {"--bandwidth", "'fast'", "12.5"});
  refused({"--ranks", "8", "--degree", "8"}, 3, {"degree 8", "1..7 ports"});
  refused({"--ranks", "8", "--degree", "2", "--out", "/no/such/folder/x.json"}, 3, {"/no/such/folder/x.json"});
}

}  // namespace
}  // namespace mycel::cli
