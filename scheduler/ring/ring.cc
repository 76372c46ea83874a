#include "scheduler/ring/ring.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "scheduler/ring/cycle.h"
#include "scheduler/route/route_book.h"

namespace mycel {
namespace ring {
namespace {

constexpr std::string_view kOneWay = "one-way";
constexpr std::string_view kTwoWay = "two-way";

/// How far a tree reaches from its root along the ring: `right` hops in ring order, `left` hops against it.
struct Reach {
  int32_t right = 0;
  int32_t left = 0;
};

/// Draws trees on the ring. Positions are places in ring order, taken modulo n.
class RingPainter {
 public:
  RingPainter(const Cycle& cycle, RouteBook* routes, Schedule* schedule)
      : cycle_(cycle), routes_(*routes), schedule_(*schedule), n_(schedule->rank_count) {}

  Rank At(int32_t position) const { return cycle_.order[static_cast<size_t>(((position % n_) + n_) % n_)]; }
  int32_t PositionOf(Rank rank) const {
    const auto at = std::find(cycle_.order.begin(), cycle_.order.end(), rank);
    return static_cast<int32_t>(at - cycle_.order.begin());
  }

  /// A tree around `position` with the given arms.
  void Add(int32_t position, const Chunk& chunk, Reach up, Reach down) {
    Tree tree;
    tree.chunk = chunk;
    tree.root = At(position);
    for (int32_t d = up.right; d > 0; --d) Draw(position + d, position + d - 1, &tree.up);
    for (int32_t d = up.left; d > 0; --d) Draw(position - d, position - d + 1, &tree.up);
    for (int32_t d = 0; d < down.right; ++d) Draw(position + d, position + d + 1, &tree.down);
    for (int32_t d = 0; d < down.left; ++d) Draw(position - d, position - d - 1, &tree.down);
    schedule_.trees.push_back(std::move(tree));
  }

 private:
  void Draw(int32_t from, int32_t to, std::vector<TreeEdge>* edges) {
    StatusOr<TreeEdge> edge = routes_.Edge(At(from), At(to));
    MYCEL_CHECK(edge.ok());  // FindCycle has asked for both directions it promises
    edges->push_back(*edge);
  }

