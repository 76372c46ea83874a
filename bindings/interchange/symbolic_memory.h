// The memory of all ranks while a file is executed symbolically: which chunk lies at each address, whose contributions
// it holds, and who touched it last, so that races show.
//
// Addresses. A rank's memory is its input chunks, then its output chunks, then scratch, one address a chunk. Run in
// place, input and output overlap as Contract::InPlaceOffset says and share addresses.
//
// Races. Each thread (a thread block) has a vector clock. Two accesses of an address, one of them a write, must be
// ordered by program order, messages or dependencies; otherwise the file's result depends on luck.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/interchange/trace.h"
#include "core/base/status.h"
#include "core/plan/contract.h"
#include "core/plan/verify/contributors.h"

namespace mycel {

/// What lies at an address: one unit of a block.
struct SymbolicValue {
  int32_t block = -1;  // -1: nothing was ever written
  int64_t unit = 0;
  int32_t set = -1;       // of SymbolicMemory::sets
  bool finished = false;  // a reduction that was complete when it was made
  friend bool operator==(const SymbolicValue&, const SymbolicValue&) = default;
};

/// Happens-before times of each thread, as seen by one.
using VectorClock = std::vector<int32_t>;
void JoinClock(const VectorClock& other, VectorClock* clock);

class SymbolicMemory {
 public:
  enum class Area : uint8_t { kInput, kOutput, kScratch };

  /// InvalidArgument, starting with `file`, where the memory would have more chunks than can be followed.
  static Status CheckSize(const Contract& contract, int64_t units_per_block, const std::vector<int32_t>& scratch,
                          const std::string& file);
  /// `scratch`: chunks of each rank.
  SymbolicMemory(const Contract& contract, int64_t units_per_block, const std::vector<int32_t>& scratch, bool in_place);

  /// Chunks of a user buffer.
  int64_t InputChunks(Rank rank) const;
  int64_t OutputChunks(Rank rank) const;
  /// Address of chunk `offset` of an area; the caller has checked the range.
  int64_t AddressOf(Rank rank, Area area, int64_t offset) const;

  struct Access {
    Rank rank;
    int64_t address = 0;
    int32_t thread = 0;
    int32_t step = 0;  // of the thread
  };
  /// The value, and where a plan finds it. The error texts lack the name of the step that reads, which the caller puts
  /// in front: "reads ..., which nothing has written".
  StatusOr<SymbolicValue> Read(const Access& access, const VectorClock& clock, TraceOperand* operand);
  Status Write(const Access& access, const VectorClock& clock, const SymbolicValue& value, TraceOperand* operand);

  /// a and b united. InvalidArgument: other chunks, or a contribution that is in both.
  StatusOr<SymbolicValue> Reduce(const SymbolicValue& a, const SymbolicValue& b);
  /// Marks a complete reduction; true when it is complete only now.
  bool Finish(SymbolicValue* value) const;
  /// "block 2 unit 5".
  static std::string Describe(const SymbolicValue& value);

  /// Ops that copy input which lies in place in the receive buffer, for callers who run out of place. Appended to `ops`
  /// in lane `lane`; only for memory that runs in place, when everything is done.
  void AppendOwnCopies(int32_t lane, std::vector<TraceOp>* ops) const;

 private:
  struct Touch {
    int32_t thread;
    int32_t step;
  };
  struct Cell {
    SymbolicValue value;
    TraceOperand::Kind home = TraceOperand::Kind::kSend;
    Touch writer{-1, -1};
    std::vector<Touch> readers;  // since the write, one a thread
  };
  struct RankMemory {
    int64_t input = 0;  // address of the first chunk of each area
    int64_t output = 0;
    int64_t scratch = 0;
    std::vector<Cell> cells;
  };

  Cell& CellOf(const Access& access) { return ranks_[access.rank.index()].cells[static_cast<size_t>(access.address)]; }

  Contract contract_;
  int64_t units_;
  bool reduces_;
  verify::ContributorSets sets_;
  std::vector<RankMemory> ranks_;
};

}  // namespace mycel
