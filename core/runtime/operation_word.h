// What a rank is doing, in one word and in words: for the status page, whose readers must not allocate.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/fixed_text.h"
#include "core/plan/types.h"
#include "core/runtime/call.h"
#include "core/spi/board.h"

namespace mycel {

/// Packed: collective (16 bits), type (8), op (8), root or -1 (24), planner (8).
struct OperationWord {
  uint32_t collective = 0;  // as RankBoard::collective
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  int32_t root = -1;     // messages: the peer of the first one
  uint32_t planner = 0;  // an index into the planner names of the status entry; 0: none

  constexpr uint64_t Pack() const {
    return uint64_t{collective & 0xffffU} << 48 | uint64_t{static_cast<uint8_t>(type)} << 40 |
           uint64_t{static_cast<uint8_t>(op)} << 32 | (uint64_t{static_cast<uint32_t>(root)} & 0xffffffU) << 8 |
           (planner & 0xffU);
  }
  static constexpr OperationWord Unpack(uint64_t word) {
    OperationWord operation;
    operation.collective = static_cast<uint32_t>(word >> 48);
    operation.type = static_cast<DataType>(word >> 40 & 0xffU);
    operation.op = static_cast<ReduceOp>(word >> 32 & 0xffU);
    const auto root = static_cast<int32_t>(word >> 8 & 0xffffffU);
    operation.root = root == 0xffffff ? -1 : root;
    operation.planner = static_cast<uint32_t>(word & 0xffU);
    return operation;
  }
};

/// Of a collective; `collective` as the board has it.
inline OperationWord WordOf(const CollectiveCall& call, uint32_t collective, uint32_t planner) {
  return {collective, call.type, call.op, call.root, planner};
}
OperationWord WordOf(const RankBoard& board);

/// "allreduce(count 1000, float, sum)", "send/recv(first with rank 3, 4096 bytes)", without allocating, in at most
/// kOperationTextMax bytes. `count`: elements; of messages bytes in all. Anything may stand in the word.
inline constexpr size_t kOperationTextMax = 160;
void AppendOperation(const OperationWord& what, uint64_t count, FixedText* text);
std::string OperationText(const OperationWord& what, uint64_t count);

}  // namespace mycel
