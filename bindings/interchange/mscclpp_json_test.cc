// MSCCL++ plans written by hand: what they mean, what is wrong with them, and how that is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "bindings/interchange/plan_file.h"
#include "core/plan/run_check.h"
#include "core/plan/sample_plans.h"

namespace mycel {
namespace {

using testing::HasSubstr;

/// Allreduce of two ranks in place: each reads its half of the other's input, adds it to its own and writes the sum to
/// both. `relaxed` tokens open it, full ones close it.
constexpr char kAllReduce[] =
    R"({
"name": "pair", "collective": "allreduce", "protocol": "Simple", "inplace": true, "reuse_resources": false,
"num_threads_per_block": 1024, "use_double_scratch_buffer": false, "buffer_alignment": 16,
"min_message_size": 0, "max_message_size": 1048576,
"gpus": [
{"id": 0, "input_chunks": 2, "output_chunks": 2, "scratch_chunks": 0,
"channels": [{"channel_type": "memory", "connected_to": [1]}],
"remote_buffers": [{"rank": 1, "type": "i", "access_channel_types": ["memory"]}],
"semaphores": [],
"threadblocks": [{"id": 0, "channels": [{"channel_type": "memory", "channel_ids": [0]}],
"remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}], "ops": [
{"name": "rlxsignal", "channel_type": "memory", "channel_ids": [0]},
{"name": "rlxwait", "channel_type": "memory", "channel_ids": [0]},
{"name": "nop"},
{"name": "rres", "channel_type": "memory", "reduce_op": "sum", )"
    R"("src_buff": [{"type": "i", "index": 0, "size": 1}, {"buffer_id": 0, "index": 0, "size": 1}], )"
    R"("dst_buff": [{"type": "i", "index": 0, "size": 1}, {"buffer_id": 0, "index": 0, "size": 1}]},
{"name": "nop"},
{"name": "signal", "channel_type": "memory", "channel_ids": [0]},
{"name": "wait", "channel_type": "memory", "channel_ids": [0]}]}]},
{"id": 1, "input_chunks": 2, "output_chunks": 2, "scratch_chunks": 0,
"channels": [{"channel_type": "memory", "connected_to": [0]}],
"remote_buffers": [{"rank": 0, "type": "i", "access_channel_types": ["memory"]}],
"semaphores": [],
"threadblocks": [{"id": 0, "channels": [{"channel_type": "memory", "channel_ids": [0]}],
"remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}], "ops": [
{"name": "rlxsignal", "channel_type": "memory", "channel_ids": [0]},
{"name": "rlxwait", "channel_type": "memory", "channel_ids": [0]},
{"name": "nop"},
{"name": "rres", "channel_type": "memory", "reduce_op": "sum", )"
    R"("src_buff": [{"type": "i", "index": 1, "size": 1}, {"buffer_id": 0, "index": 1, "size": 1}], )"
    R"("dst_buff": [{"type": "i", "index": 1, "size": 1}, {"buffer_id": 0, "index": 1, "size": 1}]},
{"name": "nop"},
{"name": "signal", "channel_type": "memory", "channel_ids": [0]},
{"name": "wait", "channel_type": "memory", "channel_ids": [0]}]}]}
]}
)";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// Allgather of two ranks over a port channel: block 0 puts and signals, block 1 copies the rank's own data; a barrier
/// or a semaphore joins the two, and a third op passes the peer's chunk through scratch.
std::string AllGatherTwoBlocks(const std::string& release, const std::string& acquire) {
  std::string gpus;
  for (int r = 0; r < 2; ++r) {
    const std::string me = std::to_string(r);
    const std::string peer = std::to_string(1 - r);
    gpus +=
        std::string(r == 0 ? "" : ",\n") + "{\"id\": " + me +
        R"(, "input_chunks": 1, "output_chunks": 2, "scratch_chunks": 1, "semaphores": [{"init_value": 0}],
"channels": [{"channel_type": "port", "connected_to": [)" +
        peer + R"(]}], "remote_buffers": [{"rank": )" + peer +
        R"(, "type": "s", "access_channel_types": ["port"]}],
"threadblocks": [
{"id": 0, "channels": [{"channel_type": "port", "channel_ids": [0]}],
"remote_buffer_refs": [{"access_channel_type": "port", "remote_buffer_ids": [0]}], "ops": [
{"name": "pwsf", "channel_type": "port", "channel_ids": [0], )"
        R"("src_buff": [{"type": "i", "index": 0, "size": 1}], "dst_buff": [{"buffer_id": 0, "index": 0, "size": 1}]},
{"name": "wait", "channel_type": "port", "channel_ids": [0]},
)" + release +
        R"(]},
{"id": 1, "channels": [], "remote_buffer_refs": [], "ops": [
{"name": "copy", "src_buff": [{"type": "i", "index": 0, "size": 1}], "dst_buff": [{"type": "o", "index": )" +
        me + R"(, "size": 1}]},
)" + acquire +
        R"(,
{"name": "copy", "src_buff": [{"type": "s", "index": 0, "size": 1}], "dst_buff": [{"type": "o", "index": )" +
        peer + R"(, "size": 1}]}]}]})";
  }
  return R"({"name": "two", "collective": "allgather", "protocol": "Simple", "inplace": false, "gpus": [)" + gpus +
         "]}";
}

StatusOr<LoadedPlan> Judge(const std::string& text) { return JudgePlanText(text, "hand.json"); }

void ExpectRight(const std::string& text) {
  StatusOr<LoadedPlan> loaded = Judge(text);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_TRUE(loaded->verdict.ok()) << loaded->verdict;
  EXPECT_EQ(loaded->format, PlanFormat::kMscclppJson);
  loaded->plan.slice_bytes = 64;
  for (const bool in_place : {false, true}) {
    InterpretRequest request;
    request.count = 97;
    request.in_place = in_place;
    const Status met = CheckByRunning(loaded->plan, request);
    EXPECT_TRUE(met.ok()) << (in_place ? "in place: " : "") << met;
  }
}

void ExpectWrong(const std::string& text, const std::vector<std::string>& said) {
  const StatusOr<LoadedPlan> loaded = Judge(text);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_FALSE(loaded->verdict.ok());
  for (const std::string& part : said) EXPECT_THAT(StatusMessage(loaded->verdict), HasSubstr(part));
}

constexpr char kBarrier[] = R"({"name": "barrier", "barrier_id": 0, "num_threadblocks": 2})";
constexpr char kRelease[] = R"({"name": "sem_release", "semaphore_ids": [0]})";
constexpr char kAcquire[] = R"({"name": "sem_acquire", "semaphore_ids": [0]})";

TEST(MscclppJson, HandWrittenPlansAreRight) {
  ExpectRight(kAllReduce);
  ExpectRight(AllGatherTwoBlocks(kBarrier, kBarrier));
  ExpectRight(AllGatherTwoBlocks(kRelease, kAcquire));
}

TEST(MscclppJson, WellFormedButWrong) {
  struct Row {
    std::string text;
    std::vector<std::string> said;
  };
  const std::string rres = R"("src_buff": [{"type": "i", "index": 0, "size": 1}, {"buffer_id": 0, "index": 0)";
  const auto both_spans = [](const std::string& index) {
    const std::string spans =
        R"({"type": "i", "index": )" + index + R"(, "size": 1}, {"buffer_id": 0, "index": )" + index;
    return spans + R"(, "size": 1}], "dst_buff": [)" + spans;
  };
  const std::vector<Row> rows = {
      {Replaced(kAllReduce, rres, R"("src_buff": [{"type": "i", "index": 0, "size": 1}, {"buffer_id": 0, "index": 1)"),
       {"hand.json:15", "gpu 0 threadblock 0 op 3 (rres)", "adds block 0 chunk 1 to block 0 chunk 0"}},
      // Both reduce the same half.
      {Replaced(kAllReduce, both_spans("1"), both_spans("0")),
       {"gpu 1 threadblock 0 op 3 (rres)", "another block may still"}},
      {Replaced(kAllReduce, "{\"name\": \"rlxsignal\", \"channel_type\": \"memory\", \"channel_ids\": [0]},\n", ""),
       {"deadlock", "waits for a signal from gpu 0 on memory channel 0"}},
      {Replaced(kAllReduce, "\"channel_ids\": [0]}]}]},",
                "\"channel_ids\": [0]}, {\"name\": \"signal\", \"channel_ids\": [0]}]}]},"),
       {"hand.json:18", "gpu 0 signals gpu 1 on a memory channel more often than that waits"}},
      // A relaxed token does not make the other block's data visible.
      {Replaced(AllGatherTwoBlocks(kBarrier, kBarrier), "\"name\": \"wait\"", "\"name\": \"rlxwait\""),
       {"reads block", "another block may still be writing"}},
      {AllGatherTwoBlocks("{\"name\": \"nop\"}", "{\"name\": \"nop\"}"), {"(copy) reads", "s[0] of gpu"}},
      {AllGatherTwoBlocks(kBarrier, "{\"name\": \"nop\"}"), {"hand.json"}},
      {AllGatherTwoBlocks("{\"name\": \"nop\"}", kAcquire), {"deadlock", "waits for semaphore 0"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.said[0] + "\n" + row.text);
    ExpectWrong(row.text, row.said);
  }
}

struct Malformed {
  std::string from;
  std::string to;
  std::vector<std::string> said;
};
void PrintTo(const Malformed& row, std::ostream* out) { *out << row.from << " -> " << row.to; }

class MalformedJson : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedJson, IsRefusedWithItsPlace) {
  const Malformed& row = GetParam();
  const StatusOr<LoadedPlan> loaded = Judge(Replaced(kAllReduce, row.from, row.to));
  ASSERT_FALSE(loaded.ok());
  const std::string message = StatusMessage(loaded.status());
  for (const std::string& part : row.said) EXPECT_THAT(message, HasSubstr(part));
  EXPECT_THAT(message, HasSubstr("hand.json:"));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, MalformedJson,
    testing::Values(
        Malformed{"]}\n", "]\n", {":32", "syntax error", "mend the JSON there"}},
        Malformed{"\"name\": \"pair\", ", "", {":1", "the file lacks the key name"}},
        Malformed{"\"name\": \"pair\"", "\"name\": 7", {":2", "name is a whole number; write a text"}},
        Malformed{"\"name\": \"pair\"", "\"name\": \"pair\", \"name\": \"pair\"", {":2", "name is given twice"}},
        Malformed{"\"allreduce\"", "\"allredoce\"", {":2", "collective is 'allredoce'", "allreduce"}},
        Malformed{"\"allreduce\"", "\"custom\"", {":2", "collective is 'custom'", "no contract"}},
        Malformed{"\"allreduce\"", "\"sendrecv\"", {":2", "collective is 'sendrecv'"}},
        Malformed{"\"Simple\"", "\"LL128\"", {":2", "protocol is 'LL128'; use one of: Simple LL"}},
        Malformed{"\"inplace\": true", "\"inplace\": 1", {":2", "inplace is a whole number; write true or false"}},
        Malformed{"\"buffer_alignment\": 16", "\"buffer_alignment\": -1", {":3", "buffer_alignment is -1"}},
        Malformed{"\"buffer_alignment\"", "\"buffer_aligment\"", {":3", "unknown; did you mean buffer_alignment?"}},
        Malformed{"\"gpus\": [\n", "\"gpus\": [], \"x\": [\n", {"x is unknown"}},
        Malformed{"{\"id\": 0, \"input_chunks\": 2",
                  "{\"id\": 1, \"input_chunks\": 2",
                  {":6", "gpus[0].id is 1; it must be 0..0"}},
        Malformed{
            "\"input_chunks\": 2", "\"input_chunks\": 3", {":6", "gpus[0] has input_chunks 3 and output_chunks 2"}},
        Malformed{
            "\"input_chunks\": 2", "\"input_chunks\": 2.5", {":6", "gpus[0].input_chunks is null or a number that"}},
        Malformed{"\"scratch_chunks\": 0", "\"scratch_chunks\": -1", {":6", "gpus[0].scratch_chunks is -1"}},
        Malformed{"\"scratch_chunks\": 0", "\"scratch\": 0", {":6", "gpus[0].scratch is unknown"}},
        Malformed{"\"connected_to\": [1]", "\"connected_to\": [2]", {":7", "gpus[0].channels[0].connected_to[0] is 2"}},
        Malformed{"\"connected_to\": [1]", "\"connected_to\": [0]", {":7", "connected_to[0] is the gpu itself"}},
        Malformed{
            "\"connected_to\": [1]", "\"connected_to\": [1, 1]", {":6", "gpus[0] has 2 memory channels to gpu 1"}},
        Malformed{"{\"channel_type\": \"memory\", \"connected_to\"",
                  "{\"channel_type\": \"switch\", \"connected_to\"",
                  {":7", "gpus[0].channels[0].channel_type is 'switch'", "multicast"}},
        Malformed{"{\"channel_type\": \"memory\", \"connected_to\"",
                  "{\"channel_type\": \"wire\", \"connected_to\"",
                  {":7", "channel_type is 'wire'; use one of: memory port"}},
        Malformed{"{\"rank\": 1, \"type\": \"i\"",
                  "{\"rank\": 0, \"type\": \"i\"",
                  {":8", "gpus[0].remote_buffers[0] is a buffer of the gpu"}},
        Malformed{"{\"rank\": 1, \"type\": \"i\"",
                  "{\"rank\": 1, \"type\": \"x\"",
                  {":8", "remote_buffers[0].type is 'x'; use one of: i o s"}},
        Malformed{"\"semaphores\": []",
                  "\"semaphores\": [3]",
                  {":9", "gpus[0].semaphores[0] is a whole number; write an object"}},
        Malformed{"\"threadblocks\": [{\"id\": 0", "\"threadblocks\": [{\"id\": 5", {":10", "threadblocks[0].id is 5"}},
        Malformed{"\"threadblocks\": [{\"id\": 0",
                  "\"threadblocks\": [7, {\"id\": 0",
                  {":10", "threadblocks[0] is a whole number"}},
        Malformed{"\"memory\", \"channel_ids\": [0]}],\n\"remote_buffer_refs\"",
                  "\"memory\", \"channel_ids\": [1]}],\n\"remote_buffer_refs\"",
                  {":10", "gpus[0].threadblocks[0].channels[0].channel_ids[0] is 1; it must be 0..0"}},
        Malformed{"\"remote_buffer_ids\": [0]",
                  "\"remote_buffer_ids\": [3]",
                  {":11", "remote_buffer_refs[0].remote_buffer_ids[0] is 3"}},
        Malformed{"{\"name\": \"rlxsignal\"",
                  "{\"name\": \"rlxsignl\"",
                  {":12", "gpus[0].threadblocks[0].ops[0].name is 'rlxsignl'", "rlxsignal"}},
        Malformed{"{\"name\": \"rlxsignal\"", "{\"name\": \"ppkt\"", {":12", "ops[0].name is 'ppkt'", "packets"}},
        Malformed{"{\"name\": \"rlxsignal\"", "{\"name\": \"pipeline\"", {":12", "ops[0].name is 'pipeline'"}},
        Malformed{"{\"name\": \"nop\"}",
                  "{\"name\": \"nop\", \"tbg_info\": {\"tb_id\": 0, \"tbg_size\": 2}}",
                  {":14", "ops[2].tbg_info is given"}},
        Malformed{"{\"name\": \"nop\"}",
                  "{\"name\": \"nop\", \"src_buff\": [{\"type\": \"i\", \"index\": 0, \"size\": 1}]}",
                  {":14", "ops[2] (nop) wants in src_buff 0 local spans"}},
        Malformed{"{\"name\": \"nop\"}", "{\"name\": \"barrier\"}", {":14", "ops[2] lacks the key barrier_id"}},
        Malformed{
            "{\"name\": \"nop\"}", "{\"name\": \"sem_acquire\"}", {":14", "ops[2] (sem_acquire) lacks semaphore_ids"}},
        Malformed{"{\"name\": \"nop\"}",
                  "{\"name\": \"sem_acquire\", \"semaphore_ids\": [0]}",
                  {":14", "semaphore_ids[0] is 0, but there is nothing that it could name"}},
        Malformed{"{\"name\": \"rlxsignal\", \"channel_type\": \"memory\", \"channel_ids\": [0]}",
                  "{\"name\": \"rlxsignal\"}",
                  {":12", "ops[0] (rlxsignal) lacks channel_ids"}},
        Malformed{"{\"name\": \"rlxsignal\", \"channel_type\": \"memory\", \"channel_ids\": [0]}",
                  "{\"name\": \"rlxsignal\", \"channel_ids\": [1]}",
                  {":12", "ops[0].channel_ids[0] is 1; it must be 0..0"}},
        Malformed{"\"reduce_op\": \"sum\"",
                  "\"reduce_op\": \"avg\"",
                  {":15", "ops[3].reduce_op is 'avg'; use one of: sum min max"}},
        Malformed{"[{\"type\": \"i\", \"index\": 0, \"size\": 1}, {\"buffer_id\": 0",
                  "[{\"type\": \"i\", \"index\": 0, \"size\": 1}, {\"buffer_id\": 1",
                  {":15", "ops[3].src_buff[1].buffer_id is 1"}},
        Malformed{"[{\"type\": \"i\", \"index\": 0, \"size\": 1}, {\"buffer_id\": 0",
                  "[{\"index\": 0, \"size\": 1}, {\"buffer_id\": 0",
                  {":15", "ops[3].src_buff[0] must say either type"}},
        Malformed{"\"src_buff\": [{\"type\": \"i\", \"index\": 0, \"size\": 1}",
                  "\"src_buff\": [{\"type\": \"i\", \"index\": 0, \"size\": 2}",
                  {":15", "ops[3] (rres) joins 2 chunks with 1"}},
        Malformed{"\"src_buff\": [{\"type\": \"i\", \"index\": 0, \"size\": 1}",
                  "\"src_buff\": [{\"type\": \"i\", \"index\": 2, \"size\": 1}",
                  {":15", "ops[3] touches chunks [2,3) of buffer i of gpu 0, which has 2"}},
        Malformed{"\"src_buff\": [{\"type\": \"i\", \"index\": 0, \"size\": 1}, ",
                  "\"src_buff\": [",
                  {":15", "ops[3] (rres) wants in src_buff 1 local, then"}},
        Malformed{"\"dst_buff\": [{\"type\": \"i\", \"index\": 0, \"size\": 1}, ",
                  "\"dst_buff\": [",
                  {":15", "ops[3] (rres) wants in dst_buff 1 local, then"}},
        Malformed{"\"src_buff\": [{\"type\": \"i\"",
                  "\"src_buff\": [{\"switch_channel_id\": 0, \"type\": \"i\"",
                  {":15", "src_buff[0] is multicast memory"}},
        Malformed{"\"size\": 1}", "\"size\": 0}", {":15", "src_buff[0].size is 0"}},
        Malformed{"\"gpus\"", "\"mycel\": {\"version\": 2}, \"gpus\"", {":5", "mycel.version is 2; it must be 1..1"}},
        Malformed{"\"gpus\"",
                  "\"mycel\": {\"version\": 1, \"planner\": \"\", \"topology\": \"\", \"topology_hash\": "
                  "\"0000000000000000\", \"routes\": [[1]]}, \"gpus\"",
                  {":5", "mycel.routes[0] has fewer than two nodes"}}));

TEST(MscclppJson, TextsThatAreNoFiles) {
  for (const std::string& text : {std::string("{\"gpus\""), std::string("{\"gpus\": []}"), std::string("{\"gpus\": 3}"),
                                  "{\"gpus\": " + std::string(100000, '[')}) {
    const StatusOr<LoadedPlan> loaded = Judge(text);
    ASSERT_FALSE(loaded.ok()) << text.substr(0, 40);
    EXPECT_THAT(StatusMessage(loaded.status()), HasSubstr("hand.json:"));
  }
  std::string many = "{\"gpus\": [], ";
  for (int i = 0; i < 1000; ++i) many += "\"k" + std::to_string(i) + "\": 0, ";
  EXPECT_THAT(StatusMessage(Judge(many + "\"z\": 0}").status()), HasSubstr("more keys than"));
}

TEST(MscclppJson, LimitsOfTheExecutorAreRespected) {
  SampleOptions options;
  options.ranks = 20;
  const StatusOr<std::string> text = WritePlanAs(OneShotAllReduce(options), PlanFormat::kMscclppJson);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(StatusMessage(text.status()), HasSubstr("channels for ops that depend on each other"));
  EXPECT_THAT(StatusMessage(WritePlanAs(ChainReduce(options), PlanFormat::kMscclppJson).status()),
              HasSubstr("do not say the root"));
}

TEST(PlanFile, FormatsAreToldByWhatIsInThem) {
  const Plan plan = RingAllGather({});
  for (const PlanFormat format : AllPlanFormats()) {
    const StatusOr<std::string> text = WritePlanAs(plan, format);
    ASSERT_TRUE(text.ok()) << text.status();
    for (const std::string& before : {std::string(), std::string(" \n\t"), std::string("\xef\xbb\xbf")}) {
      // Our own reader takes no byte order mark, as JSON forbids it.
      if (before.size() == 3 && format == PlanFormat::kMycel) continue;
      const StatusOr<LoadedPlan> loaded = JudgePlanText(before + *text, "plan.txt");
      ASSERT_TRUE(loaded.ok()) << NameOf(format) << " " << loaded.status();
      EXPECT_EQ(loaded->format, format);
      EXPECT_TRUE(loaded->verdict.ok()) << loaded->verdict;
    }
    EXPECT_EQ(*ParsePlanFormat(NameOf(format)), format);
  }
  EXPECT_FALSE(ParsePlanFormat("xml").ok());
  EXPECT_THAT(StatusMessage(JudgePlanText("hello", "plan.txt").status()), HasSubstr("plan.txt:1"));
  EXPECT_THAT(StatusMessage(JudgePlanText("", "plan.txt").status()), HasSubstr("plan.txt: the file is empty"));
  EXPECT_THAT(StatusMessage(JudgePlanFile("/no/such/file").status()), HasSubstr("cannot open"));
}

}  // namespace
}  // namespace mycel
