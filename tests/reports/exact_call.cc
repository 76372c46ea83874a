#include "tests/reports/exact_call.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/plan/contract.h"
#include "tests/conformance/element.h"

namespace mycel::reports {
namespace {

constexpr unsigned char kPoison = 0xA5;
constexpr size_t kMarginBytes = 512;

/// Rank `rank`'s contribution to element `index` of logical block `block`.
double ValueOf(const ExactCall& it, int rank, int block, size_t index) {
  const uint64_t mix = it.seed * 11 + static_cast<uint64_t>(rank * 7 + block * 3) + index;
  return it.op == ReduceOp::kProd ? static_cast<double>(1 + (mix % 5 == 0 ? 1 : 0)) : static_cast<double>(mix % 6);
}

double Expected(const ExactCall& it, int rank_count, const std::vector<Rank>& contributors, int block, size_t index) {
  double result = ValueOf(it, contributors.at(0).value(), block, index);
  for (size_t i = 1; i < contributors.size(); ++i) {
    const double value = ValueOf(it, contributors[i].value(), block, index);
    if (it.op == ReduceOp::kSum || it.op == ReduceOp::kAvg) result += value;
    if (it.op == ReduceOp::kProd) result *= value;
    if (it.op == ReduceOp::kMax) result = std::max(result, value);
    if (it.op == ReduceOp::kMin) result = std::min(result, value);
  }
  if (it.op != ReduceOp::kAvg) return result;
  const double average = result / rank_count;
  return KindOf(it.type) == TypeKind::kFloating ? average : std::trunc(average);
}

/// Where a rank's buffers lie in memory that is otherwise poison. In place they follow NCCL's pointer rules.
struct Layout {
  size_t send_at = 0;  // bytes
  size_t recv_at = 0;
  size_t send_bytes = 0;
  size_t recv_bytes = 0;
  size_t total_bytes = 0;
};

Layout LayoutOf(const ExactCall& it, const Contract& contract, Rank rank) {
  const size_t element = SizeOf(it.type);
  const size_t block = it.count * element;
  Layout layout;
  layout.send_bytes = contract.SendBlocks(rank).size() * block;
  layout.recv_bytes = contract.RecvBlocks(rank).size() * block;
  const size_t send_room = kMarginBytes + it.send_shift * element;
  layout.send_at = send_room;
  if (it.in_place && layout.send_bytes > 0 && layout.recv_bytes > 0) {
    const int64_t offset = contract.InPlaceOffset(rank) * static_cast<int64_t>(block);
    if (offset < 0) layout.send_at += static_cast<size_t>(-offset);
    layout.recv_at = static_cast<size_t>(static_cast<int64_t>(layout.send_at) + offset);
    layout.total_bytes = send_room + std::max(layout.send_bytes, layout.recv_bytes) + kMarginBytes;
    return layout;
  }
  layout.recv_at = ((send_room + layout.send_bytes + kMarginBytes) / 64 + 1) * 64 + it.recv_shift * element;
  layout.total_bytes = layout.recv_at + layout.recv_bytes + kMarginBytes;
  return layout;
}

void FillSend(const ExactCall& it, const Contract& contract, Rank rank, unsigned char* send) {
  const size_t element = SizeOf(it.type);
  for (const int32_t block : contract.SendBlocks(rank)) {
    for (size_t i = 0; i < it.count; ++i, send += element) {
      StoreElement(it.type, ValueOf(it, rank.value(), block, i), send);
    }
  }
}

void FillExpected(const ExactCall& it, const Contract& contract, Rank rank, unsigned char* recv) {
  const size_t element = SizeOf(it.type);
  for (const int32_t block : contract.RecvBlocks(rank)) {
    const std::vector<Rank> contributors = contract.Contributors(block);
    for (size_t i = 0; i < it.count; ++i, recv += element) {
      StoreElement(it.type, Expected(it, contract.rank_count, contributors, block, i), recv);
    }
  }
}

}  // namespace

std::string ExactCall::Text() const {
  return std::string(NameOf(collective)) + " " + std::string(NameOf(type)) + " " + std::string(NameOf(op)) + " count " +
         std::to_string(count) + " root " + std::to_string(root) + (in_place ? " in place" : "") + " shifts " +
         std::to_string(send_shift) + ", " + std::to_string(recv_shift) + " seed " + std::to_string(seed);
}

const std::vector<Collective>& RegularCollectives() {
  static const std::vector<Collective> regular = {
      Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter, Collective::kBroadcast,
      Collective::kReduce,    Collective::kAllToAll,  Collective::kGather,        Collective::kScatter};
  return regular;
}

mycelResult_t Call(const ExactCall& it, const void* send, void* recv, mycelComm_t comm, mycelStream_t stream) {
  const auto type = static_cast<mycelDataType_t>(it.type);
  const auto op = static_cast<mycelRedOp_t>(it.op);
  switch (it.collective) {
    case Collective::kAllReduce:
      return mycelAllReduce(send, recv, it.count, type, op, comm, stream);
    case Collective::kAllGather:
      return mycelAllGather(send, recv, it.count, type, comm, stream);
    case Collective::kReduceScatter:
      return mycelReduceScatter(send, recv, it.count, type, op, comm, stream);
    case Collective::kBroadcast:
      return mycelBroadcast(send, recv, it.count, type, it.root, comm, stream);
    case Collective::kReduce:
      return mycelReduce(send, recv, it.count, type, op, it.root, comm, stream);
    case Collective::kAllToAll:
      return mycelAllToAll(send, recv, it.count, type, comm, stream);
    case Collective::kGather:
      return mycelGather(send, recv, it.count, type, it.root, comm, stream);
    case Collective::kScatter:
      return mycelScatter(send, recv, it.count, type, it.root, comm, stream);
    default:
      return mycelInternalError;
  }
}

std::string CheckCall(const ExactCall& it, mycelComm_t comm, int rank, int rank_count) {
  const Contract contract{it.collective, rank_count, Rank(it.root)};
  const Layout layout = LayoutOf(it, contract, Rank(rank));
  std::vector<unsigned char> memory(layout.total_bytes, kPoison);
  unsigned char* send = layout.send_bytes == 0 ? nullptr : memory.data() + layout.send_at;
  unsigned char* recv = layout.recv_bytes == 0 ? nullptr : memory.data() + layout.recv_at;
  if (send != nullptr) FillSend(it, contract, Rank(rank), send);
  std::vector<unsigned char> expected = memory;
  if (recv != nullptr) FillExpected(it, contract, Rank(rank), expected.data() + layout.recv_at);
  const mycelResult_t result = Call(it, send, recv, comm);
  if (result != mycelSuccess) {
    return it.Text() + ": result " + std::to_string(result) + ", " + mycelGetLastError(comm);
  }
  if (memory == expected) return {};
  const auto wrong = std::mismatch(memory.begin(), memory.end(), expected.begin());
  const auto at = static_cast<size_t>(wrong.first - memory.begin());
  std::string where = " outside of both buffers, byte " + std::to_string(at);
  if (at >= layout.recv_at && at < layout.recv_at + layout.recv_bytes) {
    where = " in the result, byte " + std::to_string(at - layout.recv_at);
  } else if (at >= layout.send_at && at < layout.send_at + layout.send_bytes) {
    where = " in the send buffer, byte " + std::to_string(at - layout.send_at);
  }
  return it.Text() + where + ": " + std::to_string(*wrong.first) + " instead of " + std::to_string(*wrong.second);
}

}  // namespace mycel::reports
