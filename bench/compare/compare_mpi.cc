// An MPI in the comparison; built once per MPI found, started by its mpirun.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "bench/compare/batches.h"

namespace mycel::compare {
namespace {

int RankOfWorld() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int SizeOfWorld() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// MPI's default error handler ends the job with a message, so return codes need no look.
class MpiEngine final : public Engine {
 public:
  MpiEngine() : Engine(RankOfWorld(), SizeOfWorld()) {}

  bool Prepare(const Task& task) override {
    task_ = task;
    count_ = static_cast<int>(task.count);
    // MPI broadcasts in place: the buffer of ones is the result buffer of the root.
    if (task.operation == Operation::kAllToAllV) {
      const perf::PairCounts& pairs = *task.pairs;
      const auto ints = [](const std::vector<size_t>& of) { return std::vector<int>(of.begin(), of.end()); };
      send_ = ints(pairs.send);
      send_at_ = ints(pairs.send_at);
      recv_ = ints(pairs.recv);
      recv_at_ = ints(pairs.recv_at);
    }
    if (task.operation == Operation::kBroadcast && rank() == 0) std::copy(task.send, task.send + task.count, task.recv);
    return true;
  }

  void Call() override {
    const Task& t = task_;
    switch (t.operation) {
      case Operation::kAllReduce:
        MPI_Allreduce(t.send, t.recv, count_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
      case Operation::kAllGather:
        MPI_Allgather(t.send, count_, MPI_FLOAT, t.recv, count_, MPI_FLOAT, MPI_COMM_WORLD);
        break;
      case Operation::kReduceScatter:
        MPI_Reduce_scatter_block(t.send, t.recv, count_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
      case Operation::kBroadcast:
        MPI_Bcast(t.recv, count_, MPI_FLOAT, 0, MPI_COMM_WORLD);
        break;
      case Operation::kReduce:
        MPI_Reduce(t.send, t.recv, count_, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
        break;
      case Operation::kAllToAll:
        MPI_Alltoall(t.send, count_, MPI_FLOAT, t.recv, count_, MPI_FLOAT, MPI_COMM_WORLD);
        break;
      case Operation::kAllToAllV:
        MPI_Alltoallv(t.send, send_.data(), send_at_.data(), MPI_FLOAT, t.recv, recv_.data(), recv_at_.data(),
                      MPI_FLOAT, MPI_COMM_WORLD);
        break;
      case Operation::kBarrier:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    }
  }

  void Barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  void MaxOverRanks(std::vector<double>& values) override {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }

 private:
  Task task_;
  int count_ = 0;
  std::vector<int> send_, send_at_, recv_, recv_at_;  // of kAllToAllV
};

int Main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const StatusOr<Arguments> arguments = ParseArguments(argc, argv);
  int code = 2;
  if (!arguments.ok()) {
    if (RankOfWorld() == 0) std::fprintf(stderr, "compare_mpi: %s\n", StatusMessage(arguments.status()).c_str());
  } else {
    MpiEngine engine;
    code = MeasureAll(engine, *arguments);
  }
  MPI_Finalize();
  return code;
}

}  // namespace
}  // namespace mycel::compare

int main(int argc, char** argv) { return mycel::compare::Main(argc, argv); }
