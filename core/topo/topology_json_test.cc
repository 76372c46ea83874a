#include "core/topo/topology_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <clocale>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "core/base/rng.h"

namespace mycel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// One item a line, so that tests can name lines. Line 6 and 7: ranks a and b; 8: switch s; 11 and 12: links.
const std::string kSample = R"({
 "format": "mycel-topology",
 "version": 1,
 "name": "sample", "note": "n",
 "nodes": [
  {"id": "a", "type": "rank", "rank": 0, "server": "s0"},
  {"id": "b", "type": "rank", "rank": 1},
  {"id": "s", "type": "switch", "multicast": true}
 ],
 "links": [
  {"from": "a", "to": "s", "bandwidth": 12.5, "latency": 0.7, "kind": "nvlink"},
  {"from": "s", "to": "b", "bandwidth": "25/2", "duplex": false}
 ]
}
)";

std::string Replaced(std::string text, std::string_view what, std::string_view by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

std::string ErrorOf(const std::string& text) {
  const auto topology = ReadTopologyText(text, "t.json");
  if (topology.ok()) return "no error";
  EXPECT_EQ(topology.status().code(), StatusCode::kInvalidArgument);
  return StatusMessage(topology.status());
}

// The error after replacing `what` by `by` in the sample.
std::string ErrorAfter(std::string_view what, std::string_view by) { return ErrorOf(Replaced(kSample, what, by)); }

std::string BandwidthError(std::string_view value) { return ErrorAfter("12.5", value); }

TEST(TopologyJsonTest, ReadsASample) {
  const auto read = ReadTopologyText(kSample, "t.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name(), "sample");
  EXPECT_EQ(read->note(), "n");
  EXPECT_EQ(read->rank_count(), 2);
  EXPECT_EQ(read->node(NodeId(0)).server, "s0");
  EXPECT_TRUE(read->node(NodeId(2)).multicast);
  ASSERT_EQ(read->links().size(), 3u);
  const Link& up = read->link(read->FindLink(NodeId(0), NodeId(2)));
  EXPECT_EQ(up, (Link{NodeId(0), NodeId(2), Rational(25, 2), 0.7, LinkKind::kNvlink}));
  const Link& down = read->link(read->FindLink(NodeId(2), NodeId(1)));
  EXPECT_EQ(down, (Link{NodeId(2), NodeId(1), Rational(25, 2), 1, LinkKind::kOther}));
  EXPECT_FALSE(read->FindLink(NodeId(1), NodeId(2)).valid());
}

TEST(TopologyJsonTest, TakesWhatEditorsAndOrdersMakeOfIt) {
  const Topology sample = *ReadTopologyText(kSample, "t.json");
  EXPECT_EQ(*ReadTopologyText("\xEF\xBB\xBF" + kSample, "t.json"), sample) << "byte order mark";
  std::string crlf;
  for (const char c : kSample) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(*ReadTopologyText(crlf, "t.json"), sample);
  // Links before nodes, keys in any order.
  const std::string turned = R"({"links": [{"kind":"nvlink","latency":7e-1,"bandwidth":125e-1,"to":"s","from":"a"},
    {"duplex":false,"to":"b","bandwidth":"25/2","from":"s"}],
    "nodes": [{"server":"s0","rank":0,"type":"rank","id":"a"},{"rank":1,"type":"rank","id":"b"},
    {"multicast":true,"type":"switch","id":"\u0073"}], "note":"n","name":"sample",
    "version":1,"format":"mycel-topology"})";
  EXPECT_EQ(*ReadTopologyText(turned, "t.json"), sample);
}

TEST(TopologyJsonTest, BandwidthsAreExact) {
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, std::string>>{{"0.1", "1/10"},
                                                        {"16777217.3", "167772173/10"},
                                                        {"1e9", "1000000000"},
                                                        {"999999999.999999999", "999999999999999999/1000000000"},
                                                        {"1", "1"},
                                                        {"0.000000000000000001", "1/1000000000000000000"},
                                                        {"\"1/3\"", "1/3"},
                                                        {"\"12.5\"", "25/2"},
                                                        {"9007199254740993e-8", "9007199254740993/100000000"}}) {
    const auto read = ReadTopologyText(Replaced(kSample, "12.5", text), "t.json");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->link(read->FindLink(NodeId(0), NodeId(2))).bandwidth.ToString(), value);
  }
}

