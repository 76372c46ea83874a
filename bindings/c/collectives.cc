// Hop 1: accept. Arguments are checked here, once, with a text that names the argument and the rule.
#include <cstdint>
#include <string>

#include "bindings/c/argument_checks.h"
#include "bindings/c/group_state.h"
#include "bindings/c/guard.h"
#include "bindings/c/handle.h"
#include "bindings/c/mycel.h"
#include "bindings/c/red_op.h"
#include "bindings/c/status_map.h"
#include "core/plan/contract.h"

namespace mycel {
namespace {

/// Elements of the layout's buffer at `rank`, in blocks of `count`.
uint64_t BlocksIn(Layout layout, int32_t rank, int32_t rank_count, int32_t root) {
  switch (layout) {
    case Layout::kOne:
    case Layout::kMine:
      return 1;
    case Layout::kAll:
    case Layout::kFromMe:
    case Layout::kToMe:
      return static_cast<uint64_t>(rank_count);
    case Layout::kOneAtRoot:
      return rank == root ? 1 : 0;
    case Layout::kAllAtRoot:
      return rank == root ? static_cast<uint64_t>(rank_count) : 0;
  }
  return 0;
}

/// NULL buffers, sizes beyond the address space, and overlaps other than the collective's in-place rule.
Status CheckBuffers(const CollectiveCall& call, const mycelComm& comm, const char* function) {
  const CollectiveInfo& info = InfoOf(call.collective);
  const int32_t rank = comm.rank;
  const int32_t n = comm.rank_count;
  const uint64_t block_bytes = call.count * SizeOf(call.type);
  if (call.count > (uint64_t{1} << 62) / static_cast<uint64_t>(n) / SizeOf(call.type)) [[unlikely]] {
    return InvalidArgument(std::string(function) + ": count " + std::to_string(call.count) +
                           " times the type's size and the rank count is beyond 2^62 bytes");
  }
  const uint64_t send_bytes = block_bytes * BlocksIn(info.send, rank, n, call.root);
  const uint64_t recv_bytes = block_bytes * BlocksIn(info.recv, rank, n, call.root);
  if (send_bytes > 0 && call.send == nullptr) return InvalidArgument(std::string(function) + ": sendbuff is NULL");
  if (recv_bytes > 0 && call.recv == nullptr) return InvalidArgument(std::string(function) + ": recvbuff is NULL");
  if (comm.device.driver != nullptr) {
    if (send_bytes > 0)
      MYCEL_RETURN_IF_ERROR(CheckMemory(comm.device, call.send, std::string(function) + ": sendbuff"));
    if (recv_bytes > 0)
      MYCEL_RETURN_IF_ERROR(CheckMemory(comm.device, call.recv, std::string(function) + ": recvbuff"));
  }
  if (send_bytes == 0 || recv_bytes == 0 || !Overlap(SpanOf(call.send, send_bytes), SpanOf(call.recv, recv_bytes))) {
    return OkStatus();
  }
  const Contract contract{call.collective, n, Rank(call.root)};
  const int64_t offset = contract.InPlaceOffset(Rank(rank)) * static_cast<int64_t>(block_bytes);
  const auto expected = static_cast<uintptr_t>(static_cast<int64_t>(reinterpret_cast<uintptr_t>(call.send)) + offset);
  if (reinterpret_cast<uintptr_t>(call.recv) == expected) return OkStatus();
  return InvalidArgument(
      std::string(function) + ": sendbuff and recvbuff overlap, and not as the in-place rule says (" +
      "recvbuff must be sendbuff " + (offset < 0 ? "- " : "+ ") + std::to_string(offset < 0 ? -offset : offset) +
      " bytes on rank " + std::to_string(rank) + ")");
}

struct Arguments {
  Collective collective;
  const void* send;
  void* recv;
  size_t count;
  mycelDataType_t type;
  mycelRedOp_t op;
  int root;
};

mycelResult_t Accept(const Arguments& arguments, mycelComm_t comm, mycelStream_t stream, const char* function) {
  Status status = CheckHandle(comm, function);
  if (status.ok()) status = CheckType(arguments.type, function);
  if (!status.ok()) [[unlikely]]
    return Refuse(status);
  CollectiveCall call;
  call.collective = arguments.collective;
  call.type = static_cast<DataType>(arguments.type);
  std::shared_ptr<const DynamicOp> dynamic;
  status = SetOp(arguments.op, *comm, function, &call, &dynamic);
  call.send = arguments.send;
  call.recv = arguments.recv;
  call.count = arguments.count;
  if (status.ok() && InfoOf(call.collective).rooted) {
    status = CheckPeer(arguments.root, *comm, "root", function);
    call.root = arguments.root;
  }
  if (status.ok()) status = CheckBuffers(call, *comm, function);
  if (!status.ok()) [[unlikely]]
    return Refuse(status);
  return Submit(comm, call, stream, function, dynamic);
}

mycelResult_t AcceptPoint(const PointCall& call, mycelDataType_t type, mycelComm_t comm, mycelStream_t stream,
                          const char* function) {
  Status status = CheckHandle(comm, function);
  if (status.ok()) status = CheckType(type, function);
  if (status.ok()) status = CheckPeer(call.peer, *comm, "peer", function);
  if (status.ok() && call.count > 0 && call.buffer == nullptr) {
    status = InvalidArgument(std::string(function) + ": the buffer is NULL");
  }
  if (status.ok() && call.count > 0) {
    status = CheckMemory(comm->device, call.buffer, std::string(function) + ": the buffer");
  }
  if (status.ok()) status = CheckCount(call.count, type, function);
  if (!status.ok()) return Refuse(status);
  PointCall typed = call;
  typed.type = static_cast<DataType>(type);
  return SubmitPoints(comm, {&typed, 1}, stream, function);
}

}  // namespace
}  // namespace mycel

