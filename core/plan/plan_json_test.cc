#include "core/plan/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "core/base/rng.h"
#include "core/plan/sample_plans.h"
#include "core/plan/structure.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

/// A plan with everything a file can hold: routes, scratch, waits, skew, finish.
Plan FullPlan() {
  SampleOptions options;
  options.ranks = 3;
  options.protocol = Protocol::kDirect;
  Plan plan = ChainReduce(options);
  plan.topology = "a \"quoted\" \\ name\n";
  plan.topology_hash = 0xfedcba9876543210U;
  plan.routes = {{NodeId(2), NodeId(3), NodeId(1)}};
  for (Operand& operand : plan.operands) {
    if (operand.kind == Operand::Kind::kChannel) {
      operand.route = 0;  // the first is the output of the chain's last rank
      break;
    }
  }
  Op& last = plan.ranks[0].lanes[0].ops[0];
  last.skew = 2;
  last.wait_count = 1;
  plan.waits = {{LaneId(0), 0}};
  return plan;
}

TEST(PlanJson, RoundTrip) {
  std::vector<Plan> plans = {FullPlan()};
  for (Protocol protocol : {Protocol::kInline, Protocol::kSlot, Protocol::kDirect}) {
    SampleOptions options;
    options.lanes = 2;
    options.root = Rank(3);
    options.protocol = protocol;
    for (SamplePlan& sample : AllSamplePlans(options)) plans.push_back(std::move(sample.plan));
  }
  for (const Plan& plan : plans) {
    const std::string text = WritePlan(plan);
    const StatusOr<Plan> read = ReadPlanText(text, "p.json");
    ASSERT_TRUE(read.ok()) << read.status() << "\n" << text;
    EXPECT_EQ(ToText(*read), ToText(plan));
    EXPECT_EQ(HashOf(*read), HashOf(plan));
    EXPECT_EQ(WritePlan(*read), text);
  }
}

TEST(PlanJson, FileRoundTrip) {
  const std::string path = ::testing::TempDir() + "plan_json_test.json";
  const Plan plan = FullPlan();
  ASSERT_TRUE(WritePlanFile(plan, path).ok());
  const StatusOr<Plan> read = ReadPlanFile(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToText(*read), ToText(plan));
  std::remove(path.c_str());
  EXPECT_THAT(StatusMessage(ReadPlanFile(path).status()), HasSubstr("cannot open"));
  EXPECT_THAT(StatusMessage(WritePlanFile(plan, "/nowhere/plan.json")), HasSubstr("/nowhere/plan.json"));
}

/// The error after one replacement in a good file.
std::string ErrorAfter(const std::string& from, const std::string& to) {
  SampleOptions options;
  options.ranks = 2;
  options.hop_skew = 1;
  std::string text = WritePlan(TwoShotAllReduce(options));
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const StatusOr<Plan> plan = ReadPlanText(text, "p.json");
  EXPECT_FALSE(plan.ok()) << from << " -> " << to;
  return StatusMessage(plan.status());
}

