#include "scheduler/sim/maxmin.h"

#include <algorithm>

#include "core/base/check.h"

namespace mycel::sim {

MaxMin::MaxMin(std::vector<double> capacities) : links_(capacities.size()) {
  for (size_t i = 0; i < capacities.size(); ++i) {
    MYCEL_CHECK_GT(capacities[i], 0.0);
    links_[i].capacity = capacities[i];
  }
}

MaxMin::Way MaxMin::AddWay(std::vector<LinkUse> links) {
  MYCEL_CHECK(!links.empty());
  WayState way;
  way.places.assign(links.size(), -1);
  way.links = std::move(links);
  ways_.push_back(std::move(way));
  return static_cast<Way>(ways_.size() - 1);
}

void MaxMin::Touch(Way way) {
  WayState& state = ways_[static_cast<size_t>(way)];
  if (state.touched) return;
  state.touched = true;
  touched_.push_back(way);
}

void MaxMin::Add(Way way) {
  ++ways_[static_cast<size_t>(way)].flows;
  Touch(way);
}

void MaxMin::Remove(Way way) {
  WayState& state = ways_[static_cast<size_t>(way)];
  MYCEL_CHECK_GT(state.flows, 0);
  --state.flows;
  Touch(way);
}

void MaxMin::Enter(Way way) {
  WayState& state = ways_[static_cast<size_t>(way)];
  for (size_t i = 0; i < state.links.size(); ++i) {
    std::vector<WayUse>& ways = links_[static_cast<size_t>(state.links[i].link)].ways;
    state.places[i] = static_cast<int32_t>(ways.size());
    ways.push_back({way, static_cast<int32_t>(i)});
  }
}

void MaxMin::Leave(Way way) {
  WayState& state = ways_[static_cast<size_t>(way)];
  for (size_t i = 0; i < state.links.size(); ++i) {
    std::vector<WayUse>& ways = links_[static_cast<size_t>(state.links[i].link)].ways;
    const auto place = static_cast<size_t>(state.places[i]);
    ways[place] = ways.back();
    ways_[static_cast<size_t>(ways[place].way)].places[static_cast<size_t>(ways[place].use)] = state.places[i];
    ways.pop_back();
    state.places[i] = -1;
  }
}

void MaxMin::CollectComponent() {
  component_links_.clear();
  component_ways_.clear();
  const auto reach = [&](int32_t link) {
    LinkState& state = links_[static_cast<size_t>(link)];
    if (state.reached) return;
    state.reached = true;
    component_links_.push_back(link);
  };
  for (const Way way : touched_) {
    WayState& state = ways_[static_cast<size_t>(way)];
    state.touched = false;
    if (state.flows == state.solved) continue;  // as many came as went
    if (state.solved == 0) Enter(way);
    if (state.flows == 0) Leave(way), state.rate = 0;
    state.solved = state.flows;
    for (const LinkUse& use : state.links) reach(use.link);
  }
  touched_.clear();
  for (size_t i = 0; i < component_links_.size(); ++i) {  // grows while it runs
    LinkState& link = links_[static_cast<size_t>(component_links_[i])];
    link.left = link.capacity;
    link.open = 0;
    for (const WayUse& use : link.ways) {
      WayState& way = ways_[static_cast<size_t>(use.way)];
      link.open += int64_t{way.flows} * way.links[static_cast<size_t>(use.use)].weight;
      if (way.reached) continue;
      way.reached = true;
      way.fixed = false;
      component_ways_.push_back(use.way);
      for (const LinkUse& other : way.links) reach(other.link);
    }
  }
}

void MaxMin::Fill() {
  // The rate at which a link would fill never falls while other links' flows are fixed at lower rates, so a link whose
  // entry in the heap is out of date goes back with its new rate.
  const auto rate_of = [this](int32_t id) {
    const LinkState& link = links_[static_cast<size_t>(id)];
    return std::max(0.0, link.left / static_cast<double>(link.open));
  };
  heap_.clear();
  for (const int32_t id : component_links_) {
    if (links_[static_cast<size_t>(id)].open > 0) heap_.push_back({rate_of(id), id});
  }
  std::make_heap(heap_.begin(), heap_.end());
  size_t fixed = 0;
  while (fixed < component_ways_.size()) {
    MYCEL_CHECK(!heap_.empty());
    const Filling first = heap_.front();
    const LinkState& tightest = links_[static_cast<size_t>(first.link)];
    std::pop_heap(heap_.begin(), heap_.end());
    if (tightest.open == 0) {
      heap_.pop_back();
      continue;
    }
    const double rate = rate_of(first.link);
    if (rate > first.rate) {
      heap_.back().rate = rate;
      std::push_heap(heap_.begin(), heap_.end());
      continue;
    }
    heap_.pop_back();
    // This link fills first: it fixes its flows at an equal share of what it has left.
    for (const WayUse& use : tightest.ways) {
      WayState& way = ways_[static_cast<size_t>(use.way)];
      if (way.fixed) continue;
      way.fixed = true;
      way.rate = rate;
      ++fixed;
      for (const LinkUse& on : way.links) {
        LinkState& link = links_[static_cast<size_t>(on.link)];
        const int64_t count = int64_t{way.flows} * on.weight;
        link.left -= rate * static_cast<double>(count);
        link.open -= count;
      }
    }
    MYCEL_CHECK_EQ(tightest.open, 0);
  }
}

const std::vector<MaxMin::Way>& MaxMin::Update() {
  CollectComponent();
  Fill();
  for (const int32_t link : component_links_) links_[static_cast<size_t>(link)].reached = false;
  for (const Way way : component_ways_) ways_[static_cast<size_t>(way)].reached = false;
  return component_ways_;
}

}  // namespace mycel::sim
