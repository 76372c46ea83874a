#include <gtest/gtest.h>

#include <set>

#include "core/plan/plan.h"
#include "core/plan/sample_plans.h"
#include "core/plan/schedule.h"

namespace mycel {
namespace {

TEST(PlanText, Golden) {
  SampleOptions options;
  options.ranks = 2;
  options.root = Rank(1);
  Plan plan = ChainReduce(options);
  plan.topology = "ring2";
  plan.topology_hash = 0xabc;
  plan.routes = {{NodeId(0), NodeId(2), NodeId(1)}};
  plan.operands[1].route = 0;
  plan.ranks[1].scratch.push_back({{0, 0, 1}});
  plan.ranks[1].lanes[0].ops[0].wait_count = 1;
  plan.waits.push_back({LaneId(0), 0});
  EXPECT_EQ(ToText(plan),
            "plan reduce, 2 ranks, root 1, units 1\n"
            "planner sample/chain\n"
            "topology ring2 0000000000000abc\n"
            "protocol slot, 4 slots of 256 bytes\n"
            "route 0: 0 2 1\n"
            "channel 0: 0 > 1 index 0\n"
            "rank 0\n"
            "  lane 0\n"
            "    0. block 0 [0,1) skew 0: send -> channel 0 route 0\n"
            "rank 1\n"
            "  scratch 0: block 0 [0,1)\n"
            "  lane 0\n"
            "    0. block 0 [0,1) skew 0: send + channel 0 -> recv finish after 0.0\n");
}

TEST(ScheduleText, Golden) {
  Schedule schedule;
  schedule.collective = Collective::kAllReduce;
  schedule.rank_count = 3;
  schedule.units_per_block = 6;
  schedule.planner = "hand";
  schedule.routes = {{NodeId(0), NodeId(3), NodeId(1)}};
  schedule.trees.push_back({{0, 0, 4}, Rank(1), 0, {{Rank(0), Rank(1), 0}}, {{Rank(1), Rank(2), -1}}});
  schedule.trees.push_back({{0, 4, 6}, Rank(2), 1, {}, {{Rank(2), Rank(0), -1}, {Rank(2), Rank(1), -1}}});
  EXPECT_EQ(ToText(schedule),
            "schedule allreduce, 3 ranks, units 6\n"
            "planner hand\n"
            "route 0: 0 3 1\n"
            "tree 0: block 0 [0,4) root 1 stage 0 up 0>1/0 down 1>2\n"
            "tree 1: block 0 [4,6) root 2 stage 1 down 2>0 2>1\n");
}

/// Calls `with` once for each fact of a plan changed.
template <typename With>
void ForEachChange(const Plan& plan, const With& with) {
  const auto change = [&](const auto& edit) {
    Plan changed = plan;
    edit(changed);
    with(changed);
  };
  change([](Plan& p) { p.collective = Collective::kReduceScatter; });
  change([](Plan& p) { p.rank_count = 7; });
  change([](Plan& p) { p.root = Rank(1); });
  change([](Plan& p) { p.units_per_block = 99; });
  change([](Plan& p) { p.block_units = {1}; });
  change([](Plan& p) { p.protocol = Protocol::kDirect; });
  change([](Plan& p) { p.slice_bytes *= 2; });
  change([](Plan& p) { p.slot_count += 1; });
  change([](Plan& p) { p.channels[0].target = Rank(3); });
  change([](Plan& p) { p.channels[0].index = 5; });
  change([](Plan& p) { p.channels.pop_back(); });
  change([](Plan& p) { p.ranks[0].scratch.push_back({{0, 0, 1}}); });
  change([](Plan& p) { p.ranks[1].lanes.emplace_back(); });
  change([](Plan& p) { p.ranks[1].lanes[0].ops.pop_back(); });
  change([](Plan& p) { p.ranks[1].lanes[0].ops[2].chunk.block = 1; });
  change([](Plan& p) { p.ranks[1].lanes[0].ops[2].chunk.begin += 1; });
  change([](Plan& p) { p.ranks[1].lanes[0].ops[2].chunk.end += 1; });
  change([](Plan& p) { p.ranks[1].lanes[0].ops[2].skew += 1; });
  change([](Plan& p) { p.ranks[1].lanes[0].ops[2].finish = true; });
  change([](Plan& p) { p.operands[0].kind = Operand::Kind::kRecv; });
  change([](Plan& p) { p.operands[0].index = 4; });
  change([](Plan& p) { std::swap(p.ranks[0], p.ranks[1]); });
  change([](Plan& p) {
    p.waits.push_back({LaneId(0), 0});
    p.ranks[1].lanes[0].ops[2].wait_count = 1;
  });
}

TEST(PlanHash, EveryFactThatRanksActOnCounts) {
  const Plan plan = RingAllGather(SampleOptions());
  std::set<uint64_t> hashes = {HashOf(plan)};
  size_t changes = 0;
  ForEachChange(plan, [&](const Plan& changed) {
    ++changes;
    hashes.insert(HashOf(changed));
  });
  EXPECT_EQ(hashes.size(), changes + 1);
}

TEST(PlanHash, NamesRoutesAndStorageDoNotCount) {
  const Plan plan = RingAllGather(SampleOptions());
  Plan same = plan;
  same.planner = "other";
  same.topology = "elsewhere";
  same.topology_hash = 1;
  same.routes.push_back({NodeId(0), NodeId(1)});
  // The same operands, stored somewhere else.
  Op& op = same.ranks[0].lanes[0].ops[0];
  const int32_t moved = static_cast<int32_t>(same.operands.size());
  for (int32_t i = 0; i < op.inputs + op.outputs; ++i) {
    same.operands.push_back(same.operands[static_cast<size_t>(op.operands + i)]);
  }
  op.operands = moved;
  EXPECT_EQ(HashOf(same), HashOf(plan));
}

}  // namespace
}  // namespace mycel
