#include "scheduler/direct/direct.h"

#include <string>
#include <utility>

#include "core/base/check.h"
#include "scheduler/route/route_book.h"

namespace mycel {
namespace direct {
namespace {

constexpr std::string_view kOneShot = "one-shot";
constexpr std::string_view kTwoShot = "two-shot";
constexpr std::string_view kScatterAllGather = "scatter-allgather";
constexpr std::string_view kReduceScatterGather = "reduce-scatter-gather";

/// Without a chooser's advice: total bytes that one-shot sends from one rank before the second hop pays.
constexpr int64_t kOneShotBytesMax = 16 * 1024;

/// The variant that moves shares instead of whole blocks; empty when the collective has only one way.
std::string_view ShareVariant(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return kTwoShot;
    case Collective::kBroadcast:
      return kScatterAllGather;
    case Collective::kReduce:
      return kReduceScatterGather;
    default:
      return {};
  }
}

/// Draws stars; the first failure sticks.
class StarPainter {
 public:
  StarPainter(const Topology& topology, Schedule* schedule)
      : routes_(topology, &schedule->routes), schedule_(*schedule), n_(schedule->rank_count) {}

  /// All ranks -> root -> all ranks, as wished; `chunk` goes both ways.
  void Star(Rank root, const Chunk& chunk, bool up, bool down) {
    Tree tree;
    tree.chunk = chunk;
    tree.root = root;
    for (int32_t d = 1; d < n_; ++d) {
      const Rank other((root.value() + d) % n_);
      if (up) Draw(other, root, &tree.up);
      if (down) Draw(root, other, &tree.down);
    }
    schedule_.trees.push_back(std::move(tree));
  }

  /// root -> middle -> everybody else, or its mirror image.
  void Relay(Rank root, Rank middle, const Chunk& chunk, bool up) {
    Tree tree;
    tree.chunk = chunk;
    tree.root = root;
    if (!up) Draw(root, middle, &tree.down);
    for (int32_t d = 1; d < n_; ++d) {
      const Rank other((middle.value() + d) % n_);
      if (other == root) continue;
      up ? Draw(other, middle, &tree.up) : Draw(middle, other, &tree.down);
    }
    if (up) Draw(middle, root, &tree.up);
    schedule_.trees.push_back(std::move(tree));
  }

  /// source -> target, or a block that stays where it is.
  void Path(Rank source, Rank target, const Chunk& chunk) {
    Tree tree;
    tree.chunk = chunk;
    tree.root = source;
    if (source != target) Draw(source, target, &tree.down);
    schedule_.trees.push_back(std::move(tree));
  }

  const Status& status() const { return status_; }

 private:
  void Draw(Rank source, Rank target, std::vector<TreeEdge>* edges) {
    if (!status_.ok()) return;
    StatusOr<TreeEdge> edge = routes_.Edge(source, target);
    if (!edge.ok()) {
      status_ = std::move(edge).status();
      return;
    }
    edges->push_back(*edge);
  }

