#include "scheduler/timeflow/tenants.h"

#include <algorithm>

#include "scheduler/timeflow/time_search.h"

namespace mycel::timeflow {
namespace {

/// The longest block is cut into so many chunks at most.
constexpr int64_t kChunksMax = 8;
/// Hops of the topology times chunks, at most.
constexpr int64_t kWorkMax = int64_t{1} << 21;

int64_t BlockBytes(const Tenant& tenant) {
  if (tenant.collective == Collective::kBroadcast) return tenant.bytes;
  const int64_t n = std::ssize(tenant.ranks);
  return (tenant.bytes + n - 1) / n;
}

Status Check(const Topology& topology, const Tenant& tenant) {
  const std::string who = "tenant '" + tenant.name + "': ";
  switch (tenant.collective) {
    case Collective::kAllGather:
    case Collective::kBroadcast:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      break;
    default:
      return Impossible(who + std::string(NameOf(tenant.collective)) +
                        " cannot share a timed schedule; use allgather, broadcast, alltoall, gather or scatter");
  }
  if (tenant.bytes <= 0) return InvalidArgument(who + "has no bytes to move; give at least 1");
  if (tenant.weight < 1)
    return InvalidArgument(who + "has weight " + std::to_string(tenant.weight) + "; use 1 or more");
  std::vector<int32_t> ranks = tenant.ranks;
  std::sort(ranks.begin(), ranks.end());
  if (ranks.size() < 2) return InvalidArgument(who + "needs at least two ranks");
  if (ranks.front() < 0 || ranks.back() >= topology.rank_count()) {
    return InvalidArgument(who + "has ranks outside 0.." + std::to_string(topology.rank_count() - 1) +
                           ", which is what topology '" + topology.name() + "' has");
  }
  if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end()) {
    return InvalidArgument(who + "names a rank twice");
  }
  if (InfoOf(tenant.collective).rooted && !std::binary_search(ranks.begin(), ranks.end(), tenant.root)) {
    return InvalidArgument(who + "needs a root among its ranks, not " + std::to_string(tenant.root));
  }
  return OkStatus();
}

void AddItems(const Tenant& tenant, int64_t chunk_bytes, int32_t number, std::vector<Item>* items) {
  const auto chunks = static_cast<int32_t>((BlockBytes(tenant) + chunk_bytes - 1) / chunk_bytes);
  switch (tenant.collective) {
    case Collective::kBroadcast:
      return AddBroadcast(tenant.root, tenant.ranks, chunks, number, items);
    case Collective::kAllToAll:
      return AddAllToAll(tenant.ranks, chunks, number, items);
    case Collective::kGather:
      return AddGather(tenant.root, tenant.ranks, chunks, number, items);
    case Collective::kScatter:
      return AddScatter(tenant.root, tenant.ranks, chunks, number, items);
    default:
      return AddAllGather(tenant.ranks, chunks, number, items);
  }
}

}  // namespace

StatusOr<SharedFabric> ShareFabric(const Topology& topology, const std::vector<Tenant>& tenants) {
  if (tenants.empty()) return InvalidArgument("no tenants; give at least one");
  int64_t shortest = 0, longest = 0;
  for (const Tenant& tenant : tenants) {
    MYCEL_RETURN_IF_ERROR(Check(topology, tenant));
    const int64_t bytes = BlockBytes(tenant);
    shortest = shortest == 0 ? bytes : std::min(shortest, bytes);
    longest = std::max(longest, bytes);
  }
  SharedFabric shared;
  shared.chunk_bytes = std::max(shortest, (longest + kChunksMax - 1) / kChunksMax);
  TimeProblem problem;
  MYCEL_ASSIGN_OR_RETURN(problem.graph, EpochGraphOf(topology, shared.chunk_bytes));
  shared.epoch_ns = problem.graph.epoch_ns;
  problem.weights.clear();
  for (size_t t = 0; t < tenants.size(); ++t) {
    TimeProblem alone{problem.graph, {}};
    AddItems(tenants[t], shared.chunk_bytes, 0, &alone.items);
    const int64_t work = std::ssize(problem.graph.hops) * std::ssize(alone.items);
    if (work > kWorkMax / std::ssize(tenants)) {
      return Impossible("tenant '" + tenants[t].name + "': " + std::to_string(alone.items.size()) + " chunks over " +
                        std::to_string(problem.graph.hops.size()) +
                        " hops are too many to be timed; plan fewer tenants or smaller sizes together");
    }
    MYCEL_ASSIGN_OR_RETURN(const TimeSchedule found, FindTimeSchedule(alone, {}));
    shared.shares.push_back({found.epochs, 0});
    AddItems(tenants[t], shared.chunk_bytes, static_cast<int32_t>(t), &problem.items);
    problem.weights.push_back(tenants[t].weight);
  }
  MYCEL_ASSIGN_OR_RETURN(const TimeSchedule together, FindTimeSchedule(problem, {}));
  for (size_t t = 0; t < tenants.size(); ++t) shared.shares[t].epochs = together.ends[t];
  shared.bound = together.bound;
  shared.rounds = together.rounds;
  return shared;
}

}  // namespace mycel::timeflow
