#include "scheduler/sim/maxmin.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace mycel::sim {

MaxMin::MaxMin(std::vector<double> capacities) : links_(capacities.size()) {
  for (size_t i = 0; i < capacities.size(); ++i) {
    MYCEL_CHECK_GT(capacities[i], 0.0);
    links_[i].capacity = capacities[i];
  }
}

void MaxMin::Touch(int32_t link) {
  LinkState& state = links_[static_cast<size_t>(link)];
  if (state.dirty) return;
  state.dirty = true;
  dirty_.push_back(link);
}

MaxMin::Flow MaxMin::Add(const std::vector<int32_t>& links) {
  MYCEL_CHECK(!links.empty());
  if (free_.empty()) {
    free_.push_back(static_cast<Flow>(flows_.size()));
    flows_.emplace_back();
  }
  const Flow flow = free_.back();
  free_.pop_back();
  FlowState& state = flows_[static_cast<size_t>(flow)];
  MYCEL_CHECK(!state.alive);
  state.alive = true;
  state.rate = 0;
  state.links.assign(links.begin(), links.end());
  for (const int32_t link : links) {
    links_[static_cast<size_t>(link)].flows.push_back(flow);
    Touch(link);
  }
  return flow;
}

void MaxMin::Remove(Flow flow) {
  FlowState& state = flows_[static_cast<size_t>(flow)];
  MYCEL_CHECK(state.alive);
  state.alive = false;
  for (const int32_t link : state.links) {
    std::vector<Flow>& flows = links_[static_cast<size_t>(link)].flows;
    flows.erase(std::find(flows.begin(), flows.end(), flow));
    Touch(link);
  }
  free_.push_back(flow);
}

void MaxMin::CollectComponent() {
  component_links_.clear();
  component_flows_.clear();
  const auto reach = [&](int32_t link) {
    LinkState& state = links_[static_cast<size_t>(link)];
    if (state.reached) return;
    state.reached = true;
    component_links_.push_back(link);
  };
  for (const int32_t link : dirty_) {
    links_[static_cast<size_t>(link)].dirty = false;
    reach(link);
  }
  dirty_.clear();
  for (size_t i = 0; i < component_links_.size(); ++i) {  // grows while it runs
    LinkState& link = links_[static_cast<size_t>(component_links_[i])];
    link.left = link.capacity;
    link.open = static_cast<int32_t>(link.flows.size());
    for (const Flow f : link.flows) {
      FlowState& flow = flows_[static_cast<size_t>(f)];
      if (flow.reached) continue;
      flow.reached = true;
      flow.fixed = false;
      component_flows_.push_back(f);
      for (const int32_t other : flow.links) reach(other);
    }
  }
}

void MaxMin::Fill() {
  for (size_t fixed = 0; fixed < component_flows_.size();) {
    // The link that fills first fixes its flows at an equal share of what it has left.
    LinkState* tightest = nullptr;
    for (const int32_t id : component_links_) {
      LinkState& link = links_[static_cast<size_t>(id)];
      if (link.open == 0) continue;
      if (tightest == nullptr || link.left * tightest->open < tightest->left * link.open) tightest = &link;
    }
    MYCEL_CHECK(tightest != nullptr);
    const double rate = std::max(0.0, tightest->left / tightest->open);
    for (const Flow f : tightest->flows) {
      FlowState& flow = flows_[static_cast<size_t>(f)];
      if (flow.fixed) continue;
      flow.fixed = true;
      flow.rate = rate;
      ++fixed;
      for (const int32_t id : flow.links) {
        LinkState& link = links_[static_cast<size_t>(id)];
        link.left -= rate;
        --link.open;
      }
    }
    MYCEL_CHECK_EQ(tightest->open, 0);
  }
}

const std::vector<MaxMin::Flow>& MaxMin::Update() {
  CollectComponent();
  Fill();
  for (const int32_t link : component_links_) links_[static_cast<size_t>(link)].reached = false;
  for (const Flow flow : component_flows_) flows_[static_cast<size_t>(flow)].reached = false;
  return component_flows_;
}

}  // namespace mycel::sim