TEST(TopologyJsonTest, DecimalsDoNotDependOnTheLocale) {
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr && std::setlocale(LC_NUMERIC, "C") == nullptr) FAIL();
  const auto read = ReadTopologyText(kSample, "t.json");
  std::setlocale(LC_NUMERIC, "C");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->link(read->FindLink(NodeId(0), NodeId(2))).latency_us, 0.7);
}

struct Case {
  std::string_view what;
  std::string_view by;
  std::string_view message;  // its beginning
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.by; }

class TopologyJsonErrorTest : public ::testing::TestWithParam<Case> {};

TEST_P(TopologyJsonErrorTest, NamesFileLineKeyAndCure) {
  const Case& one = GetParam();
  EXPECT_THAT(ErrorAfter(one.what, one.by), StartsWith(std::string(one.message)));
}

INSTANTIATE_TEST_SUITE_P(
    MissingKeys, TopologyJsonErrorTest,
    ::testing::Values(
        Case{R"("format": "mycel-topology",)", "",
             R"(t.json:14: key "format" is missing; write the text "mycel-topology")"},
        Case{R"("version": 1,)", "", R"(t.json:14: key "version" is missing; write the number 1)"},
        Case{R"("name": "sample",)", "", R"(t.json:14: key "name" is missing; write the topology's name in quotes)"},
        Case{R"("id": "a", )", "", R"(t.json:6: key "id" of a node is missing; write a name in quotes)"},
        Case{R"("type": "rank", )", "", R"(t.json:6: key "type" of node "a" is missing; write "rank" or "switch")"},
        Case{R"("rank": 0, )", "", R"(t.json:6: key "rank" of node "a" is missing; write an integer from 0)"},
        Case{R"("from": "a", )", "", R"(t.json:11: key "from" of a link is missing; write a node's id in quotes)"},
        Case{R"("to": "s", )", "", R"(t.json:11: key "to" of a link is missing; write a node's id in quotes)"},
        Case{R"("bandwidth": 12.5, )", "",
             R"(t.json:11: key "bandwidth" of link "a" -> "s" is missing; write GB/s above 0)"}));

INSTANTIATE_TEST_SUITE_P(
    UnknownAndRepeatedKeys, TopologyJsonErrorTest,
    ::testing::Values(
        Case{R"("note")", R"("nodes ")",
             R"(t.json:4: unknown key "nodes "; did you mean "nodes"? The keys here are format)"},
        Case{R"("bandwidth": 12.5)", R"("bandwith": 12.5)",
             R"(t.json:11: unknown key "bandwith" of link "a" -> "s"; did you mean "bandwidth"? The keys here are)"},
        Case{
            R"("server")", R"("zzzzzz")",
            R"(t.json:6: unknown key "zzzzzz" of node "a"; The keys here are id type rank server multicast aggregate)"},
        Case{R"("server")", R"("bandwidth")", R"(t.json:6: unknown key "bandwidth" of node "a")"},
        Case{R"("server": "s0")", R"("rank": 0)", R"(t.json:6: key "rank" of node "a" is given twice; remove one)"},
        Case{R"("note": "n")", R"("name": "sample")", R"(t.json:4: key "name" is given twice; remove one)"},
        Case{R"("latency": 0.7)", R"("bandwidth": 12.5)",
             R"(t.json:11: key "bandwidth" of link "a" -> "s" is given twice; remove one)"}));

