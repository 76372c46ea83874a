// Creation, questions and end of communicators.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "bindings/c/compose.h"
#include "bindings/c/group_state.h"
#include "bindings/c/guard.h"
#include "bindings/c/handle.h"
#include "bindings/c/mycel.h"
#include "bindings/c/status_map.h"
#include "core/base/env.h"
#include "transport/bootstrap/in_process.h"
#include "transport/bootstrap/tcp.h"

namespace mycel {
namespace {

constexpr int kRanksMax = 4096;

Status CheckRanks(int nranks, const char* function) {
  if (nranks >= 1 && nranks <= kRanksMax) return OkStatus();
  return InvalidArgument(std::string(function) + ": the rank count " + std::to_string(nranks) + " is not in 1.." +
                         std::to_string(kRanksMax));
}

/// MYCEL_COMM_ID names the meeting place instead, as NCCL_COMM_ID does: every process may then make the same id.
StatusOr<UniqueId> NewUniqueId() {
  MYCEL_ASSIGN_OR_RETURN(const std::string agreed, EnvText(Env::kCommId));
  if (!agreed.empty()) return UniqueIdFromHostPort(agreed);
  MYCEL_ASSIGN_OR_RETURN(const std::string interfaces, EnvText(Env::kInterface));
  return MakeUniqueId(interfaces);
}

/// Meets the others through `id` and puts the communicator together.
Status InitRank(mycelComm_t* comm, int nranks, const UniqueId& id, int rank) {
  MYCEL_ASSIGN_OR_RETURN(const SteadyTime deadline, InitDeadline());
  InitLog log(rank, nranks);
  log.Begin("meet");
  MYCEL_ASSIGN_OR_RETURN(const std::unique_ptr<Bootstrap> bootstrap, JoinTcp(id, Rank(rank), nranks, deadline));
  ComposeOptions options;
  options.log = &log;
  options.deadline = deadline;
  MYCEL_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator, Compose(*bootstrap, options));
  *comm = NewHandle(std::move(communicator));
  return OkStatus();
}

/// One rank of CommInitAll, on its own thread.
Status InitThread(Meeting& meeting, int rank, SteadyTime deadline, std::unique_ptr<Communicator>* communicator) {
  MYCEL_ASSIGN_OR_RETURN(const std::unique_ptr<Bootstrap> bootstrap, meeting.Join(Rank(rank)));
  ComposeOptions options;
  options.one_process = true;
  options.deadline = deadline;
  MYCEL_ASSIGN_OR_RETURN(*communicator, Compose(*bootstrap, options));
  return OkStatus();
}

Status InitAll(mycelComm_t* comms, int ndev) {
  MYCEL_ASSIGN_OR_RETURN(const SteadyTime deadline, InitDeadline());
  const std::shared_ptr<Meeting> meeting = Meeting::Make(ndev);
  const auto n = static_cast<size_t>(ndev);
  std::vector<std::unique_ptr<Communicator>> communicators(n);
  std::vector<Status> results(n);
  RunThreads(
      n,
      [&](size_t rank) {
        results[rank] = InitThread(*meeting, static_cast<int>(rank), deadline, &communicators[rank]);
      },
      [&](size_t rank, const Status& status) {
        results[rank] = status;
        // Comes and goes at once: the others learn that they wait in vain.
        (void)meeting->Join(Rank(static_cast<int64_t>(rank)));
      });
  for (const Status& result : results) MYCEL_RETURN_IF_ERROR(result);
  for (size_t rank = 0; rank < n; ++rank) comms[rank] = NewHandle(std::move(communicators[rank]));
  return OkStatus();
}

}  // namespace
}  // namespace mycel

using mycel::InvalidArgument;
using mycel::Report;
using mycel::Status;

