#include "bindings/interchange/mscclpp_export.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "bindings/interchange/mscclpp_trace.h"
#include "bindings/interchange/unskewed.h"
#include "bindings/interchange/wrong_plan.h"
#include "core/base/check.h"
#include "core/plan/contract.h"

namespace mycel::mscclpp {
namespace {

size_t U(int64_t value) { return static_cast<size_t>(value); }
bool IsChannel(const Operand& operand) { return operand.kind == Operand::Kind::kChannel; }

bool Serves(Collective collective) {
  return collective == Collective::kAllGather || collective == Collective::kReduceScatter ||
         collective == Collective::kAllReduce || collective == Collective::kAllToAll;
}

/// First chunk of a place in a buffer.
struct Place {
  Buffer buffer = Buffer::kInput;
  int32_t index = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};

/// One message: from an op of the plan to another.
struct Message {
  size_t sender = 0;  // place in the order
  size_t receiver = 0;
  int32_t channel = -1;
  Place landing;  // in the receiver's memory
};

class Exporter {
 public:
  explicit Exporter(const UnskewedPlan& unskewed)
      : plan_(unskewed.plan), order_(unskewed.order), contract_{plan_.collective, plan_.rank_count, plan_.root} {}

  StatusOr<ExecutionPlan> Run() {
    WriteHead();
    MatchMessages();
    ChooseLandings();
    PackBlocks();
    JoinChannels();
    for (size_t i = 0; i < order_.size(); ++i) WriteOp(i);
    MYCEL_RETURN_IF_ERROR(CheckLimits());
    return std::move(out_);
  }

 private:
  void WriteHead();
  void MatchMessages();
  void ChooseLandings();
  std::vector<size_t> GroupOps() const;
  void PackBlocks();
  void JoinChannels();
  void WriteOp(size_t i);
  Place Combine(size_t i, const std::vector<Place>& inputs, const std::vector<Place>& kept);
  Status CheckLimits() const;

  Gpu& GpuOf(size_t i) { return out_.gpus[order_[i].rank.index()]; }
  Place PlaceOf(size_t i, const Operand& operand) const;
  Place AddScratch(Rank rank, int64_t chunks) {
    int32_t& used = out_.gpus[rank.index()].scratch_chunks;
    const Place place{Buffer::kScratch, used};
    used += static_cast<int32_t>(chunks);
    return place;
  }
  int32_t ChunksOf(size_t i) const { return static_cast<int32_t>(order_[i].op.chunk.units()); }

  // Writing ops with the nops between them.
  struct BlockState {
    std::vector<std::pair<Place, int32_t>> written;  // since the last nop
    bool must_sync = false;                          // a wait came last
    bool has_put = false;                            // since the last nop
  };
  void Append(size_t i, Op op, const std::vector<Place>& reads, const Place* writes);
  void Sync(size_t i);
  Span LocalSpan(size_t i, const Place& place) const { return {place.buffer, -1, place.index, ChunksOf(i)}; }
  Span RemoteSpan(size_t i, Rank peer, const Place& place);
  void AppendTokens(size_t i, OpType type, const std::vector<int32_t>& channels);