INSTANTIATE_TEST_SUITE_P(
    WrongTypes, TopologyJsonErrorTest,
    ::testing::Values(
        Case{R"("mycel-topology")", "7", R"(t.json:2: key "format" is a number; write the text "mycel-topology")"},
        Case{R"(": 1,)", R"(": "1",)", R"(t.json:3: key "version" is a string; write the number 1)"},
        Case{R"("sample")", "null", R"(t.json:4: key "name" is null; write the topology's name in quotes)"},
        Case{R"("n",)", "[],", R"(t.json:4: key "note" is an array; write free text in quotes)"},
        Case{R"("id": "a")", R"("id": 5)", R"(t.json:6: key "id" of a node is a number; write a name in quotes)"},
        Case{R"("type": "rank")", R"("type": true)",
             R"(t.json:6: key "type" of node "a" is true or false; write "rank")"},
        Case{R"("rank": 0)", R"("rank": "0")", R"(t.json:6: key "rank" of node "a" is a string; write an integer)"},
        Case{R"("s0")", R"({"x": 1})", R"(t.json:6: key "server" of node "a" is an object; write a server's name)"},
        Case{R"("multicast": true)", R"("multicast": 1)",
             R"(t.json:8: key "multicast" of node "s" is a number; write true)"},
        Case{R"("from": "a")", R"("from": 0)", R"(t.json:11: key "from" of a link is a number; write a node's id)"},
        Case{R"("to": "s")", R"("to": null)", R"(t.json:11: key "to" of a link is null; write a node's id)"},
        Case{R"(12.5)", "[12.5]", R"(t.json:11: key "bandwidth" of link "a" -> "s" is an array; write GB/s above 0)"},
        Case{R"(12.5)", "true",
             R"(t.json:11: key "bandwidth" of link "a" -> "s" is true or false; write GB/s above 0)"},
        Case{R"(0.7)", R"("0.7")",
             R"(t.json:11: key "latency" of link "a" -> "s" is a string; write a number of micro)"},
        Case{R"(false)", "0", R"(t.json:12: key "duplex" of link "s" -> "b" is a number; write true or false)"},
        Case{R"("nvlink")", "1", R"(t.json:11: key "kind" of link "a" -> "s" is a number; write one of nvlink xgmi)"},
        Case{R"("nodes": [)", R"("nodes": 5, "links": [)",
             R"(t.json:5: key "nodes" is a number; write an array of nodes)"},
        Case{R"("links": [)", R"("links": {}, "x": [)",
             R"(t.json:10: key "links" is an object; write an array of links)"},
        Case{R"({"id": "b", "type": "rank", "rank": 1})", "7",
             R"(t.json:7: key "nodes" must hold objects, {...}, not a number; remove it)"},
        Case{R"({"from": "s", "to": "b", "bandwidth": "25/2", "duplex": false})", "[]",
             R"(t.json:12: key "links" must hold objects, {...}, not an array; remove it)"}));

