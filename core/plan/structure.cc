#include "core/plan/structure.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "core/plan/contract.h"

namespace mycel {
namespace {

constexpr size_t kInt32Max = std::numeric_limits<int32_t>::max();

/// Walks a plan once; every check returns the first thing that is wrong.
class StructureChecker {
 public:
  explicit StructureChecker(const Plan& plan)
      : plan_(plan), contract_{plan.collective, plan.rank_count, plan.root}, info_(InfoOf(plan.collective)) {}

  Status Run() {
    MYCEL_RETURN_IF_ERROR(CheckHead());
    block_count_ = contract_.BlockCount();
    MYCEL_RETURN_IF_ERROR(CheckUnits());
    MYCEL_RETURN_IF_ERROR(CheckRoutes());
    MYCEL_RETURN_IF_ERROR(CheckChannels());
    for (rank_ = Rank(0); rank_.index() < plan_.ranks.size(); rank_ = Rank(rank_.value() + 1)) {
      MYCEL_RETURN_IF_ERROR(CheckRank(plan_.ranks[rank_.index()]));
    }
    return OkStatus();
  }

 private:
  Status CheckHead() const;
  Status CheckUnits() const;
  Status CheckRoutes() const;
  Status CheckChannels() const;
  Status CheckDistinctRings() const;
  Status CheckRank(const RankPlan& rank);
  /// What is wrong with the chunk; empty when nothing is.
  std::string ProblemOf(const Chunk& chunk) const;
  Status CheckOp(const RankPlan& rank, const Op& op) const;
  Status CheckWaits(const RankPlan& rank, const Op& op) const;
  Status CheckOperand(const RankPlan& rank, const Op& op, const Operand& operand, bool is_output) const;
  Status CheckRepeats(const Op& op) const;
  Status CheckDirect(const Op& op) const;

  /// InvalidArgument about the op at hand.
  Status Wrong(const std::string& problem) const { return InvalidArgument(Here() + ": " + problem); }
  std::string Here() const { return DescribeOp(rank_, LaneId(lane_), op_); }

