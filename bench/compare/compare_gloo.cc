// Gloo in the comparison: local processes, or those of a launcher, which meet through a file store. TCP over loopback
// (its only transport between processes of one machine), or over the interface that GLOO_SOCKET_IFNAME names, as in
// PyTorch.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/compare/batches.h"
#include "bench/perf/launcher.h"

namespace mycel::compare {
namespace {

void Sum(void* out, const void* a, const void* b, size_t count) {
  gloo::sum<float>(static_cast<float*>(out), static_cast<const float*>(a), static_cast<const float*>(b), count);
}

class GlooEngine final : public Engine {
 public:
  GlooEngine(perf::Job& job, const std::string& store_path) : Engine(job.rank(), job.size()), job_(job) {
    gloo::rendezvous::FileStore store(store_path);
    const char* const interface = std::getenv("GLOO_SOCKET_IFNAME");
    gloo::transport::tcp::attr where;
    if (interface != nullptr) {
      where.iface = interface;
    } else {
      where.hostname = "localhost";
    }
    auto device = gloo::transport::tcp::CreateDevice(where);
    auto context = std::make_shared<gloo::rendezvous::Context>(job.rank(), job.size());
    context->connectFullMesh(store, device);
    context_ = context;
  }

  // Options keep their registered buffers, as Gloo's own benchmark does, so that only the call is timed.
  bool Prepare(const Task& task) override {
    operation_ = task.operation;
    const size_t all = task.count * static_cast<size_t>(ranks());
    switch (task.operation) {
      case Operation::kAllReduce:
        all_reduce_ = std::make_unique<gloo::AllreduceOptions>(context_);
        all_reduce_->setInput(task.send, task.count);
        all_reduce_->setOutput(task.recv, task.count);
        all_reduce_->setReduceFunction(Sum);
        return true;
      case Operation::kAllGather:
        all_gather_ = std::make_unique<gloo::AllgatherOptions>(context_);
        all_gather_->setInput(task.send, task.count);
        all_gather_->setOutput(task.recv, all);
        return true;
      case Operation::kBroadcast:
        broadcast_ = std::make_unique<gloo::BroadcastOptions>(context_);
        if (rank() == 0) broadcast_->setInput(task.send, task.count);
        broadcast_->setOutput(task.recv, task.count);
        broadcast_->setRoot(0);
        return true;
      case Operation::kReduce:
        reduce_ = std::make_unique<gloo::ReduceOptions>(context_);
        reduce_->setInput(task.send, task.count);
        reduce_->setOutput(task.recv, task.count);
        reduce_->setReduceFunction(Sum);
        reduce_->setRoot(0);
        return true;
      case Operation::kAllToAll:
        all_to_all_ = std::make_unique<gloo::AlltoallOptions>(context_);
        all_to_all_->setInput(task.send, all);
        all_to_all_->setOutput(task.recv, all);
        return true;
      case Operation::kBarrier:
        return true;
      case Operation::kReduceScatter:
        return false;  // only in its older interface, on other terms
      case Operation::kAllToAllV:
        return false;  // not in this comparison
    }
    return false;
  }

  void Call() override {
    switch (operation_) {
      case Operation::kAllReduce:
        return gloo::allreduce(*all_reduce_);
      case Operation::kAllGather:
        return gloo::allgather(*all_gather_);
      case Operation::kBroadcast:
        return gloo::broadcast(*broadcast_);
      case Operation::kReduce:
        return gloo::reduce(*reduce_);
      case Operation::kAllToAll:
        return gloo::alltoall(*all_to_all_);
      default:
        return Barrier();
    }
  }

  void Barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }

  void MaxOverRanks(std::vector<double>& values) override {
    std::vector<double> all(values.size() * static_cast<size_t>(ranks()));
    const Status status = job_.AllGather(values.data(), values.size() * sizeof(double), all.data());
    if (!status.ok()) Fail(*this, StatusMessage(status));
    for (size_t i = 0; i < all.size(); ++i) {
      double& value = values[i % values.size()];
      value = std::max(value, all[i]);
    }
  }

 private:
  perf::Job& job_;
  std::shared_ptr<gloo::Context> context_;
  Operation operation_ = Operation::kBarrier;
  std::unique_ptr<gloo::AllreduceOptions> all_reduce_;
  std::unique_ptr<gloo::AllgatherOptions> all_gather_;
  std::unique_ptr<gloo::BroadcastOptions> broadcast_;
  std::unique_ptr<gloo::ReduceOptions> reduce_;
  std::unique_ptr<gloo::AlltoallOptions> all_to_all_;
};

/// Gloo reports by exceptions; they end here.
int Measure(perf::Job& job, const std::string& store, const Arguments& arguments) {
  try {
    GlooEngine engine(job, store);
    return MeasureAll(engine, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", job.rank(), error.what());
    return 3;
  }
}

/// A folder of one's own for the file store, where all processes of the run see it; empty if there can be none.
std::string NewStore() {
  std::string store = (std::filesystem::temp_directory_path() / "mycel_gloo_XXXXXX").string();
  if (mkdtemp(store.data()) != nullptr) return store;
  std::fprintf(stderr, "compare_gloo: cannot create %s\n", store.c_str());
  return std::string();
}

/// One process of a launcher's job. The store is process 0's.
int MeasureLaunched(const perf::Launch& launch, const Arguments& arguments) {
  const StatusOr<std::unique_ptr<perf::Job>> joined = perf::JoinLaunchedJob(launch);
  if (!joined.ok()) {
    std::fprintf(stderr, "compare_gloo: %s\n", StatusMessage(joined.status()).c_str());
    return 3;
  }
  perf::Job& job = **joined;
  std::array<char, 256> mine = {};
  const std::string own = job.rank() == 0 ? NewStore() : std::string();
  own.copy(mine.data(), mine.size() - 1);
  std::vector<char> all(mine.size() * static_cast<size_t>(job.size()));
  Status status = job.AllGather(mine.data(), mine.size(), all.data());
  const std::string store(all.data());
  const int code = status.ok() && !store.empty() ? Measure(job, store, arguments) : 3;
  if (code == 0) status = job.Leave();
  if (!status.ok()) std::fprintf(stderr, "compare_gloo: %s\n", StatusMessage(status).c_str());
  std::error_code ignored;
  if (!own.empty()) std::filesystem::remove_all(own, ignored);
  return code;
}

int Main(int argc, char** argv) {
  const StatusOr<Arguments> arguments = ParseArguments(argc, argv);
  if (!arguments.ok()) {
    std::fprintf(stderr, "compare_gloo: %s\n", StatusMessage(arguments.status()).c_str());
    return 2;
  }
  const perf::Launch launch = perf::DetectLaunch([](const char* name) { return std::getenv(name); });
  if (launch.launcher != perf::Launcher::kNone) return MeasureLaunched(launch, *arguments);
  const std::string store = NewStore();
  if (store.empty()) return 3;
  const int code = perf::RunLocalProcesses("compare_gloo", arguments->ranks, 1, perf::kGraceSeconds,
                                           [&](perf::Job& job) { return Measure(job, store, *arguments); });
  std::error_code ignored;
  std::filesystem::remove_all(store, ignored);
  return code;
}

}  // namespace
}  // namespace mycel::compare

int main(int argc, char** argv) { return mycel::compare::Main(argc, argv); }
