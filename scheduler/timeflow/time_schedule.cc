#include "scheduler/timeflow/time_schedule.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace mycel::timeflow {
namespace {

Status Wrong(int32_t item, int32_t epoch, const std::string& what) {
  return InternalError("time-expanded schedule: item " + std::to_string(item) + ", epoch " + std::to_string(epoch) +
                       ": " + what);
}

class Recount {
 public:
  explicit Recount(const TimeProblem& problem) : problem_(problem), used_(problem.graph.edges.size()) {}

  Status AddItem(int32_t index, const std::vector<Send>& sends, int32_t* end) {
    const Item& item = problem_.items[static_cast<size_t>(index)];
    std::map<int32_t, int32_t> there = {{item.source, 0}};  // by rank: since when
    std::set<std::pair<int32_t, int32_t>> passed;           // (switch, epoch)
    for (const Send& send : sends) {
      if (send.item != index) return Wrong(index, send.epoch, "a send of another item");
      const EpochGraph::Hop& hop = problem_.graph.hops[static_cast<size_t>(send.hop)];
      if (there.contains(hop.target)) return Wrong(index, send.epoch, "it comes twice");
      const auto source = there.find(hop.source);
      if (send.first == 0 && (source == there.end() || source->second > send.epoch)) {
        return Wrong(index, send.epoch, "it is sent before it is there");
      }
      int32_t at = send.epoch;
      for (size_t i = 0; i < hop.edges.size(); ++i) {
        const EpochGraph::Edge& edge = problem_.graph.edges[static_cast<size_t>(hop.edges[i])];
        const bool copied = static_cast<int32_t>(i) == send.first && i > 0;
        if (copied && (!problem_.graph.copies[static_cast<size_t>(edge.source)] || !passed.contains({edge.source, at})))
          return Wrong(index, at, "a switch sends what it has not got");
        if (static_cast<int32_t>(i) >= send.first) {
          ++used_[static_cast<size_t>(hop.edges[i])][at];
          if (edge.target >= problem_.graph.rank_count) passed.insert({edge.target, at + edge.delay});
        }
        at += edge.delay;
      }
      there[hop.target] = at;
    }
    *end = 0;
    for (const int32_t target : item.targets) {
      if (!there.contains(target)) return Wrong(index, 0, "it never reaches rank " + std::to_string(target));
      *end = std::max(*end, there[target]);
    }
    return OkStatus();
  }

  Status CheckLinks() const {
    for (size_t e = 0; e < used_.size(); ++e) {
      const EpochGraph::Edge& edge = problem_.graph.edges[e];
      for (auto first = used_[e].begin(); first != used_[e].end(); ++first) {
        int32_t chunks = 0;
        for (auto at = first; at != used_[e].end() && at->first < first->first + edge.window; ++at)
          chunks += at->second;
        if (chunks > edge.burst) {
          return InternalError("time-expanded schedule: link " + std::to_string(edge.source) + " -> " +
                               std::to_string(edge.target) + " carries " + std::to_string(chunks) + " of " +
                               std::to_string(edge.burst) + " chunks from epoch " + std::to_string(first->first));
        }
      }
    }
    return OkStatus();
  }

 private:
  const TimeProblem& problem_;
  std::vector<std::map<int32_t, int32_t>> used_;  // by edge: chunks of each epoch
};

}  // namespace

ItemEnd EndOf(const TimeProblem& problem, const Item& item, const std::vector<Send>& sends) {
  ItemEnd end;
  for (const Send& send : sends) {
    const EpochGraph::Hop& hop = problem.graph.hops[static_cast<size_t>(send.hop)];
    if (std::find(item.targets.begin(), item.targets.end(), hop.target) == item.targets.end()) continue;
    end.end = std::max(end.end, send.epoch + hop.delay);
    end.arrivals += send.epoch + hop.delay;
  }
  return end;
}

Status CheckTimeSchedule(const TimeProblem& problem, const TimeSchedule& schedule) {
  if (schedule.sends.size() != problem.items.size() || schedule.ends.size() != problem.weights.size()) {
    return InternalError("time-expanded schedule: made for another problem");
  }
  Recount recount(problem);
  std::vector<int32_t> ends(problem.weights.size());
  for (size_t i = 0; i < problem.items.size(); ++i) {
    int32_t end = 0;
    MYCEL_RETURN_IF_ERROR(recount.AddItem(static_cast<int32_t>(i), schedule.sends[i], &end));
    int32_t& of_tenant = ends[static_cast<size_t>(problem.items[i].tenant)];
    of_tenant = std::max(of_tenant, end);
  }
  MYCEL_RETURN_IF_ERROR(recount.CheckLinks());
  if (ends != schedule.ends || *std::max_element(ends.begin(), ends.end()) != schedule.epochs) {
    return InternalError("time-expanded schedule: it does not end when it says");
  }
  return OkStatus();
}

}  // namespace mycel::timeflow
