// LoadedDriver: GpuDriver over the functions of a loaded library. What differs between vendors (names, numbers, a few
// arguments) is `Api`, which kernels/cuda/cuda_driver.cc and kernels/hip/hip_driver.cc define; the rest is the same.
//
// An Api's functions return 0 or the driver's error. On the machines that Mycel runs on, the vendors' handles and
// device addresses are pointers to the calling convention, so `void*` stands for all of them.
#pragma once

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/spi/gpu_driver.h"
#include "kernels/gpu/driver_library.h"

namespace mycel {

template <typename Api>
class LoadedDriver final : public GpuDriver {
 public:
  /// Loads the library and starts the driver. Impossible: there is no library, it lacks a function, or no device.
  static StatusOr<std::unique_ptr<GpuDriver>> Make(const std::string& library) {
    MYCEL_ASSIGN_OR_RETURN(DriverLibrary loaded, DriverLibrary::Load(library));
    auto driver = std::make_unique<LoadedDriver>();
    driver->api_.FindAll(&loaded);
    MYCEL_RETURN_IF_ERROR(loaded.Complete(Api::kOldest));
    int count = 0;
    Status started = driver->Judge(driver->api_.init(0), Api::kInit);
    if (started.ok()) started = driver->Judge(driver->api_.device_count(&count), Api::kDeviceCount);
    if (started.ok() && count == 0) started = Impossible("there is no device");
    if (!started.ok()) return Impossible(library + " finds no device: " + StatusMessage(started));
    driver->contexts_.resize(static_cast<size_t>(count));
    for (int device = 0; device < count; ++device) {
      MYCEL_RETURN_IF_ERROR(
          driver->Judge(driver->api_.handle_of(&driver->contexts_[Index(device)].handle, device), Api::kDevice));
    }
    return std::unique_ptr<GpuDriver>(std::move(driver));
  }

  std::string_view name() const override { return Api::kName; }
  int32_t device_count() const override { return static_cast<int32_t>(contexts_.size()); }

