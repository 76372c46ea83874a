// sendrecv_perf: every rank sends its buffer to the next rank of a ring.
#include "bench/perf/collectives.h"

namespace mycel::perf {
namespace {

Counts CountsOf(size_t count, size_t, size_t) { return {.send = count, .recv = count, .argument = count}; }

int Before(const Call& c) { return (c.rank + c.ranks - 1) % c.ranks; }

// Publish one's buffer, fetch the neighbour's.
Work WorkOf(int ranks, bool) { return {.copied = ranks == 1 ? 1.0 : 2.0}; }

mycelResult_t Run(const Call& c) {
  mycelResult_t result = mycelGroupStart();
  if (result == mycelSuccess) {
    result = mycelSend(c.send, c.count, c.type, (c.rank + 1) % c.ranks, c.comm, c.stream);
  }
  if (result == mycelSuccess) result = mycelRecv(c.recv, c.count, c.type, Before(c), c.comm, c.stream);
  const mycelResult_t end = mycelGroupEnd();
  return result == mycelSuccess ? end : result;
}

std::vector<Segment> Expected(const Call& c) { return {{.at = 0, .count = c.count, .from = Before(c)}}; }

}  // namespace

const Collective& SendRecv() {
  static const Collective collective = {.program = "sendrecv_perf",
                                        .verb = "send/recv",
                                        .in_place = false,
                                        .counts = CountsOf,
                                        .busbw_factor = UnitFactor,
                                        .work = WorkOf,
                                        .run = Run,
                                        .expected = Expected};
  return collective;
}

}  // namespace mycel::perf
