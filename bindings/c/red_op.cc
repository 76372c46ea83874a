#include "bindings/c/red_op.h"

#include <cstring>
#include <string>
#include <unordered_map>

#include "bindings/c/argument_checks.h"
#include "bindings/c/group_state.h"
#include "bindings/c/guard.h"
#include "bindings/c/handle.h"
#include "bindings/c/status_map.h"
#include "core/base/mutex.h"
#include "core/plan/types.h"

namespace mycel {
namespace {

constexpr int32_t kFirstDynamic = 4096;  // below: the library's own, and room for more of them
constexpr int32_t kLastDynamic = mycelMaxRedOp - 1;

/// All operations that programs have made. Numbers are never given twice, so a destroyed operation is told from one
/// that is there, whatever came after it.
class RedOps {
 public:
  static RedOps& Get() {
    static RedOps ops;
    return ops;
  }

  StatusOr<mycelRedOp_t> Add(const mycelComm& comm, std::shared_ptr<const DynamicOp> op) {
    const MutexLock lock(mutex_);
    // Those of communicators that have ended go now: nothing can name them any more.
    std::erase_if(ops_, [](const auto& entry) {
      return entry.second.comm->generation.load(std::memory_order_relaxed) != entry.second.generation;
    });
    if (next_ > kLastDynamic) return SystemError("this process has made as many reduction operations as it can count");
    ops_.emplace(next_, Entry{&comm, comm.generation.load(std::memory_order_relaxed), std::move(op)});
    return static_cast<mycelRedOp_t>(next_++);
  }

  StatusOr<std::shared_ptr<const DynamicOp>> Find(mycelRedOp_t op, const mycelComm& comm, const char* function) {
    const MutexLock lock(mutex_);
    MYCEL_RETURN_IF_ERROR(Check(op, comm, function));
    return ops_.at(op).op;
  }

  Status Remove(mycelRedOp_t op, const mycelComm& comm, const char* function) {
    const MutexLock lock(mutex_);
    MYCEL_RETURN_IF_ERROR(Check(op, comm, function));
    ops_.erase(op);
    return OkStatus();
  }

 private:
  struct Entry {
    const mycelComm* comm;
    uint64_t generation;  // of the communicator that the handle stood for
    std::shared_ptr<const DynamicOp> op;
  };

  Status Check(mycelRedOp_t op, const mycelComm& comm, const char* function) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto number = static_cast<int32_t>(op);
    const std::string text = std::string(function) + ": op " + std::to_string(number);
    if (number < kFirstDynamic || number >= next_) {
      return InvalidArgument(
          text +
          " is not one of mycelSum (0), mycelProd, mycelMax, mycelMin, mycelAvg (4), mycelBand (32), "
          "mycelBor, mycelBxor (34), nor made by mycelRedOpCreatePreMulSum or mycelRedOpCreateUser");
    }
    const auto entry = ops_.find(number);
    if (entry == ops_.end() ||
        entry->second.comm->generation.load(std::memory_order_relaxed) != entry->second.generation) {
      return InvalidArgument(text + " was destroyed, or its communicator was; make it anew");
    }
    if (entry->second.comm != &comm) {
      return InvalidArgument(text + " was made for another communicator; make one for this");
    }
    return OkStatus();
  }

  Mutex mutex_;
  std::unordered_map<int32_t, Entry> ops_ ABSL_GUARDED_BY(mutex_);
  int32_t next_ ABSL_GUARDED_BY(mutex_) = kFirstDynamic;
};

Status CheckAllowed(ReduceOp op, DataType type, const char* function) {
  if (Allows(op, type)) return OkStatus();
  return InvalidArgument(std::string(function) + ": " + std::string(NameOf(op)) + " is for " + NamesOfTypesFor(op) +
                         ", not for " + std::string(NameOf(type)));
}

Status Create(mycelRedOp_t* op, const mycelComm& comm, std::shared_ptr<const DynamicOp> made) {
  MYCEL_ASSIGN_OR_RETURN(*op, RedOps::Get().Add(comm, std::move(made)));
  return OkStatus();
}

}  // namespace

