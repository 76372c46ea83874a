// A library with the names of CUDA's driver, whose devices are threads and memory of the host: what runs above the
// driver runs in CI, the loading of the real one included. FAKE_GPUS says how many devices there are (2).
//
// Errors are those that the real driver would give, where a test looks for them; everything else is refused as an
// invalid value.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/fake_kernels.h"
#include "tests/gpu/fake_memory.h"
#include "tests/gpu/fake_stream.h"

namespace {

using namespace mycel::fake;

constexpr int kOk = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kNoImage = 209;
constexpr int kNotFound = 500;
constexpr int kNotReady = 600;
constexpr int kPeerAlready = 704;
constexpr int kInvalidContext = 201;

struct Context {
  int device = 0;
  std::unique_ptr<FakeStream> default_stream;
};

struct Device {
  std::vector<Context> contexts;  // one each
  FakeMemory memory;
  std::atomic<int> streams{0};
  std::atomic<int> launches{0};
};

/// Never freed: streams of the program may still be ended after main.
Device& All() {
  static auto* all = [] {
    auto* made = new Device();
    const char* wanted = std::getenv("FAKE_GPUS");
    made->contexts.resize(wanted == nullptr ? 2 : static_cast<size_t>(std::atoi(wanted)));
    for (size_t i = 0; i < made->contexts.size(); ++i) {
      made->contexts[i].device = static_cast<int>(i);
      made->contexts[i].default_stream = std::make_unique<FakeStream>(static_cast<int>(i));
    }
    return made;
  }();
  return *all;
}

std::vector<Context*>& Stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

Context* Current() { return Stack().empty() ? nullptr : Stack().back(); }

FakeStream* StreamOf(void* stream) {
  if (stream != nullptr) return static_cast<FakeStream*>(stream);
  return Current() == nullptr ? nullptr : Current()->default_stream.get();
}

struct Function {
  FakeKernelFacts facts;
};

void RunKernel(const FakeKernelFacts& facts, const std::vector<std::byte>& arguments, unsigned blocks) {
  std::vector<std::thread> threads;
  for (unsigned block = 1; block < blocks; ++block) {
    threads.emplace_back([&, block] { facts.run(arguments.data(), block, blocks); });
  }
  facts.run(arguments.data(), 0, blocks);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int cuInit(unsigned /*flags*/) { return All().contexts.empty() ? 100 : kOk; }
int cuGetErrorName(int error, const char** name) {
  switch (error) {
    case kInvalidValue:
      *name = "CUDA_ERROR_INVALID_VALUE";
      return kOk;
    case kOutOfMemory:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      return kOk;
    case 100:
      *name = "CUDA_ERROR_NO_DEVICE";
      return kOk;
    case kInvalidContext:
      *name = "CUDA_ERROR_INVALID_CONTEXT";
      return kOk;
    case kNoImage:
      *name = "CUDA_ERROR_NO_BINARY_FOR_GPU";
      return kOk;
    case kNotFound:
      *name = "CUDA_ERROR_NOT_FOUND";
      return kOk;
    default:
      *name = "CUDA_ERROR_UNKNOWN";
      return kOk;
  }
}
int cuGetErrorString(int error, const char** text) {
  *text = error == 100 ? "no CUDA-capable device is detected" : "the fake driver refuses it";
  return kOk;
}

int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(All().contexts.size());
  return kOk;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return kOk;
}
int cuDeviceGetName(char* name, int length, int device) {
  std::snprintf(name, static_cast<size_t>(length), "Fake GPU %d", device);
  return kOk;
}
int cuDeviceGetPCIBusId(char* id, int length, int device) {
  std::snprintf(id, static_cast<size_t>(length), "0000:%02X:00.0", device + 1);
  return kOk;
}
int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  *value = attribute == 16 ? 8 : attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 91 ? 1 : -1;
  return *value < 0 ? kInvalidValue : kOk;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &All().contexts[static_cast<size_t>(device)];
  return kOk;
}
int cuCtxPushCurrent_v2(void* context) {
  Stack().push_back(static_cast<Context*>(context));
  return kOk;
}
int cuCtxPopCurrent_v2(void** context) {
  if (Stack().empty()) return kInvalidContext;
  *context = Stack().back();
  Stack().pop_back();
  return kOk;
}
int cuCtxGetCurrent(void** context) {
  *context = Current();
  return kOk;
}
int cuCtxGetDevice(int* device) {
  if (Current() == nullptr) return kInvalidContext;
  *device = Current()->device;
  return kOk;
}
int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = std::getenv("FAKE_GPUS_APART") == nullptr && device != peer ? 1 : 0;
  return kOk;
}
int cuCtxEnablePeerAccess(void* peer, unsigned /*flags*/) {
  if (Current() == nullptr || Current() == peer) return kInvalidContext;
  thread_local bool before = false;
  return std::exchange(before, true) ? kPeerAlready : kOk;
}

