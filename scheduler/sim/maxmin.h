// Max-min fair rates of flows that share links, kept up to date as flows come and go.
//
// Model. A flow uses a set of links at one rate; the rates of a link's flows add up to at most its capacity. The fair
// allocation raises all rates together; when a link is full, its flows stay where they are and the rest go on rising
// (progressive filling). So every flow has a bottleneck: a full link on which no other flow is faster.
//
// Flows over the same links have the same rate, so the solver knows ways and how many flows each has. A way may load a
// link several times over: where one link stands for many alike (symmetry.h), all flows over it count.
//
// Only ways that are connected to a change through shared links get new rates; the others are left alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mycel::sim {

/// A link of a way, and how often each flow counts there.
struct LinkUse {
  int32_t link = 0;
  int32_t weight = 1;
  friend bool operator==(const LinkUse&, const LinkUse&) = default;
};

class MaxMin {
 public:
  using Way = int32_t;

  /// Capacities by link, > 0.
  explicit MaxMin(std::vector<double> capacities);

  /// A way over `links` (none repeated, at least one), without flows. Ways are numbered from 0.
  Way AddWay(std::vector<LinkUse> links);
  /// One flow more or less. The rate of a way without flows is 0, that of its first flow too until Update.
  void Add(Way way);
  void Remove(Way way);

  /// Recomputes what changed since the last call; returns the ways with flows whose rates were recomputed.
  const std::vector<Way>& Update();
  /// Of each flow of the way.
  double RateOf(Way way) const { return ways_[static_cast<size_t>(way)].rate; }

 private:
  struct WayState {
    std::vector<LinkUse> links;
    std::vector<int32_t> places;  // by link: where the way stands in LinkState::ways, while it has flows
    int32_t flows = 0;
    int32_t solved = 0;  // flows at the last Update
    double rate = 0;
    bool touched = false;  // since the last Update
    bool fixed = false;    // within Update
    bool reached = false;  // within Update
  };
  struct WayUse {
    Way way;
    int32_t use;  // which of the way's links this is
  };
  struct LinkState {
    double capacity = 0;
    std::vector<WayUse> ways;  // with flows
    double left = 0;           // within Update: capacity not yet given away
    int64_t open = 0;          // within Update: flows whose rate still rises, by weight
    bool reached = false;
  };
  /// A link in the order in which links fill.
  struct Filling {
    double rate;
    int32_t link;
    bool operator<(const Filling& other) const {  // the lowest rate on top of a heap
      return rate != other.rate ? rate > other.rate : link > other.link;
    }
  };

  void Touch(Way way);
  void Enter(Way way);
  void Leave(Way way);
  void CollectComponent();
  void Fill();

  std::vector<LinkState> links_;
  std::vector<WayState> ways_;
  std::vector<Way> touched_;
  std::vector<int32_t> component_links_;
  std::vector<Way> component_ways_;
  std::vector<Filling> heap_;
};

}  // namespace mycel::sim