  const Plan& plan_;
  const Contract contract_;
  const CollectiveInfo& info_;
  int32_t block_count_ = 0;
  Rank rank_;
  int32_t lane_ = 0;
  int32_t op_ = 0;
};

Status StructureChecker::CheckHead() const {
  const int64_t n = plan_.rank_count;
  if (n < 1 || n > kRankCountMax) {
    return InvalidArgument("plan: rank_count is " + std::to_string(n) + "; it must be 1.." +
                           std::to_string(kRankCountMax));
  }
  if (plan_.ranks.size() != static_cast<size_t>(n)) {
    return InvalidArgument("plan: " + std::to_string(plan_.ranks.size()) + " ranks have ops, rank_count is " +
                           std::to_string(n) + "; give one entry per rank");
  }
  if (info_.rooted && (!plan_.root.valid() || plan_.root.value() >= n)) {
    return InvalidArgument("plan: root is " + std::to_string(plan_.root.value()) + "; " + std::string(info_.name) +
                           " needs a root in 0.." + std::to_string(n - 1));
  }
  if (!info_.rooted && plan_.root.valid()) {
    return InvalidArgument("plan: root is given, but " + std::string(info_.name) + " has none; leave it out (-1)");
  }
  if (plan_.protocol > Protocol::kDirect) return InvalidArgument("plan: unknown protocol number");
  if (plan_.slice_bytes < 64 || plan_.slice_bytes > kSliceBytesMax || plan_.slice_bytes % 64 != 0) {
    return InvalidArgument("plan: slice_bytes is " + std::to_string(plan_.slice_bytes) +
                           "; it must be a multiple of 64, at most " + std::to_string(kSliceBytesMax));
  }
  if (plan_.slot_count < 1 || plan_.slot_count > kSlotCountMax) {
    return InvalidArgument("plan: slot_count is " + std::to_string(plan_.slot_count) + "; it must be 1.." +
                           std::to_string(kSlotCountMax));
  }
  return OkStatus();
}

Status StructureChecker::CheckUnits() const {
  if (plan_.units_per_block < 1 || plan_.units_per_block > kBlockUnitsMax) {
    return InvalidArgument("plan: units_per_block is " + std::to_string(plan_.units_per_block) + "; it must be 1.." +
                           std::to_string(kBlockUnitsMax));
  }
  if (!IsVariable(plan_.collective)) {
    if (plan_.block_units.empty()) return OkStatus();
    return InvalidArgument("plan: block_units is given, but the blocks of " + std::string(info_.name) +
                           " are equal; leave it out");
  }
  if (plan_.block_units.size() != static_cast<size_t>(block_count_)) {
    return InvalidArgument("plan: block_units has " + std::to_string(plan_.block_units.size()) + " entries; " +
                           std::string(info_.name) + " has " + std::to_string(block_count_) + " blocks");
  }
  for (size_t block = 0; block < plan_.block_units.size(); ++block) {
    const int64_t units = plan_.block_units[block];
    if (units < 0 || units > kBlockUnitsMax) {
      return InvalidArgument("plan: block_units[" + std::to_string(block) + "] is " + std::to_string(units) +
                             "; it must be 0.." + std::to_string(kBlockUnitsMax));
    }
  }
  return OkStatus();
}

Status StructureChecker::CheckRoutes() const {
  for (size_t i = 0; i < plan_.routes.size(); ++i) {
    const Route& route = plan_.routes[i];
    const bool valid = std::all_of(route.begin(), route.end(), [](NodeId node) { return node.valid(); });
    if (route.size() < 2 || !valid) {
      return InvalidArgument("route " + std::to_string(i) + ": a route lists the nodes from source to target, both " +
                             "included, none negative");
    }
  }
  return OkStatus();
}

Status StructureChecker::CheckChannels() const {
  if (plan_.channels.size() > kInt32Max) return InvalidArgument("plan: too many channels");
  const auto name = [](size_t i) { return "channel " + std::to_string(i); };
  for (size_t i = 0; i < plan_.channels.size(); ++i) {
    const Channel& channel = plan_.channels[i];
    for (Rank end : {channel.source, channel.target}) {
      if (!end.valid() || end.value() >= plan_.rank_count) {
        return InvalidArgument(name(i) + ": there is no rank " + std::to_string(end.value()) + " among " +
                               std::to_string(plan_.rank_count));
      }
    }
    if (channel.source == channel.target) {
      return InvalidArgument(name(i) + ": rank " + std::to_string(channel.source.value()) +
                             " sends to itself; copy in memory instead");
    }
    if (channel.index < 0) {
      return InvalidArgument(name(i) + ": index " + std::to_string(channel.index) + " is negative");
    }
  }
  return CheckDistinctRings();
}

Status StructureChecker::CheckDistinctRings() const {
  using Ends = std::tuple<int32_t, int32_t, int32_t, int32_t>;  // source, target, index, channel
  // By source first, in linear time: what is left to sort are the few channels of one rank.
  std::vector<size_t> next(static_cast<size_t>(plan_.rank_count) + 1, 0);
  for (const Channel& channel : plan_.channels) ++next[channel.source.index() + 1];
  for (size_t rank = 1; rank < next.size(); ++rank) next[rank] += next[rank - 1];
  std::vector<Ends> seen(plan_.channels.size());
  for (size_t i = 0; i < plan_.channels.size(); ++i) {
    const Channel& channel = plan_.channels[i];
    seen[next[channel.source.index()]++] = {channel.source.value(), channel.target.value(), channel.index,
                                            static_cast<int32_t>(i)};
  }
  size_t first = 0;
  for (Rank rank : Ids<Rank>(plan_.rank_count)) {  // `next` now says where each rank's channels end
    const size_t last = next[rank.index()];
    std::sort(seen.begin() + static_cast<int64_t>(first), seen.begin() + static_cast<int64_t>(last));
    first = last;
  }
  for (size_t i = 1; i < seen.size(); ++i) {
    const auto& [source, target, index, id] = seen[i];
    if (std::tie(source, target, index) !=
        std::tie(std::get<0>(seen[i - 1]), std::get<1>(seen[i - 1]), std::get<2>(seen[i - 1]))) {
      continue;
    }
    return InvalidArgument(DescribeChannel(plan_, ChannelId(id)) + " is the same ring as channel " +
                           std::to_string(std::get<3>(seen[i - 1])) + "; give one of them another index");
  }
  return OkStatus();
}

Status StructureChecker::CheckRank(const RankPlan& rank) {
  for (size_t cell = 0; cell < rank.scratch.size(); ++cell) {
    const std::string problem = ProblemOf(rank.scratch[cell].chunk);
    if (problem.empty()) continue;
    return InvalidArgument("rank " + std::to_string(rank_.value()) + " scratch " + std::to_string(cell) + ": " +
                           problem);
  }
  for (lane_ = 0; static_cast<size_t>(lane_) < rank.lanes.size(); ++lane_) {
    const std::vector<Op>& ops = rank.lanes[static_cast<size_t>(lane_)].ops;
    for (op_ = 0; static_cast<size_t>(op_) < ops.size(); ++op_) {
      MYCEL_RETURN_IF_ERROR(CheckOp(rank, ops[static_cast<size_t>(op_)]));
    }
  }
  return OkStatus();
}

std::string StructureChecker::ProblemOf(const Chunk& chunk) const {
  if (chunk.block < 0 || chunk.block >= block_count_) {
    return "there is no block " + std::to_string(chunk.block) + "; " + std::string(info_.name) + " has " +
           std::to_string(block_count_);
  }
  if (chunk.begin < 0 || chunk.begin >= chunk.end || chunk.end > plan_.UnitsOf(chunk.block)) {
    return DescribeChunk(chunk) + " is empty or not inside the block's " + std::to_string(plan_.UnitsOf(chunk.block)) +
           " units";
  }
  return "";
}

Status StructureChecker::CheckOp(const RankPlan& rank, const Op& op) const {
  if (op.inputs < 1 || op.inputs > kOpOperandsMax || op.outputs < 1 || op.outputs > kOpOperandsMax) {
    return Wrong(std::to_string(op.inputs) + " inputs and " + std::to_string(op.outputs) + " outputs; an op has 1.." +
                 std::to_string(kOpOperandsMax) + " of each");
  }
  if (op.operands < 0 ||
      static_cast<int64_t>(op.operands) + op.inputs + op.outputs > static_cast<int64_t>(plan_.operands.size())) {
    return Wrong("its operands lie outside the plan's list");
  }
  const std::string problem = ProblemOf(op.chunk);
  if (!problem.empty()) return Wrong(problem);
  if (op.skew < 0 || op.skew > kSkewMax) {
    return Wrong("skew " + std::to_string(op.skew) + "; it must be 0.." + std::to_string(kSkewMax));
  }
  if (!info_.reduces && op.inputs > 1) {
    return Wrong("several inputs, but " + std::string(info_.name) + " reduces nothing; give it one input");
  }
  if (!info_.reduces && op.finish) return Wrong("finish, but " + std::string(info_.name) + " reduces nothing");
  MYCEL_RETURN_IF_ERROR(CheckWaits(rank, op));
  for (int32_t i = 0; i < op.inputs + op.outputs; ++i) {
    const Operand& operand = plan_.operands[static_cast<size_t>(op.operands + i)];
    MYCEL_RETURN_IF_ERROR(CheckOperand(rank, op, operand, i >= op.inputs));
  }
  MYCEL_RETURN_IF_ERROR(CheckRepeats(op));
  return plan_.protocol == Protocol::kDirect ? CheckDirect(op) : OkStatus();
}

Status StructureChecker::CheckWaits(const RankPlan& rank, const Op& op) const {
  if (op.wait_count == 0) return OkStatus();
  if (op.wait_count < 0 || op.wait_count > kOpWaitsMax || op.waits < 0 ||
      static_cast<int64_t>(op.waits) + op.wait_count > static_cast<int64_t>(plan_.waits.size())) {
    return Wrong("its waits lie outside the plan's list, or are more than " + std::to_string(kOpWaitsMax));
  }
  for (int32_t i = 0; i < op.wait_count; ++i) {
    const Wait& wait = plan_.waits[static_cast<size_t>(op.waits + i)];
    if (!wait.lane.valid() || wait.lane.index() >= rank.lanes.size() || wait.op < 0 ||
        static_cast<size_t>(wait.op) >= rank.lanes[wait.lane.index()].ops.size()) {
      return Wrong("waits for lane " + std::to_string(wait.lane.value()) + " op " + std::to_string(wait.op) +
                   ", which this rank does not have");
    }
  }
  return OkStatus();
}

Status StructureChecker::CheckOperand(const RankPlan& rank, const Op& op, const Operand& operand,
                                      bool is_output) const {
  const bool is_channel = operand.kind == Operand::Kind::kChannel;
  if (operand.route < -1 || operand.route >= static_cast<int64_t>(plan_.routes.size())) {
    return Wrong("there is no route " + std::to_string(operand.route) + " among " +
                 std::to_string(plan_.routes.size()));
  }
  if (operand.route >= 0 && !(is_channel && is_output)) return Wrong("only an output channel has a route");
  switch (operand.kind) {
    case Operand::Kind::kSend:
    case Operand::Kind::kRecv: {
      const bool is_send = operand.kind == Operand::Kind::kSend;
      const std::string buffer = is_send ? "send" : "recv";
      if (operand.index != -1) return Wrong("a " + buffer + " operand has no index: the chunk says the place");
      if (is_send && is_output) return Wrong("writes the send buffer");
      const int32_t block = op.chunk.block;
      if ((is_send ? contract_.SendPlace(rank_, block) : contract_.RecvPlace(rank_, block)) < 0) {
        return Wrong("the rank's " + buffer + " buffer does not hold block " + std::to_string(block));
      }
      return OkStatus();
    }
    case Operand::Kind::kScratch: {
      if (operand.index < 0 || static_cast<size_t>(operand.index) >= rank.scratch.size()) {
        return Wrong("there is no scratch " + std::to_string(operand.index));
      }
      const Chunk& cell = rank.scratch[static_cast<size_t>(operand.index)].chunk;
      if (cell.block != op.chunk.block || op.chunk.begin < cell.begin || op.chunk.end > cell.end) {
        return Wrong(DescribeChunk(op.chunk) + " is not inside scratch " + std::to_string(operand.index) + ", " +
                     DescribeChunk(cell));
      }
      return OkStatus();
    }
    case Operand::Kind::kChannel: {
      if (operand.index < 0 || static_cast<size_t>(operand.index) >= plan_.channels.size()) {
        return Wrong("there is no channel " + std::to_string(operand.index));
      }
      const Channel& channel = plan_.channels[static_cast<size_t>(operand.index)];
      if ((is_output ? channel.source : channel.target) == rank_) return OkStatus();
      return Wrong(std::string(is_output ? "writes " : "reads ") + DescribeChannel(plan_, ChannelId(operand.index)) +
                   ", which is not this rank's");
    }
  }
  return Wrong("unknown operand kind");
}

Status StructureChecker::CheckRepeats(const Op& op) const {
  for (const bool is_output : {false, true}) {
    const Operand* first = is_output ? plan_.OutputsOf(op) : plan_.InputsOf(op);
    const int32_t count = is_output ? op.outputs : op.inputs;
    if (count == 1) continue;
    const auto same = [](const Operand& a, const Operand& b) { return a.kind == b.kind && a.index == b.index; };
    bool repeated = false;
    if (count == 2) {
      repeated = same(first[0], first[1]);
    } else {
      std::vector<Operand> places(first, first + count);
      std::sort(places.begin(), places.end(), [](const Operand& a, const Operand& b) {
        return a.kind != b.kind ? a.kind < b.kind : a.index < b.index;
      });
      repeated = std::adjacent_find(places.begin(), places.end(), same) != places.end();
    }
    if (repeated) {
      return Wrong(std::string(is_output ? "writes" : "reads") + " the same channel or place twice");
    }
  }
  return OkStatus();
}

Status StructureChecker::CheckDirect(const Op& op) const {
  const auto is_channel = [](const Operand& operand) { return operand.kind == Operand::Kind::kChannel; };
  const Operand* inputs = plan_.InputsOf(op);
  const Operand* outputs = plan_.OutputsOf(op);
  if (std::none_of(outputs, outputs + op.outputs, is_channel)) return OkStatus();
  if (!std::all_of(outputs, outputs + op.outputs, is_channel)) return OkStatus();
  if (op.inputs == 1 && !is_channel(inputs[0]) && !op.finish) return OkStatus();
  return Wrong("a direct message refers to memory, but this op keeps its result nowhere; add a memory output");
}

}  // namespace

Status CheckStructure(const Plan& plan) {
  if (static_cast<size_t>(plan.collective) >= AllCollectives().size()) {
    return InvalidArgument("plan: unknown collective number");
  }
  return StructureChecker(plan).Run();
}

std::string DescribeOp(Rank rank, LaneId lane, int32_t op) {
  return "rank " + std::to_string(rank.value()) + " lane " + std::to_string(lane.value()) + " op " + std::to_string(op);
}

std::string DescribeChannel(const Plan& plan, ChannelId channel) {
  const Channel& known = plan.channels[channel.index()];
  return "channel " + std::to_string(channel.value()) + " (rank " + std::to_string(known.source.value()) + " -> rank " +
         std::to_string(known.target.value()) + ", index " + std::to_string(known.index) + ")";
}

std::string DescribeChunk(const Chunk& chunk) {
  return "block " + std::to_string(chunk.block) + " [" + std::to_string(chunk.begin) + "," + std::to_string(chunk.end) +
         ")";
}

}  // namespace mycel
