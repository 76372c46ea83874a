// `mycel topo discover | import`, on recorded machines and on this one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "bindings/cli/run_cli.h"
#include "core/topo/topology_json.h"

namespace mycel::cli {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

const std::string kRecordings = "transport/discover/recordings/";
const std::string kXml = "bindings/interchange/nccl_topologies/";

std::string ReadText(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The exact allgather optimum that `topo check` prints.
std::string OptimumOf(const std::string& file) {
  const CliResult checked = RunCli({"topo", "check", file});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  const size_t at = checked.out.find("1/x* = ");
  return at == std::string::npos ? checked.out : checked.out.substr(at + 7, checked.out.find(' ', at + 7) - at - 7);
}

TEST(TopoDiscover, RecordedServersHaveTheOptimaOfTheirKind) {
  struct Row {
    const char* recording;
    const char* servers;
    const char* optimum;
  };
  // tests/topologies/expected.tsv: dgx-h100-x2, mi300x and mi300x-x2; 7/450 is a DGX H100 alone.
  const Row rows[] = {
      {"dgx-h100", "1", "7/450"}, {"dgx-h100", "2", "3/100"}, {"mi300x", "1", "1/64"}, {"mi300x", "2", "5/166"}};
  for (const Row& row : rows) {
    const std::string file = TempPath(std::string(row.recording) + "-x" + row.servers + ".json");
    const CliResult found = RunCli(
        {"topo", "discover", "--from", kRecordings + row.recording + ".json", "--servers", row.servers, "--out", file});
    ASSERT_EQ(found.exit_code, 0) << found.err;
    EXPECT_EQ(OptimumOf(file), row.optimum) << row.recording << " x " << row.servers;
  }
}

TEST(TopoDiscover, DescribesARecordedServer) {
  const CliResult dgx = RunCli({"topo", "discover", "--from", kRecordings + "dgx-h100.json"});
  ASSERT_EQ(dgx.exit_code, 0) << dgx.err;
  EXPECT_THAT(dgx.out, ContainsRegex("gpu4 +0000:9d:00.0 +1 +63.02 +18 NVLinks, 450 GB/s to switches +mlx5_6:1 "));
  EXPECT_THAT(dgx.out, ContainsRegex("mlx5_8:1 +ACTIVE +Ethernet RDMA +200 +3: 10.20.0.7, RoCE v2, routable .ens3f0."));
  EXPECT_THAT(dgx.out, HasSubstr("server s0  8 ranks, 1 switch"));
  const CliResult mi = RunCli({"topo", "discover", "--from", kRecordings + "mi300x.json"});
  EXPECT_THAT(mi.out, HasSubstr("1 xGMI link, 64 GB/s each to gpu1..gpu7"));
}

TEST(TopoDiscover, JsonHoldsTheSameAndTheTopology) {
  const Json json = RunJson({"topo", "discover", "--json", "--from", kRecordings + "mi300x.json"});
  EXPECT_THAT(KeysOf(json), ElementsAre("host", "cpus", "gpus", "nics", "notes", "topology"));
  EXPECT_EQ(json["gpus"].size(), 8);
  EXPECT_EQ(json["gpus"][6]["nics"], Json::array({"bnxt_re6:1"}));
  EXPECT_EQ(json["gpus"][0]["links"][0]["GBps_each"], 64);
  EXPECT_EQ(json["nics"][2]["gid"]["index"], 3);
  EXPECT_EQ(json["nics"][2]["mtu"], 4096);
  const StatusOr<Topology> topology = ReadTopologyText(json["topology"].dump(), "json");
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_EQ(topology->rank_count(), 8);
}

TEST(TopoDiscover, ThisMachineIsDescribedAndItsRecordingSaysTheSame) {
  const std::string topology = TempPath("here.json");
  const std::string recording = TempPath("recording.json");
  const CliResult here = RunCli({"topo", "discover", "--ranks", "3", "--out", topology, "--record", recording});
  ASSERT_EQ(here.exit_code, 0) << here.err;
  EXPECT_EQ(RunCli({"topo", "check", topology}).exit_code, 0);
  EXPECT_EQ(RunCli({"plan", "--topo", topology, "--collective", "allreduce"}).exit_code, 0);
  const CliResult again = RunCli({"topo", "discover", "--ranks", "3", "--out", topology, "--from", recording});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, here.out);
}

TEST(TopoDiscover, BadInputIsRefused) {
  ExpectRefused({"topo", "discover", "--from", "/no/such/recording"}, 3, {"/no/such/recording", "readable"});
  ExpectRefused({"topo", "discover", "--from", kRecordings}, 3, {kRecordings});
  ExpectRefused({"topo", "discover", "--from", WriteTemp("bad.json", "{\"format\": 1}")}, 3, {"bad.json", "format"});
  ExpectRefused({"topo", "discover", "--servers", "0"}, 2, {"--servers", "from 1 to 4096"});
  ExpectRefused({"topo", "discover", "--form", "x"}, 2, {"--from"});
  Json alone = Json::parse(ReadText(kRecordings + "mi300x.json"));
  alone["files"] = Json::object();
  const std::string file = WriteTemp("alone.json", alone.dump());
  EXPECT_EQ(RunCli({"topo", "discover", "--from", file}).exit_code, 0);
  ExpectRefused({"topo", "discover", "--from", file, "--servers", "2"}, 4, {"s0 (mi-one)", "no network device"});
}

TEST(TopoImport, DumpsBecomeTopologies) {
  const std::string file = TempPath("imported.json");
  const CliResult imported = RunCli({"topo", "import", "--nccl-xml", kXml + "dgx-h100.xml", "--out", file});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_THAT(imported.out, HasSubstr("8 ranks, 1 server, 1 switch"));
  EXPECT_EQ(OptimumOf(file), "7/450");
  const CliResult twice = RunCli({"topo", "import", "--nccl-xml", kXml + "dgx-h100.xml", "--servers", "2"});
  ASSERT_EQ(twice.exit_code, 0) << twice.err;
  EXPECT_EQ(OptimumOf(WriteTemp("twice.json", twice.out)), "3/100");
}

TEST(TopoImport, BadFilesNameLineAndAttribute) {
  ExpectRefused({"topo", "import"}, 2, {"--nccl-xml"});
  ExpectRefused({"topo", "import", "--nccl-xml", "/no/such.xml"}, 3, {"/no/such.xml"});
  const std::string file = WriteTemp("bad.xml",
                                     "<system version=\"1\">\n<cpu numaid=\"0\">\n<pci busid=\"0000:01:00.0\">\n"
                                     "<gpu dev=\"0\" ms=\"90\"/></pci></cpu></system>\n");
  ExpectRefused({"topo", "import", "--nccl-xml", file}, 3, {"bad.xml:4", "<gpu>", "attribute sm is missing"});
}

}  // namespace
}  // namespace mycel::cli