extern "C" {

mycelResult_t mycelGetVersion(int* version) {
  if (version == nullptr) return Report(InvalidArgument("mycelGetVersion: version is NULL"));
  *version = MYCEL_VERSION_CODE;
  return mycelSuccess;
}

const char* mycelGetErrorString(mycelResult_t result) { return mycel::TextOf(result); }

const char* mycelGetLastError(mycelComm_t comm) {
  thread_local std::string text;
  text = mycel::LastReported();
  if (comm != nullptr && mycel::CheckHandle(comm, "mycelGetLastError").ok()) {
    const Status error = mycel::ErrorOf(comm);
    if (!error.ok()) text = mycel::StatusMessage(error);
  }
  return text.c_str();
}

mycelResult_t mycelGetUniqueId(mycelUniqueId* id) {
  if (id == nullptr) return Report(InvalidArgument("mycelGetUniqueId: id is NULL"));
  const mycel::StatusOr<mycel::UniqueId> made = mycel::NewUniqueId();
  if (!made.ok()) return Report(made.status());
  static_assert(sizeof(made->bytes) == MYCEL_UNIQUE_ID_BYTES);
  std::memcpy(id->internal, made->bytes, MYCEL_UNIQUE_ID_BYTES);
  return mycelSuccess;
}

mycelResult_t mycelCommInitRank(mycelComm_t* comm, int nranks, mycelUniqueId id, int rank) {
  Status status = comm == nullptr ? InvalidArgument("mycelCommInitRank: comm is NULL")
                                  : mycel::CheckRanks(nranks, "mycelCommInitRank");
  if (status.ok() && (rank < 0 || rank >= nranks)) {
    status = InvalidArgument("mycelCommInitRank: rank " + std::to_string(rank) + " is not in 0.." +
                             std::to_string(nranks - 1));
  }
  if (!status.ok()) return mycel::Refuse(status);
  mycel::UniqueId unique;
  std::memcpy(unique.bytes, id.internal, MYCEL_UNIQUE_ID_BYTES);
  auto init = [comm, nranks, unique, rank] {
    return mycel::Guarded("mycelCommInitRank", [&] { return mycel::InitRank(comm, nranks, unique, rank); });
  };
  if (mycel::InGroup()) {
    mycel::DeferInit(std::move(init));
    return mycelSuccess;
  }
  return Report(init());
}

mycelResult_t mycelCommInitAll(mycelComm_t* comms, int ndev, const int* devlist) {
  (void)devlist;  // host ranks have no device number
  const Status status = comms == nullptr ? InvalidArgument("mycelCommInitAll: comms is NULL")
                                         : mycel::CheckRanks(ndev, "mycelCommInitAll");
  if (!status.ok()) return Report(status);
  return Report(mycel::Guarded("mycelCommInitAll", [&] { return mycel::InitAll(comms, ndev); }));
}

mycelResult_t mycelCommFinalize(mycelComm_t comm) {
  const Status status = mycel::CheckHandle(comm, "mycelCommFinalize");
  if (!status.ok()) return Report(status);
  mycel::AwaitStreams(comm);
  return Report(mycel::ErrorOf(comm));
}

mycelResult_t mycelCommDestroy(mycelComm_t comm) {
  if (comm == nullptr) return mycelSuccess;
  const Status status = mycel::CheckHandle(comm, "mycelCommDestroy");
  if (!status.ok()) return Report(status);
  mycel::AwaitStreams(comm);
  return Report(mycel::EndCommunicator(comm, false, "mycelCommDestroy"));
}

mycelResult_t mycelCommAbort(mycelComm_t comm) {
  if (comm == nullptr) return Report(mycel::CheckHandle(comm, "mycelCommAbort"));
  return Report(mycel::EndCommunicator(comm, true, "mycelCommAbort"));
}

mycelResult_t mycelCommCount(mycelComm_t comm, int* count) {
  Status status = mycel::CheckHandle(comm, "mycelCommCount");
  if (status.ok() && count == nullptr) status = InvalidArgument("mycelCommCount: count is NULL");
  if (!status.ok()) return Report(status);
  *count = comm->rank_count;
  return mycelSuccess;
}

mycelResult_t mycelCommUserRank(mycelComm_t comm, int* rank) {
  Status status = mycel::CheckHandle(comm, "mycelCommUserRank");
  if (status.ok() && rank == nullptr) status = InvalidArgument("mycelCommUserRank: rank is NULL");
  if (!status.ok()) return Report(status);
  *rank = comm->rank;
  return mycelSuccess;
}

mycelResult_t mycelCommGetAsyncError(mycelComm_t comm, mycelResult_t* result) {
  Status status = mycel::CheckHandle(comm, "mycelCommGetAsyncError");
  if (status.ok() && result == nullptr) status = InvalidArgument("mycelCommGetAsyncError: result is NULL");
  if (!status.ok()) return Report(status);
  const Status error = mycel::ErrorOf(comm);
  if (!error.ok()) {
    *result = mycel::ResultOf(error);
  } else {
    *result = comm->queued.load(std::memory_order_acquire) > 0 ? mycelInProgress : mycelSuccess;
  }
  return mycelSuccess;
}

mycelResult_t mycelCommGetStats(mycelComm_t comm, mycelCommStats* stats) {
  Status status = mycel::CheckHandle(comm, "mycelCommGetStats");
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
  return mycelSuccess;
}

mycelResult_t mycelCommExplain(mycelComm_t comm, const char* collective, size_t count, mycelDataType_t datatype,
                               char* text, size_t capacity) {
  Status status = mycel::CheckHandle(comm, "mycelCommExplain");
  if (status.ok() && (collective == nullptr || text == nullptr || capacity == 0)) {
    status = InvalidArgument("mycelCommExplain: collective or text is NULL, or capacity is 0");
  }
  if (status.ok() &&
      (static_cast<int>(datatype) < 0 || static_cast<size_t>(datatype) >= mycel::AllDataTypes().size())) {
    status = InvalidArgument("mycelCommExplain: datatype " + std::to_string(static_cast<int>(datatype)) +
                             " is not one of mycelInt8 (0) ... mycelBfloat16 (9)");
  }
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
}

}  // extern "C"
