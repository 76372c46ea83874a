// alltoallv_perf: every rank sends every rank as much as --demand says.
#include "bench/perf/collectives.h"

namespace mycel::perf {
namespace {

// The columns of an even exchange of this size; the blocks themselves come from the demand.
Counts CountsOf(size_t count, size_t ranks, size_t chunk) {
  const size_t block = BlockOf(count, ranks, chunk);
  return {.send = block * ranks, .recv = block * ranks, .argument = block};
}

// The busiest rank, if it sends as much as it receives.
Work WorkOf(int ranks, bool in_place) { return {.copied = 2 * PartFactor(ranks) + (in_place ? 0 : 1.0 / ranks)}; }

mycelResult_t Run(const Call& c) {
  const PairCounts& p = *c.pairs;
  return mycelAllToAllv(c.send, p.send.data(), p.send_at.data(), c.recv, p.recv.data(), p.recv_at.data(), c.type,
                        c.comm, c.stream);
}

std::vector<Segment> Expected(const Call& c) {
  std::vector<Segment> segments;
  const size_t mine = static_cast<size_t>(c.rank);
  for (size_t from = 0; from < c.pairs->ranks(); ++from) {
    segments.push_back({.at = c.pairs->recv_at[from],
                        .count = c.pairs->recv[from],
                        .from = static_cast<int>(from),
                        .from_at = c.pairs->SendAt(from, mine)});
  }
  return segments;
}

}  // namespace

const Collective& AllToAllV() {
  static const Collective collective = {.program = "alltoallv_perf",
                                        .verb = "all_to_all_v",
                                        .in_place = false,
                                        .takes_demand = true,
                                        .counts = CountsOf,
                                        .busbw_factor = PartFactor,
                                        .work = WorkOf,
                                        .run = Run,
                                        .expected = Expected};
  return collective;
}

}  // namespace mycel::perf
