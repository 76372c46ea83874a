// `mycel verify`: right plans, plans spoiled in one place, files that are no plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/cli/run_cli.h"

namespace mycel::cli {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

/// A plan of `mycel plan`, as file text.
std::string PlanText(const std::string& topology, const std::string& collective, const std::string& planner) {
  const std::string path = TempPath("made.json");
  const CliResult made = RunCli({"plan", "--topo", topology, "--collective", collective, "--planner", planner,
                                 "--bytes", "64K", "--lanes", "1", "--out", path});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

CliResult VerifyText(const std::string& text) { return RunCli({"verify", WriteTemp("plan.json", text)}); }

TEST(Verify, AcceptsWhatPlanWrites) {
  for (const auto& [topology, collective, planner] :
       std::vector<std::tuple<std::string, std::string, std::string>>{{"ring8", "allgather", "ring"},
                                                                      {"ring8", "allreduce", "ring"},
                                                                      {"ring5", "broadcast", "ring"},
                                                                      {"fullmesh-4", "allreduce", "direct"},
                                                                      {"dgx-a100", "alltoall", "direct"},
                                                                      {"dgx-a100", "reduce_scatter", "auto"}}) {
    SCOPED_TRACE(topology + " " + collective + " " + planner);
    const std::string text = PlanText(topology, collective, planner);
    const CliResult result = VerifyText(text);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("verified"));
    const std::string path = WriteTemp("plan.json", text);
    const ordered_json json = RunJson({"verify", path, "--topo", topology, "--json"});
    EXPECT_EQ(json["verified"], true);
    EXPECT_EQ(json["same_topology"], true);
    EXPECT_GT(FractionOf(json["achieved"]["inv_x"]), Rational(0));
    const ordered_json planned = RunJson({"plan", "--topo", topology, "--collective", collective, "--planner", planner,
                                          "--bytes", "64K", "--lanes", "1", "--json"});
    EXPECT_EQ(json["achieved"]["inv_x"], planned["achieved"]["inv_x"]);
  }
}

ordered_json& OpsOf(ordered_json& plan, size_t rank) { return plan["ranks"][rank]["lanes"][0]; }

/// One step away from a right plan, and wrong.
struct Mutation {
  std::string name;
  std::function<void(ordered_json&)> apply;
};

std::vector<Mutation> Mutations(const ordered_json& plan) {
  std::vector<Mutation> all;
  const size_t ranks = plan["ranks"].size();
  for (size_t r = 0; r < ranks; r += 3) {
    const size_t ops = plan["ranks"][r]["lanes"][0].size();
    for (size_t o = 0; o < ops; ++o) {
      const std::string where = " rank " + std::to_string(r) + " op " + std::to_string(o);
      all.push_back({"drop" + where, [r, o](ordered_json& p) { OpsOf(p, r).erase(o); }});
      all.push_back({"repeat" + where, [r, o](ordered_json& p) {
                       const ordered_json op = OpsOf(p, r)[o];
                       OpsOf(p, r).insert(OpsOf(p, r).begin() + static_cast<ptrdiff_t>(o), op);
                     }});
      all.push_back({"other chunk" + where, [r, o](ordered_json& p) {
                       ordered_json& chunk = OpsOf(p, r)[o]["chunk"];
                       const int64_t units = p["units_per_block"];
                       const int64_t at = chunk[1];
                       if (p["collective"] == "allreduce") {
                         chunk[1] = (at + 1) % units;
                         chunk[2] = (at + 1) % units + 1;
                       } else {
                         chunk[0] = (chunk[0].get<int64_t>() + 1) % p["rank_count"].get<int64_t>();
                       }
                     }});
      all.push_back({"finish turned" + where, [r, o](ordered_json& p) {
                       ordered_json& op = OpsOf(p, r)[o];
                       if (op.contains("finish")) {
                         op.erase("finish");
                       } else {
                         op["finish"] = true;
                       }
                     }});
    }
  }
  all.push_back({"other peer", [](ordered_json& p) { std::swap(p["channels"][0][1], p["channels"][1][1]); }});
  all.push_back({"other root of the data", [](ordered_json& p) { std::swap(p["ranks"][1], p["ranks"][2]); }});
  all.push_back({"first and last op swapped", [](ordered_json& p) {
                   ordered_json& ops = OpsOf(p, 0);
                   std::swap(ops.front(), ops.back());
                 }});
  all.push_back({"other collective", [](ordered_json& p) {
                   p["collective"] = p["collective"] == "allgather" ? "reduce_scatter" : "broadcast";
                   if (p["collective"] == "broadcast") p["root"] = 0;
                 }});
  return all;
}

class Mutated : public testing::TestWithParam<const char*> {};

// Wrong is wrong, whether the proof fails (1) or an index of the mutated plan points nowhere (3: no plan at all).
TEST_P(Mutated, IsRejected) {
  const ordered_json plan = ordered_json::parse(PlanText("ring6", GetParam(), "ring"));
  int disproved = 0;
  int malformed = 0;
  for (const Mutation& mutation : Mutations(plan)) {
    ordered_json mutated = plan;
    mutation.apply(mutated);
    ASSERT_NE(mutated, plan) << mutation.name;
    const CliResult result = VerifyText(mutated.dump());
    if (result.exit_code == 1) {
      ++disproved;
      EXPECT_THAT(result.out, HasSubstr("wrong: ")) << mutation.name;
    } else {
      EXPECT_EQ(result.exit_code, 3) << mutation.name << "\n" << result.out;
      ++malformed;
    }
  }
  RecordProperty("disproved", disproved);
  EXPECT_GT(disproved, 20);
  EXPECT_LT(malformed, disproved);
}

INSTANTIATE_TEST_SUITE_P(Collectives, Mutated, testing::Values("allgather", "allreduce"));

TEST(Verify, SaysWhatIsWrong) {
  ordered_json plan = ordered_json::parse(PlanText("ring4", "allgather", "ring"));
  OpsOf(plan, 2).erase(OpsOf(plan, 2).size() - 1);
  const std::string path = WriteTemp("plan.json", plan.dump());
  const CliResult text = RunCli({"verify", path});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.out, HasSubstr("rank 2"));
  EXPECT_EQ(text.err, "");
  const CliResult json = RunCli({"verify", path, "--json"});
  EXPECT_EQ(json.exit_code, 1);
  const ordered_json verdict = ordered_json::parse(json.out);
  EXPECT_EQ(verdict["verified"], false);
  EXPECT_THAT(verdict["reason"].get<std::string>(), HasSubstr("rank 2"));
}

