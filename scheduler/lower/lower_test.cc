#include "scheduler/lower/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/plan/structure.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;
using Kind = Operand::Kind;

Topology FullMesh(int n) {
  StatusOr<Topology> topology = GalleryTopology("fullmesh-" + std::to_string(n));
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

Schedule Empty(Collective collective, int32_t n, int64_t units) {
  Schedule schedule;
  schedule.collective = collective;
  schedule.rank_count = n;
  schedule.units_per_block = units;
  schedule.planner = "test";
  return schedule;
}

TreeEdge Edge(int source, int target) { return {Rank(source), Rank(target), -1}; }

/// allreduce of n ranks by in-stars over the whole block.
Schedule OneShot(int32_t n) {
  Schedule schedule = Empty(Collective::kAllReduce, n, 1);
  for (int32_t r = 0; r < n; ++r) {
    Tree tree{{0, 0, 1}, Rank(r), 0, {}, {}};
    for (int32_t other = 0; other < n; ++other) {
      if (other != r) tree.up.push_back(Edge(other, r));
    }
    schedule.trees.push_back(tree);
  }
  return schedule;
}

/// allreduce of n ranks by a star per share.
Schedule TwoShot(int32_t n) {
  Schedule schedule = OneShot(n);
  schedule.units_per_block = n;
  for (int32_t r = 0; r < n; ++r) {
    Tree& tree = schedule.trees[static_cast<size_t>(r)];
    tree.chunk = {0, r, r + 1};
    for (const TreeEdge& edge : tree.up) tree.down.push_back({edge.target, edge.source, -1});
  }
  return schedule;
}

/// broadcast 0 -> 1 -> ... -> n - 1, one tree per unit.
Schedule Chain(int32_t n, int64_t units) {
  Schedule schedule = Empty(Collective::kBroadcast, n, units);
  schedule.root = Rank(0);
  for (int64_t unit = 0; unit < units; ++unit) {
    Tree tree{{0, unit, unit + 1}, Rank(0), 0, {}, {}};
    for (int32_t r = 0; r + 1 < n; ++r) tree.down.push_back(Edge(r, r + 1));
    schedule.trees.push_back(tree);
  }
  return schedule;
}

Plan Lowered(const Schedule& schedule, LowerOptions options = {}) {
  options.verify_each = true;
  StatusOr<Plan> plan = Lower(schedule, FullMesh(schedule.rank_count), options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : Plan();
}

const std::vector<Op>& OpsOf(const Plan& plan, int rank, size_t lane = 0) {
  return plan.ranks[static_cast<size_t>(rank)].lanes[lane].ops;
}

TEST(Lower, TwoShotJoinsReductionAndBroadcast) {
  const Plan plan = Lowered(TwoShot(3));
  const std::vector<Op>& ops = OpsOf(plan, 1);
  ASSERT_EQ(ops.size(), 5u);  // two shares sent, the own share reduced and spread, two shares received
  const Op& root = ops[2];
  EXPECT_EQ(root.chunk, (Chunk{0, 1, 2}));
  EXPECT_TRUE(root.finish);
  EXPECT_EQ(root.inputs, 3);
  EXPECT_EQ(root.outputs, 3);
  EXPECT_EQ(plan.OutputsOf(root)[0].kind, Kind::kRecv);
  EXPECT_EQ(root.skew, 1);
  EXPECT_EQ(ops[0].skew, 0);
  EXPECT_EQ(ops[4].skew, 2);
}

TEST(Lower, InputsAreOrderedByRankSoThatAllRootsGetTheSameBits) {
  const Plan plan = Lowered(OneShot(4));
  for (int r = 0; r < 4; ++r) {
    const Op& root = OpsOf(plan, r).back();
    ASSERT_EQ(root.inputs, 4);
    for (int i = 0; i < 4; ++i) {
      const Operand& input = plan.InputsOf(root)[i];
      if (i == r) {
        EXPECT_EQ(input.kind, Kind::kSend);
      } else {
        EXPECT_EQ(plan.channels[static_cast<size_t>(input.index)].source, Rank(i));
      }
    }
  }
}

TEST(Lower, ShareReadsOnceForAllPeers) {
  EXPECT_EQ(OpsOf(Lowered(OneShot(4)), 0).size(), 2u);
  LowerOptions options;
  options.disabled = {"share"};
  EXPECT_EQ(OpsOf(Lowered(OneShot(4), options), 0).size(), 4u);
}

TEST(Lower, MergeJoinsEqualTrees) {
  EXPECT_EQ(OpsOf(Lowered(Chain(3, 4)), 1).size(), 1u);
  LowerOptions options;
  options.disabled = {"merge"};
  EXPECT_EQ(OpsOf(Lowered(Chain(3, 4), options), 1).size(), 4u);
}

TEST(Lower, RotateStartsAtTheRightNeighbour) {
  const Plan plan = Lowered(TwoShot(4));
  for (int r = 0; r < 4; ++r) {
    const Op& first = OpsOf(plan, r).front();
    EXPECT_EQ(plan.channels[static_cast<size_t>(plan.OutputsOf(first)[0].index)].target, Rank((r + 1) % 4));
  }
}

TEST(Lower, LanesGetWholeTreesWhereThatIsEven) {
  LowerOptions options;
  options.lanes = 2;
  options.disabled = {"merge"};
  const Plan plan = Lowered(Chain(3, 2), options);
  EXPECT_EQ(plan.units_per_block, 2);
  for (size_t lane = 0; lane < 2; ++lane) {
    ASSERT_EQ(OpsOf(plan, 1, lane).size(), 1u);
    EXPECT_EQ(OpsOf(plan, 1, lane)[0].chunk.begin, static_cast<int64_t>(lane));
  }
}

TEST(Lower, LanesCutTreesNoFinerThanAPlanMayCount) {
  // One tree on five lanes: halves of 2^49 units still count as 2^50, quarters and fifths would not.
  for (const int64_t units : {kBlockUnitsMax / 2, kBlockUnitsMax}) {
    Schedule schedule = Chain(3, 1);
    schedule.units_per_block = units;
    schedule.trees[0].chunk.end = units;
    LowerOptions options;
    options.lanes = 5;
    const StatusOr<Plan> plan = Lower(schedule, FullMesh(3), options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->units_per_block, kBlockUnitsMax);
    EXPECT_TRUE(Verify(*plan).ok()) << Verify(*plan);
  }
  // 128 whole blocks: sums over the ends of a tree pass 64 bits, and the lanes come out even all the same.
  constexpr int32_t kRanks = 128;
  Schedule blocks = Empty(Collective::kAllGather, kRanks, kBlockUnitsMax);
  for (int32_t root = 0; root < kRanks; ++root) {
    Tree tree{{root, 0, kBlockUnitsMax}, Rank(root), 0, {}, {}};
    for (int32_t other = 0; other < kRanks; ++other) {
      if (other != root) tree.down.push_back(Edge(root, other));
    }
    blocks.trees.push_back(tree);
  }
  LowerOptions options;
  options.lanes = 2;
  const StatusOr<Plan> plan = Lower(blocks, FullMesh(kRanks), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  size_t ops[2] = {0, 0};
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    for (size_t lane = 0; lane < 2; ++lane) ops[lane] += OpsOf(*plan, rank, lane).size();
  }
  EXPECT_EQ(ops[0], ops[1]);

  Schedule finer = Chain(3, 1);
  finer.units_per_block = finer.trees[0].chunk.end = kBlockUnitsMax + 1;
  EXPECT_THAT(StatusMessage(Lower(finer, FullMesh(3), {}).status()),
              HasSubstr("cuts a block into 1125899906842625 units; a plan has at most 1125899906842624"));
}

TEST(Lower, LanesCutTreesThatMustStayTogether) {
  LowerOptions options;
  options.lanes = 3;
  const Plan plan = Lowered(OneShot(4), options);
  EXPECT_EQ(plan.units_per_block, 3);
  for (size_t lane = 0; lane < 3; ++lane) EXPECT_EQ(OpsOf(plan, 0, lane).size(), 2u);
}

TEST(Lower, SlotsFollowFromMessagesAndPhases) {
  LowerOptions options;
  options.slot_count = 1;
  options.pipelined = Pipelining::kOff;
  // Each channel of two-shot carries a message in phase 0 and one in phase 1: they must not wait for each other.
  EXPECT_EQ(Lowered(TwoShot(3), options).slot_count, 2);
  EXPECT_EQ(Lowered(OneShot(3), options).slot_count, 1);
  // With skew each iteration has its own slots.
  options.slot_count = 0;
  options.slice_bytes = options.channel_bytes;
  options.pipelined = Pipelining::kOn;
  const Plan skewed = Lowered(TwoShot(3), options);
  EXPECT_EQ(skewed.slot_count, 4);
  EXPECT_EQ(skewed.slice_bytes, options.channel_bytes / 4);
}

TEST(Lower, FallsBackToNoSkewWhenSlotsAreShort) {
  LowerOptions options;
  options.slot_count = 3;
  options.pipelined = Pipelining::kOn;
  const Plan plan = Lowered(TwoShot(3), options);
  for (const Op& op : OpsOf(plan, 0)) EXPECT_EQ(op.skew, 0);
  EXPECT_EQ(plan.slot_count, 3);
}

// A writer that would overtake a reader: rank 0's block to rank 1 waits for stage 1, but rank 1's block to rank 0
// lands, in place, on the same bytes. The writer is delayed.
TEST(Lower, InPlaceWritersFollowReaders) {
  Schedule schedule = Empty(Collective::kAllToAll, 2, 1);
  for (int i = 0; i < 2; ++i) schedule.trees.push_back({{i * 2 + i, 0, 1}, Rank(i), 0, {}, {}});
  schedule.trees.push_back({{1, 0, 1}, Rank(0), 1, {}, {Edge(0, 1)}});
  schedule.trees.push_back({{2, 0, 1}, Rank(1), 0, {}, {Edge(1, 0)}});
  const Plan plan = Lowered(schedule);
  const std::vector<Op>& ops = OpsOf(plan, 0);
  const auto sends = std::find_if(ops.begin(), ops.end(), [&](const Op& op) { return op.chunk.block == 1; });
  const auto receives = std::find_if(ops.begin(), ops.end(), [&](const Op& op) { return op.chunk.block == 2; });
  ASSERT_TRUE(sends != ops.end() && receives != ops.end());
  EXPECT_LT(sends, receives);
}

// Two trees whose chunks overlap without being equal: the roots of a hand-made "one and a half shot".
TEST(Lower, AlignCutsOverlappingChunks) {
  Schedule schedule = OneShot(2);
  schedule.units_per_block = 2;
  const Tree whole = schedule.trees[1];
  schedule.trees[0].chunk = {0, 0, 2};
  schedule.trees[1].chunk = {0, 0, 1};
  schedule.trees.push_back(whole);
  schedule.trees[2].chunk = {0, 1, 2};
  LowerOptions options;
  options.disabled = {"merge"};
  const Plan plan = Lowered(schedule, options);
  for (const Op& op : OpsOf(plan, 0)) EXPECT_EQ(op.chunk.units(), 1);
}

TEST(Lower, DirectMessagesOfRelaysGetScratch) {
  Schedule schedule = Empty(Collective::kReduce, 3, 1);
  schedule.root = Rank(0);
  schedule.trees.push_back({{0, 0, 1}, Rank(0), 0, {Edge(2, 1), Edge(1, 0)}, {}});
  LowerOptions options;
  options.protocol = Protocol::kDirect;
  const Plan plan = Lowered(schedule, options);
  EXPECT_EQ(plan.ranks[1].scratch.size(), 1u);
  EXPECT_TRUE(plan.ranks[2].scratch.empty());
}

TEST(Lower, DirectIsRefusedWhereTreesOverwriteEachOther) {
  EXPECT_FALSE(AllowsDirect(OneShot(3)));
  EXPECT_TRUE(AllowsDirect(TwoShot(3)));
  EXPECT_TRUE(AllowsDirect(Chain(3, 2)));
}

TEST(Lower, EveryOptionalPassMayBeLeftOut) {
  for (const PassInfo& pass : LoweringPasses()) {
    if (!pass.optional || pass.name == "align") continue;  // chunks that overlap need "align"
    for (const Schedule& schedule : {OneShot(4), TwoShot(4), Chain(4, 3)}) {
      LowerOptions options;
      options.lanes = 2;
      options.disabled = {std::string(pass.name)};
      const Plan plan = Lowered(schedule, options);
      EXPECT_TRUE(Verify(plan).ok()) << pass.name;
    }
  }
}

double g_clock = 0;

TEST(Lower, TimesPassesByTheGivenClock) {
  std::vector<PassTime> times;
  LowerOptions options;
  options.clock_us = [] { return g_clock += 1; };
  options.times = &times;
  Lowered(TwoShot(3), options);
  ASSERT_EQ(times.size(), LoweringPasses().size());
  EXPECT_EQ(times.front().pass, "merge");
  EXPECT_DOUBLE_EQ(times.front().us, 1);
}

TEST(Lower, RefusesWrongOptionsAndSchedules) {
  const auto refusal = [](const Schedule& schedule, const LowerOptions& options) {
    return StatusMessage(Lower(schedule, FullMesh(3), options).status());
  };
  LowerOptions options;
  options.disabled = {"polish"};
  EXPECT_THAT(refusal(TwoShot(3), options), HasSubstr("no optional pass 'polish'; use one of: merge"));
  options.disabled = {"ops"};
  EXPECT_THAT(refusal(TwoShot(3), options), HasSubstr("no optional pass 'ops'"));
  options = {};
  options.lanes = 0;
  EXPECT_THAT(refusal(TwoShot(3), options), HasSubstr("lanes = 0"));
  options = {};
  options.slot_count = 65;
  EXPECT_THAT(refusal(TwoShot(3), options), HasSubstr("slot_count = 65"));
  EXPECT_THAT(refusal(TwoShot(4), {}), HasSubstr("has 4 ranks, topology 'fullmesh-3' has 3"));

  Schedule schedule = TwoShot(3);
  schedule.trees[1].chunk.end = 4;
  EXPECT_THAT(refusal(schedule, {}), HasSubstr("chunk [1, 4) of block 0 does not exist"));
  schedule = Chain(3, 1);
  std::swap(schedule.trees[0].down[0], schedule.trees[0].down[1]);
  EXPECT_THAT(refusal(schedule, {}), HasSubstr("down edge 1->2 is out of order"));
  schedule = Chain(3, 1);
  schedule.trees[0].root = Rank(2);
  schedule.trees[0].down = {Edge(2, 1)};
  EXPECT_THAT(refusal(schedule, {}), HasSubstr("has nothing to send"));
}

}  // namespace
}  // namespace mycel