INSTANTIATE_TEST_SUITE_P(
    WrongValues, TopologyJsonErrorTest,
    ::testing::Values(
        Case{"mycel-topology", "other", R"(t.json:2: key "format" is "other"; write the text "mycel-topology")"},
        Case{": 1,", ": 2,", R"(t.json:3: key "version" is 2, which this reader does not know; write the number 1)"},
        Case{": 1,", ": 1.0,",
             R"(t.json:3: key "version" is 1.0, which this reader does not know; write the number 1)"},
        Case{R"("type": "switch")", R"("type": "router")",
             R"(t.json:8: key "type" of node "s" is "router"; write "rank")"},
        Case{R"("id": "a")", R"("id": "")",
             R"(t.json:6: key "id" of a node is "", but a name must not be empty; write)"},
        Case{R"("id": "a")", R"("id": "a\u0007")",
             R"(t.json:6: key "id" of a node is "a?", but a name has no control characters; write)"},
        Case{R"("id": "b")", R"("id": "a")",
             R"(t.json:7: key "id": "a" is already the id of the node in line 6; rename one)"},
        Case{
            R"("rank": 1)", R"("rank": 0)",
            R"(t.json:7: key "rank": node "b" has rank 0, which "a" in line 6 has already; 2 ranks are numbered 0..1)"},
        Case{R"("rank": 1)", R"("rank": 2)",
             R"(t.json:7: key "rank": node "b" has rank 2, but rank 1 is missing; 2 ranks are numbered 0..1, each)"},
        Case{R"("rank": 1)", R"("rank": -1)", R"(t.json:7: key "rank" of node "b" is -1; write an integer from 0)"},
        Case{R"("rank": 1)", R"("rank": 1.0)", R"(t.json:7: key "rank" of node "b" is 1.0; write an integer from 0)"},
        Case{R"("rank": 1)", R"("rank": 99999999999999999999)",
             R"(t.json:7: key "rank" of node "b" is 99999999999999999999; write an integer from 0)"},
        Case{R"("type": "switch")", R"("type": "switch", "rank": 2)",
             R"(t.json:8: key "rank" of node "s" belongs to ranks only; remove it from the switch)"},
        Case{R"("server": "s0")", R"("multicast": false)",
             R"(t.json:6: key "multicast" of node "a" belongs to switches only; remove it from the rank)"},
        Case{R"("to": "s")", R"("to": "a")",
             R"(t.json:11: key "to": a link from "a" to itself carries nothing; remove it or name another node)"},
        Case{R"("to": "s")", R"("to": "gpu7")",
             R"(t.json:11: key "to": "gpu7" is not the id of a node; add it to "nodes" or correct it)"},
        Case{R"("from": "s")", R"("from": "S")",
             R"(t.json:12: key "from": "S" is not the id of a node; add it to "nodes" or correct it)"},
        Case{R"("id": "s")", R"("id": "switch0")",
             R"(t.json:11: key "to": "s" is not the id of a node; add it to "nodes" or correct it)"},
        Case{R"("to": "s")", R"("to": "sw")",
             R"(t.json:11: key "to": "sw" is not the id of a node; did you mean "s"?)"},
        Case{R"("nvlink")", R"("ethernet")",
             R"(t.json:11: key "kind" of link "a" -> "s" is "ethernet"; write one of nvlink)"},
        Case{"0.7", "-0.7", R"(t.json:11: key "latency" of link "a" -> "s" is -0.7; write a number of microseconds)"},
        Case{"0.7", "1e10", R"(t.json:11: key "latency" of link "a" -> "s" is 1e10; write a number of microseconds)"},
        Case{"0.7", "1e400", R"(t.json:11: key "latency" of link "a" -> "s" is too large; write a number of micro)"}));

TEST(TopologyJsonTest, RefusesBandwidthsThatAreNone) {
  for (const std::string_view value : {"0", "0.0", "-1", "-0", "1000000000.5", "1e10", "\"-25/2\"", "\"0/5\""}) {
    EXPECT_THAT(BandwidthError(value), AllOf(StartsWith("t.json:11: key \"bandwidth\" of link \"a\" -> \"s\" is "),
                                             HasSubstr("; write GB/s above 0 and up to 1e9: a number like 12.5")))
        << value;
  }
  for (const std::string_view value : {"1e-400", "0.12345678901234567890123", "\"1/0\"", "\"fast\"", "\"\"", "\"nan\"",
                                       "\"inf\"", "\" 5\"", "\"1/99999999999999999999\"", "12345678901234567890"}) {
    EXPECT_THAT(BandwidthError(value),
                AllOf(StartsWith("t.json:11: key \"bandwidth\" of link \"a\" -> \"s\" is not usable: "),
                      HasSubstr("; write GB/s above 0")))
        << value;
  }
  EXPECT_THAT(BandwidthError("1e400"), StartsWith("t.json:11: key \"bandwidth\" of link \"a\" -> \"s\" is too large"));
  for (const std::string_view value : {"NaN", "Infinity", "inf"}) {
    EXPECT_THAT(BandwidthError(value), AllOf(StartsWith("t.json:11: not valid JSON near key \"bandwidth\""),
                                             HasSubstr("NaN and Infinity are not JSON numbers")))
        << value;
  }
}

TEST(TopologyJsonTest, RefusesParallelLinksWhoseSumOverflows) {
  const std::string more =
      R"("links": [{"from":"a","to":"b","bandwidth":"1/9223372036854775807"},{"from":"a","to":"b","bandwidth":0.5},)";
  EXPECT_THAT(
      ErrorAfter(R"("links": [)", more),
      StartsWith("t.json:1: key \"links\": the bandwidths of parallel links do not add up in 64 bits: link a -> b"));
}

