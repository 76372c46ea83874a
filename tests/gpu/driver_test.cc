// The driver behind its seam, over the fake library: the table's loading and its errors, and the fake's own promises,
// on which the suites above it rely.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "kernels/hip/hip_driver.h"
#include "tests/gpu/fake_driver.h"
#include "tests/gpu/fake_stream.h"

namespace mycel {
namespace {

using testing::HasSubstr;

TEST(GpuDriverTest, AMissingLibraryIsNamedWithTheLoadersReason) {
  const Status cuda = LoadCudaDriver("libcuda-that-is-not-there.so.1").status();
  EXPECT_EQ(cuda.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(StatusMessage(cuda), HasSubstr("libcuda-that-is-not-there.so.1 cannot be loaded: "));
  EXPECT_THAT(StatusMessage(cuda), HasSubstr("No such file"));
  const Status hip = LoadHipDriver("libamdhip64-that-is-not-there.so").status();
  EXPECT_THAT(StatusMessage(hip), HasSubstr("libamdhip64-that-is-not-there.so cannot be loaded: "));
}

TEST(GpuDriverTest, ALibraryWithoutItsFunctionsIsNamedWithThem) {
  const Status status = LoadHipDriver(MYCEL_FAKE_CUDA).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(StatusMessage(status), HasSubstr(" lacks hipInit, hipGetDeviceCount, "));
  EXPECT_THAT(StatusMessage(status), HasSubstr("install the driver of ROCm 5.2 or a newer one"));
}

TEST(GpuDriverTest, TellsDevices) {
  GpuDriver& driver = *FakeDriver();
  EXPECT_EQ(driver.name(), "cuda");
  ASSERT_EQ(driver.device_count(), 2);
  const GpuFacts facts = driver.Describe(1).value();
  EXPECT_EQ(facts.name, "Fake GPU 1");
  EXPECT_EQ(facts.architecture, "sm_90");
  EXPECT_EQ(facts.bus_id, "0000:02:00.0");
  EXPECT_EQ(facts.multiprocessors, 8);
  EXPECT_THAT(StatusMessage(driver.Describe(2).status()), HasSubstr("there is no device cuda:2, this machine has 2"));
}

TEST(GpuDriverTest, ErrorsNameFunctionAndCause) {
  GpuDriver& driver = *FakeDriver();
  const GpuScope scope(&driver, 0);
  ASSERT_TRUE(scope.status().ok());
  const Status much = driver.Allocate(size_t{1} << 50).status();
  EXPECT_EQ(much.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(StatusMessage(much), HasSubstr("cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY, "));
  EXPECT_THAT(StatusMessage(much), HasSubstr("(1125899906842624 bytes wanted)"));
  const Status image = driver.Load("none").status();
  EXPECT_EQ(image.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(StatusMessage(image), HasSubstr("CUDA_ERROR_NO_BINARY_FOR_GPU"));
  const GpuModule module = driver.Load("code").value();
  EXPECT_THAT(StatusMessage(driver.Find(module, "no_such_kernel").status()),
              HasSubstr("cuModuleGetFunction failed: CUDA_ERROR_NOT_FOUND"));
}

TEST(GpuDriverTest, AScopeLeavesTheThreadAsItWas) {
  GpuDriver& driver = *FakeDriver();
  EXPECT_EQ(driver.CurrentDevice(), std::nullopt);
  {
    const GpuScope outer(&driver, 1);
    EXPECT_EQ(driver.CurrentDevice(), 1);
    {
      const GpuScope inner(&driver, 0);
      EXPECT_EQ(driver.CurrentDevice(), 0);
    }
    EXPECT_EQ(driver.CurrentDevice(), 1);
  }
  EXPECT_EQ(driver.CurrentDevice(), std::nullopt);
  EXPECT_FALSE(GpuScope(&driver, 7).status().ok());
  EXPECT_EQ(driver.CurrentDevice(), std::nullopt);
}

TEST(GpuDriverTest, KnowsWhatAnAddressIs) {
  GpuDriver& driver = *FakeDriver();
  const GpuScope scope(&driver, 1);
  auto* device = static_cast<std::byte*>(driver.Allocate(1000).value());
  void* pinned = driver.AllocatePinned(1000).value();
  int mine = 0;
  EXPECT_EQ(driver.Locate(device + 999).value().memory, GpuMemory::kDevice);
  EXPECT_EQ(driver.Locate(device + 999).value().device, 1);
  EXPECT_EQ(driver.Locate(device + 1000).value().memory, GpuMemory::kHost);
  EXPECT_EQ(driver.Locate(pinned).value().memory, GpuMemory::kPinned);
  EXPECT_EQ(driver.Locate(&mine).value().memory, GpuMemory::kHost);
  driver.Free(device);
  driver.FreePinned(pinned);
  EXPECT_EQ(driver.Locate(device).value().memory, GpuMemory::kHost);
}

TEST(GpuDriverTest, StreamsRunInOrderAndEventsJoinThem) {
  GpuDriver& driver = *FakeDriver();
  const GpuScope scope(&driver, 0);
  const GpuStream first = driver.MakeStream().value();
  const GpuStream second = driver.MakeStream().value();
  EXPECT_EQ(driver.DeviceOf(first).value(), 0);
  const GpuEvent event = driver.MakeEvent().value();
  EXPECT_TRUE(driver.Happened(event).value());
  auto* word = static_cast<uint32_t*>(driver.AllocatePinned(4).value());
  const GpuFunction count = driver.Find(driver.Load("code").value(), "fake_count").value();
  fake::Mark gate;
  ASSERT_TRUE(driver
                  .CallHost(
                      first, [](void* mark) { static_cast<fake::Mark*>(mark)->Wait(); }, &gate)
                  .ok());
  void* arguments[] = {&word};
  ASSERT_TRUE(driver.Launch(count, 3, 32, arguments, first).ok());
  ASSERT_TRUE(driver.Record(event, first).ok());
  ASSERT_TRUE(driver.WaitFor(second, event).ok());
  ASSERT_TRUE(driver.Launch(count, 4, 32, arguments, second).ok());
  EXPECT_FALSE(driver.Happened(event).value());
  gate.Set();
  ASSERT_TRUE(driver.Synchronize(second).ok());
  EXPECT_TRUE(driver.Happened(event).value());
  EXPECT_EQ(*word, 7U);
  driver.FreePinned(word);
  driver.EndEvent(event);
  driver.EndStream(first);
  driver.EndStream(second);
}

TEST(GpuDriverTest, GraphsReplayWhatStreamsWereGiven) {
  GpuDriver& driver = *FakeDriver();
  const GpuScope scope(&driver, 0);
  const GpuStream first = driver.MakeStream().value();
  const GpuStream second = driver.MakeStream().value();
  const GpuEvent fork = driver.MakeEvent().value();
  const GpuEvent join = driver.MakeEvent().value();
  auto* word = static_cast<uint32_t*>(driver.AllocatePinned(4).value());
  const GpuFunction count = driver.Find(driver.Load("code").value(), "fake_count").value();
  void* arguments[] = {&word};
  FakeBeginCapture(first);
  EXPECT_TRUE(driver.IsCapturing(first).value());
  EXPECT_FALSE(driver.IsCapturing(second).value());
  ASSERT_TRUE(driver.Record(fork, first).ok());
  ASSERT_TRUE(driver.WaitFor(second, fork).ok());
  EXPECT_TRUE(driver.IsCapturing(second).value());
  ASSERT_TRUE(driver.Launch(count, 2, 32, arguments, second).ok());
  ASSERT_TRUE(driver.Record(join, second).ok());
  ASSERT_TRUE(driver.WaitFor(first, join).ok());
  ASSERT_TRUE(driver.Launch(count, 1, 32, arguments, first).ok());
  void* graph = FakeEndCapture(first);
  ASSERT_NE(graph, nullptr);
  EXPECT_FALSE(driver.IsCapturing(second).value());
  ASSERT_TRUE(driver.Synchronize(first).ok());
  EXPECT_EQ(*word, 0U);
  for (int i = 0; i < 2; ++i) FakeLaunchGraph(graph, first);
  ASSERT_TRUE(driver.Synchronize(first).ok());
  EXPECT_EQ(*word, 6U);
  FakeEndGraph(graph);
  driver.FreePinned(word);
  for (const GpuEvent event : {fork, join}) driver.EndEvent(event);
  for (const GpuStream stream : {first, second}) driver.EndStream(stream);
}

TEST(GpuDriverTest, OtherProcessesOpenTheMemory) {
  GpuDriver& driver = *FakeDriver();
  const GpuScope scope(&driver, 0);
  auto* memory = static_cast<std::byte*>(driver.Allocate(8192).value());
  std::memset(memory, 1, 8192);
  const GpuMemoryHandle handle = driver.Export(memory).value();
  EXPECT_FALSE(driver.Open(handle).ok()) << "no process opens its own";
  EXPECT_FALSE(driver.Export(memory + 1).ok());
  const pid_t child = fork();
  if (child == 0) {
    const StatusOr<void*> opened = driver.Open(handle);
    if (!opened.ok() || static_cast<unsigned char*>(*opened)[8191] != 1) _exit(1);
    static_cast<unsigned char*>(*opened)[5] = 77;
    driver.Close(*opened);
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(memory[5], std::byte{77});
  driver.Free(memory);
  EXPECT_EQ(FakeRangesOf(FakeRanges::kDevice), 0);
}

}  // namespace
}  // namespace mycel
