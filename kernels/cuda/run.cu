// The kernels that run programs, one source for each: compiled once for MYCEL_ELEMENT_TYPE, once with MYCEL_BYTES, which
// has no arithmetic, and once for all types' scaling (scale.cu).
#include "kernels/device/cuda.h"
#include "kernels/step/run_block.h"

#if defined(MYCEL_BYTES)
extern "C" __global__ void __launch_bounds__(mycel::kDeviceBlockThreads, 1)
    mycel_run_bytes(const __grid_constant__ mycel::DeviceLaunch launch) {
  mycel::step::RunBlock<mycel::CudaDevicePolicy, mycel::DataType::kUint8, false>(
      launch, static_cast<int32_t>(blockIdx.x), static_cast<int32_t>(gridDim.x));
}
#else
extern "C" __global__ void __launch_bounds__(mycel::kDeviceBlockThreads, 1)
    MYCEL_ENTRY(const __grid_constant__ mycel::DeviceLaunch launch) {
  mycel::step::RunBlock<mycel::CudaDevicePolicy, mycel::DataType::MYCEL_ELEMENT_TYPE, true>(
      launch, static_cast<int32_t>(blockIdx.x), static_cast<int32_t>(gridDim.x));
}
#endif