TEST(TopologyJsonTest, SaysWhatIsNotJson) {
  EXPECT_EQ(ErrorOf(""), "t.json:1: the file is empty; write {\"format\": \"mycel-topology\", ...}");
  EXPECT_THAT(ErrorOf("\n\n \t\n"), StartsWith("t.json:1: the file is empty"));
  EXPECT_THAT(ErrorOf("[]"), StartsWith("t.json:1: the file must hold one JSON object"));
  EXPECT_THAT(ErrorOf("5"), StartsWith("t.json:1: the file must hold one JSON object"));
  EXPECT_THAT(ErrorOf("1e999"), StartsWith("t.json:1: a number is too large"));
  EXPECT_THAT(ErrorOf("hello"), StartsWith("t.json:1: not valid JSON (while parsing value - invalid literal); "));
  EXPECT_THAT(ErrorOf(kSample + kSample),
              AllOf(StartsWith("t.json:15: not valid JSON"), HasSubstr("nothing may follow")));
  EXPECT_THAT(ErrorAfter("\"version\": 1", "\"version\": 1 // one"),
              AllOf(StartsWith("t.json:3: not valid JSON near key \"version\""), HasSubstr("JSON has no comments")));
  EXPECT_THAT(ErrorAfter("\"version\"", "/* one */ \"version\""),
              AllOf(StartsWith("t.json:3: not valid JSON"), HasSubstr("JSON has no comments")));
  EXPECT_THAT(ErrorAfter("\"version\"", "# one\n \"version\""),
              AllOf(StartsWith("t.json:3: not valid JSON"), HasSubstr("JSON has no comments")));
  EXPECT_THAT(ErrorAfter("\"kind\": \"nvlink\"", ""),
              AllOf(StartsWith("t.json:11: not valid JSON"), HasSubstr("remove the comma before }")));
  EXPECT_THAT(ErrorAfter("\"duplex\": false}", "\"duplex\": false},"),
              AllOf(StartsWith("t.json:13: not valid JSON"), HasSubstr("remove the comma before ]")));
  EXPECT_THAT(ErrorAfter("\"version\"", "'version'"),
              AllOf(StartsWith("t.json:3: not valid JSON"), HasSubstr("JSON quotes are \"")));
  EXPECT_THAT(ErrorAfter("\"a\"", "\"\xff\""), AllOf(StartsWith("t.json:6: not valid JSON"), HasSubstr("UTF-8")));
  EXPECT_THAT(ErrorOf(std::string("\xff\xfe{\0\"\0", 6)), HasSubstr("save it as UTF-8"));
  EXPECT_THAT(ErrorAfter("12.5", "012.5"), StartsWith("t.json:11: not valid JSON near key \"bandwidth\""));
}

// std::string(n, c) is taken for a mistake at this size.
std::string Repeated(size_t count, char c) {
  std::string text;
  text.resize(count, c);
  return text;
}

// Whatever is cut off, the reader says so and does not crash.
TEST(TopologyJsonTest, RefusesEveryTruncation) {
  for (size_t size = 0; size + 3 < kSample.size(); ++size) {
    const std::string error = ErrorOf(kSample.substr(0, size));
    EXPECT_THAT(error, StartsWith("t.json:"));
    if (size == 0) continue;
    EXPECT_THAT(error, HasSubstr("the file ends too early")) << "after " << size << " bytes";
  }
}

