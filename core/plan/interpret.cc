#include "core/plan/interpret.h"

#include <algorithm>
#include <deque>
#include <string>

#include "core/base/check.h"
#include "core/base/rng.h"
#include "core/plan/contract.h"
#include "core/plan/scalar_apply.h"
#include "core/plan/structure.h"

namespace mycel {
namespace {

/// A published slot.
struct Message {
  Chunk chunk;
  int64_t slice = 0;
  int64_t bytes = 0;
  std::vector<std::byte> payload;        // kInline, kSlot
  const std::byte* reference = nullptr;  // kDirect: where the producer keeps it
};

/// One lane of one rank on its way.
struct Walker {
  Rank rank;
  LaneId lane;
  Slicing slicing;
  int64_t iteration = 0;
  int64_t iterations = 0;
  size_t place = 0;                  // in the body
  std::vector<ChunkSlicing> slices;  // of each op
  std::vector<int64_t> slices_done;  // of each op
  bool IsDone() const { return iteration == iterations; }
};

class Interpreter {
 public:
  Interpreter(const Plan& plan, const InterpretRequest& request, std::vector<std::vector<std::byte>>& send,
              std::vector<std::vector<std::byte>>& recv)
      : plan_(plan),
        request_(request),
        contract_{plan.collective, plan.rank_count, plan.root},
        element_bytes_(static_cast<int64_t>(SizeOf(request.type))),
        send_(send),
        recv_(recv),
        rng_(request.seed) {}

  Status Run() {
    MYCEL_RETURN_IF_ERROR(CheckBuffers());
    PlaceScratch();
    PlaceWalkers();
    channels_.resize(plan_.channels.size());
    return WalkAll();
  }

 private:
  Status CheckBuffers() const;
  void PlaceScratch();
  void PlaceWalkers();
  Status WalkAll();
  /// Runs the walker's next op on its slice. False: it must wait.
  StatusOr<bool> Step(Walker& walker);
  bool IsReady(const Walker& walker, const Op& op, int64_t slice) const;
  Status RunSlice(Walker& walker, const Op& op, int64_t slice);
  StatusOr<const std::byte*> Receive(const Walker& walker, const Op& op, int64_t slice, int64_t bytes,
                                     const Message& message) const;
  void Publish(const Op& op, int64_t slice, int64_t bytes, const std::byte* result, const std::byte* reference);
  std::byte* MemoryOf(Rank rank, const Operand& operand, const Chunk& chunk);
  Walker& WalkerOf(Rank rank, LaneId lane) { return walkers_[first_walker_[rank.index()] + lane.index()]; }
  const Walker& WalkerOf(Rank rank, LaneId lane) const { return walkers_[first_walker_[rank.index()] + lane.index()]; }
  std::string DescribeDeadlock() const;
  std::string WaitOf(const Walker& walker) const;

  /// Elements of a block, and where a unit of it begins.
  int64_t CountOf(int32_t block) const { return plan_.block_units.empty() ? request_.count : plan_.UnitsOf(block); }
  int64_t ElementAt(int32_t block, int64_t unit) const {
    return plan_.UnitsOf(block) == 0 ? 0 : ElementOf(CountOf(block), unit, plan_.UnitsOf(block));
  }
  int64_t ElementsMaxOf(const Chunk& chunk) const {
    return mycel::ElementsMaxOf(CountOf(chunk.block), chunk.units(), plan_.UnitsOf(chunk.block));
  }
  int64_t ElementsOf(const Chunk& chunk) const {
    return ElementAt(chunk.block, chunk.end) - ElementAt(chunk.block, chunk.begin);
  }
  const Op& OpAt(const Walker& walker) const {
    return plan_.ranks[walker.rank.index()].lanes[walker.lane.index()].ops[walker.place];
  }
  const Op& OpOf(Rank rank, const Wait& wait) const {
    return plan_.ranks[rank.index()].lanes[wait.lane.index()].ops[static_cast<size_t>(wait.op)];
  }

