// `mycel share`: tenants' times alone and together, and files that say what cannot be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bindings/cli/run_cli.h"

namespace mycel::cli {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

/// Two switches, two ranks each, one link of a chunk an epoch in the middle.
constexpr char kDumbbell[] = R"({"format": "mycel-topology", "version": 1, "name": "dumbbell", "nodes": [
  {"id": "a", "type": "rank", "rank": 0}, {"id": "b", "type": "rank", "rank": 1},
  {"id": "c", "type": "rank", "rank": 2}, {"id": "d", "type": "rank", "rank": 3},
  {"id": "s", "type": "switch"}, {"id": "t", "type": "switch"}], "links": [
  {"from": "a", "to": "s", "bandwidth": 1, "latency": 0}, {"from": "b", "to": "s", "bandwidth": 1, "latency": 0},
  {"from": "s", "to": "t", "bandwidth": 1, "latency": 0}, {"from": "c", "to": "t", "bandwidth": 1, "latency": 0},
  {"from": "d", "to": "t", "bandwidth": 1, "latency": 0}]})";

// A11 of the reference: alone three epochs, together four; the heavier of two is not held up.
TEST(Share, TenantsTakeTurnsInTheMiddle) {
  const std::string topology = WriteTemp("dumbbell.json", kDumbbell);
  const std::string tenants =
      WriteTemp("tenants.csv", "# swap\nlight, alltoall, 2000, 0+2\nheavy, alltoall, 2000, 1+3, 5\n");
  const ordered_json json = RunJson({"share", "--topo", topology, "--tenants", tenants, "--json"});
  EXPECT_THAT(KeysOf(json), ElementsAre("topology", "chunk_bytes", "epoch_ns", "bound", "tenants"));
  EXPECT_EQ(json["chunk_bytes"], 1000);
  EXPECT_EQ(json["epoch_ns"], "1000");
  const auto epochs = [&](size_t tenant, const char* when) {
    return json["tenants"][tenant][when]["epochs"].get<int>();
  };
  EXPECT_EQ(epochs(0, "alone"), 3);
  EXPECT_EQ(epochs(1, "alone"), 3);
  EXPECT_EQ(epochs(0, "shared"), 4);
  EXPECT_EQ(epochs(1, "shared"), 3);
  const CliResult text = RunCli({"share", "--topo", topology, "--tenants", tenants});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("2 tenants on dumbbell"));
  EXPECT_THAT(text.out, HasSubstr("1.33 x"));
}

TEST(Share, BadTenantsAreNamed) {
  const auto refused = [](const std::string& line, int exit_code, const std::string& said) {
    const std::string file = WriteTemp("bad.csv", line);
    ExpectRefused({"share", "--topo", "ring4", "--tenants", file}, exit_code, {said});
  };
  refused("a, allgather, 1M\n", 3, "bad.csv:1: 3 columns; give name, collective, bytes, ranks");
  refused("a, gossip, 1M, 0-3\n", 3, "bad.csv:1, column 2");
  refused("a, allgather, much, 0-3\n", 3, "bad.csv:1, column 3");
  refused("a, allgather, 1M, 3-0\n", 3, "bad.csv:1, column 4: '0' is no whole number from 3");
  refused("a, allgather, 1M, 0-3, 0\n", 3, "bad.csv:1, column 5: '0' is no whole number from 1");
  refused("a, allgather, 1M, 0-4\n", 3, "tenant 'a': has ranks outside 0..3");
  refused("a, allgather, 1M, 0+0\n", 3, "tenant 'a': names a rank twice");
  refused("a, allgather, 1M, 2\n", 3, "tenant 'a': needs at least two ranks");
  refused("a, allgather, 0, 0-3\n", 3, "tenant 'a': has no bytes to move");
  refused("a, broadcast, 1M, 0-2, 1, 3\n", 3, "tenant 'a': needs a root among its ranks, not 3");
  refused("a, allreduce, 1M, 0-3\n", 4, "tenant 'a': allreduce cannot share a timed schedule");
  refused("# nobody\n", 3, "no tenants; give a line each");
  ExpectRefused({"share", "--topo", "ring4", "--tenants", TempPath("none.csv")}, 3, {"cannot read the tenants"});
}

}  // namespace
}  // namespace mycel::cli
