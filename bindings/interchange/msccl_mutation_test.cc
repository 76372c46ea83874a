// MSCCL files against an interpreter that knows nothing of traces and plans: it runs the blocks in random order on
// numbers, in and out of place. Files are changed in single steps; whatever runs wrong in some order must be refused,
// and whatever is accepted must run right in all orders tried.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/interchange/msccl_export.h"
#include "bindings/interchange/msccl_trace.h"
#include "bindings/interchange/msccl_xml.h"
#include "bindings/interchange/plan_file.h"
#include "core/base/rng.h"
#include "core/plan/contract.h"
#include "core/plan/sample_plans.h"

namespace mycel::msccl {
namespace {

size_t U(int64_t value) { return static_cast<size_t>(value); }

/// What a rank gives to a unit of a block: sums of these are equal only if their terms are.
uint64_t Datum(int32_t rank, int32_t block, int64_t unit) {
  uint64_t state =
      (static_cast<uint64_t>(rank) * 1000 + static_cast<uint64_t>(block)) * 100000 + static_cast<uint64_t>(unit);
  return SplitMix64(state);
}

class Runner {
 public:
  Runner(const Algorithm& algorithm, bool in_place, uint64_t seed)
      : algorithm_(algorithm),
        contract_{algorithm.collective, algorithm.rank_count(), Rank()},
        units_(ChunksPerBlock(algorithm.collective, algorithm.chunk_count, algorithm.rank_count())),
        in_place_(in_place),
        rng_(seed) {}

  /// Whether every rank ends with what the collective promises.
  bool Run() {
    Fill();
    std::vector<std::pair<int32_t, size_t>> open;
    for (int32_t rank = 0; rank < algorithm_.rank_count(); ++rank) {
      next_.emplace_back(algorithm_.gpus[U(rank)].blocks.size(), 0);
      for (size_t b = 0; b < next_.back().size(); ++b) open.emplace_back(rank, b);
    }
    int idle = 0;
    while (!open.empty()) {
      const auto pick = U(static_cast<int64_t>(rng_.Below(open.size())));
      const auto [rank, block] = open[pick];
      if (next_[U(rank)][block] == algorithm_.gpus[U(rank)].blocks[block].steps.size()) {
        open.erase(open.begin() + static_cast<ptrdiff_t>(pick));
        idle = 0;
        continue;
      }
      if (Step(rank, block)) {
        idle = 0;
      } else if (++idle > 200 * static_cast<int>(open.size())) {
        return false;  // nobody has moved for very long
      }
    }
    return Check();
  }

 private:
  using Message = std::vector<uint64_t>;
  std::deque<Message>& Fifo(int32_t from, int32_t to, int32_t channel) { return fifos_[{from, to, channel}]; }

  void Fill() {
    for (Rank rank : Ids<Rank>(algorithm_.rank_count())) {
      const auto input = static_cast<int64_t>(contract_.SendBlocks(rank).size()) * units_;
      const auto output = static_cast<int64_t>(contract_.RecvBlocks(rank).size()) * units_;
      const int64_t shift = contract_.InPlaceOffset(rank) * units_;
      input_at_.push_back(in_place_ && shift < 0 ? -shift : 0);
      output_at_.push_back(!in_place_ ? input : shift > 0 ? shift : 0);
      scratch_at_.push_back(input + output);
      std::vector<uint64_t>& memory = memory_.emplace_back();
      for (int64_t i = 0; i < input + output + algorithm_.gpus[rank.index()].scratch_chunks; ++i) {
        memory.push_back(rng_.Next());
      }
      int64_t at = input_at_.back();
      for (const int32_t block : contract_.SendBlocks(rank)) {
        for (int64_t unit = 0; unit < units_; ++unit) memory[U(at++)] = Datum(rank.value(), block, unit);
      }
    }
  }

  uint64_t& At(int32_t rank, const Place& place, int32_t chunk) {
    const int64_t first = place.buffer == Buffer::kInput    ? input_at_[U(rank)]
                          : place.buffer == Buffer::kOutput ? output_at_[U(rank)]
                                                            : scratch_at_[U(rank)];
    return memory_[U(rank)][U(first + place.offset + chunk)];
  }

  bool Step(int32_t rank, size_t block) {
    const Block& it = algorithm_.gpus[U(rank)].blocks[block];
    const msccl::Step& step = it.steps[next_[U(rank)][block]];
    const StepInfo& info = InfoOf(step.type);
    if (step.dep_block >= 0 && next_[U(rank)][U(step.dep_block)] <= U(step.dep_step)) return false;
    if (info.receives && Fifo(it.recv, rank, it.channel).empty()) return false;
    if (info.sends && Fifo(rank, it.send, it.channel).size() >= U(FifoSlotsOf(algorithm_.proto))) return false;
    Message in;
    if (info.receives) {
      in = Fifo(it.recv, rank, it.channel).front();
      Fifo(it.recv, rank, it.channel).pop_front();
      in.resize(U(step.count), rng_.Next());
    }
    Message out;
    for (int32_t chunk = 0; chunk < step.count; ++chunk) {
      uint64_t value = info.receives ? in[U(chunk)] : 0;
      if (info.reads) value += At(rank, step.source, chunk);
      if (info.reads_too) value += At(rank, step.target, chunk);
      if (info.writes) At(rank, step.target, chunk) = value;
      out.push_back(value);
    }
    if (info.sends) Fifo(rank, it.send, it.channel).push_back(out);
    ++next_[U(rank)][block];
    return true;
  }

