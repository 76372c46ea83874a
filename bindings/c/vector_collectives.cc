// allgatherv, reduce_scatterv, gatherv, scatterv: arguments with a count for each rank.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "bindings/c/argument_checks.h"
#include "bindings/c/block_places.h"
#include "bindings/c/group_state.h"
#include "bindings/c/guard.h"
#include "bindings/c/handle.h"
#include "bindings/c/mycel.h"
#include "bindings/c/red_op.h"
#include "bindings/c/status_map.h"

namespace mycel {
namespace {

Status NullArgument(const char* function, const char* name) {
  return InvalidArgument(std::string(function) + ": " + name + " is NULL");
}

/// The counts' sum, if it and the type's size give no more than 2^62 bytes.
StatusOr<uint64_t> SumOf(const size_t* counts, int32_t n, DataType type, const char* name, const char* function) {
  uint64_t sum = 0;
  for (int32_t rank = 0; rank < n; ++rank) {
    if (counts[rank] > kBlockBytesMax / SizeOf(type) - sum) {
      return InvalidArgument(std::string(function) + ": " + name + " sum to more than 2^62 bytes; " +
                             ListName(name, rank) + " is " + std::to_string(counts[rank]));
    }
    sum += counts[rank];
  }
  return sum;
}

/// A buffer of one block against blocks elsewhere: apart from all of them, or exactly the own one (in place).
Status CheckApart(const Span& single, const char* single_name, const Blocks& blocks, int32_t own,
                  const char* function) {
  if (single.begin == single.end) return OkStatus();
  for (int32_t rank = 0; rank < blocks.n; ++rank) {
    if (!Overlap(single, blocks.Of(rank))) continue;
    if (rank == own && single.begin == blocks.Of(rank).begin) continue;
    return InvalidArgument(std::string(function) + ": " + single_name + " overlaps the block of rank " +
                           std::to_string(rank) + " in " + blocks.buffer_name + "; in place " + single_name +
                           " is where " + ListName(blocks.displacements_name, own) + " says that rank " +
                           std::to_string(own) + "'s block is");
  }
  return OkStatus();
}

Status CheckVectorArguments(mycelComm_t comm, mycelDataType_t type, const char* function) {
  MYCEL_RETURN_IF_ERROR(CheckHandle(comm, function));
  return CheckType(type, function);
}

/// What allgatherv, gatherv (at the root, gathering) and scatterv (at the root) have in common: one block here, all of
/// them there.
struct OneAndAll {
  const void* one;
  uint64_t one_count;
  const char* one_name;
  const char* one_count_name;
  const char* counts_name;
  Blocks all;
};

/// Sets `*total`. `own`: whose block `one` is.
Status CheckOneAndAll(const OneAndAll& it, DataType type, int32_t own, const char* function, uint64_t* total) {
  const Blocks& all = it.all;
  if (all.counts == nullptr) return NullArgument(function, it.counts_name);
  if (all.displacements == nullptr) return NullArgument(function, all.displacements_name);
  MYCEL_ASSIGN_OR_RETURN(*total, SumOf(all.counts, all.n, type, it.counts_name, function));
  if (all.counts[own] != it.one_count) {
    return InvalidArgument(std::string(function) + ": " + it.one_count_name + " is " + std::to_string(it.one_count) +
                           ", but " + ListName(it.counts_name, own) + ", this rank's, is " +
                           std::to_string(all.counts[own]));
  }
  if (it.one_count > 0 && it.one == nullptr) return NullArgument(function, it.one_name);
  if (*total > 0 && all.buffer == nullptr) return NullArgument(function, all.buffer_name);
  MYCEL_RETURN_IF_ERROR(CheckPlaces(all, function));
  return CheckApart(SpanOf(it.one, it.one_count * SizeOf(type)), it.one_name, all, own, function);
}

/// This rank's side of a gatherv or scatterv where it is not the root.
Status CheckPart(const void* buffer, const char* name, uint64_t count, mycelDataType_t type, const char* function) {
  MYCEL_RETURN_IF_ERROR(CheckCount(count, type, function));
  return count > 0 && buffer == nullptr ? NullArgument(function, name) : OkStatus();
}

}  // namespace
}  // namespace mycel

