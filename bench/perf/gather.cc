// gather_perf: the root ends with all ranks' blocks in rank order.
#include "bench/perf/collectives.h"

namespace mycel::perf {
namespace {

Counts CountsOf(size_t count, size_t ranks, size_t chunk) {
  const size_t block = BlockOf(count, ranks, chunk);
  return {.send = block, .recv = block * ranks, .argument = block, .send_in_place = block};
}

// The root fetches the others' blocks while they publish theirs, and copies its own unless it lies in place.
Work WorkOf(int ranks, bool in_place) { return {.copied = in_place ? PartFactor(ranks) : 1.0}; }

mycelResult_t Run(const Call& c) { return mycelGather(c.send, c.recv, c.count, c.type, c.root, c.comm, c.stream); }

std::vector<Segment> Expected(const Call& c) {
  const size_t all = static_cast<size_t>(c.ranks) * c.count;
  if (c.rank != c.root) return {{.source = Segment::Source::kUntouched, .count = all}};
  std::vector<Segment> segments;
  for (int from = 0; from < c.ranks; ++from) {
    segments.push_back({.at = static_cast<size_t>(from) * c.count, .count = c.count, .from = from});
  }
  return segments;
}

}  // namespace

const Collective& Gather() {
  static const Collective collective = {.program = "gather_perf",
                                        .verb = "gather",
                                        .rooted = true,
                                        .counts = CountsOf,
                                        .busbw_factor = PartFactor,
                                        .work = WorkOf,
                                        .run = Run,
                                        .expected = Expected};
  return collective;
}

}  // namespace mycel::perf