TEST(PlanJson, ErrorsNameLineElementAndKey) {
  EXPECT_THAT(ErrorAfter("mycel-plan", "msccl"), HasSubstr("p.json:2: format: is \"msccl\""));
  EXPECT_THAT(ErrorAfter("\"version\": 1", "\"version\": 2"), HasSubstr("this reader knows version 1"));
  EXPECT_THAT(ErrorAfter("\"slot_count\": 4", "\"slot_cuont\": 4"), HasSubstr("did you mean \"slot_count\"?"));
  EXPECT_THAT(ErrorAfter("\"slot_count\": 4", "\"slot_count\": 4.5"), HasSubstr("p.json:5: slot_count: is null or"));
  EXPECT_THAT(ErrorAfter("\"slot_count\": 4", "\"slot_count\": 4, \"slot_count\": 5"), HasSubstr("given twice"));
  EXPECT_THAT(ErrorAfter(", \"slot_count\": 4", ""), HasSubstr("key \"slot_count\" is missing"));
  EXPECT_THAT(ErrorAfter("\"slot_count\": 4", "\"slot_count\": 400"), HasSubstr("slot_count is 400; it must be 1..64"));
  EXPECT_THAT(ErrorAfter("allreduce", "allreduec"), HasSubstr("unknown collective"));
  EXPECT_THAT(ErrorAfter("\"slot\"", "\"slots\""), HasSubstr("use one of: inline slot direct"));
  EXPECT_THAT(ErrorAfter("\"skew\": 1", "\"skew\": \"1\""),
              HasSubstr("ranks[0].lanes[0][1].skew: is a text; write an integer"));
  EXPECT_THAT(ErrorAfter("[\"send\"]", "[\"sned\"]"), HasSubstr("ranks[0].lanes[0][0].in[0]: is \"sned\""));
  EXPECT_THAT(ErrorAfter("\"channel 1\"", "\"channel 17\""), HasSubstr("rank 0 lane 0 op 1: there is no channel 17"));
  EXPECT_THAT(ErrorAfter("\"channel 1\"", "\"channel x\""), HasSubstr("\"channel N route N\""));
  EXPECT_THAT(ErrorAfter("\"channel 1\"", "\"channel 99999999999\""), HasSubstr("is \"channel 99999999999\""));
  EXPECT_THAT(ErrorAfter("[0, 1, 2]", "[0, 1]"), HasSubstr("has 2 numbers; write [block, begin, end]"));
  EXPECT_THAT(ErrorAfter("[0, 1, 2]", "[0, 1, 99999999999999999999]"), HasSubstr("64-bit integer"));
  EXPECT_THAT(ErrorAfter("[0, 1, 2]", "[[[[[[[[[[0"), HasSubstr("nest deeper"));
  EXPECT_THAT(ErrorAfter("\"topology_hash\": \"0000000000000000\"", "\"topology_hash\": \"xyz\""),
              HasSubstr("16 hexadecimal digits"));
  EXPECT_THAT(ErrorAfter("\n}", ""), HasSubstr("syntax error"));
  EXPECT_THAT(StatusMessage(ReadPlanText(" \n", "p.json").status()), HasSubstr("the file is empty"));
  EXPECT_THAT(StatusMessage(ReadPlanText("3", "p.json").status()), HasSubstr("is an integer; write an object"));
}

// A hostile file ends in a plan that passes the structure checks or in an error, never in anything else (the sanitizer
// builds run this too). The coverage-guided version is plan_fuzz.cc.
TEST(PlanJson, SeededMutationsNeverCrash) {
  const uint64_t seed = 20240611;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  const std::string good = WritePlan(FullPlan());
  const std::string pieces[] = {"\"",
                                "[",
                                "]",
                                "{",
                                "}",
                                ",",
                                ":",
                                "-1",
                                "0",
                                "4294967296",
                                "null",
                                "1e9",
                                "\"send\"",
                                "\"channel 0\"",
                                "true",
                                "\\u0000",
                                "99999999999999999999"};
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (uint64_t edits = 1 + rng.Below(3); edits > 0; --edits) {
      const size_t at = rng.Below(text.size());
      const std::string& piece = pieces[rng.Below(std::size(pieces))];
      switch (rng.Below(4)) {
        case 0:
          text[at] = static_cast<char>(rng.Below(256));
          break;
        case 1:
          text.erase(at, 1 + rng.Below(8));
          break;
        case 2:
          text.insert(at, piece);
          break;
        default:
          text.replace(at, std::min(piece.size(), text.size() - at), piece);
      }
    }
    const StatusOr<Plan> plan = ReadPlanText(text, "mutated");
    if (plan.ok()) {
      ++accepted;
      EXPECT_TRUE(CheckStructure(*plan).ok());
      EXPECT_TRUE(ReadPlanText(WritePlan(*plan), "again").ok());
    } else {
      EXPECT_EQ(plan.status().code(), StatusCode::kInvalidArgument);
    }
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace mycel