TEST(TopologyJsonTest, HugeInputsCostNoMoreThanTheirSize) {
  const auto start = std::chrono::steady_clock::now();
  const std::string big = Repeated(10'000'000, 'x');
  EXPECT_LT(ErrorAfter("\"a\"", "\"" + big + "\"").size(), 400u);
  EXPECT_THAT(ErrorAfter("\"a\"", "\"" + big + "\""), HasSubstr("a name has at most 128 bytes"));
  EXPECT_THAT(ErrorAfter("\"n\"", "\"" + big + "\""), HasSubstr("key \"note\" is longer than 64 KiB"));
  EXPECT_THAT(ErrorAfter("\"sample\"", "\"" + big + "\""), HasSubstr("key \"name\" is longer than 128 bytes"));
  EXPECT_LT(ErrorAfter("\"note\"", "\"" + big + "\"").size(), 400u);
  EXPECT_LT(ErrorAfter("\"rank\"", "\"" + big + "\"").size(), 400u);
  EXPECT_LT(ErrorAfter("12.5", Repeated(10'000'000, '7')).size(), 400u);
  EXPECT_LT(ErrorAfter("\"version\"", big).size(), 400u);
  EXPECT_THAT(ErrorOf(Repeated(10'000'000, '[')), StartsWith("t.json:1: the file must hold one JSON object"));
  EXPECT_THAT(ErrorAfter("\"n\"", Repeated(10'000'000, '[')), HasSubstr("key \"note\" is an array"));
  EXPECT_THAT(ErrorOf("{\"nodes\": [" + Repeated(10'000'000, '{')), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOf(Repeated((size_t{64} << 20) + 1, ' ')), HasSubstr("larger than 64 MiB"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(TopologyJsonTest, BoundsNodesAndLinks) {
  std::string nodes;
  for (int i = 0; i <= TopologyBuilder::kNodeCountMax; ++i) {
    nodes += "{\"id\":\"x" + std::to_string(i) + "\",\"type\":\"switch\"},\n";
  }
  EXPECT_THAT(ErrorAfter("{\"id\": \"a\"", nodes + "{\"id\": \"a\""),
              AllOf(StartsWith("t.json:65542: key \"nodes\" has more than 65536 entries"), HasSubstr("smaller part")));
}

TEST(TopologyJsonTest, DisconnectedFilesAreReadAndFoundByCheckConnected) {
  const auto read = ReadTopologyText(Replaced(kSample, "\"duplex\": false", "\"duplex\": true"), "t.json");
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(CheckConnected(*read).ok());
  const auto one_way = ReadTopologyText(kSample, "t.json");
  ASSERT_TRUE(one_way.ok());
  EXPECT_THAT(StatusMessage(CheckConnected(*one_way)), HasSubstr("nothing leads from rank 1 (b) to rank 0 (a)"));
}

TEST(TopologyJsonTest, FilesThatCannotBeOpenedAreNamed) {
  const auto missing = ReadTopologyFile("tests/topologies/no-such.json");
  EXPECT_THAT(StatusMessage(missing.status()),
              AllOf(StartsWith("tests/topologies/no-such.json: cannot open"), HasSubstr("No such file or directory")));
  EXPECT_THAT(StatusMessage(ReadTopologyFile("tests").status()), StartsWith("tests: cannot read the topology file"));
}

TEST(TopologyWriteTest, RoundTripsEverySample) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/topologies")) {
    if (entry.path().extension() != ".json") continue;
    const auto read = ReadTopologyFile(entry.path().string());
    ASSERT_TRUE(read.ok()) << read.status();
    const std::string written = WriteTopology(*read);
    const auto again = ReadTopologyText(written, "again.json");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *read) << entry.path();
    EXPECT_EQ(WriteTopology(*again), written);
    ++count;
  }
  EXPECT_EQ(count, 23);
}

TEST(TopologyWriteTest, WritesShortDecimalsFractionsAndEscapes) {
  TopologyBuilder builder("quote \" back \\ tab \t", "line\nbreak \xC3\xA9");
  const NodeId a = builder.AddRank("a\"b\\", Rank(0));
  const NodeId b = builder.AddRank("\xC3\xA9", Rank(1), "s");
  builder.AddSwitch("sw", "", true, true);
  builder.AddDuplex(a, b, Rational(25, 2), 1e-7, LinkKind::kShm);
  builder.AddLink(a, NodeId(2), Rational(1, 3), 0.1);
  builder.AddLink(NodeId(2), a, Rational(1, 64), 0);
  const Topology topology = *std::move(builder).Build();
  const std::string text = WriteTopology(topology);
  EXPECT_THAT(text, HasSubstr("\"bandwidth\": 12.5, \"latency\": 1e-07, \"kind\": \"shm\"}"));
  EXPECT_THAT(text, HasSubstr("\"bandwidth\": \"1/3\", \"latency\": 0.1, \"duplex\": false}"));
  EXPECT_THAT(text, HasSubstr("\"bandwidth\": 0.015625, \"latency\": 0, \"duplex\": false}"));
  const auto again = ReadTopologyText(text, "t.json");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, topology);
}

