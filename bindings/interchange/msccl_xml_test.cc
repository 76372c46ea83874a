// MSCCL files written by hand: what they mean, what is wrong with them, and how that is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "bindings/interchange/msccl_export.h"
#include "bindings/interchange/msccl_text_testing.h"
#include "bindings/interchange/msccl_xml.h"
#include "bindings/interchange/plan_file.h"
#include "core/plan/run_check.h"
#include "core/plan/sample_plans.h"

namespace mycel {
namespace {

using msccl_text::Algo;
using msccl_text::Block;
using msccl_text::Gpu;
using msccl_text::Step;
using testing::HasSubstr;

/// Allgather of two ranks: each copies its own chunk and exchanges it.
constexpr char kAllGather[] = R"(<algo name="pair" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" )"
                              R"(coll="allgather" inplace="0" outofplace="1" minBytes="0" maxBytes="0">
  <gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="2" s_chunks="0">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
)";

/// Ring allreduce in place: o_chunks is 0, everything happens in the input buffer.
std::string RingAllReduceInPlace(int n) {
  std::string gpus;
  for (int r = 0; r < n; ++r) {
    std::string steps = Step(0, "s", "i", r, "i", r);
    int s = 1;
    for (int k = 1; k < n; ++k, ++s) {
      const int chunk = (r - k + n) % n;
      steps += Step(s, k < n - 1 ? "rrs" : "rrcs", "i", chunk, "i", chunk);
    }
    for (int k = 0; k < n - 1; ++k, ++s) {
      const int chunk = (r - k + n) % n;
      steps += Step(s, k < n - 2 ? "rcs" : "r", "i", chunk, "i", chunk);
    }
    gpus += Gpu(r, n, 0, 0, Block(0, (r + 1) % n, (r + n - 1) % n, 0, steps));
  }
  return Algo("allreduce", n, n, 1, true, false, gpus);
}

/// All-pairs allreduce, two shots, in place: every chunk is gathered in scratch at its owner, reduced there by a block
/// of its own that nops hold back until all parts are in, and sent round.
std::string AllPairsAllReduce(int n) {
  std::string gpus;
  for (int r = 0; r < n; ++r) {
    std::string blocks;
    std::string sum;
    int sum_steps = 0;
    int block = 0;
    const int owner_block = n - 1;
    for (int p = 0; p < n; ++p) {
      if (p == r) continue;
      // Send chunk p to its owner, take my chunk's part, then send my finished chunk and take theirs.
      blocks +=
          Block(block, p, p, 0,
                Step(0, "s", "i", p, "s", 0, 1, -1, -1, true) + Step(1, "r", "i", r, "s", p, 1, -1, -1, true) +
                    Step(2, "s", "i", r, "i", r, 1, owner_block, 2 * n - 4, false) + Step(3, "r", "i", p, "i", p));
      ++block;
    }
    for (int k = 0; k < n - 2; ++k, ++sum_steps) sum += Step(sum_steps, "nop", "i", -1, "o", -1, 0, k, 1);
    for (int p = 0, k = 0; p < n; ++p) {
      if (p == r) continue;
      const bool last = ++k == n - 1;
      sum += k == 1 ? Step(sum_steps, "re", "s", p, "i", r, 1, n - 2, 1, last)
                    : Step(sum_steps, "re", "s", p, "i", r, 1, -1, -1, last);
      ++sum_steps;
    }
    gpus += Gpu(r, n, 0, n, blocks + Block(block, -1, -1, 0, sum));
  }
  return Algo("allreduce", n, n, 1, true, false, gpus);
}

/// Alltoall out of place, every message in blocks of its own and no dependencies: fits no call in place as it stands.
std::string AllToAll(int n) {
  std::string gpus;
  for (int r = 0; r < n; ++r) {
    std::string blocks = Block(0, -1, -1, 0, Step(0, "cpy", "i", r, "o", r));
    int block = 1;
    for (int p = 0; p < n; ++p) {
      if (p == r) continue;
      blocks += Block(block++, -1, p, 0, Step(0, "r", "i", r, "o", p));
      blocks += Block(block++, p, -1, 0, Step(0, "s", "i", p, "o", r));
    }
    gpus += Gpu(r, n, n, 0, blocks);
  }
  return Algo("alltoall", n, n, 1, false, true, gpus);
}

