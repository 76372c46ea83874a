// `mycel topo list | show | check`, with every way in which a topology file can be wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "bindings/cli/run_cli.h"
#include "core/topo/gallery.h"
#include "core/topo/topology_json.h"

namespace mycel::cli {
namespace {

using testing::HasSubstr;

TEST(TopoList, NamesEveryTopology) {
  const CliResult result = RunCli({"topo", "list"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const GalleryEntry& entry : GalleryList()) {
    EXPECT_THAT(result.out, HasSubstr("\n" + std::string(entry.pattern) + " "));
    EXPECT_THAT(result.out, HasSubstr(std::string(entry.description)));
  }
}

TEST(TopoShow, DrawsServersRanksSwitchesAndLinks) {
  const CliResult result = RunCli({"topo", "show", "dgx-a100-x2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* said : {"dgx-a100-x2  16 ranks, 2 servers, 3 switches, 64 directed links",
                           "server s0  8 ranks, 1 switch", "server s1  8 ranks, 1 switch",
                           "gpu3   rank 3  300 nvsw0   25 ib", "switch  300 gpu0..gpu7", "outside servers  1 switch"}) {
    EXPECT_THAT(result.out, HasSubstr(said));
  }
  EXPECT_THAT(result.out, testing::ContainsRegex("rdma +25 +3 +32 +800"));
}

TEST(TopoShow, EveryNamedTopology) {
  for (const GalleryEntry& entry : GalleryList()) {
    const CliResult result = RunCli({"topo", "show", std::string(entry.example)});
    EXPECT_EQ(result.exit_code, 0) << entry.example << result.err;
    EXPECT_THAT(result.out, HasSubstr(std::string(entry.example)));
  }
}

TEST(TopoShow, MarksOneWayLinksAndKeepsTheTerminalSafe) {
  const std::string file =
      WriteTemp("oneway.json", R"({"format": "mycel-topology", "version": 1, "name": "one\u001bway",
    "nodes": [{"id": "a", "type": "rank", "rank": 0}, {"id": "b", "type": "rank", "rank": 1}],
    "links": [{"from": "a", "to": "b", "bandwidth": "1/3", "duplex": false},
              {"from": "b", "to": "a", "bandwidth": 2, "duplex": false}]})");
  const CliResult result = RunCli({"topo", "show", file});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1/3 -> b"));
  EXPECT_THAT(result.out, HasSubstr("2 -> a"));
  EXPECT_EQ(result.out.find('\033'), std::string::npos);
}

TEST(TopoCheck, SaysConnectedAndTheOptimum) {
  const std::string file = WriteTemp("ring8.json", WriteTopology(*GalleryTopology("ring8")));
  for (const std::string& name : {file, std::string("ring8")}) {
    const CliResult result = RunCli({"topo", "check", name});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("a valid topology: 8 ranks"));
    EXPECT_THAT(result.out, HasSubstr("connected"));
    EXPECT_THAT(result.out, HasSubstr("1/x* = 7/50"));
    EXPECT_THAT(result.out, HasSubstr("57.14 GB/s"));
  }
  EXPECT_EQ(RunCli({"topo", "check", "ring1"}).exit_code, 0);
}

TEST(TopoCheck, CutOffRanksAreNamed) {
  const std::string file = WriteTemp("split.json", R"({"format": "mycel-topology", "version": 1, "name": "split",
    "nodes": [{"id": "a", "type": "rank", "rank": 0}, {"id": "b", "type": "rank", "rank": 1},
              {"id": "c", "type": "rank", "rank": 2}],
    "links": [{"from": "a", "to": "b", "bandwidth": 1}]})");
  const CliResult result = RunCli({"topo", "check", file});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.out, HasSubstr("a valid topology"));
  EXPECT_THAT(result.err, HasSubstr("2"));
  ExpectRefused({"plan", "--topo", file, "--collective", "allgather"}, 4, {"2"});
  ExpectRefused({"sim", "--topo", file, "--collective", "allreduce"}, 4, {"2"});
}

TEST(Topo, UnknownNamesGetNearOnes) {
  ExpectRefused({"topo", "show", "rign8"}, 3, {"rign8", "ring8", "mycel topo list"});
  ExpectRefused({"topo", "check", "/no/such/file.json"}, 3, {"/no/such/file.json"});
  ExpectRefused({"topo", "show", "ring99999999"}, 3, {"4096"});
  ExpectRefused({"topo", "show"}, 2, {"T is required"});
}

