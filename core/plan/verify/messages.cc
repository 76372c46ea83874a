#include "core/plan/verify/messages.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/plan/structure.h"

namespace mycel::verify {
namespace {

constexpr int64_t kMessagesMax = int64_t{1} << 28;  // of one slice: numbers and sums of numbers stay in 32 bits

/// One side of all channels: which ops use them, by channel and turn.
struct Side {
  std::vector<int32_t> lane;   // of each channel, -1: unused
  std::vector<int32_t> first;  // of each channel, and one past the last
  std::vector<int32_t> ops;
  std::vector<int32_t> of_op_first;  // of each op, and one past the last
  std::vector<int32_t> of_op;        // messages: positions in `ops`
};

class Matcher {
 public:
  explicit Matcher(const FlatPlan& flat) : flat_(flat), plan_(flat.plan) {}

  StatusOr<Messages> Run() {
    MYCEL_RETURN_IF_ERROR(Collect(true, &writes_));
    MYCEL_RETURN_IF_ERROR(Collect(false, &reads_));
    for (std::vector<int32_t>* list : {&out_.channel, &out_.lag, &out_.phase, &out_.by_phase}) {
      list->resize(writes_.ops.size());
    }
    for (size_t c = 0; c < plan_.channels.size(); ++c) MYCEL_RETURN_IF_ERROR(MatchChannel(c));
    MYCEL_RETURN_IF_ERROR(CheckWaits());
    out_.first = writes_.first;
    out_.producer = std::move(writes_.ops);
    out_.consumer = std::move(reads_.ops);
    out_.written_first = std::move(writes_.of_op_first);
    out_.written = std::move(writes_.of_op);
    out_.read_first = std::move(reads_.of_op_first);
    out_.read = std::move(reads_.of_op);
    return std::move(out_);
  }

 private:
  Status Collect(bool outputs, Side* side);
  Status MatchChannel(size_t channel);
  Status MatchInterleaving(size_t channel);
  Status CheckWaits() const;
  std::string Name(size_t channel) const { return DescribeChannel(plan_, ChannelId(static_cast<int64_t>(channel))); }

  /// Lag and place in the cycle of `op`, measured from `reference` in the same lane.
  struct Lead {
    int32_t lag;
    int32_t turn;
  };
  Lead LeadOf(int32_t op, int32_t reference) const {
    const int32_t ahead = flat_.BodyPlaceOf(op) - flat_.BodyPlaceOf(reference);
    const int32_t skew = flat_.op(op).skew - flat_.op(reference).skew;
    return ahead >= 0 ? Lead{skew, ahead} : Lead{skew - 1, ahead + flat_.LaneOf(op).count};
  }

  template <typename With>
  void ForEachChannel(int32_t op, bool outputs, const With& with) const {
    const Op& it = flat_.op(op);
    const Operand* operands = outputs ? plan_.OutputsOf(it) : plan_.InputsOf(it);
    const int32_t count = outputs ? it.outputs : it.inputs;
    for (int32_t i = 0; i < count; ++i) {
      if (operands[i].kind == Operand::Kind::kChannel) with(static_cast<size_t>(operands[i].index));
    }
  }