/// In place the own chunk is where it belongs, and is never copied.
std::string RingAllGatherInPlace(int n) {
  std::string gpus;
  for (int r = 0; r < n; ++r) {
    std::string steps = Step(0, "s", "o", r, "o", r);
    for (int k = 1; k < n; ++k) {
      const int chunk = (r - k + n) % n;
      steps += Step(k, k < n - 1 ? "rcs" : "r", "o", chunk, "o", chunk);
    }
    gpus += Gpu(r, 1, n, 0, Block(0, (r + 1) % n, (r + n - 1) % n, 0, steps));
  }
  return Algo("allgather", n, n, 1, true, false, gpus);
}

/// Everyone sends the others their chunks and adds what comes to its own, which is input and output at once.
std::string DirectReduceScatterInPlace(int n) {
  std::string gpus;
  for (int r = 0; r < n; ++r) {
    std::string blocks;
    for (int k = 1; k < n; ++k) {
      const int p = (r + k) % n;
      const int from = (r + n - k) % n;
      blocks += Block(k - 1, p, from, 0,
                      Step(0, "s", "i", p, "o", 0) +
                          Step(1, "rrc", "i", r, "o", 0, 1, k > 1 ? k - 2 : -1, k > 1 ? 1 : -1, k < n - 1));
    }
    gpus += Gpu(r, n, 1, 0, blocks);
  }
  return Algo("reduce_scatter", n, n, 1, true, false, gpus);
}

StatusOr<LoadedPlan> Judge(const std::string& text) { return JudgePlanText(text, "hand.xml"); }

void ExpectRight(const std::string& text) {
  StatusOr<LoadedPlan> loaded = Judge(text);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_TRUE(loaded->verdict.ok()) << loaded->verdict;
  EXPECT_EQ(loaded->format, PlanFormat::kMscclXml);
  loaded->plan.slice_bytes = 64;
  for (const bool in_place : {false, true}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      InterpretRequest request;
      request.count = 97;
      request.in_place = in_place;
      request.seed = seed;
      const Status met = CheckByRunning(loaded->plan, request);
      EXPECT_TRUE(met.ok()) << (in_place ? "in place: " : "") << met;
    }
  }
}

