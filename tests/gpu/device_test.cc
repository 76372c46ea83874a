// Communicators on a device through the C API, over the fake driver: ranks are threads that share two devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bindings/c/mycel.h"
#include "core/base/rng.h"
#include "tests/gpu/fake_driver.h"

namespace mycel {
namespace {

using testing::HasSubstr;

/// The communicators of one process, rank i on device i % 2, with a stream each.
class Devices {
 public:
  explicit Devices(int ranks, double timeout = 60) : comms_(static_cast<size_t>(ranks)) {
    mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
    config.device = "cuda";
    config.timeout = timeout;
    config.maxLanes = 2;
    EXPECT_EQ(mycelCommInitAllConfig(comms_.data(), ranks, nullptr, &config), mycelSuccess)
        << mycelGetLastError(nullptr);
    for (int rank = 0; rank < ranks; ++rank) {
      const GpuScope scope(FakeDriver(), rank % 2);
      streams_.push_back(FakeDriver()->MakeStream().value());
    }
  }
  ~Devices() {
    std::vector<std::thread> threads;
    for (mycelComm_t comm : comms_) threads.emplace_back([comm] { mycelCommDestroy(comm); });
    for (std::thread& thread : threads) thread.join();
    for (GpuStream stream : streams_) FakeDriver()->EndStream(stream);
  }
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  mycelComm_t comm(int rank) const { return comms_[static_cast<size_t>(rank)]; }
  GpuStream stream(int rank) const { return streams_[static_cast<size_t>(rank)]; }
  void Each(const std::function<void(int)>& body) const {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < static_cast<int>(comms_.size()); ++rank) threads.emplace_back(body, rank);
    for (std::thread& thread : threads) thread.join();
  }
  void Wait(int rank) const { EXPECT_TRUE(FakeDriver()->Synchronize(stream(rank)).ok()); }

