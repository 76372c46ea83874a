// `mycel convert`: every format into every other, exit codes, and that verify and sim read what it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bindings/cli/run_cli.h"

namespace mycel::cli {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::StartsWith;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string MakePlan(const std::string& topology, const std::string& collective, const std::string& planner) {
  std::string path = TempPath("made.json");
  const CliResult made = RunCli(
      {"plan", "--topo", topology, "--collective", collective, "--planner", planner, "--lanes", "1", "--out", path});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  return path;
}

TEST(Convert, EveryFormatIntoEveryOther) {
  for (const std::string& topology : {std::string("dgx1-v100"), std::string("mesh-3x3")}) {
    const std::string made = MakePlan(topology, "allreduce", "forest");
    const ordered_json first = RunJson({"verify", made, "--topo", topology, "--json"});
    for (const char* from : {"mycel", "msccl-xml", "mscclpp-json"}) {
      const std::string middle = TempPath("middle");
      ASSERT_EQ(RunCli({"convert", made, "--to", from, "--out", middle}).exit_code, 0);
      for (const char* to : {"mycel", "msccl-xml", "mscclpp-json"}) {
        SCOPED_TRACE(topology + " " + from + " -> " + to);
        const std::string last = TempPath("last");
        const CliResult converted = RunCli({"convert", middle, "--to", to, "--out", last});
        ASSERT_EQ(converted.exit_code, 0) << converted.err;
        EXPECT_EQ(converted.out + converted.err, "");
        const ordered_json judged = RunJson({"verify", last, "--topo", topology, "--json"});
        EXPECT_EQ(judged["verified"], true);
        EXPECT_EQ(judged["same_topology"], true);
        EXPECT_EQ(judged["planner"], "forest");
        EXPECT_EQ(judged["achieved"], first["achieved"]);
        const ordered_json simulated = RunJson({"sim", last, "--topo", topology, "--bytes", "4M", "--json"});
        EXPECT_GT(simulated["algbw_GBps"], 0);
      }
    }
  }
}

TEST(Convert, WritesToStandardOutput) {
  const std::string made = MakePlan("ring4", "reduce_scatter", "ring");
  EXPECT_THAT(RunCli({"convert", made, "--to", "msccl-xml"}).out, StartsWith("<algo "));
  EXPECT_THAT(RunCli({"convert", made, "--to", "msccl-xml"}).out, HasSubstr("coll=\"reduce_scatter\""));
  EXPECT_THAT(RunCli({"convert", made, "--to", "msccl-xml", "--runtime", "rccl"}).out,
              HasSubstr("coll=\"reducescatter\""));
  EXPECT_EQ(ordered_json::parse(RunCli({"convert", made, "--to", "mscclpp-json"}).out)["collective"], "reducescatter");
  EXPECT_EQ(RunCli({"convert", made, "--to", "mycel"}).out, ReadAll(made));
}

// A file from elsewhere says no routes: with a topology they are made.
TEST(Convert, RoutesMessagesOnATopology) {
  std::string text = RunCli({"convert", MakePlan("dgx-a100", "allgather", "direct"), "--to", "msccl-xml"}).out;
  const size_t notes = text.find("  <mycel");
  text.erase(notes, text.find("</mycel>\n") + 9 - notes);
  for (size_t at = text.find(" mycel_route"); at != std::string::npos; at = text.find(" mycel_route")) {
    text.erase(at, text.find("/>", at) - at);
  }
  const std::string bare = WriteTemp("bare.xml", text);
  const std::string out = TempPath("routed.json");
  ASSERT_EQ(RunCli({"convert", bare, "--to", "mycel", "--out", out}).exit_code, 0);
  EXPECT_EQ(ordered_json::parse(ReadAll(out))["topology"], "unknown");
  EXPECT_EQ(RunCli({"verify", out, "--topo", "dgx-a100"}).exit_code, 1);  // no direct links
  ASSERT_EQ(RunCli({"convert", bare, "--to", "mycel", "--topo", "dgx-a100", "--out", out}).exit_code, 0);
  EXPECT_EQ(ordered_json::parse(ReadAll(out))["topology"], "dgx-a100");
  const ordered_json judged = RunJson({"verify", out, "--topo", "dgx-a100", "--json"});
  EXPECT_EQ(judged["same_topology"], true);
  EXPECT_EQ(judged["achieved"], RunJson({"verify", bare, "--topo", "dgx-a100", "--json"})["achieved"]);
  ExpectRefused({"convert", bare, "--to", "mycel", "--topo", "ring4"}, 3, {"8 ranks", "ring4 has 4"});
  ExpectRefused({"convert", bare, "--to", "mycel", "--topo", "line"}, 3, {"line"});
}

TEST(Convert, SaysNoToWrongPlans) {
  const std::string made = MakePlan("ring4", "allgather", "ring");
  std::string text = RunCli({"convert", made, "--to", "msccl-xml"}).out;
  const size_t step = text.find("<step");
  std::string missing = text;
  missing.replace(missing.find("type=\"r\""), 8, "type=\"cpy\"");
  const std::string path = WriteTemp("wrong.xml", missing);
  ExpectRefused({"convert", path, "--to", "mycel"}, 1, {path});
  const CliResult judged = RunCli({"verify", path});
  EXPECT_EQ(judged.exit_code, 1);
  EXPECT_THAT(judged.out, HasSubstr("wrong: "));
  ExpectRefused({"sim", path, "--topo", "ring4"}, 3, {"wrong and cannot be simulated"});
  const std::string malformed = WriteTemp("malformed.xml", text.substr(0, step + 20));
  ExpectRefused({"convert", malformed, "--to", "mycel"}, 3, {malformed, "not well-formed XML"});
  ExpectRefused({"verify", malformed}, 3, {malformed, "not well-formed XML"});
}

TEST(Convert, UsageAndLimits) {
  const std::string made = MakePlan("ring4", "broadcast", "ring");
  ExpectRefused({"convert", made, "--to", "msccl-xml"}, 4, {"broadcast", "root"});
  ExpectRefused({"convert", made, "--to", "msccl"}, 2, {"'msccl' is no plan format", "msccl-xml"});
  ExpectRefused({"convert", made}, 2, {"--to"});
  ExpectRefused({"convert", "--to", "mycel"}, 2, {"PLAN"});
  ExpectRefused({"convert", made, "--to", "mycel", "--runtime", "rccl"}, 2, {"--runtime"});
  ExpectRefused({"convert", made, "--to", "msccl-xml", "--runtime", "nccl"}, 2, {"'nccl' is no runtime"});
  ExpectRefused({"convert", "/no/such/plan", "--to", "mycel"}, 3, {"/no/such/plan"});
  ExpectRefused({"convert", made, "--to", "mycel", "--out", "/no/such/folder/x"}, 3, {"/no/such/folder/x"});
}

}  // namespace
}  // namespace mycel::cli