  bool Check() {
    for (const auto& [key, fifo] : fifos_) {
      if (!fifo.empty()) return false;
    }
    for (Rank rank : Ids<Rank>(algorithm_.rank_count())) {
      int64_t at = output_at_[rank.index()];
      for (const int32_t block : contract_.RecvBlocks(rank)) {
        for (int64_t unit = 0; unit < units_; ++unit, ++at) {
          uint64_t sum = 0;
          for (const Rank from : contract_.Contributors(block)) sum += Datum(from.value(), block, unit);
          if (memory_[rank.index()][U(at)] != sum) return false;
        }
      }
    }
    return true;
  }

  const Algorithm& algorithm_;
  const Contract contract_;
  const int64_t units_;
  const bool in_place_;
  Rng rng_;
  std::vector<std::vector<size_t>> next_;
  std::vector<std::vector<uint64_t>> memory_;
  std::vector<int64_t> input_at_;
  std::vector<int64_t> output_at_;
  std::vector<int64_t> scratch_at_;
  std::map<std::tuple<int32_t, int32_t, int32_t>, std::deque<Message>> fifos_;
};

bool RunsRight(const Algorithm& algorithm, uint64_t seeds) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    if (algorithm.in_place && !Runner(algorithm, true, seed).Run()) return false;
    if (algorithm.out_of_place && !Runner(algorithm, false, seed).Run()) return false;
  }
  return true;
}

/// One random step away; false where this change changes nothing.
bool Mutate(Rng& rng, Algorithm* algorithm) {
  std::vector<Block>& blocks = algorithm->gpus[rng.Below(algorithm->gpus.size())].blocks;
  if (blocks.empty()) return false;
  Block& block = blocks[rng.Below(blocks.size())];
  if (block.steps.empty()) return false;
  const size_t at = rng.Below(block.steps.size());
  Step& step = block.steps[at];
  const StepInfo& info = InfoOf(step.type);
  switch (rng.Below(6)) {
    case 0:
      if (!info.reads) return false;
      step.source.offset += rng.OneIn(2) ? 1 : -1;
      return true;
    case 1:
      if (!info.writes) return false;
      step.target.offset += rng.OneIn(2) ? 1 : -1;
      return true;
    case 2:
      if (step.dep_block < 0) return false;
      step.dep_block = step.dep_step = -1;
      return true;
    case 3:
      if (at + 1 == block.steps.size()) return false;
      std::swap(step, block.steps[at + 1]);
      return true;
    case 4:
      if (step.type != StepType::kRecv && step.type != StepType::kRecvReduceCopy) return false;
      step.type = step.type == StepType::kRecv ? StepType::kRecvReduceCopy : StepType::kRecv;
      if (step.source.offset < 0) step.source = step.target;
      return true;
    default:
      if (!info.reads) return false;
      step.source.buffer = step.source.buffer == Buffer::kInput ? Buffer::kOutput : Buffer::kInput;
      return true;
  }
}

TEST(MscclMutation, AcceptedFilesRunRightAndWrongOnesAreRefused) {
  int accepted = 0;
  int caught_running = 0;
  int refused = 0;
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    Rng rng(seed);
    SampleOptions options;
    options.ranks = 2 + static_cast<int32_t>(rng.Below(4));
    options.lanes = 1 + static_cast<int32_t>(rng.Below(2));
    const Plan plans[] = {RingAllGather(options), RingReduceScatter(options), RingAllReduce(options),
                          OneShotAllReduce(options), TwoShotAllReduce(options)};
    const StatusOr<Algorithm> exported = ExportPlan(plans[seed % 5], AllLimits()[0]);
    ASSERT_TRUE(exported.ok()) << exported.status();
    Algorithm mutant = *exported;
    if (!Mutate(rng, &mutant)) continue;
    // Through the text, so that the reader has its say.
    const std::string text = WriteXml(mutant, AllLimits()[0]);
    const StatusOr<Algorithm> read = ReadXml(text, "mutant.xml");
    if (!read.ok()) continue;
    const StatusOr<LoadedPlan> loaded = JudgePlanText(text, "mutant.xml");
    ASSERT_TRUE(loaded.ok()) << "seed " << seed << ": " << loaded.status();
    const bool right = RunsRight(*read, 4);
    accepted += loaded->verdict.ok() ? 1 : 0;
    refused += loaded->verdict.ok() ? 0 : 1;
    caught_running += right ? 0 : 1;
    if (loaded->verdict.ok()) {
      EXPECT_TRUE(right) << "seed " << seed << " is accepted and runs wrong\n" << text;
    }
  }
  // A missing dependency is refused always and shows in few runs; most other changes show at once.
  EXPECT_GT(accepted, 20);
  EXPECT_GT(caught_running, 1000);
  EXPECT_GE(refused, caught_running);
  RecordProperty("accepted", accepted);
  RecordProperty("refused", refused);
  RecordProperty("caught_running", caught_running);
}

TEST(MscclMutation, ExportedFilesRunRightInEveryOrderTried) {
  for (int32_t ranks = 2; ranks <= 6; ++ranks) {
    SampleOptions options;
    options.ranks = ranks;
    options.lanes = 2;
    for (const SamplePlan& sample : AllSamplePlans(options)) {
      if (!sample.in_place || !Serves(sample.plan.collective)) continue;
      const StatusOr<Algorithm> exported = ExportPlan(sample.plan, AllLimits()[0]);
      ASSERT_TRUE(exported.ok()) << exported.status();
      EXPECT_TRUE(RunsRight(*exported, 10)) << sample.name;
    }
  }
}

}  // namespace
}  // namespace mycel::msccl
