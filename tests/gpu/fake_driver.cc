#include "tests/gpu/fake_driver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace mycel {
namespace {

template <typename Function>
Function* Find(const char* name) {
  static void* library = dlopen(MYCEL_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

GpuDriver* FakeDriver() {
  static auto* loaded = new StatusOr<std::unique_ptr<GpuDriver>>(LoadCudaDriver(MYCEL_FAKE_CUDA));
  EXPECT_TRUE(loaded->ok()) << loaded->status();
  return loaded->ok() ? (*loaded)->get() : nullptr;
}

int FakeLaunches() { return Find<int()>("fake_gpu_launches")(); }
int FakeStreams() { return Find<int()>("fake_gpu_streams")(); }
int FakeRangesOf(FakeRanges kind) { return Find<int(int)>("fake_gpu_ranges")(static_cast<int>(kind)); }

void FakeBeginCapture(GpuStream stream) { Find<int(void*, int)>("cuStreamBeginCapture_v2")(stream, 0); }
void* FakeEndCapture(GpuStream stream) {
  void* graph = nullptr;
  return Find<int(void*, void**)>("cuStreamEndCapture")(stream, &graph) == 0 ? graph : nullptr;
}
void FakeLaunchGraph(void* graph, GpuStream stream) { Find<int(void*, void*)>("cuGraphLaunch")(graph, stream); }
void FakeEndGraph(void* graph) { Find<int(void*)>("cuGraphDestroy")(graph); }

}  // namespace mycel
