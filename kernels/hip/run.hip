// Every HIP kernel. Compiled once for each type (MYCEL_ELEMENT_TYPE, MYCEL_ENTRY), once for what has no arithmetic
// (MYCEL_BYTES) and once for scaling (MYCEL_SCALE): images of their own, so that a process loads what it runs.
#include "kernels/device/hip.h"
#include "kernels/device/scale.h"
#include "kernels/step/run_block.h"

#if defined(MYCEL_SCALE)
extern "C" __global__ void __launch_bounds__(mycel::kDeviceBlockThreads) mycel_scale(const mycel::DeviceScale scale) {
  mycel::ScaleBlock<mycel::HipDevicePolicy>(scale, blockIdx.x, gridDim.x);
}
#elif defined(MYCEL_BYTES)
extern "C" __global__ void __launch_bounds__(mycel::kDeviceBlockThreads)
    mycel_run_bytes(const mycel::DeviceLaunch launch) {
  mycel::step::RunBlock<mycel::HipDevicePolicy, mycel::DataType::kUint8, false>(
      launch, static_cast<int32_t>(blockIdx.x), static_cast<int32_t>(gridDim.x));
}
#else
extern "C" __global__ void __launch_bounds__(mycel::kDeviceBlockThreads) MYCEL_ENTRY(const mycel::DeviceLaunch launch) {
  mycel::step::RunBlock<mycel::HipDevicePolicy, mycel::DataType::MYCEL_ELEMENT_TYPE, true>(
      launch, static_cast<int32_t>(blockIdx.x), static_cast<int32_t>(gridDim.x));
}
#endif