  const Plan& plan_;
  const std::vector<OrderedOp>& order_;
  const Contract contract_;
  ExecutionPlan out_;
  std::vector<std::vector<int32_t>> cells_;  // first scratch chunk of each rank's cells
  std::vector<Message> messages_;
  std::vector<std::vector<size_t>> sent_;      // messages of each op, in the order of its channel outputs
  std::vector<std::vector<size_t>> received_;  // and of its channel inputs
  std::vector<int32_t> block_of_;              // of each op
  std::map<std::tuple<int32_t, int32_t, int32_t>, std::pair<int32_t, int32_t>> joined_;  // (channel, block, block)
  std::map<std::pair<Rank, int32_t>, BlockState> states_;
};

void Exporter::WriteHead() {
  out_.file = "the exported plan";
  out_.name = "mycel_" + std::string(mycel::NameOf(plan_.collective)) + "_" + std::to_string(plan_.rank_count);
  out_.collective = plan_.collective;
  out_.notes = {true, plan_.planner, plan_.topology, plan_.topology_hash, plan_.routes};
  out_.gpus.resize(U(plan_.rank_count));
  cells_.resize(out_.gpus.size());
  for (Rank rank : Ids<Rank>(plan_.rank_count)) {
    Gpu& gpu = out_.gpus[rank.index()];
    const auto chunks = [&](const std::vector<int32_t>& blocks) {
      return static_cast<int32_t>(static_cast<int64_t>(blocks.size()) * plan_.units_per_block);
    };
    gpu.input_chunks = chunks(contract_.SendBlocks(rank));
    gpu.output_chunks = chunks(contract_.RecvBlocks(rank));
    for (const ScratchCell& cell : plan_.ranks[rank.index()].scratch) {
      cells_[rank.index()].push_back(AddScratch(rank, cell.chunk.units()).index);
    }
  }
}

Place Exporter::PlaceOf(size_t i, const Operand& operand) const {
  const Rank rank = order_[i].rank;
  const Chunk& chunk = order_[i].op.chunk;
  const auto at = [&](int64_t place) { return static_cast<int32_t>(place * plan_.units_per_block + chunk.begin); };
  switch (operand.kind) {
    case Operand::Kind::kSend:
      return {Buffer::kInput, at(contract_.SendPlace(rank, chunk.block))};
    case Operand::Kind::kRecv:
      return {Buffer::kOutput, at(contract_.RecvPlace(rank, chunk.block))};
    case Operand::Kind::kScratch: {
      const Chunk& cell = plan_.ranks[rank.index()].scratch[U(operand.index)].chunk;
      return {Buffer::kScratch,
              cells_[rank.index()][U(operand.index)] + static_cast<int32_t>(chunk.begin - cell.begin)};
    }
    case Operand::Kind::kChannel:
      break;
  }
  MYCEL_CHECK(false);
  return {};
}

void Exporter::MatchMessages() {
  sent_.resize(order_.size());
  received_.resize(order_.size());
  std::map<int32_t, std::pair<std::vector<size_t>, size_t>> on_channel;  // messages, and how many were received
  for (size_t i = 0; i < order_.size(); ++i) {
    const mycel::Op& op = order_[i].op;
    for (int32_t k = 0; k < op.inputs; ++k) {
      const Operand& input = plan_.InputsOf(op)[k];
      if (!IsChannel(input)) continue;
      auto& [messages, taken] = on_channel[input.index];
      messages_[messages[taken]].receiver = i;
      received_[i].push_back(messages[taken++]);
    }
    for (int32_t k = 0; k < op.outputs; ++k) {
      const Operand& output = plan_.OutputsOf(op)[k];
      if (!IsChannel(output)) continue;
      on_channel[output.index].first.push_back(messages_.size());
      sent_[i].push_back(messages_.size());
      messages_.push_back({i, 0, output.index, {}});
    }
  }
}

void Exporter::ChooseLandings() {
  std::map<std::pair<Rank, Place>, bool> touched;  // chunks that an earlier op reads or writes
  const auto each_chunk = [&](size_t i, const Place& place, const auto& visit) {
    for (int32_t c = 0; c < ChunksOf(i); ++c) visit(std::pair(order_[i].rank, Place{place.buffer, place.index + c}));
  };
  for (size_t i = 0; i < order_.size(); ++i) {
    const mycel::Op& op = order_[i].op;
    const Operand* const outputs = plan_.OutputsOf(op);
    const Operand* const kept = std::find_if_not(outputs, outputs + op.outputs, IsChannel);
    bool straight = op.inputs == 1 && kept != outputs + op.outputs;
    if (straight) {
      each_chunk(i, PlaceOf(i, *kept), [&](const auto& key) { straight = straight && touched.count(key) == 0; });
    }
    for (const size_t message : received_[i]) {
      messages_[message].landing = straight ? PlaceOf(i, *kept) : AddScratch(order_[i].rank, ChunksOf(i));
    }
    for (int32_t k = 0; k < op.inputs + op.outputs; ++k) {
      const Operand& operand = plan_.operands[U(op.operands + k)];
      if (!IsChannel(operand)) each_chunk(i, PlaceOf(i, operand), [&](const auto& key) { touched[key] = true; });
    }
  }
}

/// Ops of a rank that touch the same chunk form a group: of each op, the group's first op.
std::vector<size_t> Exporter::GroupOps() const {
  std::vector<size_t> parent(order_.size());
  std::iota(parent.begin(), parent.end(), size_t{0});
  const auto find = [&](size_t x) {
    while (parent[x] != x) x = parent[x] = parent[parent[x]];
    return x;
  };
  std::map<std::pair<Rank, Place>, size_t> last;
  for (size_t i = 0; i < order_.size(); ++i) {
    const mycel::Op& op = order_[i].op;
    for (int32_t k = 0; k < op.inputs + op.outputs; ++k) {
      const Operand& operand = plan_.operands[U(op.operands + k)];
      // Out of place nobody writes the input.
      if (IsChannel(operand) || operand.kind == Operand::Kind::kSend) continue;
      const Place place = PlaceOf(i, operand);
      for (int32_t c = 0; c < ChunksOf(i); ++c) {
        const auto [at, is_new] = last.try_emplace({order_[i].rank, Place{place.buffer, place.index + c}}, i);
        if (!is_new) parent[std::max(find(i), find(at->second))] = std::min(find(i), find(at->second));
      }
    }
  }
  std::vector<size_t> group(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) group[i] = find(i);
  return group;
}

/// Groups fill blocks.
void Exporter::PackBlocks() {
  const std::vector<size_t> group_of = GroupOps();
  struct Size {
    int32_t ops = 0;
    int32_t channels = 0;
  };
  std::map<size_t, Size> groups;
  for (size_t i = 0; i < order_.size(); ++i) {
    const mycel::Op& op = order_[i].op;
    const auto in = static_cast<int32_t>(received_[i].size());
    const auto out = static_cast<int32_t>(sent_[i].size());
    Size& size = groups[group_of[i]];
    // At most: waits and a nop; a sum or copy for every input and kept output, with a nop each; puts, a nop, signals.
    size.ops += (in + kChannelsPerOpMax - 1) / kChannelsPerOpMax + 1 + 2 * (op.inputs + op.outputs - out) + 2 * out +
                1 + (out + kChannelsPerOpMax - 1) / kChannelsPerOpMax;
    size.channels += in + out;
  }
  block_of_.assign(order_.size(), -1);
  std::vector<std::vector<Size>> blocks(out_.gpus.size());
  for (size_t i = 0; i < order_.size(); ++i) {
    const size_t group = group_of[i];
    if (block_of_[group] < 0) {
      const Size& size = groups[group];
      std::vector<Size>& mine = blocks[order_[i].rank.index()];
      const auto fits = [&](const Size& block) {
        return block.ops + size.ops <= kOpsPerBlockMax && block.channels + size.channels <= kChannelsPerBlockMax;
      };
      auto block = std::find_if(mine.begin(), mine.end(), fits);
      if (block == mine.end()) block = mine.emplace(mine.end());
      block->ops += size.ops;
      block->channels += size.channels;
      block_of_[group] = static_cast<int32_t>(block - mine.begin());
    }
    block_of_[i] = block_of_[group];
  }
  for (size_t rank = 0; rank < blocks.size(); ++rank) out_.gpus[rank].blocks.resize(blocks[rank].size());
}

/// Both ends list the channels between them in the same order, so the k-th here is joined to the k-th there.
void Exporter::JoinChannels() {
  constexpr auto kMemory = static_cast<size_t>(ChannelType::kMemory);
  for (const Message& message : messages_) {
    const int32_t from = block_of_[message.sender];
    const int32_t to = block_of_[message.receiver];
    const auto [at, is_new] = joined_.try_emplace({message.channel, from, to});
    if (!is_new) continue;
    const Rank source = order_[message.sender].rank;
    const Rank target = order_[message.receiver].rank;
    std::vector<int32_t>& out = out_.gpus[source.index()].channels[kMemory];
    std::vector<int32_t>& in = out_.gpus[target.index()].channels[kMemory];
    at->second = {static_cast<int32_t>(out.size()), static_cast<int32_t>(in.size())};
    out.push_back(target.value());
    in.push_back(source.value());
  }
}

void Exporter::Sync(size_t i) {
  GpuOf(i).blocks[U(block_of_[i])].ops.emplace_back();
  states_[{order_[i].rank, block_of_[i]}] = {};
}

/// Appends a local op or a put.
void Exporter::Append(size_t i, Op op, const std::vector<Place>& reads, const Place* writes) {
  const auto overlaps = [&](const Place& place, const std::pair<Place, int32_t>& other) {
    return place.buffer == other.first.buffer && place.index < other.first.index + other.second &&
           other.first.index < place.index + ChunksOf(i);
  };
  BlockState& state = states_[{order_[i].rank, block_of_[i]}];
  bool sync = state.must_sync;
  for (const auto& written : state.written) {
    for (const Place& read : reads) sync = sync || overlaps(read, written);
    if (writes != nullptr) sync = sync || overlaps(*writes, written);
  }
  if (sync) Sync(i);
  BlockState& now = states_[{order_[i].rank, block_of_[i]}];
  if (writes != nullptr) now.written.emplace_back(*writes, ChunksOf(i));
  now.has_put = now.has_put || op.type == OpType::kPut;
  GpuOf(i).blocks[U(block_of_[i])].ops.push_back(std::move(op));
}

void Exporter::AppendTokens(size_t i, OpType type, const std::vector<int32_t>& channels) {
  for (size_t first = 0; first < channels.size(); first += kChannelsPerOpMax) {
    Op op;
    op.type = type;
    op.channels.assign(channels.begin() + static_cast<ptrdiff_t>(first),
                       channels.begin() + static_cast<ptrdiff_t>(std::min(
                                              channels.size(), first + static_cast<size_t>(kChannelsPerOpMax))));
    GpuOf(i).blocks[U(block_of_[i])].ops.push_back(std::move(op));
  }
}

Span Exporter::RemoteSpan(size_t i, Rank peer, const Place& place) {
  std::vector<RemoteBuffer>& known = GpuOf(i).remote_buffers;
  const RemoteBuffer wanted{peer.value(), place.buffer};
  auto at = std::find(known.begin(), known.end(), wanted);
  if (at == known.end()) at = known.insert(known.end(), wanted);
  return {place.buffer, static_cast<int32_t>(at - known.begin()), place.index, ChunksOf(i)};
}

/// Reduces the inputs, or copies the only one; where the result lies.
Place Exporter::Combine(size_t i, const std::vector<Place>& inputs, const std::vector<Place>& kept) {
  Place result = inputs[0];
  if (inputs.size() > 1) {
    // The sum grows in its final place, unless an input still to come lies there.
    const bool safe = !kept.empty() && std::find(inputs.begin() + 2, inputs.end(), kept[0]) == inputs.end();
    result = safe ? kept[0] : AddScratch(order_[i].rank, ChunksOf(i));
    Place sum = inputs[0];
    for (size_t k = 1; k < inputs.size(); ++k) {
      Op op;
      op.type = OpType::kReduce;
      op.sources = {LocalSpan(i, sum), LocalSpan(i, inputs[k])};
      op.targets = {LocalSpan(i, result)};
      Append(i, std::move(op), {sum, inputs[k]}, &result);
      sum = result;
    }
  }
  for (const Place& place : kept) {
    if (place == result) continue;
    Op op;
    op.type = OpType::kCopy;
    op.sources = {LocalSpan(i, result)};
    op.targets = {LocalSpan(i, place)};
    Append(i, std::move(op), {result}, &place);
  }
  return result;
}

void Exporter::WriteOp(size_t i) {
  const mycel::Op& op = order_[i].op;
  std::vector<int32_t> waits;
  for (const size_t m : received_[i]) {
    waits.push_back(joined_.at({messages_[m].channel, block_of_[messages_[m].sender], block_of_[i]}).second);
  }
  if (!waits.empty()) {
    AppendTokens(i, OpType::kWait, waits);
    states_[{order_[i].rank, block_of_[i]}].must_sync = true;
  }
  std::vector<Place> inputs;
  std::vector<Place> kept;
  size_t next = 0;
  for (int32_t k = 0; k < op.inputs; ++k) {
    const Operand& input = plan_.InputsOf(op)[k];
    inputs.push_back(IsChannel(input) ? messages_[received_[i][next++]].landing : PlaceOf(i, input));
  }
  for (int32_t k = 0; k < op.outputs; ++k) {
    if (!IsChannel(plan_.OutputsOf(op)[k])) kept.push_back(PlaceOf(i, plan_.OutputsOf(op)[k]));
  }
  const Place result = Combine(i, inputs, kept);
  std::vector<int32_t> signals;
  next = 0;
  for (int32_t k = 0; k < op.outputs; ++k) {
    const Operand& output = plan_.OutputsOf(op)[k];
    if (!IsChannel(output)) continue;
    const Message& message = messages_[sent_[i][next++]];
    Op put;
    put.type = OpType::kPut;
    put.sources = {LocalSpan(i, result)};
    put.targets = {RemoteSpan(i, order_[message.receiver].rank, message.landing)};
    put.route = output.route;
    Append(i, std::move(put), {result}, nullptr);
    signals.push_back(joined_.at({message.channel, block_of_[i], block_of_[message.receiver]}).first);
  }
  if (signals.empty()) return;
  Sync(i);
  AppendTokens(i, OpType::kSignal, signals);
}

Status Exporter::CheckLimits() const {
  for (size_t rank = 0; rank < out_.gpus.size(); ++rank) {
    const Gpu& gpu = out_.gpus[rank];
    const std::string name = "gpu " + std::to_string(rank) + " needs ";
    if (gpu.scratch_chunks > kChunksMax) {
      return Impossible(name + std::to_string(gpu.scratch_chunks) + " scratch chunks, of at most " +
                        std::to_string(kChunksMax) + "; plan with fewer trees (--trees-per-root 1) or lanes");
    }
    for (const Block& block : gpu.blocks) {
      if (block.ops.size() > kOpsPerBlockMax) {
        return Impossible(name + std::to_string(block.ops.size()) +
                          " ops that depend on each other, and an MSCCL++ threadblock runs " +
                          std::to_string(kOpsPerBlockMax) + "; plan with --planner direct or more lanes");
      }
      std::vector<int32_t> channels;
      for (const Op& op : block.ops) channels.insert(channels.end(), op.channels.begin(), op.channels.end());
      std::sort(channels.begin(), channels.end());
      channels.erase(std::unique(channels.begin(), channels.end()), channels.end());
      if (channels.size() <= kChannelsPerBlockMax) continue;
      return Impossible(name + std::to_string(channels.size()) +
                        " channels for ops that depend on each other, and an MSCCL++ threadblock has " +
                        std::to_string(kChannelsPerBlockMax) + "; plan with --planner ring or forest");
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<ExecutionPlan> ExportPlan(const Plan& plan) {
  if (!Serves(plan.collective)) {
    return Impossible("MSCCL++ execution plans do not say the root or the counts of " +
                      std::string(mycel::NameOf(plan.collective)) +
                      "; allgather, reduce_scatter, allreduce and alltoall can be exported");
  }
  MYCEL_ASSIGN_OR_RETURN(const UnskewedPlan unskewed, UnskewPlan(plan));
  const int64_t blocks = plan.collective == Collective::kAllReduce ? 1 : plan.rank_count;
  if (unskewed.plan.units_per_block > kChunksMax / blocks) {
    return Impossible("the plan cuts a block into " + std::to_string(unskewed.plan.units_per_block) +
                      " units, too many for a chunk each; plan with fewer trees (--trees-per-root 1) or lanes");
  }
  MYCEL_ASSIGN_OR_RETURN(ExecutionPlan out, Exporter(unskewed).Run());
  const StatusOr<Trace> trace = TraceOf(out);
  if (!trace.ok()) {
    if (!IsWrongPlan(trace.status())) return trace.status();
    return InternalError("the exported MSCCL++ plan is wrong: " + StatusMessage(trace.status()));
  }
  return out;
}

}  // namespace mycel::mscclpp
