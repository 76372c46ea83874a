// Creation and end of communicators.
#include <cstring>
#include <string>
#include <vector>

#include "bindings/c/compose.h"
#include "bindings/c/creation.h"
#include "bindings/c/group_state.h"
#include "bindings/c/guard.h"
#include "bindings/c/handle.h"
#include "bindings/c/meeting_place.h"
#include "bindings/c/mycel.h"
#include "bindings/c/status_map.h"
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

/// Settles what "auto" means in this thread.
Status FixDevice(CommConfig* config) {
  MYCEL_ASSIGN_OR_RETURN(const DeviceChoice choice, ChooseDevice(config->device));
  config->device = choice.name();
  return OkStatus();
}

/// Meets the others through `id` and puts the communicator together.
StatusOr<Composed> InitRank(int nranks, const UniqueId& id, int rank, const CommConfig& config) {
  ComposeOptions options;
  options.config = config;
  MYCEL_ASSIGN_OR_RETURN(options.deadline, InitDeadline(config));
  InitLog log(rank, nranks);
  options.log = &log;
  log.Begin("meet");
  MYCEL_ASSIGN_OR_RETURN(const std::unique_ptr<Bootstrap> bootstrap, JoinTcp(id, Rank(rank), nranks, options.deadline));
  return Compose(*bootstrap, options);
}

mycelResult_t AcceptInitRank(mycelComm_t* comm, int nranks, const mycelUniqueId& id, int rank,
                             const mycelConfig_t* config, const char* function) {
  Status status =
      comm == nullptr ? InvalidArgument(std::string(function) + ": comm is NULL") : CheckRanks(nranks, function);
  if (status.ok() && (rank < 0 || rank >= nranks)) {
    status = InvalidArgument(std::string(function) + ": rank " + std::to_string(rank) + " is not in 0.." +
                             std::to_string(nranks - 1));
  }
  StatusOr<CommConfig> wanted = ReadConfig(config, function);
  if (status.ok()) status = wanted.status();
  // The thread that creates it may be another: what is current here counts.
  if (status.ok()) status = FixDevice(&*wanted);
  if (!status.ok()) return Refuse(status);
  UniqueId unique;
  std::memcpy(unique.bytes, id.internal, MYCEL_UNIQUE_ID_BYTES);
  return Create(comm, wanted->is_blocking(), function,
                [nranks, unique, rank, config = *wanted] { return InitRank(nranks, unique, rank, config); });
}

/// One rank of CommInitAll, on its own thread.
StatusOr<Composed> InitThread(Meeting& meeting, int rank, ComposeOptions options, const int* devlist) {
  // As in NCCL: rank i is on device i of the list, or on device i; ranks beyond the last device share.
  if (options.config.device && *options.config.device != "host") {
    MYCEL_ASSIGN_OR_RETURN(DeviceChoice choice, ChooseDevice(options.config.device));
    choice.device = devlist != nullptr ? devlist[rank] : rank % choice.driver->device_count();
    options.config.device = choice.name();
  }
  MYCEL_ASSIGN_OR_RETURN(const std::unique_ptr<Bootstrap> bootstrap, meeting.Join(Rank(rank)));
  return Compose(*bootstrap, options);
}

Status InitAll(mycelComm_t* comms, int ndev, const int* devlist, const CommConfig& config) {
  ComposeOptions options;
  options.one_process = true;
  options.config = config;
  MYCEL_ASSIGN_OR_RETURN(options.deadline, InitDeadline(config));
  const std::shared_ptr<Meeting> meeting = Meeting::Make(ndev);
  const auto n = static_cast<size_t>(ndev);
  std::vector<StatusOr<Composed>> results(n);
  RunThreads(
      n, [&](size_t rank) { results[rank] = InitThread(*meeting, static_cast<int>(rank), options, devlist); },
      [&](size_t rank, const Status& status) {
        results[rank] = status;
        // Comes and goes at once: the others learn that they wait in vain.
        (void)meeting->Join(Rank(static_cast<int64_t>(rank)));
      });
  for (const StatusOr<Composed>& result : results) MYCEL_RETURN_IF_ERROR(result.status());
  for (size_t rank = 0; rank < n; ++rank) comms[rank] = NewHandle(*std::move(results[rank]));
  return OkStatus();
}

mycelResult_t AcceptInitAll(mycelComm_t* comms, int ndev, const int* devlist, const mycelConfig_t* config,
                            const char* function) {
  Status status =
      comms == nullptr ? InvalidArgument(std::string(function) + ": comms is NULL") : CheckRanks(ndev, function);
  StatusOr<CommConfig> wanted = ReadConfig(config, function);
  if (status.ok()) status = wanted.status();
  if (status.ok()) status = FixDevice(&*wanted);
  if (!status.ok()) return Report(status);
  return Report(Guarded(function, [&] { return InitAll(comms, ndev, devlist, *wanted); }));
}

}  // namespace
}  // namespace mycel

using mycel::InvalidArgument;
using mycel::Needs;
using mycel::Report;
using mycel::Status;

