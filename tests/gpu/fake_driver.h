// The fake driver (fake_cuda.cc), loaded as a program's own would be.
#pragma once

#include "core/spi/gpu_driver.h"
#include "kernels/cuda/cuda_driver.h"

namespace mycel {

/// Of this process; null, and a failed test, where it does not load.
GpuDriver* FakeDriver();

/// What the fake library tells beyond the driver's interface.
int FakeLaunches();
int FakeStreams();
enum class FakeRanges { kDevice = 0, kPinned = 1, kRegistered = 2, kOpened = 3 };
int FakeRangesOf(FakeRanges kind);

/// Graphs, which Mycel itself does not make.
void FakeBeginCapture(GpuStream stream);
void* FakeEndCapture(GpuStream stream);  // null where nothing was captured
void FakeLaunchGraph(void* graph, GpuStream stream);
void FakeEndGraph(void* graph);

}  // namespace mycel
