// reduce_scatter_perf: every rank ends with its block of the reduction.
#include "bench/perf/collectives.h"

namespace mycel::perf {
namespace {

Counts CountsOf(size_t count, size_t ranks, size_t chunk) {
  const size_t block = BlockOf(count, ranks, chunk);
  return {.send = block * ranks, .recv = block, .argument = block, .recv_in_place = block};
}

// Publish all blocks but one's own, reduce one's own.
Work WorkOf(int ranks, bool in_place) {
  if (ranks == 1) return {.copied = in_place ? 0.0 : 1.0};
  return {.copied = PartFactor(ranks), .reduced = PartFactor(ranks)};
}

mycelResult_t Run(const Call& c) { return mycelReduceScatter(c.send, c.recv, c.count, c.type, c.op, c.comm, c.stream); }

std::vector<Segment> Expected(const Call& c) {
  const size_t mine = static_cast<size_t>(c.rank) * c.count;
  return {{.source = Segment::Source::kReduced, .at = 0, .count = c.count, .from_at = mine}};
}

}  // namespace

const Collective& ReduceScatter() {
  static const Collective collective = {.program = "reduce_scatter_perf",
                                        .verb = "reduce_scatter",
                                        .reduces = true,
                                        .counts = CountsOf,
                                        .busbw_factor = PartFactor,
                                        .work = WorkOf,
                                        .run = Run,
                                        .expected = Expected};
  return collective;
}

}  // namespace mycel::perf