extern "C" {

mycelResult_t mycelGetVersion(int* version) {
  if (version == nullptr) return Report(InvalidArgument("mycelGetVersion: version is NULL"));
  *version = MYCEL_VERSION_CODE;
  return mycelSuccess;
}

const char* mycelGetErrorString(mycelResult_t result) { return mycel::TextOf(result); }

const char* mycelGetLastError(mycelComm_t comm) try {
  thread_local std::string text;
  text = mycel::LastReported();
  if (comm != nullptr && mycel::CheckHandle(comm, "mycelGetLastError", Needs::kHandle).ok()) {
    const Status error = mycel::ErrorOf(comm);
    if (!error.ok()) text = mycel::StatusMessage(error);
  }
  return text.c_str();
} catch (const std::bad_alloc&) {
  return "the system refuses memory for the last error's text";
}

mycelResult_t mycelGetUniqueId(mycelUniqueId* id) try {
  if (id == nullptr) return Report(InvalidArgument("mycelGetUniqueId: id is NULL"));
  const mycel::StatusOr<mycel::UniqueId> made = mycel::NewUniqueId();
  if (!made.ok()) return Report(made.status());
  static_assert(sizeof(made->bytes) == MYCEL_UNIQUE_ID_BYTES);
  std::memcpy(id->internal, made->bytes, MYCEL_UNIQUE_ID_BYTES);
  return mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelGetUniqueId");
}

mycelResult_t mycelCommInitRank(mycelComm_t* comm, int nranks, mycelUniqueId id, int rank) try {
  return mycel::AcceptInitRank(comm, nranks, id, rank, nullptr, "mycelCommInitRank");
} catch (...) {
  return mycel::Caught("mycelCommInitRank");
}

mycelResult_t mycelCommInitRankConfig(mycelComm_t* comm, int nranks, mycelUniqueId id, int rank,
                                      const mycelConfig_t* config) try {
  return mycel::AcceptInitRank(comm, nranks, id, rank, config, "mycelCommInitRankConfig");
} catch (...) {
  return mycel::Caught("mycelCommInitRankConfig");
}

mycelResult_t mycelCommInitAll(mycelComm_t* comms, int ndev, const int* devlist) try {
  return mycel::AcceptInitAll(comms, ndev, devlist, nullptr, "mycelCommInitAll");
} catch (...) {
  return mycel::Caught("mycelCommInitAll");
}

mycelResult_t mycelCommInitAllConfig(mycelComm_t* comms, int ndev, const int* devlist,
                                     const mycelConfig_t* config) try {
  return mycel::AcceptInitAll(comms, ndev, devlist, config, "mycelCommInitAllConfig");
} catch (...) {
  return mycel::Caught("mycelCommInitAllConfig");
}

mycelResult_t mycelCommFinalize(mycelComm_t comm) try {
  const Status status = mycel::CheckHandle(comm, "mycelCommFinalize", Needs::kCommunicator);
  if (!status.ok()) return Report(status);
  const uint64_t generation = comm->generation.load(std::memory_order_relaxed);
  if (comm->blocking) mycel::AwaitStreams(comm);
  mycel::TakeNoMoreOperations(comm);
  const Status error = mycel::ErrorOf(comm);
  if (comm->generation.load(std::memory_order_relaxed) != generation) {
    return Report(mycel::AbortedError(
        "mycelCommFinalize: the communicator was aborted or destroyed while its operations were finished"));
  }
  if (!error.ok()) return Report(error);
  return comm->queued.load(std::memory_order_acquire) > 0 ? mycelInProgress : mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelCommFinalize");
}

mycelResult_t mycelCommDestroy(mycelComm_t comm) try {
  if (comm == nullptr) return mycelSuccess;
  const Status status = mycel::CheckHandle(comm, "mycelCommDestroy", Needs::kHandle);
  if (!status.ok()) return Report(status);
  mycel::AwaitStreams(comm);
  return Report(mycel::EndCommunicator(comm, false, "mycelCommDestroy"));
} catch (...) {
  return mycel::Caught("mycelCommDestroy");
}

mycelResult_t mycelCommAbort(mycelComm_t comm) try {
  if (comm == nullptr) return Report(mycel::CheckHandle(comm, "mycelCommAbort"));
  return Report(mycel::EndCommunicator(comm, true, "mycelCommAbort"));
} catch (...) {
  return mycel::Caught("mycelCommAbort");
}

mycelResult_t mycelCommRevoke(mycelComm_t comm, int revokeFlags) try {
  if (revokeFlags != MYCEL_REVOKE_DEFAULT) {
    return Report(InvalidArgument("mycelCommRevoke: revokeFlags is " + std::to_string(revokeFlags) +
                                  ", not MYCEL_REVOKE_DEFAULT"));
  }
  return Report(mycel::RevokeCommunicator(comm, "mycelCommRevoke"));
} catch (...) {
  return mycel::Caught("mycelCommRevoke");
}

}  // extern "C"
