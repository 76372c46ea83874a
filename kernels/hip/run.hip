// The kernels that run programs, one source for all: compiled once for each MYCEL_ELEMENT_TYPE, and once with MYCEL_BYTES,
// which has no arithmetic.
#include "kernels/device/hip.h"
#include "kernels/step/run_block.h"

#if defined(MYCEL_BYTES)
extern "C" __global__ void __launch_bounds__(mycel::kDeviceBlockThreads)
    mycel_run_bytes(const mycel::DeviceLaunch launch) {
  mycel::step::RunBlock<mycel::HipDevicePolicy, mycel::DataType::kUint8, false>(
      launch, static_cast<int32_t>(blockIdx.x), static_cast<int32_t>(gridDim.x));
}
#else
extern "C" __global__ void __launch_bounds__(mycel::kDeviceBlockThreads)
    MYCEL_ENTRY(const mycel::DeviceLaunch launch) {
  mycel::step::RunBlock<mycel::HipDevicePolicy, mycel::DataType::MYCEL_ELEMENT_TYPE, true>(
      launch, static_cast<int32_t>(blockIdx.x), static_cast<int32_t>(gridDim.x));
}
#endif
