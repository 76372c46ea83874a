// Capacities that a network reaches, from what was measured on it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/topo/topology.h"

namespace mycel::cli {

/// Bytes that one rank sent to another, and how long they took to arrive.
struct MeasuredFlow {
  int32_t source = 0;
  int32_t target = 0;
  int64_t bytes = 0;
  double seconds = 0;
};

/// Flows that ran at the same time.
using Measurement = std::vector<MeasuredFlow>;

/// Who sends to whom (element: rank -> rank, -1: rests) in one measurement.
using SendPattern = std::vector<int32_t>;

/// What is worth measuring on a topology: every rank to its k-th next inside its server, to the same place on the k-th
/// next server, and to its k-th next of all; for k = 1, 2, 3, ... up to `shifts_max`. In each pattern every rank sends
/// at most once and receives at most once; a pattern occurs once.
std::vector<SendPattern> PatternsFor(const Topology& topology, int32_t shifts_max);

struct LinkRate {
  LinkId link;
  double nominal_gbps = 0;
  double reached_gbps = 0;  // 0: it was nobody's bottleneck
};

/// What the note of a calibrated topology says. Whoever plans for it plans with measured capacities.
inline constexpr std::string_view kCalibratedNote = "capacities as mycel topo calibrate reached them";

struct Calibration {
  Topology topology;            // the same with the capacities that were reached; unmeasured links keep theirs
  std::vector<LinkRate> links;  // in the order of the topology's
};

/// A flow takes the default route (ShortestRoute). What a link carried in a measurement is the bytes of the flows over
/// it by the time of the slowest of them. That tells its capacity only where it is the bottleneck of one of the flows
/// by the capacities it has so far (within a hundredth); the most it carried then is its new one, in thousandths of a
/// GB/s. A fast link whose every flow goes on through a slow one keeps what it has. InvalidArgument: a flow between
/// ranks without a route, or that took no time.
StatusOr<Calibration> Calibrate(const Topology& topology, const std::vector<Measurement>& measurements);

}  // namespace mycel::cli
