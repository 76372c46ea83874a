// Operations that the program made at run time. premulsum is a sum of products: each rank's data is multiplied by its
// factor into memory of ours, rounded to the type, and what follows is a sum like any other, whoever planned it. A
// user's function reaches the loop through Launch::user.
#include <cstring>
#include <new>

#include "core/base/check.h"
#include "core/runtime/communicator.h"

namespace mycel {

Status Communicator::SetDynamic(const CollectiveCall& call) {
  if (call.op == ReduceOp::kPreMulSum) return ScaleInput(call);
  MYCEL_CHECK(call.op == ReduceOp::kUser);
  if (!RunsUserFunctions()) {
    return Fail(InvalidUsage(Where() + ": a function of the program cannot run on device " +
                             std::string(device_name()) + "; use one of the library's operations"));
  }
  current_.user = call.dynamic->user;
  current_.user.element_bytes = SizeOf(call.type);
  current_.launch.user = &current_.user;
  return OkStatus();
}

Status Communicator::ScaleInput(const CollectiveCall& call) {
  const bool blocks = call.collective == Collective::kReduceScatter && call.vector == nullptr;
  const uint64_t elements = call.count * (blocks ? static_cast<uint64_t>(parts_.rank_count) : 1);
  const size_t bytes = elements * SizeOf(call.type);
  if (has_stream()) return ScaleOnStream(call, elements);
  if (bytes > scaled_bytes_) {
    scaled_.reset();
    scaled_bytes_ = 0;
    scaled_.reset(new (std::nothrow) std::byte[bytes]);
    if (scaled_ == nullptr) {
      return Fail(SystemError(Where() + ": the system refuses " + std::to_string(bytes) +
                              " bytes for this rank's data times its factor; free memory, or scale the data first and "
                              "use mycelSum"));
    }
    scaled_bytes_ = bytes;
  }
  const DynamicOp& op = *call.dynamic;
  const void* factor = op.factor_at != nullptr ? op.factor_at : op.factor;
  if (elements > 0) parts_.device->Scale(call.type, factor, call.send, scaled_.get(), elements);
  current_.launch.bases[static_cast<size_t>(OperandBase::kSend)] = scaled_.get();
  return OkStatus();
}

}  // namespace mycel
