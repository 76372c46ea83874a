#include "bench/perf/verify.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

namespace mycel::perf {
namespace {

constexpr unsigned char kPattern = 0xA5;
constexpr size_t kGuardBytes = 64;        // checked on either side of a receive buffer
constexpr size_t kPieceBytes = 64 << 10;  // expected data is made in pieces that stay in cache
static_assert(kGuardBytes <= Buffer::kGuardBytes);

// What one call at one rank reads and writes, in bytes.
struct Extent {
  char* send = nullptr;
  size_t send_bytes = 0;
  // The receive buffer; in place, the one buffer that holds both.
  char* whole = nullptr;
  size_t whole_bytes = 0;
};

Extent ExtentOf(const Call& call, const Counts& counts, size_t element, bool in_place) {
  const size_t send = call.pairs != nullptr ? call.pairs->send_total() : counts.send;
  const size_t recv = call.pairs != nullptr ? call.pairs->recv_total() : counts.recv;
  Extent extent;
  extent.send = static_cast<char*>(const_cast<void*>(call.send));
  extent.send_bytes = send * element;
  extent.whole = static_cast<char*>(call.recv);
  extent.whole_bytes = recv * element;
  if (in_place) {
    extent.whole -= counts.recv_in_place * static_cast<size_t>(call.rank) * element;
    extent.whole_bytes = std::max(send, recv) * element;
  }
  return extent;
}

int64_t CountOff(const char* at, size_t bytes, size_t element) {
  int64_t wrong = 0;
  for (size_t i = 0; i < bytes; i += element) {
    const size_t end = std::min(bytes, i + element);
    const auto off = [](char c) { return static_cast<unsigned char>(c) != kPattern; };
    if (std::any_of(at + i, at + end, off)) ++wrong;
  }
  return wrong;
}

// Elements [0, count) at `at` against what `expect(first, count, into)` says.
template <typename Expect>
int64_t CountDifferent(const char* at, size_t count, const Setting& setting, const Expect& expect) {
  const size_t element = setting.element_bytes();
  const size_t piece = kPieceBytes / element;
  std::vector<char> want(std::min(count, piece) * element);
  int64_t wrong = 0;
  for (size_t done = 0; done < count; done += piece) {
    const size_t n = std::min(piece, count - done);
    expect(done, n, want.data());
    wrong += CountWrongElements(setting.type, at + done * element, want.data(), n);
  }
  return wrong;
}

int64_t CountWrongInput(const Call& call, const Extent& extent, const Setting& setting, const CheckData& data) {
  return CountDifferent(extent.send, extent.send_bytes / setting.element_bytes(), setting,
                        [&](size_t first, size_t n, void* into) { FillInput(data, call.rank, first, n, into); });
}

int64_t CountWrongSegment(const Call& call, const Segment& segment, const Setting& setting, const CheckData& data) {
  const char* at = static_cast<const char*>(call.recv) + segment.at * setting.element_bytes();
  return CountDifferent(at, segment.count, setting, [&](size_t first, size_t n, void* into) {
    if (segment.source == Segment::Source::kReduced) {
      FillReduced(data, segment.from_at + first, n, into);
    } else {
      FillInput(data, segment.from, segment.from_at + first, n, into);
    }
  });
}

// A fault for the tests of this very check: PERF_TEST_CORRUPT=R flips a bit of rank R's result.
void CorruptIfAsked(const Call& call, const std::vector<Segment>& segments) {
  const char* rank = std::getenv("PERF_TEST_CORRUPT");
  if (rank == nullptr || std::atoi(rank) != call.rank || segments.empty() || segments[0].count == 0) return;
  *static_cast<char*>(call.recv) ^= 1;
}

}  // namespace

CheckData Verifier::DataOf(const Call& call, const Setting& setting, uint64_t seed) const {
  return CheckData(setting.type, collective_.reduces ? std::optional<ReduceOp>(setting.op) : std::nullopt, call.ranks,
                   seed);
}

void Verifier::Prepare(const Loop& loop, const Setting& setting, bool in_place, uint64_t seed) {
  const size_t element = setting.element_bytes();
  for (const Call& call : loop.calls()) {
    const Extent extent = ExtentOf(call, loop.counts(), element, in_place);
    std::memset(extent.whole - kGuardBytes, kPattern, extent.whole_bytes + 2 * kGuardBytes);
    FillInput(DataOf(call, setting, seed), call.rank, 0, extent.send_bytes / element, extent.send);
  }
}

int64_t Verifier::CountWrong(const Loop& loop, const Setting& setting, bool in_place, uint64_t seed) {
  const size_t element = setting.element_bytes();
  int64_t wrong = 0;
  for (const Call& call : loop.calls()) {
    const Extent extent = ExtentOf(call, loop.counts(), element, in_place);
    const CheckData data = DataOf(call, setting, seed);
    const std::vector<Segment> segments = collective_.expected(call);
    CorruptIfAsked(call, segments);
    wrong += CountOff(extent.whole - kGuardBytes, kGuardBytes, element);
    wrong += CountOff(extent.whole + extent.whole_bytes, kGuardBytes, element);
    if (!in_place) wrong += CountWrongInput(call, extent, setting, data);
    for (const Segment& segment : segments) {
      if (segment.source != Segment::Source::kUntouched) {
        wrong += CountWrongSegment(call, segment, setting, data);
      } else if (in_place) {
        wrong += CountWrongInput(call, extent, setting, data);
      } else {
        wrong += CountOff(extent.whole, extent.whole_bytes, element);
      }
    }
  }
  return wrong;
}

}  // namespace mycel::perf
