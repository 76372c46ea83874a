// Mycel in the comparison: local processes or those of a launcher, the C API, calls in the calling thread.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "bench/compare/batches.h"
#include "bench/perf/launcher.h"
#include "bindings/c/mycel.h"

namespace mycel::compare {
namespace {

class MycelEngine final : public Engine {
 public:
  explicit MycelEngine(perf::Job& job) : Engine(job.rank(), job.size()), job_(job) {
    mycelUniqueId id = {};
    if (job.rank() == 0) Check(mycelGetUniqueId(&id), "mycelGetUniqueId");
    std::vector<mycelUniqueId> ids(static_cast<size_t>(job.size()));
    Check(job.AllGather(&id, sizeof(id), ids.data()));
    Check(mycelCommInitRank(&comm_, job.size(), ids[0], job.rank()), "mycelCommInitRank");
  }
  ~MycelEngine() override { mycelCommDestroy(comm_); }

  bool Prepare(const Task& task) override {
    task_ = task;
    return true;
  }

  void Call() override {
    const mycelResult_t result = Issue();
    if (result != mycelSuccess) [[unlikely]]
      Check(result, "collective");
  }

  void Barrier() override { Check(mycelBarrier(comm_, nullptr), "mycelBarrier"); }

  void MaxOverRanks(std::vector<double>& values) override {
    std::vector<double> all(values.size() * static_cast<size_t>(ranks()));
    Check(job_.AllGather(values.data(), values.size() * sizeof(double), all.data()));
    for (size_t i = 0; i < all.size(); ++i) {
      double& value = values[i % values.size()];
      value = std::max(value, all[i]);
    }
  }

 private:
  mycelResult_t Issue() {
    const Task& t = task_;
    switch (t.operation) {
      case Operation::kAllReduce:
        return mycelAllReduce(t.send, t.recv, t.count, mycelFloat32, mycelSum, comm_, nullptr);
      case Operation::kAllGather:
        return mycelAllGather(t.send, t.recv, t.count, mycelFloat32, comm_, nullptr);
      case Operation::kReduceScatter:
        return mycelReduceScatter(t.send, t.recv, t.count, mycelFloat32, mycelSum, comm_, nullptr);
      case Operation::kBroadcast:
        return mycelBroadcast(t.send, t.recv, t.count, mycelFloat32, 0, comm_, nullptr);
      case Operation::kReduce:
        return mycelReduce(t.send, t.recv, t.count, mycelFloat32, mycelSum, 0, comm_, nullptr);
      case Operation::kAllToAll:
        return mycelAllToAll(t.send, t.recv, t.count, mycelFloat32, comm_, nullptr);
      case Operation::kAllToAllV:
        return mycelAllToAllv(t.send, t.pairs->send.data(), t.pairs->send_at.data(), t.recv, t.pairs->recv.data(),
                              t.pairs->recv_at.data(), mycelFloat32, comm_, nullptr);
      case Operation::kBarrier:
        return mycelBarrier(comm_, nullptr);
    }
    return mycelInternalError;
  }

  void Check(mycelResult_t result, const char* what) const {
    if (result == mycelSuccess) return;
    Fail(*this, std::string(what) + ": " + mycelGetErrorString(result) + ": " + mycelGetLastError(comm_));
  }
  void Check(const Status& status) const {
    if (!status.ok()) Fail(*this, StatusMessage(status));
  }

  perf::Job& job_;
  mycelComm_t comm_ = nullptr;
  Task task_;
};

int Main(int argc, char** argv) {
  const StatusOr<Arguments> arguments = ParseArguments(argc, argv);
  if (!arguments.ok()) {
    std::fprintf(stderr, "compare_mycel: %s\n", StatusMessage(arguments.status()).c_str());
    return 2;
  }
  const perf::Launch launch = perf::DetectLaunch([](const char* name) { return std::getenv(name); });
  if (launch.launcher != perf::Launcher::kNone) {
    const StatusOr<std::unique_ptr<perf::Job>> job = perf::JoinLaunchedJob(launch);
    if (!job.ok()) {
      std::fprintf(stderr, "compare_mycel: %s\n", StatusMessage(job.status()).c_str());
      return 3;
    }
    int code = 0;
    {
      MycelEngine engine(**job);
      code = MeasureAll(engine, *arguments);
    }
    const Status left = (*job)->Leave();
    return left.ok() ? code : 3;
  }
  return perf::RunLocalProcesses("compare_mycel", arguments->ranks, 1, perf::kGraceSeconds, [&](perf::Job& job) {
    MycelEngine engine(job);
    return MeasureAll(engine, *arguments);
  });
}

}  // namespace
}  // namespace mycel::compare

int main(int argc, char** argv) { return mycel::compare::Main(argc, argv); }
