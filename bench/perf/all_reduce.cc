// all_reduce_perf: every rank ends with the reduction of all ranks' buffers.
#include "bench/perf/collectives.h"

namespace mycel::perf {
namespace {

Counts CountsOf(size_t count, size_t, size_t) { return {.send = count, .recv = count, .argument = count}; }

// Publish all blocks but one's own, reduce one's own, fetch the others' results.
Work WorkOf(int ranks, bool in_place) {
  if (ranks == 1) return {.copied = in_place ? 0.0 : 1.0};
  return {.copied = 2 * PartFactor(ranks), .reduced = PartFactor(ranks)};
}

mycelResult_t Run(const Call& c) { return mycelAllReduce(c.send, c.recv, c.count, c.type, c.op, c.comm, c.stream); }

std::vector<Segment> Expected(const Call& c) {
  return {{.source = Segment::Source::kReduced, .at = 0, .count = c.count, .from_at = 0}};
}

}  // namespace

const Collective& AllReduce() {
  static const Collective collective = {.program = "all_reduce_perf",
                                        .verb = "all_reduce",
                                        .reduces = true,
                                        .counts = CountsOf,
                                        .busbw_factor = TwoPartFactor,
                                        .work = WorkOf,
                                        .run = Run,
                                        .expected = Expected};
  return collective;
}

}  // namespace mycel::perf
