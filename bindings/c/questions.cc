// Questions about communicators: who am I, how is it, what served my call.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "bindings/c/argument_checks.h"
#include "bindings/c/group_state.h"
#include "bindings/c/guard.h"
#include "bindings/c/handle.h"
#include "bindings/c/mycel.h"
#include "bindings/c/status_map.h"

using mycel::InvalidArgument;
using mycel::Needs;
using mycel::Report;
using mycel::Status;

extern "C" {

mycelResult_t mycelCommCount(mycelComm_t comm, int* count) try {
  Status status = mycel::CheckHandle(comm, "mycelCommCount", Needs::kCommunicator);
  if (status.ok() && count == nullptr) status = InvalidArgument("mycelCommCount: count is NULL");
  if (!status.ok()) return Report(status);
  *count = comm->rank_count;
  return mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelCommCount");
}

mycelResult_t mycelCommUserRank(mycelComm_t comm, int* rank) try {
  Status status = mycel::CheckHandle(comm, "mycelCommUserRank", Needs::kCommunicator);
  if (status.ok() && rank == nullptr) status = InvalidArgument("mycelCommUserRank: rank is NULL");
  if (!status.ok()) return Report(status);
  *rank = comm->rank;
  return mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelCommUserRank");
}

mycelResult_t mycelCommGetAsyncError(mycelComm_t comm, mycelResult_t* result) try {
  Status status = mycel::CheckHandle(comm, "mycelCommGetAsyncError", Needs::kHandle);
  if (status.ok() && result == nullptr) status = InvalidArgument("mycelCommGetAsyncError: result is NULL");
  if (!status.ok()) return Report(status);
  *result = mycel::ResultOf(mycel::TakeAsyncError(comm));
  // acquire: pairs with the release in TurnDone; what the operations wrote is readable.
  const bool busy =
      comm->magic.load(std::memory_order_acquire) == kMycelStarting || comm->queued.load(std::memory_order_acquire) > 0;
  if (*result == mycelSuccess && busy) *result = mycelInProgress;
  return mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelCommGetAsyncError");
}

mycelResult_t mycelCommGetStats(mycelComm_t comm, mycelCommStats* stats) try {
  Status status = mycel::CheckHandle(comm, "mycelCommGetStats", Needs::kCommunicator);
  if (status.ok() && (stats == nullptr || stats->size != sizeof(mycelCommStats))) {
    status = InvalidArgument("mycelCommGetStats: stats is NULL or stats->size is not sizeof(mycelCommStats)");
  }
  if (!status.ok()) return Report(status);
  mycel::AwaitStreams(comm);
  const mycel::Inside inside(comm, "mycelCommGetStats");
  if (!inside.status().ok()) return Report(inside.status());
  const mycel::CommunicatorStats now = inside.communicator().stats();
  stats->operations = now.operations;
  stats->plans_made = now.plans_made;
  stats->payload_bytes = now.payload_bytes;
  stats->messages = now.messages;
  stats->message_bytes = now.message_bytes;
  stats->sleeps = now.sleeps;
  stats->scratch_bytes = now.scratch_bytes;
  stats->window_reads = now.window_reads;
  return mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelCommGetStats");
}

mycelResult_t mycelCommQueryLast(mycelComm_t comm, mycelCallInfo* info) try {
  Status status = mycel::CheckHandle(comm, "mycelCommQueryLast", Needs::kCommunicator);
  if (status.ok() && (info == nullptr || info->size != sizeof(mycelCallInfo))) {
    status = InvalidArgument("mycelCommQueryLast: info is NULL or info->size is not sizeof(mycelCallInfo)");
  }
  if (!status.ok()) return Report(status);
  mycel::AwaitStreams(comm);
  const mycel::Inside inside(comm, "mycelCommQueryLast");
  if (!inside.status().ok()) return Report(inside.status());
  const mycel::StatusOr<mycel::CallFacts> facts = inside.communicator().LastCall();
  if (!facts.ok()) return Report(facts.status());
  info->operation = facts->operation;
  info->plan_hash = facts->plan_hash;
  info->slices = facts->slices;
  info->slice_bytes = facts->slice_bytes;
  info->slots = facts->slot_count;
  info->lanes = facts->lanes;
  std::snprintf(info->call, sizeof(info->call), "%s", facts->call.c_str());
  std::snprintf(info->planner, sizeof(info->planner), "%s", facts->planner.c_str());
  std::snprintf(info->protocol, sizeof(info->protocol), "%s", std::string(NameOf(facts->protocol)).c_str());
  std::snprintf(info->transport, sizeof(info->transport), "%s", facts->transport.c_str());
  return mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelCommQueryLast");
}

mycelResult_t mycelCommExplain(mycelComm_t comm, const char* collective, size_t count, mycelDataType_t datatype,
                               char* text, size_t capacity) try {
  Status status = mycel::CheckHandle(comm, "mycelCommExplain");
  if (status.ok() && (collective == nullptr || text == nullptr || capacity == 0)) {
    status = InvalidArgument("mycelCommExplain: collective or text is NULL, or capacity is 0");
  }
  if (status.ok()) status = mycel::CheckType(datatype, "mycelCommExplain");
  if (!status.ok()) return Report(status);
  mycel::StatusOr<mycel::Collective> parsed = mycel::ParseCollective(collective);
  if (!parsed.ok()) return Report(parsed.status());
  mycel::CollectiveCall call;
  call.collective = *parsed;
  call.count = count;
  call.type = static_cast<mycel::DataType>(datatype);
  call.root = mycel::InfoOf(*parsed).rooted ? 0 : -1;
  mycel::AwaitStreams(comm);
  const mycel::Inside inside(comm, "mycelCommExplain");
  if (!inside.status().ok()) return Report(inside.status());
  const mycel::StatusOr<std::string> explained = inside.communicator().Explain(call);
  if (!explained.ok()) return Report(explained.status());
  const size_t length = std::min(explained->size(), capacity - 1);
  std::memcpy(text, explained->data(), length);
  text[length] = '\0';
  return mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelCommExplain");
}

}  // extern "C"