using mycel::Collective;

extern "C" {

mycelResult_t mycelAllReduce(const void* sendbuff, void* recvbuff, size_t count, mycelDataType_t datatype,
                             mycelRedOp_t op, mycelComm_t comm, mycelStream_t stream) try {
  return mycel::Accept({Collective::kAllReduce, sendbuff, recvbuff, count, datatype, op, -1}, comm, stream,
                       "mycelAllReduce");
} catch (...) {
  return mycel::Caught("mycelAllReduce");
}

mycelResult_t mycelAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, mycelDataType_t datatype,
                             mycelComm_t comm, mycelStream_t stream) try {
  return mycel::Accept({Collective::kAllGather, sendbuff, recvbuff, sendcount, datatype, mycelSum, -1}, comm, stream,
                       "mycelAllGather");
} catch (...) {
  return mycel::Caught("mycelAllGather");
}

mycelResult_t mycelReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount, mycelDataType_t datatype,
                                 mycelRedOp_t op, mycelComm_t comm, mycelStream_t stream) try {
  return mycel::Accept({Collective::kReduceScatter, sendbuff, recvbuff, recvcount, datatype, op, -1}, comm, stream,
                       "mycelReduceScatter");
} catch (...) {
  return mycel::Caught("mycelReduceScatter");
}

mycelResult_t mycelBroadcast(const void* sendbuff, void* recvbuff, size_t count, mycelDataType_t datatype, int root,
                             mycelComm_t comm, mycelStream_t stream) try {
  return mycel::Accept({Collective::kBroadcast, sendbuff, recvbuff, count, datatype, mycelSum, root}, comm, stream,
                       "mycelBroadcast");
} catch (...) {
  return mycel::Caught("mycelBroadcast");
}

mycelResult_t mycelBcast(void* buff, size_t count, mycelDataType_t datatype, int root, mycelComm_t comm,
                         mycelStream_t stream) try {
  return mycel::Accept({Collective::kBroadcast, buff, buff, count, datatype, mycelSum, root}, comm, stream,
                       "mycelBcast");
} catch (...) {
  return mycel::Caught("mycelBcast");
}

mycelResult_t mycelReduce(const void* sendbuff, void* recvbuff, size_t count, mycelDataType_t datatype, mycelRedOp_t op,
                          int root, mycelComm_t comm, mycelStream_t stream) try {
  return mycel::Accept({Collective::kReduce, sendbuff, recvbuff, count, datatype, op, root}, comm, stream,
                       "mycelReduce");
} catch (...) {
  return mycel::Caught("mycelReduce");
}

mycelResult_t mycelAllToAll(const void* sendbuff, void* recvbuff, size_t count, mycelDataType_t datatype,
                            mycelComm_t comm, mycelStream_t stream) try {
  return mycel::Accept({Collective::kAllToAll, sendbuff, recvbuff, count, datatype, mycelSum, -1}, comm, stream,
                       "mycelAllToAll");
} catch (...) {
  return mycel::Caught("mycelAllToAll");
}

mycelResult_t mycelGather(const void* sendbuff, void* recvbuff, size_t count, mycelDataType_t datatype, int root,
                          mycelComm_t comm, mycelStream_t stream) try {
  return mycel::Accept({Collective::kGather, sendbuff, recvbuff, count, datatype, mycelSum, root}, comm, stream,
                       "mycelGather");
} catch (...) {
  return mycel::Caught("mycelGather");
}

mycelResult_t mycelScatter(const void* sendbuff, void* recvbuff, size_t count, mycelDataType_t datatype, int root,
                           mycelComm_t comm, mycelStream_t stream) try {
  return mycel::Accept({Collective::kScatter, sendbuff, recvbuff, count, datatype, mycelSum, root}, comm, stream,
                       "mycelScatter");
} catch (...) {
  return mycel::Caught("mycelScatter");
}

mycelResult_t mycelBarrier(mycelComm_t comm, mycelStream_t stream) try {
  const mycel::Status status = mycel::CheckHandle(comm, "mycelBarrier");
  if (!status.ok()) return mycel::Refuse(status);
  mycel::CollectiveCall call;
  call.collective = Collective::kAllReduce;
  call.barrier = true;
  return mycel::Submit(comm, call, stream, "mycelBarrier");
} catch (...) {
  return mycel::Caught("mycelBarrier");
}

mycelResult_t mycelSend(const void* sendbuff, size_t count, mycelDataType_t datatype, int peer, mycelComm_t comm,
                        mycelStream_t stream) try {
  mycel::PointCall call;
  call.sends = true;
  call.peer = peer;
  call.buffer = const_cast<void*>(sendbuff);
  call.count = count;
  return mycel::AcceptPoint(call, datatype, comm, stream, "mycelSend");
} catch (...) {
  return mycel::Caught("mycelSend");
}

mycelResult_t mycelRecv(void* recvbuff, size_t count, mycelDataType_t datatype, int peer, mycelComm_t comm,
                        mycelStream_t stream) try {
  mycel::PointCall call;
  call.sends = false;
  call.peer = peer;
  call.buffer = recvbuff;
  call.count = count;
  return mycel::AcceptPoint(call, datatype, comm, stream, "mycelRecv");
} catch (...) {
  return mycel::Caught("mycelRecv");
}

}  // extern "C"