  const Cycle& cycle_;
  RouteBook& routes_;
  Schedule& schedule_;
  int32_t n_;
};

/// Arms that cover the ring from any root. One way: all hops in one direction. Two ways: half the hops each; when n is
/// even one arm is a hop longer, so two halves of a block take turns and both directions carry the same.
std::vector<Reach> CoverArms(int32_t n, bool two_way) {
  if (!two_way) return {{n - 1, 0}};
  if (n % 2 == 1) return {{n / 2, n / 2}};
  return {{n / 2, n / 2 - 1}, {n / 2 - 1, n / 2}};
}

/// Arms that pass a long message through all ranks: two halves in opposite directions.
std::vector<Reach> PipeArms(int32_t n, bool two_way) {
  if (!two_way) return {{n - 1, 0}};
  return {{n - 1, 0}, {0, n - 1}};
}

/// Ways to the rank `distance` hops to the right: the shorter one, both when equal.
std::vector<Reach> PathArms(int32_t n, int32_t distance, bool two_way) {
  const int32_t back = n - distance;
  if (!two_way || distance < back) return {{distance, 0}};
  if (back < distance) return {{0, back}};
  return {{distance, 0}, {0, back}};
}

/// The mirror image: data that flows towards the root along `arms` comes from the other side.
Reach Mirror(Reach arms) { return {arms.left, arms.right}; }

/// Adds one tree per arm; the chunks tile the units [begin, end) of `block`.
template <typename MakeTree>
void AddParts(const std::vector<Reach>& arms, Chunk chunk, MakeTree&& make_tree) {
  const auto parts = static_cast<int64_t>(arms.size());
  const int64_t units = chunk.units();
  MYCEL_CHECK_EQ(units % parts, 0);
  for (int64_t i = 0; i < parts; ++i) {
    make_tree(Chunk{chunk.block, chunk.begin + units / parts * i, chunk.begin + units / parts * (i + 1)},
              arms[static_cast<size_t>(i)]);
  }
}

/// Block -> block paths, nearest targets first so that short messages do not queue behind long ones.
void PaintAllToAll(int32_t n, bool two_way, Schedule* schedule, RingPainter* painter) {
  schedule->units_per_block = two_way && n % 2 == 0 ? 2 : 1;
  for (int32_t distance = 0; distance < n; ++distance) {
    const std::vector<Reach> arms = distance == 0 ? std::vector<Reach>(1) : PathArms(n, distance, two_way);
    for (int32_t p = 0; p < n; ++p) {
      const int32_t block = painter->At(p).value() * n + painter->At(p + distance).value();
      AddParts(arms, {block, 0, schedule->units_per_block},
               [&](const Chunk& chunk, Reach arm) { painter->Add(p, chunk, {}, arm); });
    }
  }
}

void PaintRootedBlocks(int32_t n, bool two_way, bool gather, Schedule* schedule, RingPainter* painter) {
  schedule->units_per_block = two_way && n % 2 == 0 ? 2 : 1;
  const int32_t root = painter->PositionOf(schedule->root);
  for (int32_t distance = 0; distance < n; ++distance) {
    const int32_t p = gather ? root - distance : root;
    const int32_t block = painter->At(gather ? p : root + distance).value();
    const std::vector<Reach> arms = distance == 0 ? std::vector<Reach>(1) : PathArms(n, distance, two_way);
    AddParts(arms, {block, 0, schedule->units_per_block},
             [&](const Chunk& chunk, Reach arm) { painter->Add(p, chunk, {}, arm); });
  }
}

void Paint(bool two_way, Schedule* schedule, RingPainter* painter) {
  const int32_t n = schedule->rank_count;
  const Collective collective = schedule->collective;
  const std::vector<Reach> cover = CoverArms(n, two_way);
  const std::vector<Reach> pipe = PipeArms(n, two_way);
  const auto cover_parts = static_cast<int64_t>(cover.size());
  switch (collective) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      schedule->units_per_block = cover_parts;
      for (int32_t p = 0; p < n; ++p) {
        AddParts(cover, {painter->At(p).value(), 0, cover_parts}, [&](const Chunk& chunk, Reach arms) {
          const bool gathers = collective == Collective::kAllGather;
          painter->Add(p, chunk, gathers ? Reach{} : Mirror(arms), gathers ? arms : Reach{});
        });
      }
      return;
    case Collective::kAllReduce:
      schedule->units_per_block = cover_parts * n;
      for (int32_t p = 0; p < n; ++p) {
        AddParts(cover, {0, p * cover_parts, (p + 1) * cover_parts},
                 [&](const Chunk& chunk, Reach arms) { painter->Add(p, chunk, Mirror(arms), arms); });
      }
      return;
    case Collective::kBroadcast:
    case Collective::kReduce:
      schedule->units_per_block = static_cast<int64_t>(pipe.size());
      AddParts(pipe, {0, 0, schedule->units_per_block}, [&](const Chunk& chunk, Reach arms) {
        const bool spreads = collective == Collective::kBroadcast;
        painter->Add(painter->PositionOf(schedule->root), chunk, spreads ? Reach{} : Mirror(arms),
                     spreads ? arms : Reach{});
      });
      return;
    case Collective::kAllToAll:
      return PaintAllToAll(n, two_way, schedule, painter);
    case Collective::kGather:
    case Collective::kScatter:
      return PaintRootedBlocks(n, two_way, collective == Collective::kGather, schedule, painter);
    case Collective::kAllToAllV:
      MYCEL_CHECK(false);  // CheckRequest has refused it
  }
}

/// The busiest link when every ring edge carries `right` to the right and `left` to the left.
Rational Bottleneck(const Topology& topology, const Cycle& cycle, const Rational& right, const Rational& left) {
  std::vector<Rational> loads(topology.links().size());
  const auto add = [&](Rank a, Rank b, const Rational& load) {
    const Route route = ShortestRoute(topology, a, b);
    for (size_t i = 0; i + 1 < route.size(); ++i) loads[topology.FindLink(route[i], route[i + 1]).index()] += load;
  };
  const size_t n = cycle.order.size();
  for (size_t i = 0; i < n; ++i) {
    if (right > Rational(0)) add(cycle.order[i], cycle.order[(i + 1) % n], right);
    if (left > Rational(0)) add(cycle.order[(i + 1) % n], cycle.order[i], left);
  }
  Rational worst;
  for (size_t i = 0; i < loads.size(); ++i) worst = std::max(worst, loads[i] / topology.links()[i].bandwidth);
  return worst;
}

/// Two ways pay where the directions do not share links (a ring of cables); behind a switch they only double the
/// number of messages.
bool TwoWayPays(const Topology& topology, const Cycle& cycle) {
  if (!cycle.both_ways || cycle.order.size() < 3) return false;
  const Rational half(1, 2);
  return Bottleneck(topology, cycle, half, half) < Bottleneck(topology, cycle, 1, 0);
}

Status CheckRequest(const Topology& topology, const PlanRequest& request) {
  if (request.collective == Collective::kAllToAllV) {
    return Impossible("planner ring does not serve alltoallv: uneven blocks would queue behind each other; use direct");
  }
  if (!request.variant.empty() && request.variant != kOneWay && request.variant != kTwoWay) {
    return InvalidArgument("planner ring has no variant '" + request.variant + "'; use one-way or two-way");
  }
  return CheckRoot(topology, request);
}

class Ring final : public Planner {
 public:
  std::string_view name() const override { return "ring"; }
  std::string_view summary() const override {
    return "blocks travel around a ring of ranks, in both directions where they do not share links";
  }

