#include "scheduler/fast/fast.h"

#include <algorithm>
#include <string>
#include <utility>

#include "scheduler/fast/cluster.h"
#include "scheduler/fast/expand.h"
#include "scheduler/fast/stages.h"
#include "scheduler/route/route_book.h"

namespace mycel {
namespace fast {
namespace {

/// Sums of byte counts must stay below; the decompositions need a bit of room.
constexpr int64_t kTotalMax = int64_t{1} << 60;
constexpr Method kMethods[] = {Method::kExact, Method::kLazy, Method::kQuantised, Method::kGrouped};

StatusOr<Method> MethodOf(const std::string& variant) {
  if (variant.empty()) return Method::kChosen;
  std::string names;
  for (const Method method : kMethods) {
    if (NameOf(method) == variant) return method;
    names += (names.empty() ? "" : ", ") + std::string(NameOf(method));
  }
  return InvalidArgument("planner fast has no variant '" + variant + "'; use one of: " + names);
}

/// Byte counts by sender and receiver. alltoall is planned as an alltoallv whose counts are what the size says, or as
/// good as any when it says nothing.
Status CheckDemand(const Topology& topology, const PlanRequest& request) {
  const auto n = static_cast<size_t>(topology.rank_count());
  if (request.demand.size() != n * n) {
    return InvalidArgument("alltoallv on " + std::to_string(n) + " ranks needs " + std::to_string(n * n) +
                           " demands, got " + std::to_string(request.demand.size()));
  }
  int64_t total = 0;
  for (size_t i = 0; i < n * n; ++i) {
    const std::string pair = "from rank " + std::to_string(i / n) + " to rank " + std::to_string(i % n);
    if (request.demand[i] < 0) return InvalidArgument("alltoallv: the demand " + pair + " is negative");
    if (request.demand[i] > kTotalMax - total) {
      return InvalidArgument("alltoallv: the demands up to the one " + pair +
                             " come to more than 2^60 bytes; no buffers are that large");
    }
    total += request.demand[i];
  }
  return OkStatus();
}

/// Writes paths as trees.
class Painter {
 public:
  Painter(const Topology& topology, Schedule* schedule) : routes_(topology, &schedule->routes), schedule_(*schedule) {}

  void Paint(const Path& path) {
    const int32_t n = schedule_.rank_count;
    Tree tree;
    tree.chunk = {path.source.value() * n + path.target.value(), path.begin, path.end};
    tree.root = path.source;
    tree.stage = path.stage;
    // Without a leg, i.e. within a server: beside the hops that come before the stage's own.
    tree.stage_hop = path.source == path.sender && path.sender != path.receiver ? 0 : 1;
    const Rank stops[] = {path.source, path.sender, path.receiver, path.target};
    for (size_t i = 0; i < 3; ++i) {
      if (stops[i] == stops[i + 1]) continue;
      StatusOr<TreeEdge> edge = routes_.Edge(stops[i], stops[i + 1]);
      if (!edge.ok()) {
        if (status_.ok()) status_ = edge.status();
        return;
      }
      tree.down.push_back(*edge);
    }
    schedule_.trees.push_back(std::move(tree));
  }

  const Status& status() const { return status_; }

 private:
  RouteBook routes_;
  Schedule& schedule_;
  Status status_;
};

/// What stays within servers goes beside the first stages, each rank to another one at a time.
void AddLocal(const Cluster& cluster, const std::vector<int64_t>& demand, int32_t stages, std::vector<Path>* paths) {
  const auto n = static_cast<size_t>(cluster.rank_count());
  for (const Server& server : cluster.servers) {
    const size_t ranks = server.ranks.size();
    for (size_t distance = 0; distance < ranks; ++distance) {
      // The last stage's hops are the ones that nothing hides.
      const int32_t stage = std::max(0, std::min(static_cast<int32_t>(distance) - 1, stages - 2));
      for (size_t i = 0; i < ranks; ++i) {
        const Rank source = server.ranks[i], target = server.ranks[(i + distance) % ranks];
        const int64_t bytes = demand[source.index() * n + target.index()];
        if (bytes > 0) paths->push_back({stage, source, target, target, target, 0, bytes});
      }
    }
  }
}

class Fast final : public Planner {
 public:
  std::string_view name() const override { return "fast"; }
  std::string_view summary() const override {
    return "rebalances inside servers and sends between them in balanced one-to-one stages";
  }

  Status Serves(const Topology& topology, const PlanRequest& request) const override {
    return MakeSchedule(topology, request).status();  // the routes decide, and they are most of the work
  }

  StatusOr<Schedule> MakeSchedule(const Topology& topology, const PlanRequest& request) const override {
    if (request.collective != Collective::kAllToAllV) {
      return Impossible("planner fast serves alltoallv, not " + std::string(NameOf(request.collective)) +
                        "; use auto, or direct");
    }
    MYCEL_RETURN_IF_ERROR(CheckDemand(topology, request));
    StageOptions options;
    MYCEL_ASSIGN_OR_RETURN(options.method, MethodOf(request.variant));
    MYCEL_ASSIGN_OR_RETURN(const Cluster cluster, ClusterOf(topology));
    Exchange exchange;
    exchange.cluster = &cluster;
    exchange.demand = request.demand.data();
    exchange.traffic = TrafficOf(cluster, request.demand.data());
    exchange.stages = ChooseStages(cluster, exchange.traffic, options);
    Expander expander(exchange);
    std::vector<Path> paths;
    for (int32_t a = 0; a < cluster.server_count(); ++a) {
      for (int32_t b = 0; b < cluster.server_count(); ++b) {
        if (a != b) expander.AddTile(a, b, &paths);
      }
    }
    AddLocal(cluster, request.demand, exchange.stages.list.count(), &paths);
    std::stable_sort(paths.begin(), paths.end(), [](const Path& x, const Path& y) { return x.stage < y.stage; });

    Schedule schedule;
    schedule.collective = request.collective;
    schedule.rank_count = topology.rank_count();
    schedule.block_units = request.demand;
    schedule.stages_overlap = true;
    schedule.planner = request.variant.empty() ? "fast" : "fast/" + request.variant;
    schedule.trees.reserve(paths.size());
    Painter painter(topology, &schedule);
    for (const Path& path : paths) painter.Paint(path);
    if (!painter.status().ok()) return painter.status();
    return schedule;
  }
};

}  // namespace
}  // namespace fast

const Planner& FastPlanner() {
  static const fast::Fast planner;
  return planner;
}

}  // namespace mycel
