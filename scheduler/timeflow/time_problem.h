// TimeProblem: who has what, who wants it, and the graph in time that it must cross.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/timeflow/epoch_graph.h"

namespace mycel::timeflow {

/// One chunk: `source` has it in epoch 0, all `targets` want it. No target is the source, none stands twice.
struct Item {
  int32_t source;
  std::vector<int32_t> targets;
  int32_t tenant = 0;
};

struct TimeProblem {
  EpochGraph graph;
  std::vector<Item> items;
  /// By tenant: how much an epoch more until it is served costs. {1}: one tenant, whose last epoch is what counts.
  std::vector<int64_t> weights = {1};
};

/// Items of everyday demands among the ranks `members`, `chunks` of each kind.
void AddAllGather(const std::vector<int32_t>& members, int32_t chunks, int32_t tenant, std::vector<Item>* items);
void AddAllToAll(const std::vector<int32_t>& members, int32_t chunks, int32_t tenant, std::vector<Item>* items);
void AddBroadcast(int32_t root, const std::vector<int32_t>& members, int32_t chunks, int32_t tenant,
                  std::vector<Item>* items);
void AddScatter(int32_t root, const std::vector<int32_t>& members, int32_t chunks, int32_t tenant,
                std::vector<Item>* items);
void AddGather(int32_t root, const std::vector<int32_t>& members, int32_t chunks, int32_t tenant,
               std::vector<Item>* items);

/// No schedule ends before this epoch: for sets of nodes, what must enter and how soon the links into the set can bring
/// it (single nodes, all but single nodes, and every set where there are few nodes), and the longest way of any item.
int32_t FinishBound(const TimeProblem& problem);

}  // namespace mycel::timeflow
