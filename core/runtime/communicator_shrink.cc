// How the ranks that remain find each other when some are left behind. The old channels may be in any state, so this
// uses nothing but the boards: each remaining rank shows which ranks it takes for remaining; when all show the same,
// the lowest of them offers a meeting place, where a new communicator begins.
//
// A follower notes the leader's count of places before it shows itself; the leader offers one only after it has seen
// everybody. So a grown count is an offer for this meeting and no other.
#include <cstring>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/runtime/communicator.h"

namespace mycel {
namespace {

// About so many glances between two questions to the kernel about each peer.
constexpr uint64_t kGlancesPerAliveCheck = 16;
// The last bit of a view: its owner still hopes to meet. Without it, it has found ranks that disagree.
constexpr uint64_t kHopes = 1;
// So long a rank that has found another view keeps its own up, for the other to find it, too.
constexpr uint64_t kDisagreeNs = 1'000'000'000;

/// Not 0, which means that a rank shows nothing, also without kHopes.
uint64_t ViewOf(std::span<const Rank> survivors) {
  uint64_t view = survivors.size();
  for (const Rank rank : survivors) {
    view = (view ^ static_cast<uint64_t>(rank.value())) * 0x9E3779B97F4A7C15ULL;
    view ^= view >> 29;
  }
  return view | 2 | kHopes;
}

/// Shows a view while it lives.
class Shown {
 public:
  Shown(RankBoard* board, uint64_t view) : board_(board) {
    // release: what we read of others' boards was read before they can see us.
    board_->shrink.view.store(view, std::memory_order_release);
  }
  ~Shown() { board_->shrink.view.store(0, std::memory_order_release); }
  /// After a look at `other`, whose view differs: until that rank knows, too.
  void Disagree(const ShrinkBoard& other, uint64_t view) const {
    board_->shrink.view.store(view & ~kHopes, std::memory_order_release);
    WaitPolicy policy;
    policy.mode = WaitMode::kSleep;
    Waiter waiter(policy, nullptr);
    do {
      waiter.Pause();
      // relaxed: nothing is read after it.
      if ((other.view.load(std::memory_order_relaxed) & kHopes) == 0) return;
    } while (waiter.WaitedNs() < kDisagreeNs);
  }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;

 private:
  RankBoard* board_;
};

}  // namespace

StatusOr<Communicator::Place> Communicator::MeetSurvivors(std::span<const Rank> survivors, Deadline deadline,
                                                          const std::function<StatusOr<Place>()>& host,
                                                          const std::function<bool()>& given_up) {
  MYCEL_CHECK(!survivors.empty());
  if (board_ == nullptr || survivors.size() == 1) return host();
  const std::string me = Me();
  const uint64_t view = ViewOf(survivors);
  const Rank leader = survivors.front();
  ShrinkBoard& hosting = boards_[leader.index()]->shrink;
  // acquire: an offer that we see is not a new one.
  const uint64_t offers_before = hosting.hosted.load(std::memory_order_acquire);
  const Shown shown(board_, view);
  WaitPolicy policy;
  policy.mode = WaitMode::kSleep;
  Waiter waiter(policy, nullptr);
  // acquire: pairs with the release below on the leader; the place is readable.
  const auto offered = [&] { return hosting.hosted.load(std::memory_order_acquire) != offers_before; };
  for (uint64_t glance = 0;; ++glance) {
    if (leader != parts_.rank && offered()) {
      if (hosting.failure != 0) {
        return RemoteError(me + ": rank " + std::to_string(leader.value()) +
                           ", the lowest that remains, could not offer a place to meet: see its own error");
      }
      Place place;
      std::memcpy(place.data(), hosting.place, place.size());
      return place;
    }
    Rank missing;
    for (const Rank peer : survivors) {
      if (peer == parts_.rank) continue;
      // acquire: pairs with the release in Shown.
      const uint64_t theirs = boards_[peer.index()]->shrink.view.load(std::memory_order_acquire);
      if (theirs == view) continue;
      if (theirs != 0) {
        shown.Disagree(boards_[peer.index()]->shrink, view);
        return InvalidUsage(me + ": rank " + std::to_string(peer.value()) +
                            " excludes other ranks than this rank does: pass the same excludeRanks on every rank that "
                            "remains");
      }
      if (!missing.valid()) missing = peer;
      if (glance % kGlancesPerAliveCheck != 0) continue;
      const Status alive = parts_.transport->CheckAlive(peer);
      if (alive.ok()) continue;
      // It may have come, met the others and left between the two looks; then there is an offer.
      if (leader != parts_.rank && offered()) break;
      return MakeStatus(alive.code(), me + ": " + StatusMessage(alive) + "; exclude it, too");
    }
    if (leader == parts_.rank && !missing.valid()) break;
    if (given_up()) return AbortedError(me + ": the communicator was aborted");
    if (deadline.Passed()) {
      // A follower that sees all others waits for the leader.
      const Rank late = missing.valid() ? missing : leader;
      return TimeoutError(me + ": waited until its deadline for rank " + std::to_string(late.value()) +
                          " to call mycelCommShrink; every rank that is not excluded must (MYCEL_TIMEOUT sets the "
                          "limit)");
    }
    waiter.Pause();
  }
  StatusOr<Place> place = host();
  ShrinkBoard& mine = board_->shrink;
  mine.failure = place.ok() ? 0 : 1 + static_cast<uint32_t>(place.status().code());
  if (place.ok()) std::memcpy(mine.place, place->data(), place->size());
  // release: publishes failure and place; pairs with the acquire above.
  mine.hosted.store(offers_before + 1, std::memory_order_release);
  return place;
}

}  // namespace mycel