extern "C" {

mycelResult_t mycelAllGatherv(const void* sendbuff, size_t sendcount, void* recvbuff, const size_t* recvcounts,
                              const size_t* rdispls, mycelDataType_t datatype, mycelComm_t comm,
                              mycelStream_t stream) try {
  constexpr const char* kFunction = "mycelAllGatherv";
  mycel::Status status = mycel::CheckVectorArguments(comm, datatype, kFunction);
  if (!status.ok()) return mycel::Refuse(status);
  mycel::CollectiveCall call;
  call.collective = mycel::Collective::kAllGather;
  call.type = static_cast<mycel::DataType>(datatype);
  call.send = sendbuff;
  call.recv = recvbuff;
  const mycel::OneAndAll buffers = {
      sendbuff,     sendcount,
      "sendbuff",   "sendcount",
      "recvcounts", {recvbuff, recvcounts, rdispls, comm->rank_count, mycel::SizeOf(call.type), "recvbuff", "rdispls"}};
  status = mycel::CheckOneAndAll(buffers, call.type, comm->rank, kFunction, &call.count);
  if (!status.ok()) return mycel::Refuse(status);
  mycel::VectorArrays arrays;
  arrays.recv_counts = recvcounts;
  arrays.recv_at = rdispls;
  call.vector = &arrays;
  return mycel::Submit(comm, call, stream, kFunction);
} catch (...) {
  return mycel::Caught("mycelAllGatherv");
}

mycelResult_t mycelReduceScatterv(const void* sendbuff, void* recvbuff, const size_t* recvcounts,
                                  mycelDataType_t datatype, mycelRedOp_t op, mycelComm_t comm,
                                  mycelStream_t stream) try {
  constexpr const char* kFunction = "mycelReduceScatterv";
  mycel::Status status = mycel::CheckVectorArguments(comm, datatype, kFunction);
  if (status.ok() && recvcounts == nullptr) status = mycel::NullArgument(kFunction, "recvcounts");
  if (!status.ok()) return mycel::Refuse(status);
  mycel::CollectiveCall call;
  call.collective = mycel::Collective::kReduceScatter;
  call.type = static_cast<mycel::DataType>(datatype);
  call.send = sendbuff;
  call.recv = recvbuff;
  std::shared_ptr<const mycel::DynamicOp> dynamic;
  status = mycel::SetOp(op, *comm, kFunction, &call, &dynamic);
  if (status.ok()) {
    const mycel::StatusOr<uint64_t> total =
        mycel::SumOf(recvcounts, comm->rank_count, call.type, "recvcounts", kFunction);
    status = total.status();
    if (total.ok()) call.count = *total;
  }
  if (!status.ok()) return mycel::Refuse(status);
  const size_t element_bytes = mycel::SizeOf(call.type);
  const size_t mine = recvcounts[comm->rank];
  if (mine > 0 && recvbuff == nullptr) return mycel::Refuse(mycel::NullArgument(kFunction, "recvbuff"));
  if (call.count > 0 && sendbuff == nullptr) return mycel::Refuse(mycel::NullArgument(kFunction, "sendbuff"));
  const size_t own_at = std::accumulate(recvcounts, recvcounts + comm->rank, size_t{0}) * element_bytes;
  if (mycel::Overlap(mycel::SpanOf(sendbuff, call.count * element_bytes),
                     mycel::SpanOf(recvbuff, mine * element_bytes)) &&
      reinterpret_cast<uintptr_t>(recvbuff) != reinterpret_cast<uintptr_t>(sendbuff) + own_at) {
    return mycel::Refuse(mycel::InvalidArgument(
        std::string(kFunction) +
        ": sendbuff and recvbuff overlap, and not as the in-place rule says (recvbuff must be " + "sendbuff + " +
        std::to_string(own_at) + " bytes on rank " + std::to_string(comm->rank) + ")"));
  }
  mycel::VectorArrays arrays;
  arrays.recv_counts = recvcounts;
  call.vector = &arrays;
  return mycel::Submit(comm, call, stream, kFunction, dynamic);
} catch (...) {
  return mycel::Caught("mycelReduceScatterv");
}

mycelResult_t mycelGatherv(const void* sendbuff, size_t sendcount, void* recvbuff, const size_t* recvcounts,
                           const size_t* rdispls, mycelDataType_t datatype, int root, mycelComm_t comm,
                           mycelStream_t stream) try {
  constexpr const char* kFunction = "mycelGatherv";
  mycel::Status status = mycel::CheckVectorArguments(comm, datatype, kFunction);
  if (status.ok()) status = mycel::CheckPeer(root, *comm, "root", kFunction);
  if (!status.ok()) return mycel::Refuse(status);
  mycel::CollectiveCall call;
  call.collective = mycel::Collective::kGather;
  call.type = static_cast<mycel::DataType>(datatype);
  call.root = root;
  call.send = sendbuff;
  mycel::VectorArrays arrays;
  call.vector = &arrays;
  if (comm->rank == root) {
    call.recv = recvbuff;
    const mycel::OneAndAll buffers = {
        sendbuff,
        sendcount,
        "sendbuff",
        "sendcount",
        "recvcounts",
        {recvbuff, recvcounts, rdispls, comm->rank_count, mycel::SizeOf(call.type), "recvbuff", "rdispls"}};
    status = mycel::CheckOneAndAll(buffers, call.type, root, kFunction, &call.count);
    arrays.recv_counts = recvcounts;
    arrays.recv_at = rdispls;
  } else {
    status = mycel::CheckPart(sendbuff, "sendbuff", sendcount, datatype, kFunction);
    call.count = sendcount;
  }
  if (!status.ok()) return mycel::Refuse(status);
  return mycel::Submit(comm, call, stream, kFunction);
} catch (...) {
  return mycel::Caught("mycelGatherv");
}

mycelResult_t mycelScatterv(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls, void* recvbuff,
                            size_t recvcount, mycelDataType_t datatype, int root, mycelComm_t comm,
                            mycelStream_t stream) try {
  constexpr const char* kFunction = "mycelScatterv";
  mycel::Status status = mycel::CheckVectorArguments(comm, datatype, kFunction);
  if (status.ok()) status = mycel::CheckPeer(root, *comm, "root", kFunction);
  if (!status.ok()) return mycel::Refuse(status);
  mycel::CollectiveCall call;
  call.collective = mycel::Collective::kScatter;
  call.type = static_cast<mycel::DataType>(datatype);
  call.root = root;
  call.recv = recvbuff;
  mycel::VectorArrays arrays;
  call.vector = &arrays;
  if (comm->rank == root) {
    call.send = sendbuff;
    const mycel::OneAndAll buffers = {
        recvbuff,
        recvcount,
        "recvbuff",
        "recvcount",
        "sendcounts",
        {sendbuff, sendcounts, sdispls, comm->rank_count, mycel::SizeOf(call.type), "sendbuff", "sdispls"}};
    status = mycel::CheckOneAndAll(buffers, call.type, root, kFunction, &call.count);
    arrays.send_counts = sendcounts;
    arrays.send_at = sdispls;
  } else {
    status = mycel::CheckPart(recvbuff, "recvbuff", recvcount, datatype, kFunction);
    call.count = recvcount;
  }
  if (!status.ok()) return mycel::Refuse(status);
  return mycel::Submit(comm, call, stream, kFunction);
} catch (...) {
  return mycel::Caught("mycelScatterv");
}

}  // extern "C"