  Status Serves(const Topology& topology, const PlanRequest& request) const override {
    MYCEL_RETURN_IF_ERROR(CheckRequest(topology, request));
    std::vector<Route> routes;
    RouteBook book(topology, &routes);
    return FindCycle(topology, &book).status();
  }

  std::vector<std::string> VariantsFor(const Topology& topology, const PlanRequest&) const override {
    if (topology.rank_count() < 3) return {std::string(kOneWay)};
    return {std::string(kOneWay), std::string(kTwoWay)};
  }

  StatusOr<Schedule> MakeSchedule(const Topology& topology, const PlanRequest& request) const override {
    MYCEL_RETURN_IF_ERROR(CheckRequest(topology, request));
    Schedule schedule;
    schedule.collective = request.collective;
    schedule.rank_count = topology.rank_count();
    schedule.root = InfoOf(request.collective).rooted ? request.root : Rank();
    RouteBook routes(topology, &schedule.routes);
    MYCEL_ASSIGN_OR_RETURN(const Cycle cycle, FindCycle(topology, &routes));
    bool two_way = request.variant == kTwoWay;
    if (request.variant.empty()) two_way = TwoWayPays(topology, cycle);
    if (two_way && (!cycle.both_ways || schedule.rank_count < 3)) {
      return Impossible("topology '" + topology.name() + "': the ring closes in one direction only; use ring/one-way");
    }
    schedule.planner = "ring/" + std::string(two_way ? kTwoWay : kOneWay);
    RingPainter painter(cycle, &routes, &schedule);
    Paint(two_way, &schedule, &painter);
    return schedule;
  }
};

}  // namespace
}  // namespace ring

const Planner& RingPlanner() {
  static const ring::Ring planner;
  return planner;
}

}  // namespace mycel