int cuMemAlloc_v2(void** memory, size_t bytes) {
  if (Current() == nullptr) return kInvalidContext;
  if (bytes == 0) return kInvalidValue;
  if (bytes > size_t{1} << 40) return kOutOfMemory;
  *memory = All().memory.Allocate(Current()->device, bytes);
  return *memory == nullptr ? kOutOfMemory : kOk;
}
int cuMemFree_v2(void* memory) { return All().memory.Free(memory, FakeKind::kDevice) ? kOk : kInvalidValue; }
int cuMemHostAlloc(void** memory, size_t bytes, unsigned /*flags*/) {
  if (Current() == nullptr) return kInvalidContext;
  *memory = All().memory.AllocatePinned(Current()->device, bytes);
  return *memory == nullptr ? kOutOfMemory : kOk;
}
int cuMemFreeHost(void* memory) { return All().memory.Free(memory, FakeKind::kPinned) ? kOk : kInvalidValue; }
int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned /*flags*/) {
  if (Current() == nullptr) return kInvalidContext;
  if (reinterpret_cast<uintptr_t>(memory) % 4096 != 0) return kInvalidValue;
  return All().memory.Register(memory, bytes, Current()->device) ? kOk : 712;
}
int cuMemHostUnregister(void* memory) { return All().memory.Free(memory, FakeKind::kRegistered) ? kOk : kInvalidValue; }
int cuMemHostGetDevicePointer_v2(void** address, void* memory, unsigned /*flags*/) {
  *address = memory;
  return kOk;
}
int cuPointerGetAttribute(void* value, int attribute, const void* address) {
  const auto range = All().memory.Find(address);
  if (!range) return kInvalidValue;
  const bool host = range->kind == FakeKind::kPinned || range->kind == FakeKind::kRegistered;
  switch (attribute) {
    case 2:
      *static_cast<unsigned*>(value) = host ? 1 : 2;
      return kOk;
    case 8:
      *static_cast<unsigned*>(value) = 0;
      return kOk;
    case 9:
      *static_cast<int*>(value) = range->device;
      return kOk;
    default:
      return kInvalidValue;
  }
}
int cuMemsetD8Async(void* target, unsigned char value, size_t bytes, void* stream) {
  FakeStream* queue = StreamOf(stream);
  if (queue == nullptr) return kInvalidContext;
  queue->Add([=] { std::memset(target, value, bytes); });
  return kOk;
}
int cuMemcpyAsync(void* target, const void* source, size_t bytes, void* stream) {
  FakeStream* queue = StreamOf(stream);
  if (queue == nullptr) return kInvalidContext;
  queue->Add([=] { std::memcpy(target, source, bytes); });
  // Pageable memory makes the real one wait, or copy before it returns.
  const bool known = All().memory.Find(target) && All().memory.Find(source);
  if (!known && !queue->capturing()) queue->Synchronize();
  return kOk;
}

int cuIpcGetMemHandle(void* handle, void* memory) {
  FakeHandle made{};
  if (!All().memory.Export(memory, &made)) return kInvalidValue;
  std::memcpy(handle, &made, sizeof(made));
  return kOk;
}
struct Bytes64 {
  unsigned char bytes[64];
};
int cuIpcOpenMemHandle_v2(void** memory, Bytes64 handle, unsigned /*flags*/) {
  if (std::getenv("FAKE_GPUS_APART") != nullptr) return 217;
  FakeHandle wanted{};
  std::memcpy(&wanted, handle.bytes, sizeof(wanted));
  *memory = All().memory.Open(wanted);
  return *memory == nullptr ? kInvalidContext : kOk;
}
int cuIpcCloseMemHandle(void* memory) { return All().memory.Free(memory, FakeKind::kOpened) ? kOk : kInvalidValue; }