  RouteBook routes_;
  Schedule& schedule_;
  int32_t n_;
  Status status_;
};

/// allreduce, broadcast, reduce: one block, whole or in n shares.
void PaintOneBlock(bool shares, Schedule* schedule, StarPainter* painter) {
  const int32_t n = schedule->rank_count;
  const Collective collective = schedule->collective;
  schedule->units_per_block = shares ? n : 1;
  if (!shares && collective != Collective::kAllReduce) {
    const bool up = collective == Collective::kReduce;
    painter->Star(schedule->root, {0, 0, 1}, up, !up);
    return;
  }
  for (const Rank r : Ids<Rank>(n)) {
    const Chunk share = shares ? Chunk{0, r.value(), r.value() + 1} : Chunk{0, 0, 1};
    if (collective == Collective::kAllReduce) {
      painter->Star(r, share, true, shares);
    } else if (r == schedule->root) {
      painter->Star(r, share, collective == Collective::kReduce, collective == Collective::kBroadcast);
    } else {
      painter->Relay(schedule->root, r, share, collective == Collective::kReduce);
    }
  }
}

/// Pairs by distance, so that equal numbers mean different receivers (and a tree's number orders its messages).
void PaintAllToAll(Schedule* schedule, StarPainter* painter) {
  const int32_t n = schedule->rank_count;
  for (int32_t distance = 0; distance < n; ++distance) {
    for (const Rank i : Ids<Rank>(n)) {
      const Rank j((i.value() + distance) % n);
      const int32_t block = i.value() * n + j.value();
      const int64_t units = schedule->UnitsOf(block);
      if (units > 0) painter->Path(i, j, {block, 0, units});
    }
  }
}

void Paint(bool shares, Schedule* schedule, StarPainter* painter) {
  const int32_t n = schedule->rank_count;
  const Rank root = schedule->root;
  switch (schedule->collective) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      for (const Rank r : Ids<Rank>(n)) {
        const bool up = schedule->collective == Collective::kReduceScatter;
        painter->Star(r, {r.value(), 0, 1}, up, !up);
      }
      return;
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
      return PaintOneBlock(shares, schedule, painter);
    case Collective::kGather:
      for (const Rank r : Ids<Rank>(n)) painter->Path(r, root, {r.value(), 0, 1});
      return;
    case Collective::kScatter:
      for (int32_t d = 0; d < n; ++d) {
        const Rank r((root.value() + d) % n);
        painter->Path(root, r, {r.value(), 0, 1});
      }
      return;
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      return PaintAllToAll(schedule, painter);
  }
}

Status CheckRequest(const Topology& topology, const PlanRequest& request) {
  const std::string_view share = ShareVariant(request.collective);
  const bool known =
      request.variant.empty() || request.variant == kOneShot || (!share.empty() && request.variant == share);
  if (!known) {
    return InvalidArgument("planner direct has no variant '" + request.variant + "' of " +
                           std::string(NameOf(request.collective)) + "; use one-shot" +
                           (share.empty() ? "" : " or " + std::string(share)));
  }
  if (request.collective == Collective::kAllToAllV) {
    const auto n = static_cast<size_t>(topology.rank_count());
    if (request.demand.size() != n * n) {
      return InvalidArgument("alltoallv on " + std::to_string(n) + " ranks needs " + std::to_string(n * n) +
                             " demands, got " + std::to_string(request.demand.size()));
    }
    for (size_t i = 0; i < n * n; ++i) {
      if (request.demand[i] >= 0) continue;
      return InvalidArgument("alltoallv: the demand from rank " + std::to_string(i / n) + " to rank " +
                             std::to_string(i % n) + " is negative");
    }
  }
  return CheckRoot(topology, request);
}

class Direct final : public Planner {
 public:
  std::string_view name() const override { return "direct"; }
  std::string_view summary() const override { return "every rank talks to every other without relays"; }

  Status Serves(const Topology& topology, const PlanRequest& request) const override {
    return MakeSchedule(topology, request).status();  // the routes decide, and they are most of the work
  }

  std::vector<std::string> VariantsFor(const Topology& topology, const PlanRequest& request) const override {
    const std::string_view share = ShareVariant(request.collective);
    // With two ranks a broadcast by shares is a broadcast with more messages.
    const bool shares_differ = topology.rank_count() > (request.collective == Collective::kAllReduce ? 1 : 2);
    if (share.empty() || !shares_differ) return {std::string(kOneShot)};
    return {std::string(kOneShot), std::string(share)};
  }

  StatusOr<Schedule> MakeSchedule(const Topology& topology, const PlanRequest& request) const override {
    MYCEL_RETURN_IF_ERROR(CheckRequest(topology, request));
    const std::string_view share = ShareVariant(request.collective);
    bool shares = !share.empty() && request.variant == share;
    if (request.variant.empty() && !share.empty()) {
      shares = request.bytes * (topology.rank_count() - 1) > kOneShotBytesMax;
    }
    Schedule schedule;
    schedule.collective = request.collective;
    schedule.rank_count = topology.rank_count();
    schedule.root = InfoOf(request.collective).rooted ? request.root : Rank();
    if (request.collective == Collective::kAllToAllV) schedule.block_units = request.demand;
    schedule.planner = share.empty() ? "direct" : "direct/" + std::string(shares ? share : kOneShot);
    StarPainter painter(topology, &schedule);
    Paint(shares, &schedule, &painter);
    if (!painter.status().ok()) return painter.status();
    return schedule;
  }
};

}  // namespace
}  // namespace direct

const Planner& DirectPlanner() {
  static const direct::Direct planner;
  return planner;
}

}  // namespace mycel