Status SetOp(mycelRedOp_t op, const mycelComm& comm, const char* function, CollectiveCall* call,
             std::shared_ptr<const DynamicOp>* owner) {
  const auto number = static_cast<int64_t>(op);
  if ((number >= mycelSum && number <= mycelAvg) || IsReduceOp(number)) [[likely]] {
    call->op = static_cast<ReduceOp>(op);
    return number <= mycelAvg ? OkStatus() : CheckAllowed(call->op, call->type, function);
  }
  MYCEL_ASSIGN_OR_RETURN(*owner, RedOps::Get().Find(op, comm, function));
  const DynamicOp& dynamic = **owner;
  if (dynamic.kind == ReduceOp::kPreMulSum && dynamic.type != call->type) {
    return InvalidArgument(std::string(function) + ": op " + std::to_string(number) + " multiplies " +
                           std::string(NameOf(dynamic.type)) + ", the call is of " + std::string(NameOf(call->type)));
  }
  call->op = dynamic.kind;
  call->dynamic = &dynamic;
  return OkStatus();
}

}  // namespace mycel

extern "C" {

mycelResult_t mycelRedOpCreatePreMulSum(mycelRedOp_t* op, void* scalar, mycelDataType_t datatype,
                                        mycelScalarResidence_t residence, mycelComm_t comm) try {
  constexpr const char* kFunction = "mycelRedOpCreatePreMulSum";
  return mycel::Report(mycel::Guarded(kFunction, [&]() -> mycel::Status {
    MYCEL_RETURN_IF_ERROR(mycel::CheckHandle(comm, kFunction));
    MYCEL_RETURN_IF_ERROR(mycel::CheckType(datatype, kFunction));
    if (op == nullptr || scalar == nullptr) {
      return mycel::InvalidArgument("mycelRedOpCreatePreMulSum: op or scalar is NULL");
    }
    if (residence != mycelScalarDevice && residence != mycelScalarHostImmediate) {
      return mycel::InvalidArgument("mycelRedOpCreatePreMulSum: residence " +
                                    std::to_string(static_cast<int>(residence)) +
                                    " is neither mycelScalarDevice (0) nor mycelScalarHostImmediate (1)");
    }
    auto made = std::make_shared<mycel::DynamicOp>();
    made->kind = mycel::ReduceOp::kPreMulSum;
    made->type = static_cast<mycel::DataType>(datatype);
    if (residence == mycelScalarDevice) {
      made->factor_at = scalar;
    } else {
      std::memcpy(made->factor, scalar, mycel::SizeOf(made->type));
    }
    return mycel::Create(op, *comm, std::move(made));
  }));
} catch (...) {
  return mycel::Caught("mycelRedOpCreatePreMulSum");
}

mycelResult_t mycelRedOpCreateUser(mycelRedOp_t* op, mycelUserFunction_t function, void* context, int commutes,
                                   mycelComm_t comm) try {
  constexpr const char* kFunction = "mycelRedOpCreateUser";
  return mycel::Report(mycel::Guarded(kFunction, [&]() -> mycel::Status {
    MYCEL_RETURN_IF_ERROR(mycel::CheckHandle(comm, kFunction));
    if (op == nullptr || function == nullptr) {
      return mycel::InvalidArgument("mycelRedOpCreateUser: op or function is NULL");
    }
    {
      const mycel::Inside inside(comm, kFunction);
      MYCEL_RETURN_IF_ERROR(inside.status());
      if (!inside.communicator().RunsUserFunctions()) {
        return mycel::InvalidArgument(
            "mycelRedOpCreateUser: functions run on the host, this communicator's device is " +
            std::string(inside.communicator().device_name()));
      }
    }
    auto made = std::make_shared<mycel::DynamicOp>();
    made->kind = mycel::ReduceOp::kUser;
    made->user.function = function;
    made->user.context = context;
    made->commutes = commutes != 0;
    return mycel::Create(op, *comm, std::move(made));
  }));
} catch (...) {
  return mycel::Caught("mycelRedOpCreateUser");
}

mycelResult_t mycelRedOpDestroy(mycelRedOp_t op, mycelComm_t comm) try {
  constexpr const char* kFunction = "mycelRedOpDestroy";
  mycel::Status status = mycel::CheckHandle(comm, kFunction);
  if (status.ok() && mycel::IsReduceOp(op)) {
    status = mycel::InvalidArgument("mycelRedOpDestroy: op " + std::to_string(static_cast<int>(op)) +
                                    " is the library's own and stays");
  }
  if (status.ok()) status = mycel::RedOps::Get().Remove(op, *comm, kFunction);
  return mycel::Report(status);
} catch (...) {
  return mycel::Caught("mycelRedOpDestroy");
}

}  // extern "C"
