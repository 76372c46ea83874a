#include "core/plan/run_check.h"

#include <cstring>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/plan/contract.h"
#include "core/plan/scalar_apply.h"

namespace mycel {
namespace {

using Bytes = std::vector<std::byte>;

/// What `rank` gives to element `element` of `block`.
int DatumOf(DataType type, ReduceOp op, Rank rank, int32_t block, int64_t element) {
  const int64_t mixed = rank.value() * int64_t{7} + block * int64_t{3} + element * int64_t{5};
  // f8e5m2 counts to 8: of 16 ranks one half adds one, the other takes it away. Its products may overflow, and do so
  // in any order.
  const bool adds = op == ReduceOp::kSum || op == ReduceOp::kAvg;
  if (adds && KindOf(type) == TypeKind::kFloating && SizeOf(type) == 1) return mixed % 2 == 0 ? 1 : -1;
  // Products of 16 factors up to 2 and sums of 16 terms up to 7 are exact in 8 bits of mantissa.
  return static_cast<int>(op == ReduceOp::kProd ? 1 + mixed % 2 : 1 + mixed % 7);
}

template <typename T>
void StoreAs(T value, std::byte* at) {
  std::memcpy(at, &value, sizeof value);
}

void Store(DataType type, int value, std::byte* at) {
  switch (type) {
    case DataType::kInt8:
      return StoreAs(static_cast<int8_t>(value), at);
    case DataType::kUint8:
      return StoreAs(static_cast<uint8_t>(value), at);
    case DataType::kInt16:
      return StoreAs(static_cast<int16_t>(value), at);
    case DataType::kUint16:
      return StoreAs(static_cast<uint16_t>(value), at);
    case DataType::kFloat8e4m3:
      return StoreAs(FloatToE4m3(static_cast<float>(value)), at);
    case DataType::kFloat8e5m2:
      return StoreAs(FloatToE5m2(static_cast<float>(value)), at);
    case DataType::kInt32:
      return StoreAs(static_cast<int32_t>(value), at);
    case DataType::kUint32:
      return StoreAs(static_cast<uint32_t>(value), at);
    case DataType::kInt64:
      return StoreAs(static_cast<int64_t>(value), at);
    case DataType::kUint64:
      return StoreAs(static_cast<uint64_t>(value), at);
    case DataType::kFloat16:
      return StoreAs(FloatToHalf(static_cast<float>(value)), at);
    case DataType::kFloat32:
      return StoreAs(static_cast<float>(value), at);
    case DataType::kFloat64:
      return StoreAs(static_cast<double>(value), at);
    case DataType::kBfloat16:
      return StoreAs(FloatToBfloat16(static_cast<float>(value)), at);
  }
}

class RunChecker {
 public:
  RunChecker(const Plan& plan, const InterpretRequest& request)
      : plan_(plan), request_(request), contract_{plan.collective, plan.rank_count, plan.root} {}

  Status Run() {
    MYCEL_CHECK_LE(plan_.rank_count, 16);
    for (Rank rank : Ids<Rank>(plan_.rank_count)) Fill(rank);
    const std::vector<Bytes> given = send_;
    MYCEL_RETURN_IF_ERROR(Interpret(plan_, request_, send_, recv_));
    if (!request_.in_place && send_ != given) return InternalError("a send buffer has changed");
    for (Rank rank : Ids<Rank>(plan_.rank_count)) MYCEL_RETURN_IF_ERROR(CheckRank(rank));
    return OkStatus();
  }

 private:
  int64_t CountOf(int32_t block) const { return plan_.block_units.empty() ? request_.count : plan_.UnitsOf(block); }
  int64_t element_bytes() const { return static_cast<int64_t>(SizeOf(request_.type)); }

  /// One rank's contribution to a block.
  Bytes BlockOf(Rank rank, int32_t block) const {
    Bytes bytes(static_cast<size_t>(CountOf(block) * element_bytes()));
    for (int64_t element = 0; element < CountOf(block); ++element) {
      Store(request_.type, DatumOf(request_.type, request_.op, rank, block, element),
            bytes.data() + element * element_bytes());
    }
    return bytes;
  }

  /// The memory that holds the rank's buffer, and the byte at which the buffer starts.
  std::pair<Bytes*, int64_t> BufferOf(Rank rank, bool is_send) {
    const bool in_send = request_.in_place ? contract_.SendHoldsRecv(rank) : is_send;
    int64_t offset = 0;
    if (in_send != is_send) {
      const int64_t recv_from_send = contract_.InPlaceOffset(rank) * request_.count * element_bytes();
      offset = is_send ? -recv_from_send : recv_from_send;
    }
    return {&(in_send ? send_ : recv_)[rank.index()], offset};
  }

  void Fill(Rank rank) {
    const InterpretBytes bytes = BytesFor(plan_, request_, rank);
    send_.emplace_back(static_cast<size_t>(bytes.send), std::byte{0x5a});
    recv_.emplace_back(static_cast<size_t>(bytes.recv), std::byte{0x5a});
    auto [memory, at] = BufferOf(rank, true);
    for (const int32_t block : contract_.SendBlocks(rank)) {
      const Bytes data = BlockOf(rank, block);
      std::copy(data.begin(), data.end(), memory->begin() + at);
      at += static_cast<int64_t>(data.size());
    }
  }

  Status CheckRank(Rank rank) {
    auto [memory, at] = BufferOf(rank, false);
    for (const int32_t block : contract_.RecvBlocks(rank)) {
      std::vector<Bytes> parts;
      for (const Rank from : contract_.Contributors(block)) parts.push_back(BlockOf(from, block));
      std::vector<const std::byte*> inputs;
      for (const Bytes& part : parts) inputs.push_back(part.data());
      Bytes expected(parts[0].size());
      const bool finish = InfoOf(plan_.collective).reduces;
      ScalarApply({request_.type, request_.op, finish, plan_.rank_count}, inputs, expected.data(), CountOf(block));
      for (size_t i = 0; i < expected.size(); ++i, ++at) {
        if ((*memory)[static_cast<size_t>(at)] == expected[i]) continue;
        return InternalError("rank " + std::to_string(rank.value()) + " block " + std::to_string(block) + " element " +
                             std::to_string(static_cast<int64_t>(i) / element_bytes()) + " is wrong");
      }
    }
    return OkStatus();
  }

  const Plan& plan_;
  const InterpretRequest& request_;
  const Contract contract_;
  std::vector<Bytes> send_;
  std::vector<Bytes> recv_;
};

}  // namespace

Status CheckByRunning(const Plan& plan, const InterpretRequest& request) { return RunChecker(plan, request).Run(); }

}  // namespace mycel