  const Plan& plan_;
  const InterpretRequest& request_;
  const Contract contract_;
  const int64_t element_bytes_;
  std::vector<std::vector<std::byte>>& send_;
  std::vector<std::vector<std::byte>>& recv_;
  Rng rng_;
  std::vector<std::vector<std::vector<std::byte>>> scratch_;  // [rank][cell]
  std::vector<size_t> first_walker_;                          // of each rank
  std::vector<Walker> walkers_;
  std::vector<std::deque<Message>> channels_;  // published, not yet released
};

Status Interpreter::CheckBuffers() const {
  // Keeps every sum of bytes far below 64 bits.
  constexpr int64_t kElementsMax = int64_t{1} << 40;
  const auto is_large = [](int64_t units) { return units > kElementsMax; };
  if (request_.count < 0 || is_large(request_.count) ||
      std::any_of(plan_.block_units.begin(), plan_.block_units.end(), is_large)) {
    return InvalidArgument("interpret: a block has fewer than 0 or more than 2^40 elements");
  }
  if (request_.in_place && !plan_.block_units.empty()) {
    return InvalidArgument("interpret: " + std::string(NameOf(plan_.collective)) + " has no in-place form");
  }
  if (send_.size() != plan_.ranks.size() || recv_.size() != plan_.ranks.size()) {
    return InvalidArgument("interpret: give one send and one recv buffer per rank, " +
                           std::to_string(plan_.rank_count) + " of each");
  }
  for (Rank rank : Ids<Rank>(plan_.rank_count)) {
    const InterpretBytes want = BytesFor(plan_, request_, rank);
    const auto have_send = static_cast<int64_t>(send_[rank.index()].size());
    const auto have_recv = static_cast<int64_t>(recv_[rank.index()].size());
    const bool send_unused = request_.in_place && want.send == 0;
    const bool recv_unused = request_.in_place && want.recv == 0;
    if ((send_unused || have_send == want.send) && (recv_unused || have_recv == want.recv)) continue;
    return InvalidArgument("interpret: rank " + std::to_string(rank.value()) + " has " + std::to_string(have_send) +
                           " bytes of send and " + std::to_string(have_recv) + " of recv buffer; it needs " +
                           std::to_string(want.send) + " and " + std::to_string(want.recv));
  }
  return OkStatus();
}

void Interpreter::PlaceScratch() {
  constexpr std::byte kGarbage{0xa5};  // a read of unwritten scratch must not look right by luck
  for (const RankPlan& rank : plan_.ranks) {
    auto& cells = scratch_.emplace_back();
    for (const ScratchCell& cell : rank.scratch) {
      cells.emplace_back(static_cast<size_t>(ElementsOf(cell.chunk) * element_bytes_), kGarbage);
    }
  }
}

void Interpreter::PlaceWalkers() {
  std::vector<int64_t> elements_max;  // of each lane number, over all ranks
  for (const RankPlan& rank : plan_.ranks) {
    if (elements_max.size() < rank.lanes.size()) elements_max.resize(rank.lanes.size(), 0);
    for (size_t lane = 0; lane < rank.lanes.size(); ++lane) {
      for (const Op& op : rank.lanes[lane].ops) {
        elements_max[lane] = std::max(elements_max[lane], ElementsMaxOf(op.chunk));
      }
    }
  }
  for (Rank rank : Ids<Rank>(plan_.rank_count)) {
    first_walker_.push_back(walkers_.size());
    const std::vector<Lane>& lanes = plan_.ranks[rank.index()].lanes;
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      Walker walker;
      walker.rank = rank;
      walker.lane = LaneId(static_cast<int64_t>(lane));
      walker.slicing = SlicingOf(elements_max[lane], element_bytes_, plan_.slice_bytes);
      walker.slices_done.assign(lanes[lane].ops.size(), 0);
      for (const Op& op : lanes[lane].ops) {
        walker.slices.push_back(SlicesOf(ElementsMaxOf(op.chunk), walker.slicing));
        walker.iterations = std::max(walker.iterations, walker.slices.back().slices + op.skew);
      }
      walkers_.push_back(std::move(walker));
    }
  }
}

/// Lanes take turns of random length in random order; one that must wait sits out until somebody else has moved.
Status Interpreter::WalkAll() {
  constexpr uint64_t kTurnsMax = 32;
  std::vector<size_t> active;
  std::vector<size_t> waiting;
  for (size_t i = 0; i < walkers_.size(); ++i) active.push_back(i);
  while (!active.empty()) {
    const auto pick = static_cast<size_t>(rng_.Below(active.size()));
    Walker& walker = walkers_[active[pick]];
    bool can_go = true;
    bool moved = false;
    for (uint64_t turns = 1 + rng_.Below(kTurnsMax); turns > 0 && can_go && !walker.IsDone(); --turns) {
      MYCEL_ASSIGN_OR_RETURN(can_go, Step(walker));
      moved |= can_go;
    }
    const size_t index = active[pick];
    if (!can_go || walker.IsDone()) {
      active[pick] = active.back();
      active.pop_back();
    }
    if (moved) {
      active.insert(active.end(), waiting.begin(), waiting.end());
      waiting.clear();
    }
    if (!can_go) waiting.push_back(index);
  }
  if (!waiting.empty()) return InternalError(DescribeDeadlock());
  return OkStatus();
}

StatusOr<bool> Interpreter::Step(Walker& walker) {
  const Op& op = OpAt(walker);
  const int64_t slice = walker.iteration - op.skew;
  if (slice >= 0 && slice < walker.slices[walker.place].slices) {
    if (!IsReady(walker, op, slice)) return false;
    MYCEL_RETURN_IF_ERROR(RunSlice(walker, op, slice));
    ++walker.slices_done[walker.place];
  }
  if (++walker.place == walker.slices_done.size()) {
    walker.place = 0;
    ++walker.iteration;
  }
  return true;
}

bool Interpreter::IsReady(const Walker& walker, const Op& op, int64_t slice) const {
  for (int32_t i = 0; i < op.inputs; ++i) {
    const Operand& input = plan_.InputsOf(op)[i];
    if (input.kind == Operand::Kind::kChannel && channels_[static_cast<size_t>(input.index)].empty()) return false;
  }
  for (int32_t i = 0; i < op.outputs; ++i) {
    const Operand& output = plan_.OutputsOf(op)[i];
    if (output.kind != Operand::Kind::kChannel) continue;
    if (channels_[static_cast<size_t>(output.index)].size() >= static_cast<size_t>(plan_.slot_count)) return false;
  }
  for (int32_t i = 0; i < op.wait_count; ++i) {
    const Wait& wait = plan_.waits[static_cast<size_t>(op.waits + i)];
    const Walker& other = WalkerOf(walker.rank, wait.lane);
    const int64_t slices = other.slices[static_cast<size_t>(wait.op)].slices;
    if (other.slices_done[static_cast<size_t>(wait.op)] < std::min(slice + 1, slices)) return false;
  }
  return true;
}

Status Interpreter::RunSlice(Walker& walker, const Op& op, int64_t slice) {
  const ChunkSlicing& slices = walker.slices[walker.place];
  const int64_t elements = ElementsOf(op.chunk);
  const int64_t first = std::min(elements, slices.First(slice));
  const int64_t count = std::min(elements, slices.First(slice + 1)) - first;
  const int64_t bytes = count * element_bytes_;
  const Operand* inputs = plan_.InputsOf(op);
  const Operand* outputs = plan_.OutputsOf(op);
  std::vector<const std::byte*> sources;
  for (int32_t i = 0; i < op.inputs; ++i) {
    if (inputs[i].kind == Operand::Kind::kChannel) {
      const Message& message = channels_[static_cast<size_t>(inputs[i].index)].front();
      MYCEL_ASSIGN_OR_RETURN(const std::byte* const payload, Receive(walker, op, slice, bytes, message));
      sources.push_back(payload);
    } else {
      sources.push_back(MemoryOf(walker.rank, inputs[i], op.chunk) + first * element_bytes_);
    }
  }
  // The result is made once, aside: an output may be one of the inputs.
  std::vector<std::byte> result(static_cast<size_t>(bytes));
  ScalarApply({request_.type, request_.op, op.finish, plan_.rank_count}, sources, result.data(), count);
  const std::byte* reference = inputs[0].kind == Operand::Kind::kChannel ? nullptr : sources[0];
  for (int32_t i = 0; i < op.outputs; ++i) {
    if (outputs[i].kind == Operand::Kind::kChannel) continue;
    std::byte* target = MemoryOf(walker.rank, outputs[i], op.chunk) + first * element_bytes_;
    std::copy(result.begin(), result.end(), target);
    reference = target;
  }
  Publish(op, slice, bytes, result.data(), reference);
  for (int32_t i = 0; i < op.inputs; ++i) {
    if (inputs[i].kind == Operand::Kind::kChannel) channels_[static_cast<size_t>(inputs[i].index)].pop_front();
  }
  return OkStatus();
}

StatusOr<const std::byte*> Interpreter::Receive(const Walker& walker, const Op& op, int64_t slice, int64_t bytes,
                                                const Message& message) const {
  if (message.chunk == op.chunk && message.slice == slice && message.bytes == bytes) {
    return plan_.protocol == Protocol::kDirect ? message.reference : message.payload.data();
  }
  return InternalError("interpret: " + DescribeOp(walker.rank, walker.lane, static_cast<int32_t>(walker.place)) +
                       " expects slice " + std::to_string(slice) + " of " + DescribeChunk(op.chunk) + ", " +
                       std::to_string(bytes) + " bytes, but the channel brings slice " + std::to_string(message.slice) +
                       " of " + DescribeChunk(message.chunk) + ", " + std::to_string(message.bytes) + " bytes");
}

void Interpreter::Publish(const Op& op, int64_t slice, int64_t bytes, const std::byte* result,
                          const std::byte* reference) {
  for (int32_t i = 0; i < op.outputs; ++i) {
    const Operand& output = plan_.OutputsOf(op)[i];
    if (output.kind != Operand::Kind::kChannel) continue;
    Message message;
    message.chunk = op.chunk;
    message.slice = slice;
    message.bytes = bytes;
    if (plan_.protocol == Protocol::kDirect) {
      MYCEL_CHECK(reference != nullptr || bytes == 0);  // an empty buffer has no address
      message.reference = reference;
    } else {
      message.payload.assign(result, result + bytes);
    }
    channels_[static_cast<size_t>(output.index)].push_back(std::move(message));
  }
}

std::byte* Interpreter::MemoryOf(Rank rank, const Operand& operand, const Chunk& chunk) {
  if (operand.kind == Operand::Kind::kScratch) {
    const Chunk& cell = plan_.ranks[rank.index()].scratch[static_cast<size_t>(operand.index)].chunk;
    const int64_t element = ElementAt(chunk.block, chunk.begin) - ElementAt(cell.block, cell.begin);
    return scratch_[rank.index()][static_cast<size_t>(operand.index)].data() + element * element_bytes_;
  }
  const bool is_send = operand.kind == Operand::Kind::kSend;
  int64_t element = ElementAt(chunk.block, chunk.begin);
  if (!plan_.block_units.empty()) {
    for (const int32_t block : is_send ? contract_.SendBlocks(rank) : contract_.RecvBlocks(rank)) {
      if (block == chunk.block) break;
      element += CountOf(block);
    }
    return (is_send ? send_ : recv_)[rank.index()].data() + element * element_bytes_;
  }
  int64_t place = is_send ? contract_.SendPlace(rank, chunk.block) : contract_.RecvPlace(rank, chunk.block);
  bool in_send = is_send;
  if (request_.in_place) {
    in_send = contract_.SendHoldsRecv(rank);
    // recv == send + offset: count places from the buffer that holds the other.
    const bool has_both = !contract_.SendBlocks(rank).empty() && !contract_.RecvBlocks(rank).empty();
    const int64_t offset = has_both ? contract_.InPlaceOffset(rank) : 0;
    if (in_send && !is_send) place += offset;
    if (!in_send && is_send) place -= offset;
  }
  return (in_send ? send_ : recv_)[rank.index()].data() + (place * request_.count + element) * element_bytes_;
}

std::string Interpreter::DescribeDeadlock() const {
  constexpr int kShownMax = 8;
  std::string text = "interpret: deadlock";
  int shown = 0;
  for (const Walker& walker : walkers_) {
    if (walker.IsDone()) continue;
    if (++shown > kShownMax) return text + "; ...";
    text += "; " + DescribeOp(walker.rank, walker.lane, static_cast<int32_t>(walker.place)) + " slice " +
            std::to_string(walker.iteration - OpAt(walker).skew) + " waits for " + WaitOf(walker);
  }
  return text;
}

std::string Interpreter::WaitOf(const Walker& walker) const {
  const Op& op = OpAt(walker);
  for (int32_t i = 0; i < op.inputs + op.outputs; ++i) {
    const Operand& operand = plan_.operands[static_cast<size_t>(op.operands + i)];
    if (operand.kind != Operand::Kind::kChannel) continue;
    const size_t filled = channels_[static_cast<size_t>(operand.index)].size();
    const std::string name = DescribeChannel(plan_, ChannelId(operand.index));
    if (i < op.inputs && filled == 0) return "a message on " + name;
    if (i >= op.inputs && filled >= static_cast<size_t>(plan_.slot_count)) return "a free slot of " + name;
  }
  return "an op of another lane";
}

}  // namespace

InterpretBytes BytesFor(const Plan& plan, const InterpretRequest& request, Rank rank) {
  const Contract contract{plan.collective, plan.rank_count, plan.root};
  const auto bytes_of = [&](const std::vector<int32_t>& blocks) {
    int64_t elements = 0;
    for (const int32_t block : blocks) elements += plan.block_units.empty() ? request.count : plan.UnitsOf(block);
    return elements * static_cast<int64_t>(SizeOf(request.type));
  };
  InterpretBytes bytes{bytes_of(contract.SendBlocks(rank)), bytes_of(contract.RecvBlocks(rank))};
  if (request.in_place) (contract.SendHoldsRecv(rank) ? bytes.recv : bytes.send) = 0;
  return bytes;
}

Status Interpret(const Plan& plan, const InterpretRequest& request, std::vector<std::vector<std::byte>>& send,
                 std::vector<std::vector<std::byte>>& recv) {
  MYCEL_RETURN_IF_ERROR(CheckStructure(plan));
  return Interpreter(plan, request, send, recv).Run();
}

}  // namespace mycel