// The pieces of a right file, so that each can be spoiled alone.
std::string TopologyFile(const std::string& header, const std::string& first_node, const std::string& link) {
  return "{" + header + "\n\"nodes\": [" + first_node +
         ",\n{\"id\": \"b\", \"type\": \"rank\", \"rank\": 1}],\n\"links\": [" + link + "]}\n";
}

TEST(TopoCheck, EveryBadFileNamesTheThing) {
  const std::string header = R"("format": "mycel-topology", "version": 1, "name": "pair",)";
  const std::string node = R"({"id": "a", "type": "rank", "rank": 0})";
  const std::string link = R"({"from": "a", "to": "b", "bandwidth": 1})";
  ASSERT_EQ(RunCli({"topo", "check", WriteTemp("good.json", TopologyFile(header, node, link))}).exit_code, 0);

  struct Row {
    std::string text;
    std::string said;
  };
  const auto with_header = [&](const std::string& text) { return TopologyFile(text, node, link); };
  const auto with_node = [&](const std::string& text) { return TopologyFile(header, text, link); };
  const auto with_link = [&](const std::string& text) { return TopologyFile(header, node, text); };
  const std::vector<Row> rows = {
      {"", "empty"},
      {"{", "JSON"},
      {"[]", "object"},
      {with_header(R"("version": 1, "name": "pair",)"), "format"},
      {with_header(R"("format": "other", "version": 1, "name": "pair",)"), "format"},
      {with_header(R"("format": "mycel-topology", "name": "pair",)"), "version"},
      {with_header(R"("format": "mycel-topology", "version": 9, "name": "pair",)"), "version"},
      {with_header(header + R"("colour": "red",)"), "colour"},
      {with_header(header + R"("name": "again",)"), "name"},
      {"{" + header + "\"links\": []}", "nodes"},
      {"{" + header + "\"nodes\": [" + node + "]}", "links"},
      {with_node(R"({"type": "rank", "rank": 0})"), "id"},
      {with_node(R"({"id": "a", "rank": 0})"), "type"},
      {with_node(R"({"id": "a", "type": "rank"})"), "rank"},
      {with_node(R"({"id": "a", "type": "robot", "rank": 0})"), "robot"},
      {with_node(R"({"id": 7, "type": "rank", "rank": 0})"), "id"},
      {with_node(R"({"id": "a", "type": "rank", "rank": "zero"})"), "rank"},
      {with_node(R"({"id": "a", "type": "rank", "rank": 1})"), "rank"},
      {with_node(R"({"id": "a", "type": "rank", "rank": 5})"), "rank"},
      {with_node(R"({"id": "b", "type": "rank", "rank": 0})"), "b"},
      {with_node(R"({"id": "a", "type": "rank", "rank": 0, "speed": 3})"), "speed"},
      {with_link(R"({"to": "b", "bandwidth": 1})"), "from"},
      {with_link(R"({"from": "a", "bandwidth": 1})"), "to"},
      {with_link(R"({"from": "a", "to": "b"})"), "bandwidth"},
      {with_link(R"({"from": "a", "to": "b", "bandwidth": 0})"), "bandwidth"},
      {with_link(R"({"from": "a", "to": "b", "bandwidth": -3})"), "bandwidth"},
      {with_link(R"({"from": "a", "to": "b", "bandwidth": "fast"})"), "bandwidth"},
      {with_link(R"({"from": "a", "to": "b", "bandwidth": "1/0"})"), "bandwidth"},
      {with_link(R"({"from": "a", "to": "b", "bandwidth": 1, "latency": -1})"), "latency"},
      {with_link(R"({"from": "a", "to": "b", "bandwidth": 1, "kind": "rope"})"), "rope"},
      {with_link(R"({"from": "a", "to": "a", "bandwidth": 1})"), "a"},
      {with_link(R"({"from": "a", "to": "zz", "bandwidth": 1})"), "zz"},
      {with_link(R"({"from": "a", "to": "b", "bandwidth": 1, "width": 2})"), "width"},
      {with_node("{\"id\": \"" + std::string(10 << 20, 'x') + "\", \"type\": \"rank\", \"rank\": 0}"), "id"},
      {std::string(200000, '['), "bad.json:1"},
      {with_header(header + "\"note\": " + std::string(100000, '{') + ","), "note"},
  };
  for (const Row& row : rows) {
    const std::string file = WriteTemp("bad.json", row.text);
    SCOPED_TRACE(row.text.substr(0, 300));
    ExpectRefused({"topo", "check", file}, 3, {file, row.said});
  }
}

}  // namespace
}  // namespace mycel::cli