TEST(TopologyWriteTest, RoundTripsRandomTopologies) {
  const uint64_t seed = 5;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng random(seed);
  for (int round = 0; round < 300; ++round) {
    TopologyBuilder builder("r" + std::to_string(round));
    const int node_count = static_cast<int>(random.Between(1, 9));
    const int rank_count = static_cast<int>(random.Between(1, node_count));
    for (int i = 0; i < node_count; ++i) {
      const std::string server = random.OneIn(2) ? "" : "s" + std::to_string(random.Below(3));
      if (i < rank_count) {
        builder.AddRank("n" + std::to_string(i), Rank(rank_count - 1 - i), server);
      } else {
        builder.AddSwitch("n" + std::to_string(i), server, random.OneIn(2), random.OneIn(2));
      }
    }
    for (int i = 0; i < 20 && node_count > 1; ++i) {
      const NodeId from(random.Between(0, node_count - 1));
      const NodeId to((from.value() + random.Between(1, node_count - 1)) % node_count);
      const Rational bandwidth(random.Between(1, 1'000'000), random.Between(1, 6) * 5);
      const auto kind = static_cast<LinkKind>(random.Below(7));
      if (random.OneIn(2)) {
        builder.AddDuplex(from, to, bandwidth, random.Unit() * 10, kind);
      } else {
        builder.AddLink(from, to, bandwidth, random.Unit(), kind);
      }
    }
    const Topology topology = *std::move(builder).Build();
    const auto again = ReadTopologyText(WriteTopology(topology), "t.json");
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(*again, topology);
  }
}

// The same property as topology_fuzz.cc, for builds without a fuzzer: damaged files give an error with a line or a
// topology that survives a round trip.
TEST(TopologyJsonTest, SurvivesMutatedSamples) {
  const uint64_t seed = 1;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng random(seed);
  std::vector<std::string> samples{kSample};
  for (const std::string name : {"mixed-14", "star-4-4-2-2", "random-1-6r2s"}) {
    std::ifstream in("tests/topologies/" + name + ".json");
    samples.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    ASSERT_GT(samples.back().size(), 100u);
  }
  const std::vector<std::string> tokens{"{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\"",
                                        "\\",
                                        "0",
                                        "-1",
                                        "1e999",
                                        "1e5",
                                        "null",
                                        "true",
                                        "\n",
                                        "\xff",
                                        "\xEF\xBB\xBF",
                                        "//",
                                        "\"rank\"",
                                        "\"id\"",
                                        "9999999999999999999999",
                                        "1/3",
                                        "\\ud800",
                                        "0.0000001"};
  int accepted = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string text = samples[random.Below(samples.size())];
    for (int64_t edits = random.Between(1, 4); edits > 0; --edits) {
      const size_t at = random.Below(text.size() + 1);
      const size_t length = std::min<size_t>(random.Below(12), text.size() - at);
      switch (random.Below(4)) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(at, tokens[random.Below(tokens.size())]);
          break;
        case 2:
          text.insert(at, text.substr(random.Below(text.size() + 1), length));
          break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(random.Below(256));
      }
    }
    const auto read = ReadTopologyText(text, "t.json");
    if (!read.ok()) {
      ASSERT_THAT(StatusMessage(read.status()), StartsWith("t.json:")) << "round " << round;
      ASSERT_LT(StatusMessage(read.status()).size(), 1000u);
      continue;
    }
    ++accepted;
    const auto again = ReadTopologyText(WriteTopology(*read), "t.json");
    ASSERT_TRUE(again.ok()) << again.status() << " in round " << round;
    ASSERT_EQ(*again, *read) << "round " << round;
  }
  EXPECT_GT(accepted, 300);
}

}  // namespace
}  // namespace mycel