TEST(Verify, RoutesMustExistInTheTopology) {
  const std::string path = WriteTemp("plan.json", PlanText("ring4", "allgather", "ring"));
  const std::string ring = R"({"from": "b", "to": "c", "bandwidth": 1}, {"from": "c", "to": "d", "bandwidth": 1})";
  const std::string nodes = R"("nodes": [{"id": "a", "type": "rank", "rank": 0}, {"id": "b", "type": "rank", "rank": 1},
    {"id": "c", "type": "rank", "rank": 2}, {"id": "d", "type": "rank", "rank": 3}],)";
  const std::string header = R"({"format": "mycel-topology", "version": 1, "name": "line", )";
  const std::string line =
      WriteTemp("line.json", header + nodes + R"("links": [{"from": "a", "to": "b", "bandwidth": 1}, )" + ring + "]}");
  const CliResult missing = RunCli({"verify", path, "--topo", line});
  EXPECT_EQ(missing.exit_code, 1) << missing.out << missing.err;
  EXPECT_THAT(missing.out, HasSubstr("wrong: "));
  EXPECT_THAT(RunCli({"verify", path, "--topo", "torus-2x2"}).out, HasSubstr(""));
  ExpectRefused({"verify", path, "--topo", "ring5"}, 3, {"4 ranks", "ring5 has 5", "ring4"});
  ExpectRefused({"verify", path, "--topo", "rign4"}, 3, {"rign4"});
}

TEST(Verify, FilesThatAreNoPlans) {
  const std::string text = PlanText("ring4", "allreduce", "ring");
  const ordered_json plan = ordered_json::parse(text);
  struct Row {
    std::string text;
    std::string said;
  };
  std::vector<Row> rows = {{"", "empty"},
                           {text.substr(0, text.size() / 2), "syntax error"},
                           {"[]", "object"},
                           {"{}", "format"},
                           {std::string(200000, '['), "plan.json:1"},
                           {"{\"format\": \"" + std::string(10 << 20, 'x') + "\"}", "format"}};
  for (const auto& item : plan.items()) {
    ordered_json without = plan;
    without.erase(item.key());
    // Without units, blocks are whole and their chunks do not fit.
    rows.push_back({without.dump(), item.key() == "units_per_block" ? "units" : item.key()});
    ordered_json wrong = plan;
    wrong[item.key()] = item.value().is_object() ? ordered_json(7) : ordered_json::object();
    rows.push_back({wrong.dump(), item.key()});
  }
  ordered_json more = plan;
  more["colour"] = "red";
  rows.push_back({more.dump(), "colour"});
  for (const auto& [key, value] : std::vector<std::pair<std::string, ordered_json>>{{"version", 2},
                                                                                    {"rank_count", 0},
                                                                                    {"rank_count", -4},
                                                                                    {"slot_count", 0},
                                                                                    {"slot_count", 1000000},
                                                                                    {"slice_bytes", -1},
                                                                                    {"units_per_block", 0},
                                                                                    {"collective", "allgatherx"},
                                                                                    {"protocol", "pigeon"}}) {
    ordered_json wrong = plan;
    wrong[key] = value;
    rows.push_back({wrong.dump(), key});
  }
  ordered_json no_channel = plan;
  no_channel["channels"][0][1] = 77;
  rows.push_back({no_channel.dump(), "channel"});
  for (const Row& row : rows) {
    const std::string file = WriteTemp("plan.json", row.text);
    SCOPED_TRACE(row.said + ": " + row.text.substr(0, 200));
    ExpectRefused({"verify", file}, 3, {file, row.said});
  }
  ExpectRefused({"verify", "/no/such/plan.json"}, 3, {"/no/such/plan.json"});
  ExpectRefused({"verify"}, 2, {"PLAN is required"});
}

}  // namespace
}  // namespace mycel::cli
