// How fast the host copies and reduces: GB/s of payload (bytes of one output per second, as busbw counts them), next to
// memcpy. Sizes go from one cache line's worth to far beyond the last-level cache.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/plan/types.h"
#include "kernels/host/apply.h"

namespace mycel {
namespace {

constexpr size_t kSizes[] = {8, 1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20};

/// An ordinary number in every type: products of it are neither subnormal, which is slow, nor infinite.
constexpr uint8_t kByte = 0x3C;

/// `count` buffers of `bytes` bytes, each beginning in its own page and touched.
class Buffers {
 public:
  Buffers(int count, size_t bytes) : storage_(static_cast<size_t>(count) * Stride(bytes) + kPage, kByte) {
    const size_t offset = kPage - reinterpret_cast<uintptr_t>(storage_.data()) % kPage;
    for (int i = 0; i < count; ++i)
      pointers_.push_back(storage_.data() + offset + static_cast<size_t>(i) * Stride(bytes));
  }
  void* operator[](size_t i) const { return pointers_[i]; }
  void* const* data() const { return pointers_.data(); }

 private:
  static constexpr size_t kPage = 4096;
  /// A page and a bit more, so that buffers do not meet in the same cache sets.
  static size_t Stride(size_t bytes) { return (bytes / kPage + 1) * kPage + 256; }
  std::vector<uint8_t> storage_;
  std::vector<void*> pointers_;
};

void ReportPayload(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(bytes));
}

void MemCpy(benchmark::State& state, size_t bytes) {
  const Buffers buffers(2, bytes);
  for (auto _ : state) {
    std::memcpy(buffers[1], buffers[0], bytes);
    benchmark::ClobberMemory();
  }
  ReportPayload(state, bytes);
}

void Copy(benchmark::State& state, size_t bytes, int output_count, bool stream) {
  const Buffers buffers(1 + output_count, bytes);
  for (auto _ : state) {
    CopyBytes(buffers[0], buffers.data() + 1, output_count, bytes, stream ? ~uint32_t{0} : 0);
    benchmark::ClobberMemory();
  }
  ReportPayload(state, bytes);
}

struct ReduceCase {
  DataType type;
  ReduceOp op;
  int inputs;
  int outputs;
  bool stream;
};

void Reduce(benchmark::State& state, size_t bytes, ReduceCase c) {
  const Buffers buffers(c.inputs + c.outputs, bytes);
  const ApplyFunction apply = ApplyFor(c.type, c.op);
  ApplyOptions options;
  options.finish = true;
  options.rank_count = c.inputs;
  options.stream_outputs = c.stream ? ~uint32_t{0} : 0;
  for (auto _ : state) {
    apply(buffers.data(), c.inputs, buffers.data() + c.inputs, c.outputs, bytes / SizeOf(c.type), options);
    benchmark::ClobberMemory();
  }
  ReportPayload(state, bytes);
}

void RegisterReduce(size_t bytes, ReduceCase c) {
  const std::string name = "reduce/" + std::string(NameOf(c.type)) + "/" + std::string(NameOf(c.op)) + "/" +
                           std::to_string(c.inputs) + "to" + std::to_string(c.outputs) + (c.stream ? "/stream" : "") +
                           "/" + std::to_string(bytes);
  benchmark::RegisterBenchmark(name.c_str(), Reduce, bytes, c);
}

void RegisterAll() {
  for (size_t bytes : kSizes) {
    const std::string size = "/" + std::to_string(bytes);
    benchmark::RegisterBenchmark(("memcpy" + size).c_str(), MemCpy, bytes);
    for (int outputs : {1, 2}) {
      for (bool stream : {false, true}) {
        const std::string name = "copy/1to" + std::to_string(outputs) + (stream ? "/stream" : "");
        benchmark::RegisterBenchmark((name + size).c_str(), Copy, bytes, outputs, stream);
      }
    }
    for (DataType type : AllDataTypes()) {
      for (ReduceOp op : ReduceOpsFor(type)) RegisterReduce(bytes, {type, op, 2, 1, false});
    }
    RegisterReduce(bytes, {DataType::kFloat32, ReduceOp::kSum, 2, 1, true});
    RegisterReduce(bytes, {DataType::kFloat32, ReduceOp::kSum, 2, 2, false});
    for (int inputs : {4, 8, 64}) {
      if (bytes > (4 << 20) && inputs > 8) continue;  // would need gigabytes
      RegisterReduce(bytes, {DataType::kFloat32, ReduceOp::kSum, inputs, 1, false});
      RegisterReduce(bytes, {DataType::kBfloat16, ReduceOp::kSum, inputs, 1, false});
    }
  }
}

}  // namespace
}  // namespace mycel

int main(int argc, char** argv) {
  mycel::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