  StatusOr<GpuFacts> Describe(int32_t device) override {
    MYCEL_RETURN_IF_ERROR(CheckDevice(device));
    GpuFacts facts;
    char text[256] = "";
    const int handle = contexts_[Index(device)].handle;
    MYCEL_RETURN_IF_ERROR(Judge(api_.device_name(text, sizeof(text) - 1, handle), "the device's name"));
    facts.name = text;
    char bus[64] = "";
    MYCEL_RETURN_IF_ERROR(Judge(api_.bus_id(bus, sizeof(bus) - 1, handle), "the device's PCI bus id"));
    facts.bus_id = bus;
    std::transform(facts.bus_id.begin(), facts.bus_id.end(), facts.bus_id.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    int major = 0;
    int minor = 0;
    int host_pointers = 0;
    MYCEL_RETURN_IF_ERROR(Judge(api_.attribute(&major, Api::kMajor, handle), "an attribute of the device"));
    MYCEL_RETURN_IF_ERROR(Judge(api_.attribute(&minor, Api::kMinor, handle), "an attribute of the device"));
    MYCEL_RETURN_IF_ERROR(
        Judge(api_.attribute(&facts.multiprocessors, Api::kMultiprocessors, handle), "an attribute of the device"));
    MYCEL_RETURN_IF_ERROR(Judge(api_.attribute(&host_pointers, Api::kHostPointers, handle), "an attribute"));
    facts.maps_host_pointers = host_pointers != 0;
    facts.architecture = Api::Architecture(major, minor);
    return facts;
  }

  std::optional<int32_t> CurrentDevice() override { return api_.Current(); }
  Status Push(int32_t device) override {
    MYCEL_RETURN_IF_ERROR(CheckDevice(device));
    return Judge(api_.Push(&contexts_[Index(device)]), Api::kPush);
  }
  void Pop() override { api_.Pop(); }

  StatusOr<void*> Allocate(size_t bytes) override {
    void* memory = nullptr;
    MYCEL_RETURN_IF_ERROR(Judge(api_.allocate(&memory, bytes), Api::kAllocate, bytes));
    return memory;
  }
  void Free(void* memory) override { Quietly(api_.free(memory), "freeing device memory"); }
  StatusOr<void*> AllocatePinned(size_t bytes) override {
    void* memory = nullptr;
    MYCEL_RETURN_IF_ERROR(Judge(api_.allocate_pinned(&memory, bytes, Api::kPinnedFlags), Api::kAllocatePinned, bytes));
    std::fill_n(static_cast<unsigned char*>(memory), bytes, static_cast<unsigned char>(0));
    return memory;
  }
  void FreePinned(void* memory) override { Quietly(api_.free_pinned(memory), "freeing pinned memory"); }
  StatusOr<void*> RegisterHost(void* memory, size_t bytes) override {
    MYCEL_RETURN_IF_ERROR(Judge(api_.register_host(memory, bytes, Api::kRegisterFlags), Api::kRegister, bytes));
    void* address = nullptr;
    const Status found = Judge(api_.device_pointer(&address, memory, 0), "the device's address of registered memory");
    if (found.ok()) return address;
    UnregisterHost(memory);
    return found;
  }
  void UnregisterHost(void* memory) override { Quietly(api_.unregister_host(memory), "unpinning memory"); }
  StatusOr<GpuPointer> Locate(const void* address) override {
    GpuPointer pointer;
    MYCEL_RETURN_IF_ERROR(Judge(api_.Locate(address, &pointer), Api::kLocate));
    return pointer;
  }
  Status Fill(void* target, unsigned char value, size_t bytes, GpuStream stream) override {
    return bytes == 0 ? OkStatus() : Judge(api_.fill(target, value, bytes, stream), Api::kFill, bytes);
  }
  Status Copy(void* target, const void* source, size_t bytes, GpuStream stream) override {
    return bytes == 0 ? OkStatus() : Judge(api_.Copy(target, source, bytes, stream), Api::kCopy, bytes);
  }

  StatusOr<GpuMemoryHandle> Export(void* memory) override {
    GpuMemoryHandle handle;
    MYCEL_RETURN_IF_ERROR(Judge(api_.export_memory(&handle, memory), Api::kExport));
    return handle;
  }
  StatusOr<void*> Open(const GpuMemoryHandle& handle) override {
    void* memory = nullptr;
    MYCEL_RETURN_IF_ERROR(Judge(api_.Open(&memory, handle), Api::kOpen));
    return memory;
  }
  void Close(void* memory) override { Quietly(api_.close_memory(memory), "closing another process's memory"); }
  StatusOr<bool> CanReach(int32_t device, int32_t peer) override {
    MYCEL_RETURN_IF_ERROR(CheckDevice(device));
    MYCEL_RETURN_IF_ERROR(CheckDevice(peer));
    int can = 0;
    MYCEL_RETURN_IF_ERROR(
        Judge(api_.can_reach(&can, contexts_[Index(device)].handle, contexts_[Index(peer)].handle), Api::kCanReach));
    return can != 0;
  }
  Status ReachPeer(int32_t peer) override {
    MYCEL_RETURN_IF_ERROR(CheckDevice(peer));
    const int result = api_.ReachPeer(&contexts_[Index(peer)]);
    return result == Api::kAlreadyReached ? OkStatus() : Judge(result, Api::kReachPeer);
  }

  StatusOr<GpuModule> Load(const void* image) override {
    GpuModule module = nullptr;
    const int result = api_.load(&module, image);
    if (Api::IsNoCode(result)) {
      return Impossible("there is no code for this device in this build (" + api_.ErrorText(result) + ")");
    }
    MYCEL_RETURN_IF_ERROR(Judge(result, Api::kLoad));
    return module;
  }
  void Unload(GpuModule module) override { Quietly(api_.unload(module), "unloading code"); }
  StatusOr<GpuFunction> Find(GpuModule module, const char* name) override {
    GpuFunction function = nullptr;
    MYCEL_RETURN_IF_ERROR(Judge(api_.find(&function, module, name), Api::kFind));
    return function;
  }
  StatusOr<int32_t> BlocksPerMultiprocessor(GpuFunction function, int32_t threads) override {
    int blocks = 0;
    MYCEL_RETURN_IF_ERROR(Judge(api_.occupancy(&blocks, function, threads, 0), Api::kOccupancy));
    return blocks;
  }
  Status Launch(GpuFunction function, int32_t blocks, int32_t threads, void** arguments, GpuStream stream) override {
    return Judge(api_.launch(function, static_cast<unsigned>(blocks), 1, 1, static_cast<unsigned>(threads), 1, 1, 0,
                             stream, arguments, nullptr),
                 Api::kLaunch);
  }

  StatusOr<GpuStream> MakeStream() override {
    GpuStream stream = nullptr;
    MYCEL_RETURN_IF_ERROR(Judge(api_.make_stream(&stream, Api::kStreamFlags), Api::kMakeStream));
    return stream;
  }
  void EndStream(GpuStream stream) override { Quietly(api_.end_stream(stream), "ending a stream"); }
  Status Synchronize(GpuStream stream) override { return Judge(api_.synchronize(stream), Api::kSynchronize); }
  StatusOr<int32_t> DeviceOf(GpuStream stream) override {
    int device = -1;
    MYCEL_RETURN_IF_ERROR(Judge(api_.DeviceOf(stream, &device), Api::kDeviceOf));
    return device;
  }
  StatusOr<bool> IsCapturing(GpuStream stream) override {
    int status = 0;
    MYCEL_RETURN_IF_ERROR(Judge(api_.is_capturing(stream, &status), Api::kIsCapturing));
    if (status > 1) return InvalidUsage("the graph that the stream captures has been invalidated by an earlier error");
    return status == 1;
  }
  Status CallHost(GpuStream stream, void (*function)(void*), void* argument) override {
    return Judge(api_.call_host(stream, function, argument), Api::kCallHost);
  }
  StatusOr<GpuEvent> MakeEvent() override {
    GpuEvent event = nullptr;
    MYCEL_RETURN_IF_ERROR(Judge(api_.make_event(&event, Api::kEventFlags), Api::kMakeEvent));
    return event;
  }
  void EndEvent(GpuEvent event) override { Quietly(api_.end_event(event), "ending an event"); }
  Status Record(GpuEvent event, GpuStream stream) override { return Judge(api_.record(event, stream), Api::kRecord); }
  Status WaitFor(GpuStream stream, GpuEvent event) override {
    return Judge(api_.wait_event(stream, event, 0), Api::kWaitEvent);
  }
  StatusOr<bool> Happened(GpuEvent event) override {
    const int result = api_.happened(event);
    if (result == Api::kNotReady) return false;
    MYCEL_RETURN_IF_ERROR(Judge(result, Api::kHappened));
    return true;
  }
  int32_t RelaxCapture() override {
    int mode = Api::kCaptureRelaxed;
    return api_.exchange_capture(&mode) == 0 ? mode : -1;
  }
  void RestoreCapture(int32_t mode) override {
    if (mode >= 0) Quietly(api_.exchange_capture(&mode), "restoring this thread's mode of capture");
  }

 private:
  static size_t Index(int32_t device) { return static_cast<size_t>(device); }
  Status CheckDevice(int32_t device) const {
    if (device >= 0 && device < device_count()) return OkStatus();
    return InvalidArgument("there is no device " + std::string(Api::kName) + ":" + std::to_string(device) +
                           ", this machine has " + std::to_string(device_count()));
  }
  Status Judge(int result, const char* function, size_t bytes = 0) const {
    if (result == 0) return OkStatus();
    const std::string text = std::string(function) + " failed: " + api_.ErrorText(result);
    if (result == Api::kOutOfMemory) {
      return SystemError(text + " (" + std::to_string(bytes) + " bytes wanted); free memory of the device");
    }
    return MakeStatus(StatusCode::kUnknown, text);
  }
  /// Of what is given back: the process may be ending, and the driver with it.
  void Quietly(int result, const char* what) const {
    if (result != 0) MYCEL_LOG(kInfo) << what << " failed: " << api_.ErrorText(result);
  }

  Api api_;
  std::vector<typename Api::Context> contexts_;
};

}  // namespace mycel
