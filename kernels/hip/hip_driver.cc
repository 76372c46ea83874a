// The few functions and numbers of HIP that Mycel uses, as AMD documents them (ROCm 5.2 and later): no header of HIP is
// needed to build, and no library to start. HIP has a current device per thread where CUDA has a stack of contexts.
#include "kernels/hip/hip_driver.h"

#include <vector>

#include "kernels/gpu/loaded_driver.h"

namespace mycel {
namespace {

/// Devices that this thread's Pops return to.
std::vector<int>& DevicesBefore() {
  thread_local std::vector<int> devices;
  return devices;
}

struct HipApi {
  static constexpr const char* kName = "hip";
  static constexpr const char* kOldest = "ROCm 5.2";
  static constexpr const char* kInit = "hipInit";
  static constexpr const char* kDeviceCount = "hipGetDeviceCount";
  static constexpr const char* kDevice = "hipDeviceGet";
  static constexpr const char* kPush = "hipSetDevice";
  static constexpr const char* kAllocate = "hipMalloc";
  static constexpr const char* kAllocatePinned = "hipHostMalloc";
  static constexpr const char* kRegister = "hipHostRegister";
  static constexpr const char* kLocate = "hipPointerGetAttributes";
  static constexpr const char* kFill = "hipMemsetAsync";
  static constexpr const char* kCopy = "hipMemcpyAsync";
  static constexpr const char* kExport = "hipIpcGetMemHandle";
  static constexpr const char* kOpen = "hipIpcOpenMemHandle";
  static constexpr const char* kCanReach = "hipDeviceCanAccessPeer";
  static constexpr const char* kReachPeer = "hipDeviceEnablePeerAccess";
  static constexpr const char* kLoad = "hipModuleLoadData";
  static constexpr const char* kFind = "hipModuleGetFunction";
  static constexpr const char* kOccupancy = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor";
  static constexpr const char* kLaunch = "hipModuleLaunchKernel";
  static constexpr const char* kMakeStream = "hipStreamCreateWithFlags";
  static constexpr const char* kSynchronize = "hipStreamSynchronize";
  static constexpr const char* kDeviceOf = "hipGetStreamDeviceId";
  static constexpr const char* kIsCapturing = "hipStreamIsCapturing";
  static constexpr const char* kCallHost = "hipStreamAddCallback";
  static constexpr const char* kMakeEvent = "hipEventCreateWithFlags";
  static constexpr const char* kRecord = "hipEventRecord";
  static constexpr const char* kWaitEvent = "hipStreamWaitEvent";
  static constexpr const char* kHappened = "hipEventQuery";

  static constexpr int kOutOfMemory = 2;
  static constexpr int kNotReady = 600;
  static constexpr int kAlreadyReached = 704;
  static constexpr int kInvalidValue = 1;
  static constexpr int kMultiprocessors = 63;
  static constexpr int kMajor = 23;
  static constexpr int kMinor = 61;
  static constexpr int kHostPointers = 4;
  static constexpr unsigned kPinnedFlags = 0x40000003U;  // for all contexts, mapped, coherent while a kernel runs
  static constexpr unsigned kRegisterFlags = 3;
  static constexpr unsigned kStreamFlags = 1;
  static constexpr unsigned kEventFlags = 2;
  static constexpr int kCaptureRelaxed = 2;
  static bool IsNoCode(int result) { return result == 209 || result == 200 || result == 303; }
  /// gfx90a is 9.0 and gfx942 is 9.4 here: the third figure, the stepping, is not told.
  static std::string Architecture(int major, int minor) {
    return "gfx" + std::to_string(major) + std::to_string(minor) + "x";
  }

  struct Context {
    int handle = 0;
  };

  void FindAll(DriverLibrary* library) {
    library->Find("hipInit", &init);
    library->Find("hipGetDeviceCount", &device_count);
    library->Find("hipDeviceGet", &handle_of);
    library->Find("hipDeviceGetName", &device_name);
    library->Find("hipDeviceGetPCIBusId", &bus_id);
    library->Find("hipDeviceGetAttribute", &attribute);
    library->Find("hipGetDevice", &get_device);
    library->Find("hipSetDevice", &set_device);
    library->Find("hipMalloc", &allocate);
    library->Find("hipFree", &free);
    library->Find("hipHostMalloc", &allocate_pinned);
    library->Find("hipHostFree", &free_pinned);
    library->Find("hipHostRegister", &register_host);
    library->Find("hipHostUnregister", &unregister_host);
    library->Find("hipHostGetDevicePointer", &device_pointer);
    library->Find("hipPointerGetAttributes", &pointer_attributes);
    library->Find("hipMemsetAsync", &fill);
    library->Find("hipMemcpyAsync", &copy);
    library->Find("hipIpcGetMemHandle", &export_memory);
    library->Find("hipIpcOpenMemHandle", &open);
    library->Find("hipIpcCloseMemHandle", &close_memory);
    library->Find("hipDeviceCanAccessPeer", &can_reach);
    library->Find("hipDeviceEnablePeerAccess", &enable_peer);
    library->Find("hipModuleLoadData", &load);
    library->Find("hipModuleUnload", &unload);
    library->Find("hipModuleGetFunction", &find);
    library->Find("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", &occupancy);
    library->Find("hipModuleLaunchKernel", &launch);
    library->Find("hipStreamCreateWithFlags", &make_stream);
    library->Find("hipStreamDestroy", &end_stream);
    library->Find("hipStreamSynchronize", &synchronize);
    library->Find("hipGetStreamDeviceId", &stream_device);
    library->Find("hipStreamIsCapturing", &is_capturing);
    library->Find("hipStreamAddCallback", &add_callback);
    library->Find("hipEventCreateWithFlags", &make_event);
    library->Find("hipEventDestroy", &end_event);
    library->Find("hipEventRecord", &record);
    library->Find("hipStreamWaitEvent", &wait_event);
    library->Find("hipEventQuery", &happened);
    library->Find("hipThreadExchangeStreamCaptureMode", &exchange_capture);
    library->Find("hipGetErrorName", &error_name);
    library->Find("hipGetErrorString", &error_string);
    library->Find("hipGetLastError", &last_error);
  }

