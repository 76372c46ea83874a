// GpuDriver: what Mycel needs of a GPU vendor's driver, under names of its own. The libraries are loaded at run time
// (kernels/cuda/cuda_driver.cc, kernels/hip/hip_driver.cc), so that nothing here needs their headers, to build or to
// start. In core because transports (memory that peers map) and kernels (launches) use one and never see each other;
// bindings hand it to both.
//
// Every failure is a Status that names the driver's function, its own name of the error and its text. Functions may be
// called by any thread. Those that make or use something work on the device that the thread has pushed (GpuScope).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace mycel {

/// The vendors' own handles: CUstream and cudaStream_t or hipStream_t, and so on. A null stream is the default stream.
using GpuStream = void*;
using GpuEvent = void*;
using GpuModule = void*;
using GpuFunction = void*;

struct GpuFacts {
  std::string name;          // "NVIDIA H100 80GB HBM3"
  std::string architecture;  // "sm_90", "gfx90a"
  std::string bus_id;        // "0000:1b:00.0", lower case
  int32_t multiprocessors = 0;
  bool maps_host_pointers = false;  // pinned host memory has one address for host and device
};

enum class GpuMemory : uint8_t {
  kHost,     // not known to the driver: pageable memory of the host
  kPinned,   // of the host, mapped for the device
  kDevice,   // of one device
  kManaged,  // moves between host and devices
};

/// What the driver knows about an address.
struct GpuPointer {
  GpuMemory memory = GpuMemory::kHost;
  int32_t device = -1;  // kDevice: whose
};

/// Names memory of one process to others of the same machine.
struct GpuMemoryHandle {
  unsigned char bytes[64] = {};
};
static_assert(sizeof(GpuMemoryHandle) == 64);

class GpuDriver {
 public:
  virtual ~GpuDriver() = default;

  // ---- Devices
  virtual std::string_view name() const = 0;  // "cuda", "hip"
  virtual int32_t device_count() const = 0;
  virtual StatusOr<GpuFacts> Describe(int32_t device) = 0;
  /// The device whose context is current in this thread; none where the thread has not used the driver. Never makes
  /// one.
  virtual std::optional<int32_t> CurrentDevice() = 0;
  /// Makes the primary context of `device` this thread's current one until the Pop that belongs to it. See GpuScope.
  virtual Status Push(int32_t device) = 0;
  virtual void Pop() = 0;

  // ---- Memory
  /// Device memory, aligned to 256 bytes or more, not cleared. SystemError: how much was wanted.
  virtual StatusOr<void*> Allocate(size_t bytes) = 0;
  virtual void Free(void* memory) = 0;
  /// Memory of the host that host and device reach at one address, zeroed.
  virtual StatusOr<void*> AllocatePinned(size_t bytes) = 0;
  virtual void FreePinned(void* memory) = 0;
  /// Pins memory of the host (whole pages) and maps it for the device. Returns the device's address of it.
  virtual StatusOr<void*> RegisterHost(void* memory, size_t bytes) = 0;
  virtual void UnregisterHost(void* memory) = 0;
  virtual StatusOr<GpuPointer> Locate(const void* address) = 0;
  /// Both in the order of `stream`; host memory that is not pinned makes Copy wait.
  virtual Status Fill(void* target, unsigned char value, size_t bytes, GpuStream stream) = 0;
  virtual Status Copy(void* target, const void* source, size_t bytes, GpuStream stream) = 0;

  // ---- Memory of others
  /// Of what Allocate gave. Valid in other processes while this one holds the memory.
  virtual StatusOr<GpuMemoryHandle> Export(void* memory) = 0;
  /// Maps memory of another process for the pushed device, which may be another than the memory's.
  virtual StatusOr<void*> Open(const GpuMemoryHandle& handle) = 0;
  virtual void Close(void* memory) = 0;
  virtual StatusOr<bool> CanReach(int32_t device, int32_t peer) = 0;
  /// Lets kernels of the pushed device use memory of `peer`, in this process. Again is fine.
  virtual Status ReachPeer(int32_t peer) = 0;

  // ---- Code
  /// `image`: a fat binary with code for several architectures. Impossible when it has none for the pushed device.
  virtual StatusOr<GpuModule> Load(const void* image) = 0;
  virtual void Unload(GpuModule module) = 0;
  virtual StatusOr<GpuFunction> Find(GpuModule module, const char* name) = 0;
  /// Blocks of so many threads that one multiprocessor holds at a time.
  virtual StatusOr<int32_t> BlocksPerMultiprocessor(GpuFunction function, int32_t threads) = 0;
  virtual Status Launch(GpuFunction function, int32_t blocks, int32_t threads, void** arguments, GpuStream stream) = 0;

  // ---- Streams and events
  /// One that does not wait for the default stream.
  virtual StatusOr<GpuStream> MakeStream() = 0;
  virtual void EndStream(GpuStream stream) = 0;
  virtual Status Synchronize(GpuStream stream) = 0;
  /// Whose it is; the pushed device for the default stream. A pointer that is no stream is undefined, as it is
  /// everywhere in the vendors' interfaces.
  virtual StatusOr<int32_t> DeviceOf(GpuStream stream) = 0;
  /// Whether what is put into `stream` is recorded into a graph instead of run. An error when the recording has failed.
  virtual StatusOr<bool> IsCapturing(GpuStream stream) = 0;
  virtual Status CallHost(GpuStream stream, void (*function)(void*), void* argument) = 0;
  virtual StatusOr<GpuEvent> MakeEvent() = 0;
  virtual void EndEvent(GpuEvent event) = 0;
  virtual Status Record(GpuEvent event, GpuStream stream) = 0;
  virtual Status WaitFor(GpuStream stream, GpuEvent event) = 0;
  /// Whether what was recorded has happened; true where nothing was.
  virtual StatusOr<bool> Happened(GpuEvent event) = 0;

  /// Lets this thread allocate and load while any thread captures a graph, which the drivers refuse otherwise; returns
  /// what RestoreCapture takes.
  virtual int32_t RelaxCapture() = 0;
  virtual void RestoreCapture(int32_t mode) = 0;
};

/// Makes a device current in this thread while it lives. Check status().
class GpuScope {
 public:
  GpuScope(GpuDriver* driver, int32_t device) : driver_(*driver), status_(driver->Push(device)) {
    if (status_.ok()) mode_ = driver_.RelaxCapture();
  }
  ~GpuScope() {
    if (!status_.ok()) return;
    driver_.RestoreCapture(mode_);
    driver_.Pop();
  }
  GpuScope(const GpuScope&) = delete;
  GpuScope& operator=(const GpuScope&) = delete;
  const Status& status() const { return status_; }

 private:
  GpuDriver& driver_;
  const Status status_;
  int32_t mode_ = 0;
};

}  // namespace mycel