 private:
  std::vector<mycelComm_t> comms_;
  std::vector<GpuStream> streams_;
};

/// Elements in a device's memory, which the host reads here.
template <typename T>
class Buffer {
 public:
  Buffer(int rank, size_t count) {
    const GpuScope scope(FakeDriver(), rank % 2);
    data_ = static_cast<T*>(FakeDriver()->Allocate(count * sizeof(T) + 1).value());
    std::memset(data_, 0x5a, count * sizeof(T));
  }
  ~Buffer() {
    const GpuScope scope(FakeDriver(), 0);
    FakeDriver()->Free(data_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() const { return data_; }
  T& operator[](size_t i) const { return data_[i]; }

 private:
  T* data_;
};

class DeviceCollectives : public testing::TestWithParam<int> {};

TEST_P(DeviceCollectives, EveryKindGivesExactData) {
  const int n = GetParam();
  const auto ranks = static_cast<size_t>(n);
  const Devices devices(n);
  const int before = FakeLaunches();
  for (const size_t count : {size_t{1}, size_t{1000}, size_t{70000}}) {
    devices.Each([&](int rank) {
      const auto me = static_cast<size_t>(rank);
      mycelComm_t comm = devices.comm(rank);
      GpuStream stream = devices.stream(rank);
      Buffer<int32_t> send(rank, count * ranks);
      Buffer<int32_t> recv(rank, count * ranks);
      for (size_t i = 0; i < count * ranks; ++i) send[i] = static_cast<int32_t>(i % 251 + me);
      const auto ok = [&](mycelResult_t result) { EXPECT_EQ(result, mycelSuccess) << mycelGetLastError(comm); };
      const auto each = [&](size_t elements, const std::function<size_t(size_t)>& expected, const char* what) {
        devices.Wait(rank);
        size_t wrong = 0;
        for (size_t i = 0; i < elements; ++i) wrong += recv[i] != static_cast<int32_t>(expected(i)) ? 1 : 0;
        EXPECT_EQ(wrong, 0U) << what << ", rank " << rank << ", count " << count;
      };
      const size_t sum = ranks * (ranks - 1) / 2;
      ok(mycelAllReduce(send.data(), recv.data(), count, mycelInt32, mycelSum, comm, stream));
      each(
          count, [&](size_t i) { return i % 251 * ranks + sum; }, "allreduce");
      ok(mycelAllGather(send.data(), recv.data(), count, mycelInt32, comm, stream));
      each(
          count * ranks, [&](size_t i) { return i % count % 251 + i / count; }, "allgather");
      ok(mycelReduceScatter(send.data(), recv.data(), count, mycelInt32, mycelMax, comm, stream));
      each(
          count, [&](size_t i) { return (i + me * count) % 251 + ranks - 1; }, "reduce_scatter");
      ok(mycelAllToAll(send.data(), recv.data(), count, mycelInt32, comm, stream));
      each(
          count * ranks, [&](size_t i) { return (me * count + i % count) % 251 + i / count; }, "alltoall");
      ok(mycelBroadcast(send.data(), recv.data(), count, mycelInt32, n - 1, comm, stream));
      each(
          count, [&](size_t i) { return i % 251 + ranks - 1; }, "broadcast");
      ok(mycelGroupStart());
      ok(mycelSend(send.data(), count, mycelInt32, (rank + 1) % n, comm, stream));
      ok(mycelRecv(recv.data(), count, mycelInt32, (rank + n - 1) % n, comm, stream));
      ok(mycelGroupEnd());
      each(
          count, [&](size_t i) { return i % 251 + (me + ranks - 1) % ranks; }, "send and recv");
      mycelRedOp_t scaled = mycelSum;
      int32_t factor = rank + 1;
      ok(mycelRedOpCreatePreMulSum(&scaled, &factor, mycelInt32, mycelScalarHostImmediate, comm));
      ok(mycelAllReduce(send.data(), recv.data(), count, mycelInt32, scaled, comm, stream));
      size_t weights = 0;
      size_t weighted = 0;
      for (size_t r = 0; r < ranks; ++r) weights += r + 1;
      for (size_t r = 0; r < ranks; ++r) weighted += r * (r + 1);
      each(
          count, [&](size_t i) { return i % 251 * weights + weighted; }, "premulsum");
      ok(mycelAllReduce(send.data(), recv.data(), count, mycelInt32, mycelAvg, comm, stream));
      each(
          count, [&](size_t i) { return (i % 251 * ranks + sum) / ranks; }, "avg");
      ok(mycelBarrier(comm, stream));
      devices.Wait(rank);
    });
  }
  EXPECT_GE(FakeLaunches() - before, 3 * 10 * n);
}
INSTANTIATE_TEST_SUITE_P(Ranks, DeviceCollectives, testing::Values(1, 2, 4));

TEST(DeviceTest, WrongMemoryAndStreamsAreNamed) {
  const Devices devices(1);
  const Buffer<float> mine(0, 8);
  const Buffer<float> other(1, 8);
  float host[8] = {};
  mycelComm_t comm = devices.comm(0);
  EXPECT_EQ(mycelAllReduce(host, mine.data(), 8, mycelFloat, mycelSum, comm, nullptr), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr),
              HasSubstr("sendbuff is memory of the host, and the communicator's device is cuda:0"));
  EXPECT_EQ(mycelAllReduce(mine.data(), other.data(), 8, mycelFloat, mycelSum, comm, nullptr), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("recvbuff is memory of device 1"));
  const GpuScope scope(FakeDriver(), 1);
  GpuStream stream = FakeDriver()->MakeStream().value();
  EXPECT_EQ(mycelAllReduce(mine.data(), mine.data(), 8, mycelFloat, mycelSum, comm, stream), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("the stream is of device 1"));
  FakeDriver()->EndStream(stream);
}

TEST(DeviceTest, AMissingDriverIsNamed) {
  mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
  config.device = "hip";
  mycelComm_t comm = nullptr;
  EXPECT_EQ(mycelCommInitAllConfig(&comm, 1, nullptr, &config), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("no-such-libamdhip64.so cannot be loaded"));
  config.device = "cuda:9";
  EXPECT_EQ(mycelCommInitAllConfig(&comm, 1, nullptr, &config), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("there is no device cuda:9"));
}

TEST(DeviceTest, ALateRankIsATimeoutAndAnAbortEndsAKernel) {
  {
    const Devices devices(2, 0.3);
    std::vector<std::unique_ptr<Buffer<float>>> buffers;
    for (int rank = 0; rank < 2; ++rank) buffers.push_back(std::make_unique<Buffer<float>>(rank, 8));
    const auto reduce = [&](int rank) {
      float* data = buffers[static_cast<size_t>(rank)]->data();
      return mycelAllReduce(data, data, 8, mycelFloat, mycelSum, devices.comm(rank), devices.stream(rank));
    };
    devices.Each([&](int rank) {
      EXPECT_EQ(reduce(rank), mycelSuccess);
      devices.Wait(rank);
    });
    EXPECT_EQ(reduce(0), mycelSuccess);  // alone
    devices.Wait(0);
    mycelResult_t error = mycelSuccess;
    for (int i = 0; i < 500 && error == mycelSuccess; ++i) {
      EXPECT_EQ(mycelCommGetAsyncError(devices.comm(0), &error), mycelSuccess);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(error, mycelTimeout);
    EXPECT_THAT(mycelGetLastError(devices.comm(0)), HasSubstr("of rank 1"));
  }
  const Devices devices(2);
  std::vector<std::unique_ptr<Buffer<float>>> buffers;
  for (int rank = 0; rank < 2; ++rank) buffers.push_back(std::make_unique<Buffer<float>>(rank, 8));
  devices.Each([&](int rank) {
    float* data = buffers[static_cast<size_t>(rank)]->data();
    mycelAllReduce(data, data, 8, mycelFloat, mycelSum, devices.comm(rank), devices.stream(rank));
    if (rank == 0) {
      mycelAllReduce(data, data, 8, mycelFloat, mycelSum, devices.comm(rank), devices.stream(rank));
      EXPECT_EQ(mycelCommRevoke(devices.comm(0), MYCEL_REVOKE_DEFAULT), mycelSuccess);
    }
    devices.Wait(rank);
  });
}

TEST(DeviceTest, OneThreadDrivesRanksThatShareAStream) {
  const Devices devices(4);
  std::vector<std::unique_ptr<Buffer<int32_t>>> buffers;
  for (int rank = 0; rank < 4; ++rank) {
    buffers.push_back(std::make_unique<Buffer<int32_t>>(rank, 1000));
    for (size_t i = 0; i < 1000; ++i) (*buffers.back())[i] = rank;
  }
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(mycelGroupStart(), mycelSuccess);
    for (int rank = 0; rank < 4; ++rank) {
      int32_t* data = buffers[static_cast<size_t>(rank)]->data();
      EXPECT_EQ(mycelAllReduce(data, data, 1000, mycelInt32, mycelSum, devices.comm(rank), nullptr), mycelSuccess);
    }
    ASSERT_EQ(mycelGroupEnd(), mycelSuccess) << mycelGetLastError(nullptr);
  }
  for (int device = 0; device < 2; ++device) {
    const GpuScope scope(FakeDriver(), device);
    ASSERT_TRUE(FakeDriver()->Synchronize(nullptr).ok());
  }
  for (const auto& buffer : buffers) EXPECT_EQ((*buffer)[999], 24);
}

#if !defined(__SANITIZE_THREAD__)  // which knows nothing of children of a process with threads
/// A rank in a process of its own: sums with the other; then rank 1 dies and rank 0 waits for it. The exit status.
int RankProcess(int rank, const mycelUniqueId& id) {
  mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
  config.device = "cuda:0";
  config.timeout = 30;
  mycelComm_t comm = nullptr;
  if (mycelCommInitRankConfig(&comm, 2, id, rank, &config) != mycelSuccess) return 1;
  const Buffer<int32_t> data(0, 70000);
  for (size_t i = 0; i < 70000; ++i) data[i] = rank + 1;
  const GpuScope scope(FakeDriver(), 0);
  GpuStream stream = FakeDriver()->MakeStream().value();
  const auto reduce = [&] {
    return mycelAllReduce(data.data(), data.data(), 70000, mycelInt32, mycelSum, comm, stream);
  };
  if (reduce() != mycelSuccess || !FakeDriver()->Synchronize(stream).ok()) return 2;
  if (data[0] != 3 || data[69999] != 3) return 3;
  if (rank == 1) raise(SIGKILL);
  if (reduce() != mycelSuccess || !FakeDriver()->Synchronize(stream).ok()) return 4;
  mycelResult_t error = mycelSuccess;
  for (int i = 0; i < 500 && error == mycelSuccess; ++i) {
    mycelCommGetAsyncError(comm, &error);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (error != mycelRemoteError) return 5;
  return std::string(mycelGetLastError(comm)).find("rank 1 (pid ") == std::string::npos ? 6 : 0;
}

TEST(DeviceTest, RanksAreProcessesAndADeadOneEndsTheKernelThatWaitsForIt) {
  mycelUniqueId id;
  ASSERT_EQ(mycelGetUniqueId(&id), mycelSuccess);
  pid_t children[2];
  for (int rank = 0; rank < 2; ++rank) {
    children[rank] = fork();
    if (children[rank] == 0) _exit(RankProcess(rank, id));
  }
  int status = 0;
  ASSERT_EQ(waitpid(children[1], &status, 0), children[1]);
  EXPECT_TRUE(WIFSIGNALED(status)) << "rank 1 ended with " << WEXITSTATUS(status);
  ASSERT_EQ(waitpid(children[0], &status, 0), children[0]);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

TEST(DeviceTest, EveryTypeAndOperationGivesTheHostsBits) {
  const Devices devices(2);
  mycelComm_t on_host[2];
  mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
  config.device = "host";
  ASSERT_EQ(mycelCommInitAllConfig(on_host, 2, nullptr, &config), mycelSuccess);
  constexpr size_t kCount = 333;
  constexpr uint64_t kSeed = 20'261'201;
  std::atomic<int> compared{0};
  devices.Each([&](int rank) {
    Rng random(kSeed + static_cast<uint64_t>(rank));
    const Buffer<uint8_t> data(rank, kCount * 8);
    std::vector<uint8_t> expected(kCount * 8);
    for (const int type : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 32, 33}) {
      for (const int op : {0, 1, 2, 3, 4, 32, 33, 34}) {
        for (size_t i = 0; i < expected.size(); ++i) data[i] = expected[i] = static_cast<uint8_t>(random.Below(256));
        const auto mycel_type = static_cast<mycelDataType_t>(type);
        const auto mycel_op = static_cast<mycelRedOp_t>(op);
        const mycelResult_t host =
            mycelAllReduce(expected.data(), expected.data(), kCount, mycel_type, mycel_op, on_host[rank], nullptr);
        const mycelResult_t device = mycelAllReduce(data.data(), data.data(), kCount, mycel_type, mycel_op,
                                                    devices.comm(rank), devices.stream(rank));
        ASSERT_EQ(host, device) << "type " << type << ", op " << op;
        devices.Wait(rank);
        EXPECT_EQ(std::memcmp(data.data(), expected.data(), expected.size()), 0)
            << "type " << type << ", op " << op << ", seed " << kSeed;
        compared.fetch_add(host == mycelSuccess ? 1 : 0, std::memory_order_relaxed);
      }
    }
  });
  EXPECT_EQ(compared.load(std::memory_order_relaxed), 2 * (14 * 5 + 8 * 3));
  for (mycelComm_t comm : on_host) mycelCommDestroy(comm);
}

TEST(DeviceTest, AGraphReplaysCollectives) {
  const Devices devices(2);
  devices.Each([&](int rank) {
    Buffer<int32_t> data(rank, 100);
    for (size_t i = 0; i < 100; ++i) data[i] = 1;
    const auto reduce = [&] {
      EXPECT_EQ(
          mycelAllReduce(data.data(), data.data(), 100, mycelInt32, mycelSum, devices.comm(rank), devices.stream(rank)),
          mycelSuccess);
    };
    reduce();
    devices.Wait(rank);
    FakeBeginCapture(devices.stream(rank));
    reduce();
    reduce();
    void* graph = FakeEndCapture(devices.stream(rank));
    for (int i = 0; i < 3; ++i) FakeLaunchGraph(graph, devices.stream(rank));
    devices.Wait(rank);
    EXPECT_EQ(data[99], 128);
    FakeEndGraph(graph);
  });
}

class FakeEnvironment final : public testing::Environment {
  void SetUp() override {
    setenv("MYCEL_CUDA_LIBRARY", MYCEL_FAKE_CUDA, 1);
    setenv("MYCEL_HIP_LIBRARY", "no-such-libamdhip64.so", 1);
    setenv("MYCEL_GPU_KERNELS", MYCEL_FAKE_CUDA, 1);  // the fake driver looks at no kernel's code
  }
};
const testing::Environment* const kFakes = testing::AddGlobalTestEnvironment(new FakeEnvironment());

}  // namespace
}  // namespace mycel
