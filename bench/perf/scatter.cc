// scatter_perf: every rank ends with its block of the root's buffer.
#include "bench/perf/collectives.h"

namespace mycel::perf {
namespace {

Counts CountsOf(size_t count, size_t ranks, size_t chunk) {
  const size_t block = BlockOf(count, ranks, chunk);
  return {.send = block * ranks, .recv = block, .argument = block, .recv_in_place = block};
}

// The root publishes the others' blocks while they fetch them, and copies its own unless it lies in place.
Work WorkOf(int ranks, bool in_place) { return {.copied = in_place ? PartFactor(ranks) : 1.0}; }

mycelResult_t Run(const Call& c) { return mycelScatter(c.send, c.recv, c.count, c.type, c.root, c.comm, c.stream); }

std::vector<Segment> Expected(const Call& c) {
  const size_t mine = static_cast<size_t>(c.rank) * c.count;
  return {{.at = 0, .count = c.count, .from = c.root, .from_at = mine}};
}

}  // namespace

const Collective& Scatter() {
  static const Collective collective = {.program = "scatter_perf",
                                        .verb = "scatter",
                                        .rooted = true,
                                        .counts = CountsOf,
                                        .busbw_factor = PartFactor,
                                        .work = WorkOf,
                                        .run = Run,
                                        .expected = Expected};
  return collective;
}

}  // namespace mycel::perf
