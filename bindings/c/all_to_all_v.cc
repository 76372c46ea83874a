// alltoallv: as messages, by a plan for its matrix, and by plans that the caller keeps.
#include <cstdint>
#include <string>
#include <vector>

#include "bindings/c/argument_checks.h"
#include "bindings/c/block_places.h"
#include "bindings/c/call_config.h"
#include "bindings/c/group_state.h"
#include "bindings/c/guard.h"
#include "bindings/c/handle.h"
#include "bindings/c/mycel.h"
#include "bindings/c/status_map.h"
#include "bindings/c/vector_handle.h"

namespace mycel {
namespace {

struct VectorArguments {
  const void* send;
  void* recv;
  const VectorArrays* arrays;
  DataType type;
};

/// A buffer may be NULL where nothing lies in it.
Status CheckVectorBuffers(const VectorArguments& arguments, int32_t rank_count, const char* function) {
  if (arguments.send != nullptr && arguments.recv != nullptr) return OkStatus();
  for (int32_t peer = 0; peer < rank_count; ++peer) {
    if ((arguments.arrays->send_counts[peer] > 0 && arguments.send == nullptr) ||
        (arguments.arrays->recv_counts[peer] > 0 && arguments.recv == nullptr)) {
      return InvalidArgument(std::string(function) + ": a buffer with elements in it is NULL");
    }
  }
  return OkStatus();
}

/// Where received blocks come to lie. Counts that cannot be are refused later, on all ranks.
Status CheckReceivePlaces(const VectorArguments& arguments, int32_t rank_count, const char* function) {
  const VectorArrays& arrays = *arguments.arrays;
  const size_t element_bytes = SizeOf(arguments.type);
  for (int32_t peer = 0; peer < rank_count; ++peer) {
    if (arrays.recv_counts[peer] > (uint64_t{1} << 50) / element_bytes) return OkStatus();
  }
  return CheckPlaces(
      {arguments.recv, arrays.recv_counts, arrays.recv_at, rank_count, element_bytes, "recvbuff", "rdispls"}, function);
}

CollectiveCall VectorCallOf(const VectorArguments& arguments, int32_t rank_count) {
  CollectiveCall call;
  call.collective = Collective::kAllToAllV;
  call.type = arguments.type;
  call.send = arguments.send;
  call.recv = arguments.recv;
  call.vector = arguments.arrays;
  if (arguments.arrays->send_counts == nullptr) return call;
  for (int32_t peer = 0; peer < rank_count; ++peer) call.count += arguments.arrays->send_counts[peer];
  return call;
}

/// The list is kept per thread, so that it is grown once.
mycelResult_t SubmitLegs(const CollectiveCall& call, mycelComm_t comm, mycelStream_t stream, const char* function) {
  thread_local std::vector<PointCall> legs;
  legs.clear();
  const Status listed = Guarded(function, [&] {
    AppendLegs(call, comm->rank, comm->rank_count, &legs);
    return OkStatus();
  });
  if (!listed.ok()) return Refuse(listed);
  for (const PointCall& leg : legs) {
    const Status status = CheckCount(leg.count, static_cast<mycelDataType_t>(leg.type), function);
    if (!status.ok()) return Refuse(status);
  }
  return SubmitPoints(comm, legs, stream, function);
}

Status CheckDirection(mycelDirection_t direction, const char* function) {
  if (direction == mycelDispatch || direction == mycelCombine) return OkStatus();
  return InvalidArgument(std::string(function) + ": direction " + std::to_string(static_cast<int>(direction)) +
                         " is neither mycelDispatch (0) nor mycelCombine (1)");
}

Status CheckRun(mycelAllToAllvPlan_t plan, mycelDirection_t direction, const char* function) {
  MYCEL_RETURN_IF_ERROR(CheckVectorHandle(plan, function));
  MYCEL_RETURN_IF_ERROR(CheckDirection(direction, function));
  if (!HasCommunicator(plan)) {
    return InvalidUsage(std::string(function) + ": the plan's communicator was destroyed; make the plan anew");
  }
  if (plan->pair.dispatch.program == nullptr) {
    return InvalidUsage(std::string(function) + ": the creation of the plan failed, or its group has not ended");
  }
  return OkStatus();
}

}  // namespace
}  // namespace mycel