/// The file is well formed, and the answer is no.
void ExpectWrong(const std::string& text, const std::vector<std::string>& said) {
  const StatusOr<LoadedPlan> loaded = Judge(text);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_FALSE(loaded->verdict.ok());
  for (const std::string& part : said) EXPECT_THAT(StatusMessage(loaded->verdict), HasSubstr(part));
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(MscclXml, HandWrittenFilesAreRight) {
  ExpectRight(kAllGather);
  for (const int n : {2, 3, 4, 7}) {
    SCOPED_TRACE(n);
    ExpectRight(RingAllReduceInPlace(n));
    ExpectRight(RingAllGatherInPlace(n));
    ExpectRight(DirectReduceScatterInPlace(n));
    ExpectRight(AllToAll(n));
  }
  for (const int n : {3, 4, 6}) {
    SCOPED_TRACE(n);
    ExpectRight(AllPairsAllReduce(n));
  }
}

TEST(MscclXml, BothSpellingsOfReduceScatter) {
  for (const char* name : {"reduce_scatter", "reducescatter"}) {
    std::string gpus;
    for (int r = 0; r < 2; ++r) {
      gpus += Gpu(r, 2, 1, 0,
                  Block(0, 1 - r, 1 - r, 0, Step(0, "s", "i", 1 - r, "i", 1 - r) + Step(1, "rrc", "i", r, "o", 0)));
    }
    ExpectRight(Algo(name, 2, 2, 1, false, true, gpus));
  }
}

// A plan's scratch cells belong to one chunk each; a file's scratch may hold one chunk after another.
TEST(MscclXml, ScratchUsedForSeveralChunks) {
  std::string gpus;
  // Rank 0 relays both of rank 1's chunks to rank 2 through the same place, one after the other.
  const std::string relay = Step(0, "r", "i", 0, "s", 0, 1, -1, -1, true) + Step(1, "r", "i", 1, "s", 0, 1, 1, 0, true);
  const std::string onward = Step(0, "s", "s", 0, "o", 2, 1, 0, 0, true) + Step(1, "s", "s", 0, "o", 3, 1, 0, 1);
  gpus += Gpu(
      0, 2, 6, 1,
      Block(0, -1, 1, 0, relay) + Block(1, 2, -1, 0, onward) +
          Block(2, 1, 2, 1,
                Step(0, "s", "i", 0, "o", 0, 2) + Step(1, "r", "i", 0, "o", 4, 2) + Step(2, "cpy", "i", 0, "o", 0, 2)) +
          Block(3, 2, 1, 1, Step(0, "s", "i", 0, "o", 0, 2) + Step(1, "r", "i", 0, "o", 2, 2)));
  gpus += Gpu(
      1, 2, 6, 0,
      Block(0, 0, -1, 0, Step(0, "s", "i", 0, "s", 0) + Step(1, "s", "i", 1, "s", 0)) +
          Block(1, 0, 0, 1,
                Step(0, "s", "i", 0, "o", 2, 2) + Step(1, "r", "i", 0, "o", 0, 2) + Step(2, "cpy", "i", 0, "o", 2, 2)) +
          Block(2, -1, 2, 1, Step(0, "r", "i", 0, "o", 4, 2)));
  gpus += Gpu(
      2, 2, 6, 0,
      Block(0, -1, 0, 0, Step(0, "r", "s", 0, "o", 2) + Step(1, "r", "s", 0, "o", 3)) +
          Block(1, 0, 0, 1,
                Step(0, "s", "i", 0, "o", 4, 2) + Step(1, "r", "i", 0, "o", 0, 2) + Step(2, "cpy", "i", 0, "o", 4, 2)) +
          Block(2, 1, -1, 1, Step(0, "s", "i", 0, "o", 4, 2)));
  const std::string text = Algo("allgather", 3, 6, 2, false, true, gpus);
  ExpectRight(text);
  const StatusOr<LoadedPlan> loaded = Judge(text);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->plan.ranks[0].scratch.size(), 2U);
  // Without the dependency the second message may overwrite the first before it is passed on.
  ExpectWrong(Replaced(text, "dstoff=\"0\" cnt=\"1\" depid=\"1\" deps=\"0\"",
                       "dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\""),
              {"hand.xml:5", "gpu 0 tb 0 step 1 (r)", "writes block 1 chunk 1 over block 1 chunk 0", "s[0]"});
}