int cuModuleLoadData(void** module, const void* image) {
  if (std::memcmp(image, "none", 4) == 0) return kNoImage;
  *module = const_cast<void*>(image);
  return kOk;
}
int cuModuleUnload(void* /*module*/) { return kOk; }
int cuModuleGetFunction(void** function, void* /*module*/, const char* name) {
  const FakeKernelFacts facts = FindFakeKernel(name);
  if (facts.run == nullptr) return kNotFound;
  // They live as long as the process, as modules do.
  static std::mutex mutex;
  static auto* const found = new std::map<std::string, Function>();
  const std::lock_guard<std::mutex> lock(mutex);
  *function = &found->try_emplace(name, Function{facts}).first->second;
  return kOk;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* /*function*/, int threads, size_t /*shared*/) {
  *blocks = threads > 0 && threads <= 1024 ? 2048 / threads : 0;
  return kOk;
}
int cuLaunchKernel(void* function, unsigned blocks, unsigned /*y*/, unsigned /*z*/, unsigned /*threads*/,
                   unsigned /*ty*/, unsigned /*tz*/, unsigned /*shared*/, void* stream, void** arguments,
                   void** /*extra*/) {
  FakeStream* queue = StreamOf(stream);
  if (queue == nullptr) return kInvalidContext;
  if (blocks == 0) return kInvalidValue;
  const FakeKernelFacts facts = static_cast<Function*>(function)->facts;
  const auto* bytes = static_cast<const std::byte*>(arguments[0]);
  All().launches.fetch_add(1, std::memory_order_relaxed);
  queue->Add([facts, kept = std::vector<std::byte>(bytes, bytes + facts.argument_bytes), blocks] {
    RunKernel(facts, kept, blocks);
  });
  return kOk;
}

int cuStreamCreate(void** stream, unsigned /*flags*/) {
  if (Current() == nullptr) return kInvalidContext;
  *stream = new FakeStream(Current()->device);
  All().streams.fetch_add(1, std::memory_order_relaxed);
  return kOk;
}
int cuStreamDestroy_v2(void* stream) {
  delete static_cast<FakeStream*>(stream);
  All().streams.fetch_sub(1, std::memory_order_relaxed);
  return kOk;
}
int cuStreamSynchronize(void* stream) {
  FakeStream* queue = StreamOf(stream);
  if (queue == nullptr) return kInvalidContext;
  queue->Synchronize();
  return kOk;
}
int cuStreamGetCtx(void* stream, void** context) {
  const FakeStream* queue = StreamOf(stream);
  if (queue == nullptr) return kInvalidContext;
  *context = &All().contexts[static_cast<size_t>(queue->device())];
  return kOk;
}
int cuStreamIsCapturing(void* stream, int* status) {
  FakeStream* queue = StreamOf(stream);
  if (queue == nullptr) return kInvalidContext;
  *status = queue->capturing() ? 1 : 0;
  return kOk;
}
int cuLaunchHostFunc(void* stream, void (*function)(void*), void* argument) {
  FakeStream* queue = StreamOf(stream);
  if (queue == nullptr) return kInvalidContext;
  queue->Add([=] { function(argument); });
  return kOk;
}
int cuEventCreate(void** event, unsigned /*flags*/) {
  *event = new FakeEvent();
  return kOk;
}
int cuEventDestroy_v2(void* event) {
  delete static_cast<FakeEvent*>(event);
  return kOk;
}
int cuEventRecord(void* event, void* stream) {
  FakeStream* queue = StreamOf(stream);
  if (queue == nullptr) return kInvalidContext;
  queue->Record(static_cast<FakeEvent*>(event));
  return kOk;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned /*flags*/) {
  FakeStream* queue = StreamOf(stream);
  if (queue == nullptr) return kInvalidContext;
  queue->WaitFor(*static_cast<FakeEvent*>(event));
  return kOk;
}
int cuEventQuery(void* event) {
  const auto* known = static_cast<FakeEvent*>(event);
  return known->mark == nullptr || known->mark->IsSet() ? kOk : kNotReady;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  thread_local int current = 0;
  *mode = std::exchange(current, *mode);
  return kOk;
}

// What tests call through the loader, beside our own driver: graphs, and what is left.
int cuStreamBeginCapture_v2(void* stream, int /*mode*/) {
  static_cast<FakeStream*>(stream)->BeginCapture();
  return kOk;
}
int cuStreamEndCapture(void* stream, void** graph) {
  auto captured = static_cast<FakeStream*>(stream)->EndCapture();
  if (captured == nullptr) return 901;
  *graph = new std::shared_ptr<FakeGraph>(std::move(captured));
  return kOk;
}
int cuGraphLaunch(void* graph, void* stream) {
  const std::shared_ptr<FakeGraph> kept = *static_cast<std::shared_ptr<FakeGraph>*>(graph);
  static_cast<FakeStream*>(stream)->Add([kept] { kept->Run(); });
  return kOk;
}
int cuGraphDestroy(void* graph) {
  delete static_cast<std::shared_ptr<FakeGraph>*>(graph);
  return kOk;
}
int fake_gpu_launches() { return All().launches.load(std::memory_order_relaxed); }
int fake_gpu_streams() { return All().streams.load(std::memory_order_relaxed); }
int fake_gpu_ranges(int kind) { return static_cast<int>(All().memory.CountOf(static_cast<FakeKind>(kind))); }

}  // extern "C"
#pragma GCC visibility pop
