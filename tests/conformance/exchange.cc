#include "tests/conformance/exchange.h"

#include <algorithm>
#include <numeric>

#include "core/plan/types.h"

namespace mycel {
namespace {

constexpr unsigned char kGuard = 0xd7;
constexpr size_t kNowhere = ~size_t{0} / 3;  // as the displacement of an empty leg

unsigned char DatumOf(uint64_t seed, size_t sender, size_t receiver, size_t byte) {
  uint64_t state = seed * 1'000'003 + sender * 4099 + receiver * 65'537 + byte / 8;
  return static_cast<unsigned char>(SplitMix64(state) >> (8 * (byte % 8)));
}

/// Where the blocks of a buffer lie, in elements.
struct Places {
  std::vector<size_t> counts;
  std::vector<size_t> at;
  size_t end = 0;
};

Places PlaceAtRandom(std::vector<size_t> counts, Rng* rng) {
  Places places;
  places.at.assign(counts.size(), kNowhere);
  std::vector<size_t> order(counts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  rng->Shuffle(order);
  for (const size_t peer : order) {
    places.end += 1 + rng->Below(9);
    if (counts[peer] > 0) places.at[peer] = places.end;
    places.end += counts[peer];
  }
  places.end += 8;
  places.counts = std::move(counts);
  return places;
}

std::string Where(const char* what, size_t peer, size_t byte) {
  return std::string(what) + " " + std::to_string(peer) + ", byte " + std::to_string(byte);
}

}  // namespace

CountMatrix CountMatrix::Transposed() const {
  CountMatrix other(static_cast<int>(ranks));
  for (size_t i = 0; i < ranks; ++i) {
    for (size_t j = 0; j < ranks; ++j) other.At(j, i) = At(i, j);
  }
  return other;
}

std::string CheckExchange(const CountMatrix& matrix, int rank, mycelDataType_t type, uint64_t seed,
                          const ExchangeRunner& run) {
  const auto me = static_cast<size_t>(rank);
  const size_t element_bytes = SizeOf(static_cast<DataType>(type));
  Rng rng(seed * 131 + me);
  std::vector<size_t> row, column;
  for (size_t peer = 0; peer < matrix.ranks; ++peer) {
    row.push_back(matrix.At(me, peer));
    column.push_back(matrix.At(peer, me));
  }
  const Places out = PlaceAtRandom(row, &rng);
  const Places in = PlaceAtRandom(column, &rng);
  // Off any alignment.
  const size_t shift = rng.Below(64);
  std::vector<unsigned char> send(shift + out.end * element_bytes, kGuard);
  std::vector<unsigned char> recv(shift + in.end * element_bytes, kGuard);
  std::vector<unsigned char> expected = recv;
  for (size_t peer = 0; peer < matrix.ranks; ++peer) {
    for (size_t byte = 0; byte < out.counts[peer] * element_bytes; ++byte) {
      send[shift + out.at[peer] * element_bytes + byte] = DatumOf(seed, me, peer, byte);
    }
    for (size_t byte = 0; byte < in.counts[peer] * element_bytes; ++byte) {
      expected[shift + in.at[peer] * element_bytes + byte] = DatumOf(seed, peer, me, byte);
    }
  }
  const std::vector<unsigned char> given = send;
  const mycelResult_t result = run({send.data() + shift, out.counts.data(), out.at.data(), recv.data() + shift,
                                    in.counts.data(), in.at.data(), type});
  if (result != mycelSuccess) return "result " + std::to_string(result) + ": " + mycelGetLastError(nullptr);
  if (send != given) return "the send buffer has changed";
  if (recv == expected) return {};
  const auto wrong =
      static_cast<size_t>(std::mismatch(recv.begin(), recv.end(), expected.begin()).first - recv.begin());
  for (size_t peer = 0; peer < matrix.ranks; ++peer) {
    if (in.counts[peer] == 0) continue;
    const size_t first = shift + in.at[peer] * element_bytes;
    if (wrong >= first && wrong < first + in.counts[peer] * element_bytes) {
      return Where("wrong data from rank", peer, wrong - first);
    }
  }
  return Where("a guard was overwritten at rank", me, wrong);
}

ExchangeRunner PlainExchange(mycelComm_t comm, mycelStream_t stream) {
  return [comm, stream](const ExchangeArguments& a) {
    const mycelResult_t result =
        mycelAllToAllv(a.send, a.send_counts, a.send_at, a.recv, a.recv_counts, a.recv_at, a.type, comm, stream);
    return result != mycelSuccess || stream == nullptr ? result : mycelStreamSynchronize(stream);
  };
}

ExchangeRunner PlannedExchange(mycelAllToAllvPlan_t plan, mycelDirection_t direction, mycelStream_t stream) {
  return [plan, direction, stream](const ExchangeArguments& a) {
    const mycelResult_t result = mycelAllToAllvPlanRun(plan, direction, a.send, a.send_at, a.recv, a.recv_at, stream);
    return result != mycelSuccess || stream == nullptr ? result : mycelStreamSynchronize(stream);
  };
}

std::vector<NamedMatrix> SampleMatrices(int ranks, size_t most, Rng* rng) {
  const auto n = static_cast<size_t>(ranks);
  const auto draw = [most, rng] { return static_cast<size_t>(rng->Below(most)) + 1; };
  std::vector<NamedMatrix> samples;
  const auto add = [&](const std::string& name, const auto& count) {
    CountMatrix matrix(ranks);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) matrix.At(i, j) = count(i, j);
    }
    samples.push_back({name, matrix});
  };
  const size_t hot = rng->Below(n);
  add("random", [&](size_t, size_t) { return draw(); });
  add("half empty", [&](size_t, size_t) { return rng->OneIn(2) ? 0 : draw(); });
  add("one hot row", [&](size_t i, size_t) { return i == hot ? draw() : 0; });
  add("one hot column", [&](size_t, size_t j) { return j == hot ? draw() : 0; });
  add("one silent rank", [&](size_t i, size_t j) { return i == hot || j == hot ? 0 : draw(); });
  add("self legs only", [&](size_t i, size_t j) { return i == j ? draw() : 0; });
  add("one pair", [&](size_t i, size_t j) { return i == hot && j == (hot + 1) % n ? draw() : 0; });
  add("single elements", [&](size_t, size_t) { return rng->Below(2); });
  add("nothing", [&](size_t, size_t) { return 0; });
  return samples;
}

}  // namespace mycel