TEST(MscclXml, WellFormedButWrong) {
  const std::string ring = RingAllReduceInPlace(4);
  struct Row {
    std::string text;
    std::vector<std::string> said;
  };
  const std::vector<Row> rows = {
      // The wrong chunk arrives.
      {Replaced(kAllGather, "dstbuf=\"o\" dstoff=\"1\" cnt", "dstbuf=\"o\" dstoff=\"0\" cnt"), {"hand.xml"}},
      // A contribution twice.
      {Replaced(ring, "type=\"rrs\" srcbuf=\"i\" srcoff=\"3\"", "type=\"rrs\" srcbuf=\"i\" srcoff=\"2\""),
       {"gpu 0 tb 0 step 1 (rrs)", "adds block 0 chunk"}},
      // Both wait for the other's message.
      {Algo("allreduce", 2, 1, 1, false, true,
            Gpu(0, 1, 1, 0, Block(0, 1, 1, 0, Step(0, "rrc", "i", 0, "o", 0) + Step(1, "s", "i", 0, "o", 0))) +
                Gpu(1, 1, 1, 0, Block(0, 0, 0, 0, Step(0, "rrc", "i", 0, "o", 0) + Step(1, "s", "i", 0, "o", 0)))),
       {"hand.xml:4", "deadlock: gpu 0 tb 0 step 0 waits for a message from gpu 1 on chan 0",
        "gpu 1 tb 0 step 0 waits for a message from gpu 0"}},
      // Nobody is there to send.
      {Algo("allreduce", 2, 1, 1, false, true,
            Gpu(0, 1, 1, 0, Block(0, -1, 1, 0, Step(0, "rrc", "i", 0, "o", 0))) +
                Gpu(1, 1, 1, 0, Block(0, -1, 0, 0, Step(0, "rrc", "i", 0, "o", 0)))),
       {"deadlock", "waits for a message from gpu 1 on chan 0, where no block sends to it"}},
      // A message too many: sent, never received.
      {Replaced(kAllGather, "type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"1\"",
                "type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"1\""),
       {"hand.xml:13", "gpu 1 sends 1 messages to gpu 0 on chan 0, which receives 0"}},
      // Counts that do not meet.
      {Algo("allreduce", 2, 2, 1, false, true,
            Gpu(0, 2, 2, 0, Block(0, 1, 1, 0, Step(0, "s", "i", 0, "o", 0, 2) + Step(1, "rrc", "i", 0, "o", 0, 2))) +
                Gpu(1, 2, 2, 0,
                    Block(0, 0, 0, 0,
                          Step(0, "s", "i", 0, "o", 0, 2) + Step(1, "rrc", "i", 0, "o", 0, 1) +
                              Step(2, "rrc", "i", 1, "o", 1, 1)))),
       {"gpu 1 tb 0 step 1 (rrc)", "receives cnt=\"1\"", "sent at line 4 has 2"}},
      // Reads what nothing wrote.
      {Replaced(kAllGather, "type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\"",
                "type=\"s\" srcbuf=\"o\" srcoff=\"1\" dstbuf=\"o\" dstoff=\"0\""),
       {"hand.xml:4", "gpu 0 tb 0 step 0 (s)", "reads what nothing has written", "o[1]"}},
      // Reduces in a collective that does not.
      {Replaced(kAllGather, "type=\"r\" srcbuf", "type=\"rrc\" srcbuf"), {"allgather reduces nothing"}},
      // A block that waits for itself.
      {Replaced(kAllGather, "cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"",
                "cnt=\"1\" depid=\"0\" deps=\"0\" hasdep=\"1\""),
       {"deadlock", "gpu 0 tb 0 step 0 waits for step 0 of tb 0"}},
      // Nothing at all.
      {Algo("allreduce", 2, 2, 1, false, true, Gpu(0, 2, 2, 0, "") + Gpu(1, 2, 2, 0, "")), {"rank 0 ends without"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.said[0] + "\n" + row.text);
    ExpectWrong(row.text, row.said);
  }
}

// Three messages before the other side takes one: the runtime's connections hold two.
TEST(MscclXml, ConnectionsHoldTwoMessages) {
  const auto exchange = [](int messages, const std::string& proto) {
    std::string gpus;
    for (int r = 0; r < 2; ++r) {
      std::string steps;
      for (int k = 0; k < messages; ++k) steps += Step(k, "s", "i", k, "o", k);
      for (int k = 0; k < messages; ++k) steps += Step(messages + k, "rrc", "i", k, "o", k);
      gpus += Gpu(r, messages, messages, 0, Block(0, 1 - r, 1 - r, 0, steps));
    }
    return Replaced(Algo("allreduce", 2, messages, 1, false, true, gpus), "Simple", proto);
  };
  ExpectRight(exchange(2, "Simple"));
  ExpectWrong(exchange(3, "Simple"), {"deadlock", "waits for gpu 1 to take one of 2 messages on chan 0"});
  ExpectRight(exchange(8, "LL"));
  ExpectWrong(exchange(9, "LL"), {"deadlock", "one of 8 messages"});
}

// Drop any dependency of a file that needs them, and it must be refused.
TEST(MscclXml, EveryMissingDependencyShows) {
  const std::string text = AllPairsAllReduce(4);
  const std::string marker = " depid=\"";
  int dropped = 0;
  for (size_t at = text.find(marker); at != std::string::npos; at = text.find(marker, at + 1)) {
    const size_t end = text.find(" hasdep", at);
    if (text.substr(at, end - at) == " depid=\"-1\" deps=\"-1\"") continue;
    std::string without = text;
    without.replace(at, end - at, " depid=\"-1\" deps=\"-1\"");
    const StatusOr<LoadedPlan> loaded = Judge(without);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_FALSE(loaded->verdict.ok()) << without.substr(at - 120, 200);
    ++dropped;
  }
  EXPECT_EQ(dropped, 4 * 6);
}

struct Malformed {
  std::string from;
  std::string to;
  std::vector<std::string> said;
};

void PrintTo(const Malformed& row, std::ostream* out) { *out << row.from << " -> " << row.to; }

class MalformedXml : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedXml, IsRefusedWithItsPlace) {
  const Malformed& row = GetParam();
  const StatusOr<LoadedPlan> loaded = Judge(Replaced(kAllGather, row.from, row.to));
  ASSERT_FALSE(loaded.ok());
  const std::string message = StatusMessage(loaded.status());
  for (const std::string& part : row.said) EXPECT_THAT(message, HasSubstr(part));
  EXPECT_THAT(message, HasSubstr("hand.xml:"));
}

