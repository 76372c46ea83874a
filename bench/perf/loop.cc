#include "bench/perf/loop.h"

#include <algorithm>

#include "bench/perf/check_data.h"
#include "core/base/check.h"
#include "core/base/clock.h"

namespace mycel::perf {
namespace {

constexpr size_t kBlockBytes = 16;  // nccl-tests rounds the blocks of a size to this

const void* Moved(const void* at, ptrdiff_t bytes) { return static_cast<const char*>(at) + bytes; }
void* Moved(void* at, ptrdiff_t bytes) { return static_cast<char*>(at) + bytes; }

}  // namespace

Loop::Loop(const Collective& collective, const Options& options, const Demand& demand, Rank* ranks, size_t rank_count,
           int group_ranks)
    : collective_(collective),
      options_(options),
      demand_(demand),
      ranks_(ranks),
      rank_count_(rank_count),
      group_ranks_(group_ranks) {}

void Loop::Bind(const Setting& setting, bool in_place) {
  MYCEL_CHECK(!in_place || collective_.in_place);
  const size_t element = setting.element_bytes();
  const size_t ranks = static_cast<size_t>(group_ranks_);
  const size_t total = static_cast<size_t>(setting.size) / element;
  counts_ = collective_.counts(total, ranks, kBlockBytes / element);
  step_bytes_ = std::max(counts_.send, counts_.recv) * element;
  pairs_.clear();
  if (collective_.takes_demand) {
    const std::vector<size_t> matrix = demand_.Scaled(static_cast<uint64_t>(setting.size), element);
    for (size_t i = 0; i < rank_count_; ++i) {
      pairs_.push_back(Demand::ForRank(matrix, ranks, static_cast<size_t>(ranks_[i].rank)));
    }
    step_bytes_ = Demand::Busiest(matrix, ranks) * element;
  }
  calls_.clear();
  for (size_t i = 0; i < rank_count_; ++i) {
    const size_t rank = static_cast<size_t>(ranks_[i].rank);
    Call call;
    call.send = in_place ? ranks_[i].recv.data() + counts_.send_in_place * rank * element : ranks_[i].send.data();
    call.recv = ranks_[i].recv.data() + (in_place ? counts_.recv_in_place * rank * element : 0);
    call.count = counts_.argument;
    call.type = static_cast<mycelDataType_t>(setting.type);
    call.op = OpOf(ranks_[i], setting);
    call.root = setting.root;
    call.rank = ranks_[i].rank;
    call.ranks = group_ranks_;
    call.comm = ranks_[i].comm;
    call.stream = ranks_[i].stream;
    call.pairs = collective_.takes_demand ? &pairs_[i] : nullptr;
    calls_.push_back(call);
  }
  shift_ = 0;
  const size_t arena = ranks_[0].recv.bytes();
  MYCEL_CHECK_LE(step_bytes_, arena);
  shift_last_ = step_bytes_ == 0 ? 0 : arena / step_bytes_ * step_bytes_ - step_bytes_;
}

mycelRedOp_t Loop::OpOf(const Rank& rank, const Setting& setting) {
  if (setting.op != ReduceOp::kPreMulSum) return static_cast<mycelRedOp_t>(setting.op);
  for (const MulSum& known : mul_sums_) {
    if (known.comm == rank.comm && known.type == setting.type) return known.op;
  }
  MulSum made = {rank.comm, setting.type, mycelSum};
  alignas(8) std::byte factor[8];
  StoreMulSumFactor(setting.type, rank.rank, factor);
  MYCEL_CHECK(mycelRedOpCreatePreMulSum(&made.op, factor, static_cast<mycelDataType_t>(setting.type),
                                        mycelScalarHostImmediate, rank.comm) == mycelSuccess);
  mul_sums_.push_back(made);
  return made.op;
}

void Loop::MoveTo(size_t shift) {
  const ptrdiff_t bytes = static_cast<ptrdiff_t>(shift) - static_cast<ptrdiff_t>(shift_);
  shift_ = shift;
  for (Call& call : calls_) {
    call.send = Moved(call.send, bytes);
    call.recv = Moved(call.recv, bytes);
  }
}

// nccl-tests moves the buffers along so that caches don't hold the last call's data and stale pointers are caught.
void Loop::Advance() { MoveTo(shift_ == shift_last_ ? 0 : shift_ + step_bytes_); }

Status Loop::Failure(mycelResult_t result, const Call& call) const {
  return CallError(result, call.comm,
                   "rank " + std::to_string(call.rank) + ": " + std::string(collective_.verb) + " of " +
                       std::to_string(call.count) + " elements");
}

Status Loop::Issue() {
  const bool grouped = rank_count_ > 1;
  if (grouped) mycelGroupStart();
  for (const Call& call : calls_) {
    const mycelResult_t result = collective_.run(call);
    if (result != mycelSuccess) [[unlikely]]
      return Failure(result, call);
  }
  if (!grouped) return OkStatus();
  const mycelResult_t result = mycelGroupEnd();
  return result == mycelSuccess ? OkStatus() : Failure(result, calls_[0]);
}

Status Loop::Wait() {
  if (!options_.host_stream) return OkStatus();
  for (const Call& call : calls_) {
    const mycelResult_t result = mycelStreamSynchronize(call.stream);
    if (result != mycelSuccess) return Failure(result, call);
  }
  return OkStatus();
}

Status Loop::Barrier() {
  const bool grouped = rank_count_ > 1;
  if (grouped) mycelGroupStart();
  for (const Call& call : calls_) {
    const mycelResult_t result = mycelBarrier(call.comm, call.stream);
    if (result != mycelSuccess) return CallError(result, call.comm, "rank " + std::to_string(call.rank) + ": barrier");
  }
  if (grouped) {
    const mycelResult_t result = mycelGroupEnd();
    if (result != mycelSuccess) return CallError(result, nullptr, "barrier");
  }
  return Wait();
}

Status Loop::WaitAndBarrier(bool barrier) {
  MYCEL_RETURN_IF_ERROR(Wait());
  return barrier ? Barrier() : OkStatus();
}

Status Loop::Once() {
  MYCEL_RETURN_IF_ERROR(Issue());
  return Wait();
}

// One outer iteration: agg_iters calls, in a group if there are several.
Status Loop::Iterate() {
  const bool wait_inside = options_.blocking == Blocking::kWaitAndBarrier || options_.blocking == Blocking::kWait;
  const bool grouped = options_.agg_iters > 1 && !wait_inside;
  if (grouped) mycelGroupStart();
  for (int a = 0; a < options_.agg_iters; ++a) {
    MYCEL_RETURN_IF_ERROR(Issue());
    Advance();
    if (wait_inside) MYCEL_RETURN_IF_ERROR(WaitAndBarrier(options_.blocking == Blocking::kWaitAndBarrier));
  }
  if (!grouped) return OkStatus();
  const mycelResult_t result = mycelGroupEnd();
  return result == mycelSuccess ? OkStatus() : Failure(result, calls_[0]);
}

StatusOr<Loop::Elapsed> Loop::Run(int iters) {
  const bool outer = options_.blocking == Blocking::kOuter;
  int64_t untimed_ns = 0;
  const int64_t start_ns = NowNs();
  for (int i = 0; i < iters; ++i) {
    MYCEL_RETURN_IF_ERROR(Iterate());
    if (outer) {
      MYCEL_RETURN_IF_ERROR(Wait());
      const int64_t barrier_ns = NowNs();
      MYCEL_RETURN_IF_ERROR(Barrier());
      untimed_ns += NowNs() - barrier_ns;
    }
  }
  const int64_t issued_ns = NowNs();
  MYCEL_RETURN_IF_ERROR(Wait());
  const int64_t end_ns = NowNs();
  MoveTo(0);
  const double calls = static_cast<double>(iters) * options_.agg_iters;
  return Elapsed{static_cast<double>(end_ns - start_ns - untimed_ns) / 1e3 / calls,
                 static_cast<double>(issued_ns - start_ns - untimed_ns) / 1e3 / calls};
}

StatusOr<std::vector<double>> Loop::Sample(int iters) {
  std::vector<int64_t> ends(static_cast<size_t>(iters) + 1);
  ends[0] = NowNs();
  for (int i = 1; i <= iters; ++i) {
    MYCEL_RETURN_IF_ERROR(Iterate());
    MYCEL_RETURN_IF_ERROR(Wait());
    ends[static_cast<size_t>(i)] = NowNs();
  }
  MoveTo(0);
  std::vector<double> durations_us;
  for (size_t i = 1; i < ends.size(); ++i) {
    durations_us.push_back(static_cast<double>(ends[i] - ends[i - 1]) / 1e3 / options_.agg_iters);
  }
  return durations_us;
}

}  // namespace mycel::perf
