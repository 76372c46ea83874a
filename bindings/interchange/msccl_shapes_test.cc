// MSCCL files of the shapes that vendors ship, written here in small: many rings on channels of their own, all pairs
// with reducing blocks that nops hold back, alltoalls cut over channels; every protocol, size window and calling mode.
// Each is read, proved, run, and written again for both runtimes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bindings/interchange/msccl_text_testing.h"
#include "bindings/interchange/plan_file.h"
#include "core/plan/run_check.h"

namespace mycel {
namespace {

using msccl_text::Algo;
using msccl_text::Block;
using msccl_text::Gpu;
using msccl_text::Step;

/// A vendor's file is for a range of sizes and one way of calling.
struct Shape {
  std::string proto;
  std::string min_bytes, max_bytes;
  bool in_place = true;
};

const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {
      {"LL", "0", "12288", true},          {"LL", "0", "65536", false},     {"LL128", "12289", "393216", true},
      {"LL128", "65537", "524288", false}, {"Simple", "524289", "0", true}, {"Simple", "393217", "11534336", false}};
  return shapes;
}

std::string Wrap(const std::string& collective, int ranks, int chunks, int channels, const Shape& shape,
                 const std::string& gpus) {
  return Algo(collective, ranks, chunks, channels, shape.in_place, !shape.in_place, gpus, shape.proto, shape.min_bytes,
              shape.max_bytes);
}

/// `rings` rings over `n` ranks, ring k with strides of its own, one thread block and channel each; chunk k * n + j
/// goes round ring k: s, n - 2 times rrs, rrcs, n - 2 times rcs, r. Out of place a block copies nothing: sums go to the
/// output.
std::string Rings(int n, int rings, const Shape& shape) {
  const std::string target = shape.in_place ? "i" : "o";
  std::string gpus;
  for (int r = 0; r < n; ++r) {
    std::string blocks;
    for (int k = 0; k < rings; ++k) {
      const int stride = k % 2 == 0 ? 1 : n - 1;  // both directions
      const int next = (r + stride) % n, before = (r + n - stride) % n;
      const int place = stride == 1 ? r : (n - r) % n;  // on the ring
      const auto chunk = [&](int back) { return k * n + (place - back + 2 * n) % n; };
      std::string steps = Step(0, "s", "i", chunk(0), "i", chunk(0));
      int s = 1;
      for (int back = 1; back < n - 1; ++back, ++s) steps += Step(s, "rrs", "i", chunk(back), "i", chunk(back));
      steps += Step(s++, "rrcs", "i", chunk(n - 1), target, chunk(n - 1));
      for (int back = 0; back < n - 2; ++back, ++s) steps += Step(s, "rcs", "i", chunk(back), target, chunk(back));
      steps += Step(s, "r", "i", chunk(n - 2), target, chunk(n - 2));
      blocks += Block(k, next, before, k, steps);
    }
    gpus += Gpu(r, rings * n, shape.in_place ? 0 : rings * n, 0, blocks);
  }
  return Wrap("allreduce", n, rings * n, rings, shape, gpus);
}

/// All pairs in two shots over `channels` channels: a rank owns `channels` chunks; on channel c its c-th travels.
/// Blocks send a part and take one; a block of its own adds the parts up, behind nops; the first blocks send the sum
/// on.
std::string AllPairs(int n, int channels, const Shape& shape) {
  const std::string target = shape.in_place ? "i" : "o";
  std::string gpus;
  for (int r = 0; r < n; ++r) {
    std::string blocks;
    const int senders = channels * (n - 1);
    for (int c = 0; c < channels; ++c) {
      for (int p = 0, k = 0; p < n; ++p) {
        if (p == r) continue;
        const int block = c * (n - 1) + k++;
        const int last = shape.in_place ? 2 * n - 4 : 2 * n - 3;  // of the adding block
        blocks += Block(block, p, p, c,
                        Step(0, "s", "i", p * channels + c, "s", 0, 1) +
                            Step(1, "r", "i", 0, "s", c * n + p, 1, -1, -1, true) +
                            Step(2, "s", target, r * channels + c, target, 0, 1, senders + c, last) +
                            Step(3, "r", "i", 0, target, p * channels + c));
      }
    }
    for (int c = 0; c < channels; ++c) {
      std::string steps;
      int s = 0;
      if (!shape.in_place) steps += Step(s++, "cpy", "i", r * channels + c, "o", r * channels + c);
      for (int k = 0; k < n - 2; ++k) steps += Step(s++, "nop", "i", -1, "o", -1, 0, c * (n - 1) + k, 1);
      for (int p = 0, k = 0; p < n; ++p) {
        if (p == r) continue;
        const bool first = k++ == 0;
        steps += Step(s++, "re", "s", c * n + p, target, r * channels + c, 1, first ? c * (n - 1) + n - 2 : -1,
                      first ? 1 : -1, k == n - 1);
      }
      blocks += Block(senders + c, -1, -1, c, steps);
    }
    gpus += Gpu(r, n * channels, shape.in_place ? 0 : n * channels, n * channels, blocks);
  }
  return Wrap("allreduce", n, n * channels, channels, shape, gpus);
}

/// Alltoall whose blocks are cut over `channels` channels and into `count` chunks a message.
std::string AllToAll(int n, int channels, int count, const Shape& shape) {
  const int each = channels * count;
  std::string gpus;
  for (int r = 0; r < n; ++r) {
    std::string blocks = Block(0, -1, -1, 0, Step(0, "cpy", "i", r * each, "o", r * each, each));
    int block = 1;
    for (int c = 0; c < channels; ++c) {
      for (int p = 0; p < n; ++p) {
        if (p == r) continue;
        blocks += Block(block++, -1, p, c, Step(0, "r", "i", 0, "o", p * each + c * count, count));
        blocks += Block(block++, p, -1, c, Step(0, "s", "i", p * each + c * count, "o", 0, count));
      }
    }
    gpus += Gpu(r, n * each, n * each, 0, blocks);
  }
  return Wrap("alltoall", n, n * each, channels, shape, gpus);
}

void ExpectRuns(Plan plan) {
  plan.slice_bytes = 64;
  for (const bool in_place : {false, true}) {
    InterpretRequest request;
    request.type = DataType::kInt32;
    request.count = 97;
    request.in_place = in_place;
    request.seed = 3;
    const Status met = CheckByRunning(plan, request);
    EXPECT_TRUE(met.ok()) << (in_place ? "in place: " : "") << met;
  }
}

/// Read, proved, run; then written for `runtime` and the same again.
void ExpectLives(const std::string& text) {
  const StatusOr<LoadedPlan> loaded = JudgePlanText(text, "vendor.xml");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_TRUE(loaded->verdict.ok()) << loaded->verdict;
  ExpectRuns(loaded->plan);
  for (const char* runtime : {"rccl", "msccl"}) {
    SCOPED_TRACE(runtime);
    const StatusOr<std::string> again = WritePlanAs(loaded->plan, PlanFormat::kMscclXml, runtime);
    ASSERT_TRUE(again.ok()) << again.status();
    const StatusOr<LoadedPlan> back = JudgePlanText(*again, "back.xml");
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_TRUE(back->verdict.ok()) << back->verdict;
    ExpectRuns(back->plan);
  }
}

TEST(MscclShapes, ManyRings) {
  for (const Shape& shape : Shapes()) {
    SCOPED_TRACE(shape.proto + (shape.in_place ? " in place" : " out of place"));
    ExpectLives(Rings(4, 4, shape));
  }
  ExpectLives(Rings(8, 6, {"LL128", "12289", "393216", true}));
}

TEST(MscclShapes, AllPairsOverChannels) {
  for (const Shape& shape : Shapes()) {
    SCOPED_TRACE(shape.proto + (shape.in_place ? " in place" : " out of place"));
    ExpectLives(AllPairs(4, 2, shape));
  }
}

TEST(MscclShapes, AllToAllsOverChannels) {
  for (const Shape& shape : Shapes()) {
    if (shape.in_place) continue;
    SCOPED_TRACE(shape.proto);
    ExpectLives(AllToAll(4, 1, 1, shape));
    ExpectLives(AllToAll(4, 2, 3, shape));
  }
}

// A vendor's file must not pass when one of its chunks is swapped, whatever its shape.
TEST(MscclShapes, OneWrongChunkShows) {
  for (const std::string& text :
       {Rings(4, 4, Shapes()[2]), AllPairs(4, 2, Shapes()[0]), AllToAll(4, 2, 3, Shapes()[1])}) {
    const size_t at = text.find("srcoff=\"", text.find("type=\"s\""));
    const size_t end = text.find('"', at + 8);
    std::string wrong = text;
    wrong.replace(at + 8, end - at - 8, text.substr(at + 8, end - at - 8) == "1" ? "2" : "1");
    const StatusOr<LoadedPlan> loaded = JudgePlanText(wrong, "vendor.xml");
    EXPECT_TRUE(!loaded.ok() || !loaded->verdict.ok()) << wrong.substr(at > 200 ? at - 200 : 0, 400);
  }
}

}  // namespace
}  // namespace mycel
