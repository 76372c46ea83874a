#include "bench/compare/batches.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/base/bytes.h"
#include "core/base/clock.h"

namespace mycel::compare {
namespace {

constexpr double kBatchUs = 2'000;
constexpr int kBatchesLeast = 4;
constexpr int kBatchesMost = 60;
constexpr int kCallsMost = 20'000;
constexpr int kProbesMost = 8;
constexpr double kProbingUs = 40'000;

constexpr struct {
  const char* name;
  Operation operation;
} kOperations[] = {
    {"all_reduce", Operation::kAllReduce},
    {"all_gather", Operation::kAllGather},
    {"reduce_scatter", Operation::kReduceScatter},
    {"broadcast", Operation::kBroadcast},
    {"reduce", Operation::kReduce},
    {"all_to_all", Operation::kAllToAll},
    {"all_to_all_v", Operation::kAllToAllV},
    {"barrier", Operation::kBarrier},
};

bool InBlocks(Operation operation) {
  return operation == Operation::kAllGather || operation == Operation::kReduceScatter ||
         operation == Operation::kAllToAll;
}

// Pages that are really there, as an application's would be.
float* NewBuffer(size_t bytes) {
  void* memory = mmap(nullptr, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "no memory for %zu bytes\n", bytes);
    std::exit(3);
  }
  std::memset(memory, 0, bytes + 4096);
  return static_cast<float*>(memory);
}

double TimeBatch(Engine& engine, int calls) {
  engine.Barrier();
  const int64_t start_ns = NowNs();
  for (int i = 0; i < calls; ++i) engine.Call();
  return static_cast<double>(NowNs() - start_ns) / 1e3 / calls;
}

double Agree(Engine& engine, double value) {
  std::vector<double> values = {value};
  engine.MaxOverRanks(values);
  return values[0];
}

// How long a call takes when nothing disturbs it: the fastest of a few, so that one unlucky time slice doesn't make all
// batches too short.
double ProbeUs(Engine& engine) {
  double best_us = std::numeric_limits<double>::max();
  double spent_us = 0;
  for (int i = 0; i < kProbesMost && spent_us < kProbingUs; ++i) {
    const double us = Agree(engine, TimeBatch(engine, 1));
    best_us = std::min(best_us, us);
    spent_us += us;
  }
  return std::max(best_us, 0.01);
}

// The fastest batch, each batch as slow as its slowest rank.
double MinUs(Engine& engine, int milliseconds) {
  TimeBatch(engine, 1);
  const int guess = static_cast<int>(std::clamp(kBatchUs / ProbeUs(engine), 1.0, 100.0));
  const double usual_us = std::max(Agree(engine, TimeBatch(engine, guess)), 0.01);
  const int calls = static_cast<int>(std::clamp<double>(kBatchUs / usual_us, guess, kCallsMost));
  const int batches =
      static_cast<int>(std::clamp(1e3 * milliseconds / (usual_us * calls), 1.0 * kBatchesLeast, 1.0 * kBatchesMost));
  std::vector<double> times_us;
  for (int b = 0; b < batches; ++b) times_us.push_back(TimeBatch(engine, calls));
  engine.MaxOverRanks(times_us);
  return *std::min_element(times_us.begin(), times_us.end());
}

// Everybody sends ones: sums are the number of ranks, moved data is one.
bool ResultIsRight(const Engine& engine, const Task& task) {
  const size_t ranks = static_cast<size_t>(engine.ranks());
  size_t elements = task.count;
  float want = 1;
  switch (task.operation) {
    case Operation::kAllReduce:
    case Operation::kReduceScatter:
      want = static_cast<float>(ranks);
      break;
    case Operation::kReduce:
      want = static_cast<float>(ranks);
      elements = engine.rank() == 0 ? task.count : 0;
      break;
    case Operation::kAllGather:
    case Operation::kAllToAll:
      elements = task.count * ranks;
      break;
    case Operation::kAllToAllV:
      elements = task.pairs->recv_total();
      break;
    case Operation::kBroadcast:
      break;
    case Operation::kBarrier:
      elements = 0;
      break;
  }
  return std::all_of(task.recv, task.recv + elements, [want](float x) { return x == want; });
}

}  // namespace

void Fail(const Engine& engine, const std::string& what) {
  std::fprintf(stderr, "rank %d: %s\n", engine.rank(), what.c_str());
  std::exit(3);
}

StatusOr<Arguments> ParseArguments(int argc, const char* const* argv) {
  Arguments arguments;
  std::string sizes = "8,16K,1M,16M";
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) return InvalidArgument(option + " needs a value");
    const std::string value = argv[i + 1];
    if (option == "--sizes") {
      sizes = value;
    } else if (option == "--ranks") {
      arguments.ranks = std::atoi(value.c_str());
      if (arguments.ranks < 1 || arguments.ranks > 1024) return InvalidArgument("--ranks " + value + ": 1 to 1024");
    } else if (option == "--milliseconds") {
      arguments.milliseconds = std::atoi(value.c_str());
      if (arguments.milliseconds < 1) return InvalidArgument("--milliseconds " + value + ": at least 1");
    } else if (option == "--demand") {
      arguments.demand = value;
    } else if (option == "--collective") {
      const auto* at =
          std::find_if(std::begin(kOperations), std::end(kOperations), [&](const auto& o) { return value == o.name; });
      if (at == std::end(kOperations)) return InvalidArgument("--collective " + value + ": unknown");
      arguments.operation = at->operation;
      arguments.operation_name = value;
    } else {
      return InvalidArgument("unknown option " + option);
    }
  }
  for (size_t start = 0; start <= sizes.size();) {
    const size_t comma = std::min(sizes.find(',', start), sizes.size());
    MYCEL_ASSIGN_OR_RETURN(const int64_t size, ParseBytes(sizes.substr(start, comma - start)));
    arguments.sizes.push_back(size);
    start = comma + 1;
  }
  return arguments;
}

int MeasureAll(Engine& engine, const Arguments& arguments) {
  const size_t bytes_max = static_cast<size_t>(*std::max_element(arguments.sizes.begin(), arguments.sizes.end()));
  float* send = NewBuffer(bytes_max);
  float* recv = NewBuffer(bytes_max);
  std::fill(send, send + bytes_max / sizeof(float), 1.0f);
  const auto ranks = static_cast<size_t>(engine.ranks());
  const StatusOr<perf::Demand> demand = perf::Demand::Parse(arguments.demand, ranks);
  if (!demand.ok()) Fail(engine, StatusMessage(demand.status()));
  for (const int64_t size : arguments.sizes) {
    Task task = {arguments.operation, static_cast<size_t>(size) / sizeof(float), send, recv};
    const perf::PairCounts pairs = perf::Demand::ForRank(demand->Scaled(static_cast<uint64_t>(size), sizeof(float)),
                                                         ranks, static_cast<size_t>(engine.rank()));
    if (task.operation == Operation::kAllToAllV) task.pairs = &pairs;
    if (InBlocks(task.operation)) task.count = task.count / ranks;
    if (!engine.Prepare(task)) return 4;
    const double us = MinUs(engine, arguments.milliseconds);
    if (Agree(engine, ResultIsRight(engine, task) ? 0 : 1) != 0) {
      if (engine.rank() == 0) {
        std::fprintf(stderr, "wrong result of %s, %lld bytes\n", arguments.operation_name.c_str(),
                     static_cast<long long>(size));
      }
      return 1;
    }
    if (engine.rank() == 0) {
      std::printf("%lld %.3f\n", static_cast<long long>(size), us);
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace mycel::compare
