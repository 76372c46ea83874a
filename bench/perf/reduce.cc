// reduce_perf: the root ends with the reduction of all ranks' buffers.
#include "bench/perf/collectives.h"

namespace mycel::perf {
namespace {

Counts CountsOf(size_t count, size_t, size_t) { return {.send = count, .recv = count, .argument = count}; }

// n - 1 buffers are published and as many added; at best all ranks share in both.
Work WorkOf(int ranks, bool in_place) {
  if (ranks == 1) return {.copied = in_place ? 0.0 : 1.0};
  return {.copied = PartFactor(ranks), .reduced = PartFactor(ranks)};
}

mycelResult_t Run(const Call& c) {
  return mycelReduce(c.send, c.recv, c.count, c.type, c.op, c.root, c.comm, c.stream);
}

std::vector<Segment> Expected(const Call& c) {
  if (c.rank != c.root) return {{.source = Segment::Source::kUntouched, .count = c.count}};
  return {{.source = Segment::Source::kReduced, .at = 0, .count = c.count, .from_at = 0}};
}

}  // namespace

const Collective& Reduce() {
  static const Collective collective = {.program = "reduce_perf",
                                        .verb = "reduce",
                                        .reduces = true,
                                        .rooted = true,
                                        .counts = CountsOf,
                                        .busbw_factor = UnitFactor,
                                        .work = WorkOf,
                                        .run = Run,
                                        .expected = Expected};
  return collective;
}

}  // namespace mycel::perf
