// One collective on one rank, held against what its contract says, byte for byte: the result, everything around the
// result, and the send buffer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/c/mycel.h"
#include "core/plan/collective.h"
#include "core/plan/types.h"

namespace mycel::reports {

struct ExactCall {
  Collective collective = Collective::kAllReduce;
  DataType type = DataType::kInt32;
  ReduceOp op = ReduceOp::kSum;
  size_t count = 0;
  int root = -1;  // -1 where there is none
  bool in_place = false;
  size_t send_shift = 0;  // elements from an aligned address
  size_t recv_shift = 0;  // the same; not used in place
  uint64_t seed = 0;      // what the data depend on beside rank, block and index
  std::string Text() const;
};

/// Every collective but the v forms.
const std::vector<Collective>& RegularCollectives();

/// The call as the C API has it.
mycelResult_t Call(const ExactCall& it, const void* send, void* recv, mycelComm_t comm, mycelStream_t stream = nullptr);

/// Makes buffers, calls, compares; every rank of the communicator does so with equal arguments. What is wrong, or
/// nothing. Data are small whole numbers: exact in every type and order.
std::string CheckCall(const ExactCall& it, mycelComm_t comm, int rank, int rank_count);

}  // namespace mycel::reports