constexpr char kFirstStep[] =
    R"(<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>)";
constexpr char kFirstTb[] = R"(<tb id="0" send="1" recv="1" chan="0">)";
constexpr char kFirstGpu[] = R"(<gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0">)";
constexpr char kOfStep[] = "<step> of gpu 0 tb 0: attribute ";

INSTANTIATE_TEST_SUITE_P(
    Rows, MalformedXml,
    testing::Values(
        // <algo>
        Malformed{"<algo", "<algorithm", {":20", "not well-formed XML", "mismatch"}},
        Malformed{"</algo>", "", {":20", "not well-formed XML", "mend"}},
        Malformed{"</algo>", "</algo><algo/>", {":20", "a second top element"}},
        Malformed{" name=\"pair\"", "", {":1", "<algo>: attribute name is missing"}},
        Malformed{" proto=\"Simple\"", " proto=\"simple\"", {":1", "<algo>: attribute proto is 'simple'", "LL128"}},
        Malformed{" proto=\"Simple\"", "", {":1", "attribute proto is missing"}},
        Malformed{"nchannels=\"1\"", "nchannels=\"0\"", {":1", "attribute nchannels is 0; it must be 1..255"}},
        Malformed{"nchannels=\"1\"", "nchannels=\"one\"", {":1", "attribute nchannels is 'one'; write a whole number"}},
        Malformed{"nchannels=\"1\"", "nchannels=\"1 \"", {":1", "attribute nchannels is '1 '"}},
        Malformed{"nchunksperloop=\"2\"", "nchunksperloop=\"3\"", {":1", "attribute nchunksperloop is 3", "2 gpus"}},
        Malformed{"nchunksperloop=\"2\"", "nchunksperloop=\"99999999999999999999\"", {":1", "nchunksperloop", "whole"}},
        Malformed{"ngpus=\"2\"", "ngpus=\"0\"", {":1", "attribute ngpus is 0"}},
        Malformed{"ngpus=\"2\"", "ngpus=\"1\"", {":3", "<tb> of gpu 0: attribute send is 1; it must be -1..0"}},
        Malformed{"nchunksperloop=\"2\" ngpus=\"2\"",
                  "nchunksperloop=\"3\" ngpus=\"3\"",
                  {":1", "attribute ngpus is 3", "no <gpu id=\"2\">"}},
        Malformed{"coll=\"allgather\"", "coll=\"algather\"", {":1", "attribute coll is 'algather'", "allgather"}},
        Malformed{"coll=\"allgather\"", "coll=\"custom\"", {":1", "coll is 'custom'", "no contract"}},
        Malformed{"coll=\"allgather\"", "coll=\"broadcast\"", {":1", "coll is 'broadcast'", "root"}},
        Malformed{"coll=\"allgather\"", "coll=\"alltoallv\"", {":1", "coll is 'alltoallv'"}},
        Malformed{"inplace=\"0\"", "inplace=\"2\"", {":1", "attribute inplace is 2; it must be 0..1"}},
        Malformed{"outofplace=\"1\"", "outofplace=\"0\"", {":1", "attribute outofplace is 0 and so is inplace"}},
        Malformed{"minBytes=\"0\"", "minBytes=\"-1\"", {":1", "attribute minBytes is -1"}},
        Malformed{"minBytes=\"0\"", "minbytes=\"0\"", {":1", "attribute minbytes is unknown", "minBytes"}},
        Malformed{"<algo name=\"pair\"", "<algo name=\"pair\" name=\"pair\"", {":1", "attribute name is given twice"}},
        Malformed{kFirstGpu, std::string("<cpu/>") + kFirstGpu, {":2", "<algo>: element <cpu> is unknown", "gpu"}},
        Malformed{kFirstGpu, std::string("text") + kFirstGpu, {":1", "<algo>: holds text"}},
        // <gpu>
        Malformed{"<gpu id=\"1\"", "<gpu id=\"0\"", {":11", "<gpu>: attribute id is 0 a second time"}},
        Malformed{"<gpu id=\"1\"", "<gpu", {":11", "<gpu>: attribute id is missing"}},
        Malformed{"i_chunks=\"1\"", "i_chunks=\"2\"", {":2", "<gpu> of gpu 0: attribute i_chunks is 2", "0..1"}},
        Malformed{"o_chunks=\"2\"", "o_chunks=\"3\"", {":2", "<gpu> of gpu 0: attribute o_chunks is 3", "0..2"}},
        Malformed{"s_chunks=\"0\"", "s_chunks=\"9999999\"", {":2", "attribute s_chunks is 9999999"}},
        Malformed{"s_chunks=\"0\"", "s_chunk=\"0\"", {":2", "attribute s_chunk is unknown; did you mean s_chunks?"}},
        Malformed{kFirstTb, std::string("<bt/>") + kFirstTb, {":3", "<gpu> of gpu 0: element <bt> is unknown"}},
        // <tb>
        Malformed{kFirstTb, R"(<tb id="2" send="1" recv="1" chan="0">)", {":3", "<tb> of gpu 0: attribute id is 2"}},
        Malformed{kFirstTb, R"(<tb id="1" send="1" recv="1" chan="0">)", {":7", "<tb> of gpu 0: attribute id is 1 a"}},
        Malformed{kFirstTb, R"(<tb id="0" send="2" recv="1" chan="0">)", {":3", "<tb> of gpu 0: attribute send is 2"}},
        Malformed{kFirstTb,
                  R"(<tb id="0" send="0" recv="1" chan="0">)",
                  {":3", "<tb> of gpu 0: attribute send is the gpu itself"}},
        Malformed{kFirstTb,
                  R"(<tb id="0" send="1" recv="0" chan="0">)",
                  {":3", "<tb> of gpu 0: attribute recv is the gpu itself"}},
        Malformed{
            kFirstTb, R"(<tb id="0" send="1" recv="1" chan="1">)", {":3", "attribute chan is 1; it must be 0..0"}},
        Malformed{kFirstTb, R"(<tb id="0" send="1" recv="1">)", {":3", "attribute chan is missing"}},
        Malformed{kFirstTb, R"(<tb id="0" send="1" recv="1" chan="0" rcv="1">)", {":3", "attribute rcv is unknown"}},
        Malformed{"<tb id=\"1\" send=\"-1\"",
                  "<tb id=\"1\" send=\"1\"",
                  {":7", "<tb> of gpu 0: attribute send is 1 on chan 0, which another block"}},
        Malformed{kFirstTb,
                  R"(<tb id="0" send="-1" recv="1" chan="0">)",
                  {":4", kOfStep, "type is 's', but the block has send=\"-1\""}},
        Malformed{kFirstTb,
                  R"(<tb id="0" send="1" recv="-1" chan="0">)",
                  {":5", kOfStep, "type is 'r', but the block has recv=\"-1\""}},
        // <step>
        Malformed{kFirstStep, "<stop/>", {":4", "<tb> of gpu 0 tb 0: element <stop> is unknown; did you mean step?"}},
        Malformed{"s=\"0\" type=\"s\"", "s=\"1\" type=\"s\"", {":4", kOfStep, "s is 1; it must be 0..0"}},
        Malformed{
            "type=\"s\"", "type=\"S\"", {":4", kOfStep, "type is 'S'; use one of: s r cpy re rcs rrc rrs rrcs nop"}},
        Malformed{"type=\"s\"", "", {":4", kOfStep, "type is missing"}},
        Malformed{"srcbuf=\"i\"", "srcbuf=\"x\"", {":4", kOfStep, "srcbuf is 'x'; use one of: i o s"}},
        Malformed{"srcoff=\"0\"", "srcoff=\"1\"", {":4", kOfStep, "srcoff is 1 and cnt is 1", "i_chunks=\"1\""}},
        Malformed{"srcoff=\"0\"", "srcoff=\"-1\"", {":4", kOfStep, "srcoff is -1; it must be 0.."}},
        Malformed{"type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"1\"",
                  "type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"2\"",
                  {":5", kOfStep, "dstoff is 2", "o_chunks=\"2\""}},
        Malformed{"type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\"",
                  "type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"s\"",
                  {":5", kOfStep, "dstoff is 1", "s_chunks=\"0\""}},
        Malformed{"cnt=\"1\"", "cnt=\"0\"", {":4", kOfStep, "cnt is 0; it must be 1..71"}},
        Malformed{"cnt=\"1\"", "cnt=\"72\"", {":4", kOfStep, "cnt is 72; it must be 1..71"}},
        Malformed{"cnt=\"1\"", "cnt=\"2\"", {":4", kOfStep, "srcoff is 0 and cnt is 2"}},
        Malformed{"depid=\"-1\"", "depid=\"1\"", {":4", kOfStep, "deps is -1 while depid is 1; set both"}},
        Malformed{"depid=\"-1\" deps=\"-1\"",
                  "depid=\"7\" deps=\"0\"",
                  {":4", "<step> 0 of gpu 0 tb 0: attribute depid is 7", "2 blocks"}},
        Malformed{"depid=\"-1\" deps=\"-1\"",
                  "depid=\"1\" deps=\"5\"",
                  {":4", "<step> 0 of gpu 0 tb 0: attribute deps is 5", "tb 1 has 1 steps"}},
        Malformed{"depid=\"-1\" deps=\"-1\"",
                  "depid=\"1\" deps=\"0\"",
                  {":4", "<step> 0 of gpu 0 tb 0: attribute deps waits for tb 1 step 0", "hasdep=\"0\""}},
        Malformed{"hasdep=\"0\"", "hasdep=\"yes\"", {":4", kOfStep, "hasdep is 'yes'"}},
        Malformed{"hasdep=\"0\"", "", {":4", kOfStep, "hasdep is missing"}},
        Malformed{"hasdep=\"0\"", "hasdep=\"0\" mycel_route=\"0\"", {":4", kOfStep, "mycel_route names a route"}},
        Malformed{"hasdep=\"0\"/>", "hasdep=\"0\"><x/></step>", {":4", "<step> of gpu 0 tb 0: holds <x>"}},
        Malformed{"hasdep=\"0\"/>", "hasdep=\"0\">7</step>", {":4", "<step> of gpu 0 tb 0: holds text"}},
        // <mycel>
        Malformed{kFirstGpu, std::string("<mycel/>") + kFirstGpu, {":2", "<mycel>: attribute version is missing"}},
        Malformed{
            kFirstGpu,
            std::string(R"(<mycel version="2" planner="" topology="" topology_hash="0000000000000000"/>)") + kFirstGpu,
            {":2", "<mycel>: attribute version is 2; it must be 1..1"}},
        Malformed{kFirstGpu,
                  std::string(R"(<mycel version="1" planner="" topology="" topology_hash="12"/>)") + kFirstGpu,
                  {":2", "<mycel>: attribute topology_hash is '12'; write 16 hexadecimal digits"}},
        Malformed{kFirstGpu,
                  std::string(R"(<mycel version="1" planner="" topology="" topology_hash="0000000000000000">)") +
                      R"(<route id="0" nodes="3"/></mycel>)" + kFirstGpu,
                  {":2", "<route>: attribute nodes is '3'; write two or more"}},
        Malformed{kFirstGpu,
                  std::string(R"(<mycel version="1" planner="" topology="" topology_hash="0000000000000000">)") +
                      R"(<route id="1" nodes="3 4"/></mycel>)" + kFirstGpu,
                  {":2", "<route>: attribute id is 1"}}));

