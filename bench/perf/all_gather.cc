// all_gather_perf: every rank ends with all ranks' blocks in rank order.
#include "bench/perf/collectives.h"

namespace mycel::perf {
namespace {

Counts CountsOf(size_t count, size_t ranks, size_t chunk) {
  const size_t block = BlockOf(count, ranks, chunk);
  return {.send = block, .recv = block * ranks, .argument = block, .send_in_place = block};
}

// Publish one's block once, fetch the others', and copy one's own unless it lies in place.
Work WorkOf(int ranks, bool in_place) {
  const double own = in_place ? 0 : 1.0 / ranks;
  return {.copied = ranks == 1 ? own : 1 + own};
}

mycelResult_t Run(const Call& c) { return mycelAllGather(c.send, c.recv, c.count, c.type, c.comm, c.stream); }

std::vector<Segment> Expected(const Call& c) {
  std::vector<Segment> segments;
  for (int from = 0; from < c.ranks; ++from) {
    segments.push_back({.at = static_cast<size_t>(from) * c.count, .count = c.count, .from = from});
  }
  return segments;
}

}  // namespace

const Collective& AllGather() {
  static const Collective collective = {.program = "all_gather_perf",
                                        .verb = "all_gather",
                                        .counts = CountsOf,
                                        .busbw_factor = PartFactor,
                                        .work = WorkOf,
                                        .run = Run,
                                        .expected = Expected};
  return collective;
}

}  // namespace mycel::perf
