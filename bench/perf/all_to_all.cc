// alltoall_perf: every rank sends a block of its own to every rank.
#include "bench/perf/collectives.h"

namespace mycel::perf {
namespace {

Counts CountsOf(size_t count, size_t ranks, size_t chunk) {
  const size_t block = BlockOf(count, ranks, chunk);
  return {.send = block * ranks, .recv = block * ranks, .argument = block};
}

// Publish the others' blocks, fetch theirs, and copy one's own unless it lies in place.
Work WorkOf(int ranks, bool in_place) { return {.copied = 2 * PartFactor(ranks) + (in_place ? 0 : 1.0 / ranks)}; }

mycelResult_t Run(const Call& c) { return mycelAllToAll(c.send, c.recv, c.count, c.type, c.comm, c.stream); }

std::vector<Segment> Expected(const Call& c) {
  std::vector<Segment> segments;
  const size_t mine = static_cast<size_t>(c.rank) * c.count;
  for (int from = 0; from < c.ranks; ++from) {
    segments.push_back({.at = static_cast<size_t>(from) * c.count, .count = c.count, .from = from, .from_at = mine});
  }
  return segments;
}

}  // namespace

const Collective& AllToAll() {
  static const Collective collective = {.program = "alltoall_perf",
                                        .verb = "all_to_all",
                                        .counts = CountsOf,
                                        .busbw_factor = PartFactor,
                                        .work = WorkOf,
                                        .run = Run,
                                        .expected = Expected};
  return collective;
}

}  // namespace mycel::perf
