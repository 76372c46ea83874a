// broadcast_perf: every rank ends with the root's buffer.
#include "bench/perf/collectives.h"

namespace mycel::perf {
namespace {

Counts CountsOf(size_t count, size_t, size_t) { return {.send = count, .recv = count, .argument = count}; }

// The root publishes, the others fetch.
Work WorkOf(int ranks, bool in_place) { return {.copied = ranks == 1 && in_place ? 0.0 : 1.0}; }

mycelResult_t Run(const Call& c) { return mycelBroadcast(c.send, c.recv, c.count, c.type, c.root, c.comm, c.stream); }

std::vector<Segment> Expected(const Call& c) { return {{.at = 0, .count = c.count, .from = c.root}}; }

}  // namespace

const Collective& Broadcast() {
  static const Collective collective = {.program = "broadcast_perf",
                                        .verb = "broadcast",
                                        .rooted = true,
                                        .counts = CountsOf,
                                        .busbw_factor = UnitFactor,
                                        .work = WorkOf,
                                        .run = Run,
                                        .expected = Expected};
  return collective;
}

}  // namespace mycel::perf
