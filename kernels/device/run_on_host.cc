#include "kernels/device/run_on_host.h"

#include <thread>

#include "kernels/device/block_loops.h"
#include "kernels/device/host.h"
#include "kernels/device/scale.h"
#include "kernels/step/run_block.h"

namespace mycel {
namespace {

/// HostDevicePolicy with the GPUs' loops in place of Highway's, and other blocks to give the core to.
struct HostBlockPolicy : HostDevicePolicy {
  /// For ApplyAsBlock: the thread of the block that is being emulated. Elsewhere a block has one.
  struct Emulated {
    int thread = 0;
    int threads = 1;
  };
  static Emulated& Current() {
    static thread_local Emulated emulated;
    return emulated;
  }

  static int Thread() { return Current().thread; }
  static int Threads() { return Current().threads; }
  static void Relax() { std::this_thread::yield(); }
  template <typename L>
  static void Apply(const L& launch, bool finish, const void* const* inputs, int input_count, void* const* outputs,
                    int output_count, size_t count, uint32_t /*stream_outputs*/) {
    const BlockOperands block = {inputs, outputs, input_count, output_count, launch.launch().rank_count};
    ApplyType(launch.launch().type, launch.launch().op, finish, block, count);
  }
  static void Copy(const void* input, void* const* outputs, int output_count, size_t bytes,
                   uint32_t /*stream_outputs*/) {
    BlockCopy<HostBlockPolicy>({&input, outputs, 1, output_count, 1}, bytes);
  }
  static void ApplyType(DataType type, ReduceOp op, bool finish, const BlockOperands& block, size_t count) {
    switch (type) {
#define MYCEL_TYPE(e, value, name, bytes, storage, kind) \
  case DataType::e:                                      \
    return BlockApply<HostBlockPolicy, DataType::e>(op, finish, block, count);
#include "core/plan/types.def"
    }
  }
};

/// Calls `work` as each of `threads` threads in turn.
template <typename Work>
void AsBlock(int threads, const Work& work) {
  HostBlockPolicy::Emulated& emulated = HostBlockPolicy::Current();
  emulated.threads = threads;
  for (emulated.thread = 0; emulated.thread < threads; ++emulated.thread) work();
  emulated = {};
}

}  // namespace

void RunDeviceBlockOnHost(const DeviceLaunch& launch, int32_t block, int32_t blocks) {
  if (launch.combines == 0) return step::RunBlock<HostBlockPolicy, DataType::kUint8, false>(launch, block, blocks);
  // One copy of the loop for all types: its arithmetic is chosen at run time.
  return step::RunBlock<HostBlockPolicy, DataType::kUint8, true, true>(launch, block, blocks);
}

void RunDeviceScaleOnHost(const DeviceScale& scale) { ScaleBlock<HostBlockPolicy>(scale, 0, 1); }

void ApplyAsBlock(DataType type, ReduceOp op, bool finish, int32_t rank_count, const void* const* inputs,
                  int input_count, void* const* outputs, int output_count, size_t count, int threads) {
  const BlockOperands block = {inputs, outputs, input_count, output_count, rank_count};
  AsBlock(threads, [&] { HostBlockPolicy::ApplyType(type, op, finish, block, count); });
}

void CopyAsBlock(const void* input, void* const* outputs, int output_count, size_t bytes, int threads) {
  AsBlock(threads, [&] { HostBlockPolicy::Copy(input, outputs, output_count, bytes, 0); });
}

}  // namespace mycel
