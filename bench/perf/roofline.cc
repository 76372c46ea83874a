#include "bench/perf/roofline.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bench/perf/buffer.h"
#include "bench/perf/host.h"
#include "core/base/check.h"
#include "core/base/clock.h"

// The widest vectors of the machine that runs, without asking the build for them.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define MYCEL_EVERY_VECTOR_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MYCEL_EVERY_VECTOR_WIDTH
#endif

namespace mycel::perf {
namespace {

constexpr int64_t kWindowNs = 60 * kNsPerMs;
constexpr int kWindows = 3;

MYCEL_EVERY_VECTOR_WIDTH void AddInto(float* __restrict sum, const float* __restrict input, size_t count) {
  for (size_t i = 0; i < count; ++i) sum[i] += input[i];
}

// GB/s over a fixed time. The fastest of several such windows: other work on the machine only ever slows one down. A
// window is much longer than a time slice, so ranks that share a core each get their part of it.
template <typename Pass>
double Speed(size_t bytes, const Pass& pass) {
  pass();
  double best = 0;
  for (int w = 0; w < kWindows; ++w) {
    const int64_t start_ns = NowNs();
    int64_t elapsed_ns = 0;
    double moved = 0;
    do {
      pass();
      moved += static_cast<double>(bytes);
      elapsed_ns = NowNs() - start_ns;
    } while (elapsed_ns < kWindowNs);
    best = std::max(best, moved / static_cast<double>(elapsed_ns));
  }
  return best;
}

struct Speeds {
  double copy = 0;
  double reduce = 0;
};

Speeds MeasureHere(size_t bytes, Buffer& a, Buffer& b) {
  float* to = reinterpret_cast<float*>(a.data());
  const float* from = reinterpret_cast<const float*>(b.data());
  const size_t count = bytes / sizeof(float);
  // The compiler must not see that nobody reads the result.
  const auto keep = [&] { asm volatile("" : : "r"(to) : "memory"); };
  Speeds speeds;
  speeds.copy = Speed(bytes, [&] {
    std::memcpy(to, from, bytes);
    keep();
  });
  speeds.reduce = Speed(bytes, [&] {
    AddInto(to, from, count);
    keep();
  });
  return speeds;
}

// Two buffers that fit into half of the core's own cache; into the shared cache; and that exceed every cache.
std::vector<size_t> BufferSizes(int ranks) {
  const size_t own = CacheBytes(2, 512 << 10);
  const size_t shared = std::max(CacheBytes(3, 8 << 20), 4 * own);
  const size_t sharers = static_cast<size_t>(ranks);
  const size_t memory = std::max<size_t>(2 * shared / sharers, 16 << 20);
  std::vector<size_t> sizes = {own / 4, std::max(shared / 8 / sharers, own / 2), std::min<size_t>(memory, 64 << 20)};
  for (size_t& size : sizes) size = size / 4096 * 4096;
  return sizes;
}

double At(const std::vector<RooflineRow>& rows, double RooflineRow::*speed, double footprint_bytes) {
  const auto footprint = [](const RooflineRow& row) { return 2.0 * static_cast<double>(row.bytes); };
  if (footprint_bytes <= footprint(rows.front())) return rows.front().*speed;
  for (size_t i = 1; i < rows.size(); ++i) {
    if (footprint_bytes > footprint(rows[i])) continue;
    const double below = std::log(footprint(rows[i - 1]));
    const double above = std::log(footprint(rows[i]));
    const double part = (std::log(footprint_bytes) - below) / (above - below);
    return rows[i - 1].*speed + part * (rows[i].*speed - rows[i - 1].*speed);
  }
  return rows.back().*speed;
}

double Mean(const std::vector<Speeds>& all, double Speeds::*speed) {
  double sum = 0;
  for (const Speeds& s : all) sum += s.*speed;
  return sum / static_cast<double>(all.size());
}

}  // namespace

double Roofline::BoundUs(const Work& work, double size_bytes, double footprint_bytes) const {
  MYCEL_CHECK(!rows.empty());
  const double copy = At(rows, &RooflineRow::copy_together, footprint_bytes);
  const double reduce = At(rows, &RooflineRow::reduce_together, footprint_bytes);
  return (work.copied * size_bytes / copy + work.reduced * size_bytes / reduce) / 1e3;
}

StatusOr<Roofline> MeasureRoofline(Worker& worker) {
  Roofline roofline;
  const std::vector<size_t> sizes = BufferSizes(worker.team.size());
  MYCEL_ASSIGN_OR_RETURN(Buffer a, Buffer::Allocate(sizes.back(), 0));
  MYCEL_ASSIGN_OR_RETURN(Buffer b, Buffer::Allocate(sizes.back(), 0));
  a.Touch();
  b.Touch();
  for (const size_t bytes : sizes) {
    RooflineRow row;
    row.bytes = bytes;
    Speeds alone;
    if (worker.first()) alone = MeasureHere(bytes, a, b);
    MYCEL_ASSIGN_OR_RETURN(const std::vector<Speeds> first, worker.Gather(alone));
    row.copy_alone = first[0].copy;
    row.reduce_alone = first[0].reduce;
    MYCEL_RETURN_IF_ERROR(worker.Barrier());
    MYCEL_ASSIGN_OR_RETURN(const std::vector<Speeds> all, worker.Gather(MeasureHere(bytes, a, b)));
    row.copy_together = Mean(all, &Speeds::copy);
    row.reduce_together = Mean(all, &Speeds::reduce);
    roofline.rows.push_back(row);
  }
  return roofline;
}

}  // namespace mycel::perf
