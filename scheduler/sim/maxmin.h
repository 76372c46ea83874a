// Max-min fair rates of flows that share links, kept up to date as flows come and go.
//
// Model. A flow uses a set of links at one rate; the rates of a link's flows add up to at most its capacity. The fair
// allocation raises all rates together; when a link is full, its flows stay where they are and the rest go on rising
// (progressive filling). So every flow has a bottleneck: a full link on which no other flow is faster.
//
// Only flows that are connected to a change through shared links get new rates; the others are left alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mycel::sim {

class MaxMin {
 public:
  using Flow = int32_t;

  /// Capacities by link, > 0.
  explicit MaxMin(std::vector<double> capacities);

  /// A flow over `links` (none repeated, at least one). Its rate is 0 until Update.
  Flow Add(const std::vector<int32_t>& links);
  void Remove(Flow flow);

  /// Recomputes what changed since the last call; returns the flows whose rates were recomputed.
  const std::vector<Flow>& Update();
  double RateOf(Flow flow) const { return flows_[static_cast<size_t>(flow)].rate; }

 private:
  struct FlowState {
    std::vector<int32_t> links;
    double rate = 0;
    bool alive = false;
    bool fixed = false;    // within Update
    bool reached = false;  // within Update
  };
  struct LinkState {
    double capacity = 0;
    std::vector<Flow> flows;
    double left = 0;     // within Update: capacity not yet given away
    int32_t open = 0;    // within Update: flows whose rate still rises
    bool dirty = false;  // changed since the last Update
    bool reached = false;
  };

  void Touch(int32_t link);
  void CollectComponent();
  void Fill();

  std::vector<LinkState> links_;
  std::vector<FlowState> flows_;
  std::vector<Flow> free_;
  std::vector<int32_t> dirty_;
  std::vector<int32_t> component_links_;
  std::vector<Flow> component_flows_;
};

}  // namespace mycel::sim