extern "C" {

mycelResult_t mycelAllToAllv(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls, void* recvbuff,
                             const size_t* recvcounts, const size_t* rdispls, mycelDataType_t datatype,
                             mycelComm_t comm, mycelStream_t stream) try {
  constexpr const char* kFunction = "mycelAllToAllv";
  mycel::Status status = mycel::CheckHandle(comm, kFunction);
  if (status.ok()) status = mycel::CheckType(datatype, kFunction);
  if (status.ok() && (sendcounts == nullptr || sdispls == nullptr || recvcounts == nullptr || rdispls == nullptr)) {
    status = mycel::InvalidArgument("mycelAllToAllv: sendcounts, sdispls, recvcounts and rdispls must not be NULL");
  }
  if (!status.ok()) return mycel::Refuse(status);
  mycel::VectorArrays arrays;
  arrays.send_counts = sendcounts;
  arrays.send_at = sdispls;
  arrays.recv_counts = recvcounts;
  arrays.recv_at = rdispls;
  const mycel::VectorArguments arguments{sendbuff, recvbuff, &arrays, static_cast<mycel::DataType>(datatype)};
  const int32_t n = comm->rank_count;
  status = mycel::CheckVectorBuffers(arguments, n, kFunction);
  if (status.ok()) status = mycel::CheckReceivePlaces(arguments, n, kFunction);
  if (!status.ok()) return mycel::Refuse(status);
  const mycel::CollectiveCall call = mycel::VectorCallOf(arguments, n);
  const mycel::CallSettings* settings = mycel::SettingsOfThread();
  if (comm->plans_vectors || (settings != nullptr && settings->ChoosesVectorPlans()))
    return mycel::Submit(comm, call, stream, kFunction);
  return mycel::SubmitLegs(call, comm, stream, kFunction);
} catch (...) {
  return mycel::Caught("mycelAllToAllv");
}

mycelResult_t mycelAllToAllvPlanCreate(mycelAllToAllvPlan_t* plan, const size_t* sendcounts, const size_t* recvcounts,
                                       mycelDataType_t datatype, mycelComm_t comm) try {
  constexpr const char* kFunction = "mycelAllToAllvPlanCreate";
  mycel::Status status = mycel::CheckHandle(comm, kFunction);
  if (status.ok()) status = mycel::CheckType(datatype, kFunction);
  if (status.ok() && (plan == nullptr || sendcounts == nullptr || recvcounts == nullptr)) {
    status = mycel::InvalidArgument("mycelAllToAllvPlanCreate: plan, sendcounts and recvcounts must not be NULL");
  }
  mycelAllToAllvPlan_t made = nullptr;
  if (status.ok()) {
    status = mycel::Guarded(kFunction, [&] {
      made = mycel::NewVectorHandle(comm, static_cast<mycel::DataType>(datatype));
      return mycel::OkStatus();
    });
  }
  if (!status.ok()) return mycel::Refuse(status);
  mycel::VectorArrays arrays;
  arrays.send_counts = sendcounts;
  arrays.recv_counts = recvcounts;
  arrays.make = &made->pair;
  const mycel::VectorArguments arguments{nullptr, nullptr, &arrays, made->type};
  mycelResult_t result = mycel::Submit(comm, mycel::VectorCallOf(arguments, comm->rank_count), nullptr, kFunction);
  if (result == mycelInProgress) {
    // The communicator does not block, but a plan that is not there cannot be handed out.
    mycel::AwaitStreams(comm);
    result = mycel::Report(mycel::TakeAsyncError(comm));
  }
  if (result == mycelSuccess) {
    *plan = made;
  } else {
    mycel::RetireVectorHandle(made);
  }
  return result;
} catch (...) {
  return mycel::Caught("mycelAllToAllvPlanCreate");
}

mycelResult_t mycelAllToAllvPlanRun(mycelAllToAllvPlan_t plan, mycelDirection_t direction, const void* sendbuff,
                                    const size_t* sdispls, void* recvbuff, const size_t* rdispls,
                                    mycelStream_t stream) try {
  constexpr const char* kFunction = "mycelAllToAllvPlanRun";
  mycel::Status status = mycel::CheckRun(plan, direction, kFunction);
  if (status.ok() && (sdispls == nullptr || rdispls == nullptr)) {
    status = mycel::InvalidArgument("mycelAllToAllvPlanRun: sdispls and rdispls must not be NULL");
  }
  if (!status.ok()) return mycel::Refuse(status);
  mycel::VectorPlan& chosen = direction == mycelDispatch ? plan->pair.dispatch : plan->pair.combine;
  if ((chosen.send_total > 0 && sendbuff == nullptr) || (chosen.recv_total > 0 && recvbuff == nullptr)) {
    return mycel::Refuse(mycel::InvalidArgument("mycelAllToAllvPlanRun: a buffer with elements in it is NULL"));
  }
  status = mycel::CheckPlaces({recvbuff, chosen.recv_bytes.data(), rdispls, plan->comm->rank_count,
                               mycel::SizeOf(plan->type), "recvbuff", "rdispls", 1},
                              kFunction);
  if (!status.ok()) return mycel::Refuse(status);
  mycel::VectorArrays arrays;
  arrays.send_at = sdispls;
  arrays.recv_at = rdispls;
  arrays.plan = &chosen;
  const mycel::VectorArguments arguments{sendbuff, recvbuff, &arrays, plan->type};
  mycel::CollectiveCall call = mycel::VectorCallOf(arguments, plan->comm->rank_count);
  call.count = chosen.send_total / mycel::SizeOf(plan->type);
  return mycel::Submit(plan->comm, call, stream, kFunction);
} catch (...) {
  return mycel::Caught("mycelAllToAllvPlanRun");
}

mycelResult_t mycelAllToAllvPlanDestroy(mycelAllToAllvPlan_t plan) try {
  if (plan == nullptr) return mycelSuccess;
  const mycel::Status status = mycel::CheckVectorHandle(plan, "mycelAllToAllvPlanDestroy");
  if (!status.ok()) return mycel::Report(status);
  if (mycel::HasCommunicator(plan)) mycel::AwaitStreams(plan->comm);
  mycel::RetireVectorHandle(plan);
  return mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelAllToAllvPlanDestroy");
}

}  // extern "C"
