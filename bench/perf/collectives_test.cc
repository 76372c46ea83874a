// nccl-tests' rules for counts and bandwidth factors, for every program.
#include "bench/perf/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mycel::perf {
namespace {

constexpr size_t kFloatChunk = 4;  // 16 bytes

const std::vector<const Collective*>& All() {
  static const std::vector<const Collective*> all = {&AllReduce(), &AllGather(), &ReduceScatter(), &Broadcast(),
                                                     &Reduce(),    &AllToAll(),  &AllToAllV(),     &Gather(),
                                                     &Scatter(),   &SendRecv()};
  return all;
}

TEST(Collectives, WholeBuffersAreNotRounded) {
  for (const Collective* c : {&AllReduce(), &Broadcast(), &Reduce(), &SendRecv()}) {
    const Counts counts = c->counts(1001, 3, kFloatChunk);
    EXPECT_EQ(counts.send, 1001u) << c->program;
    EXPECT_EQ(counts.recv, 1001u) << c->program;
    EXPECT_EQ(counts.argument, 1001u) << c->program;
  }
}

TEST(Collectives, BlocksAreRoundedDownToSixteenBytes) {
  // 1001 floats over 3 ranks: 333, of which 332 are whole groups of 16 bytes.
  for (const Collective* c : {&AllGather(), &ReduceScatter(), &AllToAll(), &AllToAllV(), &Gather(), &Scatter()}) {
    const Counts counts = c->counts(1001, 3, kFloatChunk);
    EXPECT_EQ(counts.argument, 332u) << c->program;
    EXPECT_EQ(std::max(counts.send, counts.recv), 996u) << c->program;
    EXPECT_EQ(c->counts(8, 4, kFloatChunk).argument, 0u) << c->program;  // 8 floats: less than 16 bytes per rank
    EXPECT_EQ(c->counts(1001, 3, 16).argument, 320u) << c->program;      // bytes
    EXPECT_EQ(c->counts(1001, 3, 2).argument, 332u) << c->program;       // doubles
  }
}

TEST(Collectives, InPlaceOffsets) {
  EXPECT_EQ(AllGather().counts(64, 4, kFloatChunk).send_in_place, 16u);
  EXPECT_EQ(AllGather().counts(64, 4, kFloatChunk).recv_in_place, 0u);
  EXPECT_EQ(ReduceScatter().counts(64, 4, kFloatChunk).recv_in_place, 16u);
  EXPECT_EQ(Gather().counts(64, 4, kFloatChunk).send_in_place, 16u);
  EXPECT_EQ(Scatter().counts(64, 4, kFloatChunk).recv_in_place, 16u);
  EXPECT_EQ(AllReduce().counts(64, 4, kFloatChunk).recv_in_place, 0u);
}

TEST(Collectives, BandwidthFactors) {
  EXPECT_DOUBLE_EQ(AllReduce().busbw_factor(4), 1.5);
  for (const Collective* c : {&AllGather(), &ReduceScatter(), &AllToAll(), &AllToAllV(), &Gather(), &Scatter()}) {
    EXPECT_DOUBLE_EQ(c->busbw_factor(4), 0.75) << c->program;
    EXPECT_DOUBLE_EQ(c->busbw_factor(1), 0) << c->program;
  }
  for (const Collective* c : {&Broadcast(), &Reduce(), &SendRecv()}) {
    EXPECT_DOUBLE_EQ(c->busbw_factor(4), 1) << c->program;
  }
}

TEST(Collectives, EveryElementOfAResultIsExpectedOnce) {
  for (const Collective* c : All()) {
    for (int rank = 0; rank < 4; ++rank) {
      PairCounts pairs = Demand::ForRank(std::vector<size_t>(16, 5), 4, static_cast<size_t>(rank));
      const Counts counts = c->takes_demand ? Counts{20, 20, 5} : c->counts(64, 4, kFloatChunk);
      const Call call = {.count = counts.argument, .root = 2, .rank = rank, .ranks = 4, .pairs = &pairs};
      size_t next = 0;
      for (const Segment& s : c->expected(call)) {
        EXPECT_EQ(s.at, next) << c->program;
        next += s.count;
      }
      EXPECT_EQ(next, counts.recv) << c->program << " rank " << rank;
    }
  }
}

TEST(Collectives, WorkOfOneRankIsItsOwnCopy) {
  for (const Collective* c : All()) {
    const Work work = c->work(1, /*in_place=*/false);
    EXPECT_DOUBLE_EQ(work.copied, 1) << c->program;
    EXPECT_DOUBLE_EQ(work.reduced, 0) << c->program;
  }
  // Two ranks, all_reduce: half in, half reduced, half out.
  EXPECT_DOUBLE_EQ(AllReduce().work(2, false).copied, 1);
  EXPECT_DOUBLE_EQ(AllReduce().work(2, false).reduced, 0.5);
}

}  // namespace
}  // namespace mycel::perf
