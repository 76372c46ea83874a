// What an alltoallv comes to between servers: how much each has for each, whose row or column takes longest, which
// stages the plan sends it in, what is moved beside, and what the same traffic costs where nothing is.
//
// Stage times are those of the bytes on the ways out, as if each stage ended before the next began: the balance of a
// stage is done before it, passing on after it, each beside other stages. Programs do better, for they take all stages
// in rounds, a slice of each: that time is simulated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bindings/cli/plan_making.h"
#include "core/base/status.h"
#include "core/spi/planner.h"
#include "core/topo/topology.h"

namespace mycel::cli {

/// What one server does in one stage.
struct StagePart {
  int32_t target = -1;  // the server it sends to, or -1
  int64_t bytes = 0;
  double send_us = 0;  // all of the server's ways out at once
  /// Before it, within the server, and of what this server gets, after it: of the busiest rank.
  double balance_us = 0, onward_us = 0;
  double balance_begin_us = 0, onward_begin_us = 0;
};

struct ExchangeStage {
  double begin_us = 0;
  double us = 0;                 // of its longest part
  std::vector<StagePart> parts;  // by server
};

struct ExchangeFacts {
  std::vector<std::string> servers;   // names, in the order of their first ranks; one: nothing below but `matrix`
  std::vector<int64_t> matrix;        // bytes, row = sender; the diagonal stays within servers
  std::vector<double> out_us, in_us;  // of a server's row and column, over all its ways out
  size_t binding = 0;                 // the server with the longest of them
  bool binding_receives = false;      // its column, not its row
  std::vector<ExchangeStage> stages;  // of plans whose stages overlap; else none
  double staged_us = 0;               // stage by stage, the first balance and the last passing on included
  int64_t between_bytes = 0;          // what has to go from server to server
  int64_t balance_bytes = 0;          // of these, moved within their source server
  int64_t onward_bytes = 0;           // of these, passed on within their target server
  double own_way_us = 0;              // where every rank used its own way out: the busiest
  std::string own_way_rank;           // whose that is
  double direct_us = 0;               // simulated with planner direct; 0 where it does not serve, or ranks are many
  bool direct_refused = false;

  int32_t count() const { return static_cast<int32_t>(servers.size()); }
  int64_t At(size_t a, size_t b) const { return matrix[a * servers.size() + b]; }
  double BoundUs() const;
};

/// Impossible where ranks of different servers that ought to be joined are not.
StatusOr<ExchangeFacts> ExchangeFactsOf(const Topology& topology, const PlanRequest& request, const MadePlan& made);

/// The part of `mycel plan --explain` about servers and stages.
std::string ExchangeText(const ExchangeFacts& facts, double scheduled_us);

}  // namespace mycel::cli