TEST(MscclXml, TextsThatAreNoFiles) {
  for (const std::string& text : {std::string("<"), std::string("<a"), std::string("<!DOCTYPE algo><algo/>"),
                                  std::string("<?xml version=\"1.0\"?>"), std::string("<!-- nothing -->"),
                                  std::string("<algo>\0</algo>", 14), std::string(100000, '<')}) {
    const StatusOr<LoadedPlan> loaded = Judge(text);
    ASSERT_FALSE(loaded.ok()) << text.substr(0, 40);
    EXPECT_EQ(loaded.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(StatusMessage(loaded.status()), HasSubstr("hand.xml"));
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<gpu>";
  EXPECT_FALSE(Judge("<algo>" + deep).ok());
}

TEST(MscclXml, LimitsOfTheRuntimesAreRespected) {
  SampleOptions options;
  options.ranks = 12;
  options.lanes = 40;
  StatusOr<std::string> text = WritePlanAs(RingAllGather(options), PlanFormat::kMscclXml);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(StatusMessage(text.status()), HasSubstr("channels: 40, of at most 32; plan with fewer lanes"));
  options.lanes = 4;
  options.ranks = 16;
  const Plan direct = DirectAllToAll(options);
  EXPECT_TRUE(WritePlanAs(direct, PlanFormat::kMscclXml, "msccl").ok());
  text = WritePlanAs(direct, PlanFormat::kMscclXml, "rccl");
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(StatusMessage(text.status()), HasSubstr("as rccl file gpu 0 needs thread blocks"));
  options.ranks = 2;
  const StatusOr<std::string> spelled = WritePlanAs(RingReduceScatter(options), PlanFormat::kMscclXml, "rccl");
  ASSERT_TRUE(spelled.ok()) << spelled.status();
  EXPECT_THAT(*spelled, HasSubstr("coll=\"reducescatter\""));
  EXPECT_THAT(StatusMessage(WritePlanAs(ChainBroadcast(options), PlanFormat::kMscclXml).status()),
              HasSubstr("MSCCL files do not say the root"));
}

// Chunks wider than a step may move are cut, equally on both sides.
TEST(MscclXml, WideChunks) {
  SampleOptions options;
  options.ranks = 3;
  Plan plan = RingAllReduce(options);
  // One odd border keeps the units from being divided out.
  plan.units_per_block *= 211;
  const auto stretch = [](Chunk& chunk) {
    chunk.begin *= 211;
    chunk.end *= 211;
  };
  for (RankPlan& rank : plan.ranks) {
    for (Lane& lane : rank.lanes) {
      for (Op& op : lane.ops) stretch(op.chunk);
    }
  }
  const auto move_border = [&](int64_t from, int64_t to) {
    for (RankPlan& rank : plan.ranks) {
      for (Op& op : rank.lanes[0].ops) {
        if (op.chunk.begin == from) op.chunk.begin = to;
        if (op.chunk.end == from) op.chunk.end = to;
      }
    }
  };
  move_border(211, 210);
  const StatusOr<std::string> text = WritePlanAs(plan, PlanFormat::kMscclXml);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("nchunksperloop=\"633\""));
  EXPECT_THAT(*text, HasSubstr("cnt=\"71\""));
  ExpectRight(*text);
}

}  // namespace
}  // namespace mycel