  std::string ErrorText(int result) const {
    last_error();  // or the program would find our error as its own
    return std::string(error_name(result)) + ", " + error_string(result);
  }

  /// HIP has a current device in every thread, device 0 where none was chosen.
  std::optional<int32_t> Current() const {
    int device = -1;
    if (get_device(&device) != 0) return std::nullopt;
    return device;
  }
  int Push(Context* device) const {
    int before = 0;
    if (const int result = get_device(&before); result != 0) return result;
    if (const int result = set_device(device->handle); result != 0) return result;
    DevicesBefore().push_back(before);
    return 0;
  }
  void Pop() const {
    set_device(DevicesBefore().back());
    DevicesBefore().pop_back();
  }
  /// hipPointerAttribute_t; the numbers of `type` changed with ROCm 6, the addresses tell the same in all versions.
  struct Attributes {
    int type;
    int device;
    void* device_pointer;
    void* host_pointer;
    int is_managed;
    unsigned flags;
    char room[64];  // later versions append
  };
  int Locate(const void* address, GpuPointer* pointer) const {
    Attributes found{};
    const int result = pointer_attributes(&found, address);
    if (result == kInvalidValue) {
      last_error();
      return 0;  // not known: pageable memory of the host
    }
    if (result != 0) return result;
    if (found.is_managed != 0) {
      pointer->memory = GpuMemory::kManaged;
    } else if (found.device_pointer != nullptr) {
      pointer->memory = found.host_pointer == nullptr ? GpuMemory::kDevice : GpuMemory::kPinned;
    }
    pointer->device = found.device;
    return 0;
  }
  int Copy(void* target, const void* source, size_t bytes, void* stream) const {
    constexpr int kByAddresses = 4;
    return copy(target, source, bytes, kByAddresses, stream);
  }
  int Open(void** memory, const GpuMemoryHandle& handle) const {
    // The only flag there is has been 0 in ROCm 5 and is 1 since.
    const int result = open(memory, handle, 1);
    if (result != kInvalidValue) return result;
    last_error();
    return open(memory, handle, 0);
  }
  int ReachPeer(Context* peer) const {
    const int result = enable_peer(peer->handle, 0);
    if (result != 0) last_error();
    return result;
  }
  /// hipLaunchHostFunc came later than ROCm 5.2's library.
  int call_host(void* stream, void (*function)(void*), void* argument) const {
    struct Call {
      void (*function)(void*);
      void* argument;
    };
    auto* call = new Call{function, argument};
    const auto run = [](void* /*stream*/, int /*status*/, void* kept) {
      const std::unique_ptr<Call> mine(static_cast<Call*>(kept));
      mine->function(mine->argument);
    };
    const int result = add_callback(stream, run, call, 0);
    if (result != 0) delete call;
    return result;
  }
  int DeviceOf(void* stream, int* device) const {
    if (stream == nullptr) return get_device(device);
    *device = stream_device(stream);
    return *device < 0 ? kInvalidValue : 0;
  }

  int (*init)(unsigned);
  int (*device_count)(int*);
  int (*handle_of)(int*, int);
  int (*device_name)(char*, int, int);
  int (*bus_id)(char*, int, int);
  int (*attribute)(int*, int, int);
  int (*get_device)(int*);
  int (*set_device)(int);
  int (*allocate)(void**, size_t);
  int (*free)(void*);
  int (*allocate_pinned)(void**, size_t, unsigned);
  int (*free_pinned)(void*);
  int (*register_host)(void*, size_t, unsigned);
  int (*unregister_host)(void*);
  int (*device_pointer)(void**, void*, unsigned);
  int (*pointer_attributes)(Attributes*, const void*);
  int (*fill)(void*, int, size_t, void*);
  int (*copy)(void*, const void*, size_t, int, void*);
  int (*export_memory)(GpuMemoryHandle*, void*);
  int (*open)(void**, GpuMemoryHandle, unsigned);
  int (*close_memory)(void*);
  int (*can_reach)(int*, int, int);
  int (*enable_peer)(int, unsigned);
  int (*load)(void**, const void*);
  int (*unload)(void*);
  int (*find)(void**, void*, const char*);
  int (*occupancy)(int*, void*, int, size_t);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  int (*make_stream)(void**, unsigned);
  int (*end_stream)(void*);
  int (*synchronize)(void*);
  int (*stream_device)(void*);
  int (*is_capturing)(void*, int*);
  int (*add_callback)(void*, void (*)(void*, int, void*), void*, unsigned);
  int (*make_event)(void**, unsigned);
  int (*end_event)(void*);
  int (*record)(void*, void*);
  int (*wait_event)(void*, void*, unsigned);
  int (*happened)(void*);
  int (*exchange_capture)(int*);
  const char* (*error_name)(int);
  const char* (*error_string)(int);
  int (*last_error)();
};

}  // namespace

StatusOr<std::unique_ptr<GpuDriver>> LoadHipDriver(const std::string& library) {
  return LoadedDriver<HipApi>::Make(library);
}

}  // namespace mycel