  const FlatPlan& flat_;
  const Plan& plan_;
  Side writes_;
  Side reads_;
  Messages out_;
};

Status Matcher::Collect(bool outputs, Side* side) {
  side->lane.assign(plan_.channels.size(), -1);
  side->of_op_first.assign(static_cast<size_t>(flat_.op_count()) + 1, 0);
  std::vector<int64_t> ends(plan_.channels.size() + 1, 0);
  int64_t total = 0;
  for (int32_t op = 0; op < flat_.op_count(); ++op) {
    Status status;
    ForEachChannel(op, outputs, [&](size_t channel) {
      int32_t& lane = side->lane[channel];
      const int32_t mine = flat_.lane_of[static_cast<size_t>(op)];
      if (lane == -1) lane = mine;
      if (lane != mine) {
        status = InvalidArgument(flat_.Describe(op) + (outputs ? " writes " : " reads ") + Name(channel) +
                                 ", which lane " + std::to_string(flat_.lanes[static_cast<size_t>(lane)].lane.value()) +
                                 " uses too; one lane per side");
      }
      ++ends[channel + 1];
      ++total;
    });
    if (!status.ok()) return status;
    if (total > kMessagesMax) {
      return InvalidArgument("plan: more than " + std::to_string(kMessagesMax) +
                             " messages are too many to verify; use fewer chunks");
    }
    side->of_op_first[static_cast<size_t>(op) + 1] = static_cast<int32_t>(total);
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  side->first.assign(ends.begin(), ends.end());
  side->ops.resize(static_cast<size_t>(total));
  side->of_op.resize(static_cast<size_t>(total));
  // Turns of a lane are visited in order, so every channel's list comes out by turn.
  std::vector<int32_t> next = side->first;
  for (const int32_t op : flat_.by_order) {
    int32_t at = side->of_op_first[static_cast<size_t>(op)];
    ForEachChannel(op, outputs, [&](size_t channel) {
      const int32_t message = next[channel]++;
      side->ops[static_cast<size_t>(message)] = op;
      side->of_op[static_cast<size_t>(at++)] = message;
    });
  }
  return OkStatus();
}

Status Matcher::MatchChannel(size_t channel) {
  const int32_t first = writes_.first[channel];
  const int32_t count = writes_.first[channel + 1] - first;
  const int32_t read_count = reads_.first[channel + 1] - reads_.first[channel];
  if (count != read_count) {
    const Side& longer = count > read_count ? writes_ : reads_;
    const int32_t extra = longer.ops[static_cast<size_t>(longer.first[channel] + std::min(count, read_count))];
    return InvalidArgument(Name(channel) + ": " + std::to_string(count) + " ops write it, " +
                           std::to_string(read_count) + " read it; " + flat_.Describe(extra) + " has no partner");
  }
  if (count == 0) return OkStatus();
  if (first != reads_.first[channel]) return InternalError("verify: message numbering out of step");
  const FlatLane& from = flat_.lanes[static_cast<size_t>(writes_.lane[channel])];
  const FlatLane& to = flat_.lanes[static_cast<size_t>(reads_.lane[channel])];
  if (from.lane != to.lane) {
    return InvalidArgument(Name(channel) + " joins lane " + std::to_string(from.lane.value()) + " to lane " +
                           std::to_string(to.lane.value()) + ", which may cut slices differently; use equal lanes");
  }
  for (int32_t m = first; m < first + count; ++m) {
    const int32_t writer = writes_.ops[static_cast<size_t>(m)];
    const int32_t reader = reads_.ops[static_cast<size_t>(m)];
    if (flat_.op(writer).chunk == flat_.op(reader).chunk) continue;
    return InvalidArgument(Name(channel) + " message " + std::to_string(m - first) + ": " + flat_.Describe(writer) +
                           " writes " + DescribeChunk(flat_.op(writer).chunk) + ", " + flat_.Describe(reader) +
                           " reads " + DescribeChunk(flat_.op(reader).chunk));
  }
  return MatchInterleaving(channel);
}

Status Matcher::MatchInterleaving(size_t channel) {
  const int32_t first = writes_.first[channel];
  const int32_t count = writes_.first[channel + 1] - first;
  struct Turn {
    int32_t written;
    int32_t read;
    int32_t message;
  };
  std::vector<Turn> turns;
  turns.reserve(static_cast<size_t>(count));
  const int32_t writer0 = writes_.ops[static_cast<size_t>(first)];
  const int32_t reader0 = reads_.ops[static_cast<size_t>(first)];
  for (int32_t m = first; m < first + count; ++m) {
    const int32_t writer = writes_.ops[static_cast<size_t>(m)];
    const int32_t reader = reads_.ops[static_cast<size_t>(m)];
    const Lead write = LeadOf(writer, writer0);
    const Lead read = LeadOf(reader, reader0);
    if (write.lag != read.lag) {
      return InvalidArgument(Name(channel) + ": between its messages 0 and " + std::to_string(m - first) +
                             " the skews of " + flat_.Describe(writer) + " and " + flat_.Describe(reader) +
                             " differ, so the sides would interleave slices differently");
    }
    turns.push_back({write.turn, read.turn, m});
    out_.channel[static_cast<size_t>(m)] = static_cast<int32_t>(channel);
    out_.lag[static_cast<size_t>(m)] = write.lag;
  }
  std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.written < b.written; });
  for (int32_t phase = 0; phase < count; ++phase) {
    const Turn& turn = turns[static_cast<size_t>(phase)];
    if (phase > 0 && turns[static_cast<size_t>(phase) - 1].read > turn.read) {
      const auto m = static_cast<size_t>(turn.message);
      return InvalidArgument(Name(channel) + ": " + flat_.Describe(writes_.ops[m]) + " and " +
                             flat_.Describe(reads_.ops[m]) +
                             " stand differently in their bodies, so the sides would interleave slices differently");
    }
    out_.phase[static_cast<size_t>(turn.message)] = phase;
    out_.by_phase[static_cast<size_t>(first + phase)] = turn.message;
  }
  return OkStatus();
}

Status Matcher::CheckWaits() const {
  if (flat_.waiters.empty()) return OkStatus();
  std::vector<int64_t> units_max;  // of each lane number over all ranks: what its slicing is computed from
  for (const FlatLane& lane : flat_.lanes) {
    if (units_max.size() <= lane.lane.index()) units_max.resize(lane.lane.index() + 1, 0);
    int64_t& widest = units_max[lane.lane.index()];
    for (int32_t op = lane.first; op < lane.first + lane.count; ++op) {
      widest = std::max(widest, flat_.op(op).chunk.units());
    }
  }
  for (int32_t op = 0; op < flat_.op_count(); ++op) {
    const size_t mine = flat_.LaneOf(op).lane.index();
    for (int32_t i = 0; i < flat_.op(op).wait_count; ++i) {
      const size_t other = flat_.WaitsOf(op)[i].lane.index();
      if (units_max[mine] == units_max[other]) continue;
      return InvalidArgument(flat_.Describe(op) + " waits for lane " + std::to_string(other) +
                             ", whose slices are cut differently: its widest chunk has " +
                             std::to_string(units_max[other]) + " units, lane " + std::to_string(mine) + "'s has " +
                             std::to_string(units_max[mine]));
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Messages> MatchMessages(const FlatPlan& flat) { return Matcher(flat).Run(); }

}  // namespace mycel::verify
