// Communicators made from another while it is well: split and duplicate. Two small allgathers on the parent: who goes
// where, and where each new communicator meets.
#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/c/background.h"
#include "bindings/c/creation.h"
#include "bindings/c/group_state.h"
#include "bindings/c/guard.h"
#include "bindings/c/handle.h"
#include "bindings/c/meeting_place.h"
#include "bindings/c/mycel.h"
#include "bindings/c/status_map.h"

namespace mycel {
namespace {

/// What a rank says about itself.
struct Wish {
  int32_t color = 0;
  int32_t key = 0;
};

/// What the first rank of each color says.
struct Offer {
  uint32_t failure = 0;  // 0, or 1 + StatusCode: it has no place to offer
  UniqueId place;
};

/// A rank's seat in its new communicator.
struct Seat {
  Rank rank;
  std::vector<Rank> members;  // their ranks in the parent
};

Seat SeatOf(const std::vector<Wish>& wishes, size_t self) {
  Seat seat;
  for (size_t rank = 0; rank < wishes.size(); ++rank) {
    if (wishes[rank].color == wishes[self].color) seat.members.push_back(Rank(static_cast<int64_t>(rank)));
  }
  std::stable_sort(seat.members.begin(), seat.members.end(),
                   [&](Rank a, Rank b) { return wishes[a.index()].key < wishes[b.index()].key; });
  const auto mine = std::find(seat.members.begin(), seat.members.end(), Rank(static_cast<int64_t>(self)));
  seat.rank = Rank(mine - seat.members.begin());
  return seat;
}

/// Everyone's `mine`, by the parent's channels: a rank that makes another call is found out as in any operation.
template <typename T>
StatusOr<std::vector<T>> Exchange(Communicator& parent, const T& mine) {
  std::vector<T> all(static_cast<size_t>(parent.rank_count()));
  CollectiveCall call;
  call.collective = Collective::kAllGather;
  call.internal = kBoardSplit;
  call.send = &mine;
  call.recv = all.data();
  call.count = sizeof(T);
  MYCEL_RETURN_IF_ERROR(parent.Run(call));
  return all;
}

/// Where and as whom this rank joins; no members when it joins nothing.
struct Way {
  Seat seat;
  HostedPlace place;
};

StatusOr<Way> FindWay(const Inside& inside, const Wish& wish, bool one_process) {
  MYCEL_RETURN_IF_ERROR(inside.status());
  Communicator& parent = inside.communicator();
  MYCEL_ASSIGN_OR_RETURN(const std::vector<Wish> wishes, Exchange(parent, wish));
  Way way;
  const bool joins = wish.color != MYCEL_SPLIT_NOCOLOR;
  if (joins) way.seat = SeatOf(wishes, parent.rank().index());
  Offer mine;
  Status hosted;
  if (joins && way.seat.rank == Rank(0)) {
    StatusOr<HostedPlace> place = HostPlace(one_process, static_cast<int32_t>(way.seat.members.size()));
    hosted = place.status();
    if (place.ok()) way.place = *std::move(place);
    mine.failure = hosted.ok() ? 0 : 1 + static_cast<uint32_t>(hosted.code());
    mine.place = way.place.id;
  }
  MYCEL_ASSIGN_OR_RETURN(const std::vector<Offer> offers, Exchange(parent, mine));
  MYCEL_RETURN_IF_ERROR(hosted);
  if (!joins) return way;
  const Offer& offer = offers[way.seat.members.front().index()];
  if (offer.failure != 0) {
    return RemoteError("rank " + std::to_string(parent.rank().value()) + ": rank " +
                       std::to_string(way.seat.members.front().value()) +
                       " could not offer a place for the new communicator to meet: see its own error");
  }
  way.place.id = offer.place;
  return way;
}

/// The whole way from the parent to the new communicator; a null one without a color. `ticket`: the turn on the parent,
/// where the caller does not wait.
StatusOr<Composed> Split(mycelComm* parent, const std::shared_ptr<const Lineage>& lineage, const Wish& wish,
                         const CommConfig& config, const char* function, const Ticket* ticket) {
  ComposeOptions options;
  options.config = config;
  options.one_process = lineage->one_process;
  options.parent = lineage;
  StatusOr<Way> way = InternalError("no way");
  if (ticket == nullptr) {
    AwaitStreams(parent);
    way = FindWay(Inside(parent, function), wish, lineage->one_process);
  } else {
    AwaitTurn(*ticket);
    way = FindWay(Inside(parent, function, ticket->generation), wish, lineage->one_process);
    PassTurn(*ticket);
  }
  MYCEL_RETURN_IF_ERROR(way.status());
  if (way->seat.members.empty()) return Composed{};
  MYCEL_ASSIGN_OR_RETURN(options.deadline, InitDeadline(config));
  options.parent_ranks = way->seat.members;
  MYCEL_ASSIGN_OR_RETURN(const std::unique_ptr<Bootstrap> bootstrap,
                         JoinPlace(way->place.id, lineage->one_process, way->seat.rank,
                                   static_cast<int32_t>(way->seat.members.size()), options.deadline));
  return Compose(*bootstrap, options);
}

/// Of work that never began: those that are queued before it go first.
void GiveUpTurn(const Ticket& ticket) {
  AwaitTurn(ticket);
  TurnDone(ticket);
}

mycelResult_t AcceptSplit(mycelComm_t comm, const Wish& wish, mycelComm_t* newcomm, const mycelConfig_t* config,
                          const char* function) {
  Status status = CheckHandle(comm, function);
  if (status.ok() && newcomm == nullptr) status = InvalidArgument(std::string(function) + ": newcomm is NULL");
  if (status.ok() && wish.color < 0 && wish.color != MYCEL_SPLIT_NOCOLOR) {
    status = InvalidArgument(std::string(function) + ": color " + std::to_string(wish.color) +
                             " is negative and not MYCEL_SPLIT_NOCOLOR (-1)");
  }
  const StatusOr<CommConfig> read = ReadConfig(config, function);
  if (status.ok()) status = read.status();
  if (!status.ok()) return Refuse(status);
  const std::shared_ptr<const Lineage> lineage = LineageOf(comm);
  if (lineage == nullptr) {
    return Refuse(InvalidArgument(std::string(function) + ": the communicator was destroyed or aborted meanwhile"));
  }
  const CommConfig wanted = Inherit(*read, lineage->config);
  if (wanted.is_blocking()) {
    return Create(newcomm, true, function, [comm, lineage, wish, wanted, function] {
      return Split(comm, lineage, wish, wanted, function, nullptr);
    });
  }
  // The turn on the parent is taken now, so that what the caller does next on it comes after.
  Ticket ticket;
  {
    const MutexLock lock(TicketMutex());
    ticket = TakeTickets({comm}).front();
  }
  const auto recipe = [comm, lineage, wish, wanted, function, ticket] {
    StatusOr<Composed> made = Split(comm, lineage, wish, wanted, function, &ticket);
    if (!made.ok()) NoteAsyncError(ticket, made.status());
    TurnOver(ticket);
    return made;
  };
  if (wish.color != MYCEL_SPLIT_NOCOLOR) {
    const mycelResult_t result = Create(newcomm, false, function, recipe);
    if (result != mycelInProgress) GiveUpTurn(ticket);
    return result;
  }
  status = RunInBackground([recipe, function] { Guarded(function, [&] { return recipe().status(); }).IgnoreError(); },
                           &GiveUpAllStarts);
  if (!status.ok()) {
    GiveUpTurn(ticket);
    return Refuse(status);
  }
  *newcomm = nullptr;
  NoteInProgress();
  return mycelInProgress;
}

}  // namespace
}  // namespace mycel

extern "C" {

mycelResult_t mycelCommSplit(mycelComm_t comm, int color, int key, mycelComm_t* newcomm,
                             const mycelConfig_t* config) try {
  return mycel::AcceptSplit(comm, {color, key}, newcomm, config, "mycelCommSplit");
} catch (...) {
  return mycel::Caught("mycelCommSplit");
}

mycelResult_t mycelCommDup(mycelComm_t comm, mycelComm_t* newcomm, const mycelConfig_t* config) try {
  return mycel::AcceptSplit(comm, {0, 0}, newcomm, config, "mycelCommDup");
} catch (...) {
  return mycel::Caught("mycelCommDup");
}

}  // extern "C"
