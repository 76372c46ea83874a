#include "bindings/cli/exchange_facts.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "bindings/cli/simulation.h"
#include "scheduler/fast/cluster.h"

namespace mycel::cli {
namespace {

using fast::Cluster;

std::vector<std::string> NamesOf(const Topology& topology, const Cluster& cluster) {
  std::vector<std::string> names;
  for (const fast::Server& server : cluster.servers) {
    const Node& first = topology.node(topology.NodeOf(server.ranks.front()));
    names.push_back(first.server.empty() ? first.id : first.server);
  }
  return names;
}

double UsOf(int64_t bytes, int64_t rate, const Cluster& cluster) {
  return static_cast<double>(bytes) / (static_cast<double>(rate) * cluster.unit_MBps);
}

void AddMatrix(const Cluster& cluster, const std::vector<int64_t>& demand, ExchangeFacts* facts) {
  const size_t n = cluster.servers.size();
  const size_t ranks = cluster.server_of.size();
  facts->matrix.assign(n * n, 0);
  for (size_t i = 0; i < demand.size(); ++i) {
    const auto a = static_cast<size_t>(cluster.server_of[i / ranks]);
    const auto b = static_cast<size_t>(cluster.server_of[i % ranks]);
    facts->matrix[a * n + b] += demand[i];
    if (a != b) facts->between_bytes += demand[i];
  }
}

void AddBound(const Cluster& cluster, ExchangeFacts* facts) {
  const size_t n = cluster.servers.size();
  for (size_t a = 0; a < n; ++a) {
    int64_t out = 0, in = 0;
    for (size_t b = 0; b < n; ++b) {
      if (a == b) continue;
      out += facts->At(a, b);
      in += facts->At(b, a);
    }
    const std::vector<int64_t>& rates = cluster.servers[a].rates;
    const int64_t rate = std::accumulate(rates.begin(), rates.end(), int64_t{0});
    facts->out_us.push_back(UsOf(out, rate, cluster));
    facts->in_us.push_back(UsOf(in, rate, cluster));
  }
  // The first of equals, rows before columns.
  for (const bool receives : {true, false}) {
    const std::vector<double>& us = receives ? facts->in_us : facts->out_us;
    const auto longest = std::max_element(us.begin(), us.end());
    if (*longest < facts->BoundUs()) continue;
    facts->binding = static_cast<size_t>(longest - us.begin());
    facts->binding_receives = receives;
  }
}

/// Where every rank sends what it has over its own way out: no less than its busiest takes.
void AddOwnWays(const Topology& topology, const Cluster& cluster, const std::vector<int64_t>& demand,
                ExchangeFacts* facts) {
  const size_t ranks = cluster.server_of.size();
  for (size_t g = 0; g < ranks; ++g) {
    int64_t out = 0;
    for (size_t h = 0; h < ranks; ++h) {
      if (cluster.server_of[g] != cluster.server_of[h]) out += demand[g * ranks + h];
    }
    const auto server = static_cast<size_t>(cluster.server_of[g]);
    const double us = UsOf(out, cluster.servers[server].rates[static_cast<size_t>(cluster.place_of[g])], cluster);
    if (us <= facts->own_way_us) continue;
    facts->own_way_us = us;
    facts->own_way_rank = topology.node(topology.NodeOf(Rank(static_cast<int64_t>(g)))).id;
  }
}

/// Bytes of one stage: by server, and within servers by rank.
struct StageBytes {
  std::map<std::pair<int32_t, int32_t>, int64_t> between;
  std::map<int32_t, int64_t> balance_out, balance_in, onward_out, onward_in;  // by rank
};

void AddHops(const Cluster& cluster, const Tree& tree, std::vector<StageBytes>* stages, ExchangeFacts* facts) {
  const auto server_of = [&cluster](Rank rank) { return cluster.server_of[rank.index()]; };
  size_t first = 0;
  while (first < tree.down.size() && server_of(tree.down[first].source) == server_of(tree.down[first].target)) ++first;
  if (first == tree.down.size()) return;  // stays within a server
  const auto at = static_cast<size_t>(tree.stage);
  if (stages->size() <= at) stages->resize(at + 1);
  StageBytes& stage = (*stages)[at];
  const int64_t bytes = tree.chunk.units();
  for (size_t hop = 0; hop < tree.down.size(); ++hop) {
    const TreeEdge& edge = tree.down[hop];
    if (server_of(edge.source) != server_of(edge.target)) {
      stage.between[{server_of(edge.source), server_of(edge.target)}] += bytes;
      continue;
    }
    const bool before = hop < first;
    (before ? facts->balance_bytes : facts->onward_bytes) += bytes;
    (before ? stage.balance_out : stage.onward_out)[edge.source.value()] += bytes;
    (before ? stage.balance_in : stage.onward_in)[edge.target.value()] += bytes;
  }
}

/// The busiest of each server's ranks.
std::vector<double> BusiestUs(const Cluster& cluster, const std::map<int32_t, int64_t>& bytes_of_rank) {
  std::vector<double> us(cluster.servers.size());
  for (const auto& [rank, bytes] : bytes_of_rank) {
    double& most = us[static_cast<size_t>(cluster.server_of[static_cast<size_t>(rank)])];
    most = std::max(most, static_cast<double>(bytes) / static_cast<double>(cluster.scale_up_MBps));
  }
  return us;
}

double LongerOf(const std::vector<double>& a, const std::vector<double>& b, size_t i) { return std::max(a[i], b[i]); }

ExchangeStage StageOf(const Cluster& cluster, const StageBytes& bytes) {
  ExchangeStage stage;
  stage.parts.resize(cluster.servers.size());
  fast::Pair pair;
  for (const auto& [ends, sent] : bytes.between) {
    fast::JoinServers(cluster, ends.first, ends.second, &pair);
    StagePart& part = stage.parts[static_cast<size_t>(ends.first)];
    part.target = ends.second;
    part.bytes += sent;
    part.send_us += UsOf(sent, pair.rate, cluster);
    stage.us = std::max(stage.us, part.send_us);
  }
  const std::vector<double> balance_out = BusiestUs(cluster, bytes.balance_out);
  const std::vector<double> balance_in = BusiestUs(cluster, bytes.balance_in);
  const std::vector<double> onward_out = BusiestUs(cluster, bytes.onward_out);
  const std::vector<double> onward_in = BusiestUs(cluster, bytes.onward_in);
  for (size_t a = 0; a < stage.parts.size(); ++a) {
    stage.parts[a].balance_us = LongerOf(balance_out, balance_in, a);
    stage.parts[a].onward_us = LongerOf(onward_out, onward_in, a);
  }
  return stage;
}

/// A stage begins when the one before has ended and every server has balanced for it; servers balance and pass on stage
/// after stage.
void SetTimes(ExchangeFacts* facts) {
  std::vector<double> balanced(facts->servers.size()), passed_on(facts->servers.size());
  double now = 0;
  for (ExchangeStage& stage : facts->stages) {
    for (size_t a = 0; a < stage.parts.size(); ++a) {
      stage.parts[a].balance_begin_us = balanced[a];
      balanced[a] += stage.parts[a].balance_us;
    }
    stage.begin_us = std::max(now, *std::max_element(balanced.begin(), balanced.end()));
    now = stage.begin_us + stage.us;
    for (size_t a = 0; a < stage.parts.size(); ++a) {
      stage.parts[a].onward_begin_us = std::max(now, passed_on[a]);
      passed_on[a] = stage.parts[a].onward_begin_us + stage.parts[a].onward_us;
    }
  }
  facts->staged_us = std::max(now, *std::max_element(passed_on.begin(), passed_on.end()));
}

Status AddDirect(const Topology& topology, const PlanRequest& request, ExchangeFacts* facts) {
  // Beyond, simulating takes minutes: every message of a rank shares its links with all others.
  constexpr int32_t kRanksSimulated = 64;
  if (topology.rank_count() > kRanksSimulated) return OkStatus();
  PlanRequest direct = request;
  direct.planner = "direct";
  direct.variant.clear();
  const StatusOr<Choice> choice = ChoosePlan(topology, direct, CostModelFor(topology));
  if (choice.status().code() == StatusCode::kUnimplemented) {
    facts->direct_refused = true;
    return OkStatus();
  }
  if (!choice.ok()) return choice.status();
  MYCEL_ASSIGN_OR_RETURN(const SimResult sim,
                         Simulate(choice->plan, topology, ExchangeSimOptionsFor(topology, request.bytes)));
  facts->direct_us = sim.time_us;
  return OkStatus();
}

}  // namespace

double ExchangeFacts::BoundUs() const {
  double most = 0;
  for (const std::vector<double>* lines : {&out_us, &in_us}) {
    for (const double us : *lines) most = std::max(most, us);
  }
  return most;
}

StatusOr<ExchangeFacts> ExchangeFactsOf(const Topology& topology, const PlanRequest& request, const MadePlan& made) {
  MYCEL_ASSIGN_OR_RETURN(const Cluster cluster, fast::ClusterOf(topology));
  ExchangeFacts facts;
  facts.servers = NamesOf(topology, cluster);
  AddMatrix(cluster, request.demand, &facts);
  if (cluster.server_count() == 1) return facts;
  AddBound(cluster, &facts);
  AddOwnWays(topology, cluster, request.demand, &facts);
  const Schedule& schedule = made.choice.schedule;
  std::vector<StageBytes> stages;
  for (const Tree& tree : schedule.trees) AddHops(cluster, tree, &stages, &facts);
  if (schedule.stages_overlap) {
    for (const StageBytes& stage : stages) facts.stages.push_back(StageOf(cluster, stage));
    if (!stages.empty()) SetTimes(&facts);
  }
  MYCEL_RETURN_IF_ERROR(AddDirect(topology, request, &facts));
  return facts;
}

}  // namespace mycel::cli
