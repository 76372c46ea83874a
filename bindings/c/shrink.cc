// A communicator of the ranks that remain, whatever has become of the others (MeetSurvivors).
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "bindings/c/creation.h"
#include "bindings/c/group_state.h"
#include "bindings/c/guard.h"
#include "bindings/c/handle.h"
#include "bindings/c/meeting_place.h"
#include "bindings/c/mycel.h"
#include "bindings/c/status_map.h"
#include "core/base/cancel.h"

namespace mycel {
namespace {

/// The ranks that remain, ascending.
StatusOr<std::vector<Rank>> RemainingRanks(const mycelComm& comm, const int* excluded, int count) {
  const std::string begin = "mycelCommShrink: ";
  if (count < 0 || count >= comm.rank_count || (count > 0 && excluded == nullptr)) {
    return InvalidArgument(begin + "excludeRanksCount is " + std::to_string(count) + "; of " +
                           std::to_string(comm.rank_count) +
                           " ranks at least one must remain, and excludeRanksList must hold the others");
  }
  std::vector<bool> is_excluded(static_cast<size_t>(comm.rank_count), false);
  for (int i = 0; i < count; ++i) {
    const std::string entry = begin + "excludeRanksList[" + std::to_string(i) + "] is " + std::to_string(excluded[i]);
    if (excluded[i] < 0 || excluded[i] >= comm.rank_count) {
      return InvalidArgument(entry + ", not a rank of 0.." + std::to_string(comm.rank_count - 1));
    }
    if (excluded[i] == comm.rank) {
      return InvalidArgument(entry + ", this rank itself: excluded ranks do not call mycelCommShrink");
    }
    if (is_excluded[static_cast<size_t>(excluded[i])]) return InvalidArgument(entry + ", as an entry before it");
    is_excluded[static_cast<size_t>(excluded[i])] = true;
  }
  std::vector<Rank> remaining;
  for (const Rank rank : Ids<Rank>(comm.rank_count)) {
    if (!is_excluded[rank.index()]) remaining.push_back(rank);
  }
  return remaining;
}

StatusOr<Composed> Shrink(mycelComm* parent, uint64_t generation, const std::shared_ptr<const Lineage>& lineage,
                          const std::vector<Rank>& remaining, const CommConfig& config, bool aborts) {
  constexpr const char* kFunction = "mycelCommShrink";
  ComposeOptions options;
  options.config = config;
  options.one_process = lineage->one_process;
  options.parent = lineage;
  options.parent_ranks = remaining;
  MYCEL_ASSIGN_OR_RETURN(options.deadline, InitDeadline(config));
  if (aborts) {
    MYCEL_RETURN_IF_ERROR(RevokeCommunicator(parent, kFunction));
  } else {
    AwaitStreams(parent);
  }
  HostedPlace hosted;
  Communicator::Place place;
  Rank rank;
  {
    const Inside inside(parent, kFunction, generation);
    MYCEL_RETURN_IF_ERROR(inside.status());
    Communicator& communicator = inside.communicator();
    const Status error = communicator.error();
    if (!aborts && !error.ok()) {
      return InvalidUsage("mycelCommShrink: the communicator has failed; pass MYCEL_SHRINK_ABORT (" +
                          StatusMessage(error) + ")");
    }
    const auto host = [&]() -> StatusOr<Communicator::Place> {
      MYCEL_ASSIGN_OR_RETURN(hosted, HostPlace(lineage->one_process, static_cast<int32_t>(remaining.size())));
      Communicator::Place bytes;
      static_assert(sizeof(bytes) == sizeof(hosted.id.bytes));
      std::memcpy(bytes.data(), hosted.id.bytes, bytes.size());
      return bytes;
    };
    // An abort of the parent takes its magic away.
    const auto given_up = [parent] {
      const uint64_t magic = parent->magic.load(std::memory_order_relaxed);
      return (magic != kMycelLive && magic != kMycelFinalized) || Cancelled();
    };
    MYCEL_ASSIGN_OR_RETURN(place, communicator.MeetSurvivors(remaining, options.deadline, host, given_up));
    const auto self = std::find(remaining.begin(), remaining.end(), communicator.rank());
    rank = Rank(self - remaining.begin());
  }
  UniqueId id;
  std::memcpy(id.bytes, place.data(), place.size());
  MYCEL_ASSIGN_OR_RETURN(
      const std::unique_ptr<Bootstrap> bootstrap,
      JoinPlace(id, lineage->one_process, rank, static_cast<int32_t>(remaining.size()), options.deadline));
  return Compose(*bootstrap, options);
}

mycelResult_t AcceptShrink(mycelComm_t comm, const int* excluded, int count, mycelComm_t* newcomm,
                           const mycelConfig_t* config, int flags) {
  constexpr const char* kFunction = "mycelCommShrink";
  Status status = CheckHandle(comm, kFunction);
  if (status.ok() && newcomm == nullptr) status = InvalidArgument("mycelCommShrink: newcomm is NULL");
  if (status.ok() && flags != MYCEL_SHRINK_DEFAULT && flags != MYCEL_SHRINK_ABORT) {
    status = InvalidArgument("mycelCommShrink: shrinkFlags is " + std::to_string(flags) +
                             ", neither MYCEL_SHRINK_DEFAULT nor MYCEL_SHRINK_ABORT");
  }
  if (!status.ok()) return Refuse(status);
  const StatusOr<std::vector<Rank>> remaining = RemainingRanks(*comm, excluded, count);
  if (!remaining.ok()) return Refuse(remaining.status());
  const StatusOr<CommConfig> read = ReadConfig(config, kFunction);
  if (!read.ok()) return Refuse(read.status());
  const std::shared_ptr<const Lineage> lineage = LineageOf(comm);
  if (lineage == nullptr) {
    return Refuse(InvalidArgument(std::string(kFunction) + ": the communicator was destroyed or aborted meanwhile"));
  }
  const CommConfig wanted = Inherit(*read, lineage->config);
  const uint64_t generation = comm->generation.load(std::memory_order_relaxed);
  return Create(newcomm, wanted.is_blocking(), kFunction,
                [comm, generation, lineage, remaining = *remaining, wanted, aborts = flags == MYCEL_SHRINK_ABORT] {
                  return Shrink(comm, generation, lineage, remaining, wanted, aborts);
                });
}

}  // namespace
}  // namespace mycel

extern "C" {

mycelResult_t mycelCommShrink(mycelComm_t comm, const int* excludeRanksList, int excludeRanksCount,
                              mycelComm_t* newcomm, const mycelConfig_t* config, int shrinkFlags) try {
  return mycel::AcceptShrink(comm, excludeRanksList, excludeRanksCount, newcomm, config, shrinkFlags);
} catch (...) {
  return mycel::Caught("mycelCommShrink");
}

}  // extern "C"
