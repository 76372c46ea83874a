// The few functions and numbers of CUDA's driver interface that Mycel uses, as NVIDIA documents them: no header of CUDA
// is needed to build, and no library to start. Names with _v2 are what cuda.h makes of the plain ones.
#include "kernels/cuda/cuda_driver.h"

#include "core/base/mutex.h"
#include "kernels/gpu/loaded_driver.h"

namespace mycel {
namespace {

struct CudaApi {
  static constexpr const char* kName = "cuda";
  static constexpr const char* kOldest = "CUDA 11.4";
  static constexpr const char* kInit = "cuInit";
  static constexpr const char* kDeviceCount = "cuDeviceGetCount";
  static constexpr const char* kDevice = "cuDeviceGet";
  static constexpr const char* kPush = "cuCtxPushCurrent (of the device's primary context)";
  static constexpr const char* kAllocate = "cuMemAlloc";
  static constexpr const char* kAllocatePinned = "cuMemHostAlloc";
  static constexpr const char* kRegister = "cuMemHostRegister";
  static constexpr const char* kLocate = "cuPointerGetAttribute";
  static constexpr const char* kFill = "cuMemsetD8Async";
  static constexpr const char* kCopy = "cuMemcpyAsync";
  static constexpr const char* kExport = "cuIpcGetMemHandle";
  static constexpr const char* kOpen = "cuIpcOpenMemHandle";
  static constexpr const char* kCanReach = "cuDeviceCanAccessPeer";
  static constexpr const char* kReachPeer = "cuCtxEnablePeerAccess";
  static constexpr const char* kLoad = "cuModuleLoadData";
  static constexpr const char* kFind = "cuModuleGetFunction";
  static constexpr const char* kOccupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor";
  static constexpr const char* kLaunch = "cuLaunchKernel";
  static constexpr const char* kMakeStream = "cuStreamCreate";
  static constexpr const char* kSynchronize = "cuStreamSynchronize";
  static constexpr const char* kDeviceOf = "cuStreamGetCtx";
  static constexpr const char* kIsCapturing = "cuStreamIsCapturing";
  static constexpr const char* kCallHost = "cuLaunchHostFunc";
  static constexpr const char* kMakeEvent = "cuEventCreate";
  static constexpr const char* kRecord = "cuEventRecord";
  static constexpr const char* kWaitEvent = "cuStreamWaitEvent";
  static constexpr const char* kHappened = "cuEventQuery";

  static constexpr int kOutOfMemory = 2;
  static constexpr int kNotReady = 600;
  static constexpr int kAlreadyReached = 704;
  static constexpr int kInvalidValue = 1;
  static constexpr int kMultiprocessors = 16;
  static constexpr int kMajor = 75;
  static constexpr int kMinor = 76;
  static constexpr int kHostPointers = 91;
  static constexpr unsigned kPinnedFlags = 3;    // for all contexts, mapped
  static constexpr unsigned kRegisterFlags = 3;  // the same
  static constexpr unsigned kStreamFlags = 1;    // does not wait for the default stream
  static constexpr unsigned kEventFlags = 2;     // takes no times
  static constexpr int kCaptureRelaxed = 2;
  static constexpr unsigned kOpenFlags = 1;  // with access for other devices
  /// No image, bad PTX, PTX that is too new: code was there, but none for this device.
  static bool IsNoCode(int result) { return result == 209 || result == 218 || result == 222 || result == 200; }
  static std::string Architecture(int major, int minor) {
    return "sm_" + std::to_string(major) + std::to_string(minor);
  }

  /// A device and its primary context, which is retained at first use and never released: it is the runtime's, too.
  struct Context {
    int handle = 0;
    void* context = nullptr;
  };

  void FindAll(DriverLibrary* library) {
    library->Find("cuInit", &init);
    library->Find("cuDeviceGetCount", &device_count);
    library->Find("cuDeviceGet", &handle_of);
    library->Find("cuDeviceGetName", &device_name);
    library->Find("cuDeviceGetPCIBusId", &bus_id);
    library->Find("cuDeviceGetAttribute", &attribute);
    library->Find("cuDevicePrimaryCtxRetain", &retain);
    library->Find("cuCtxPushCurrent_v2", &push);
    library->Find("cuCtxPopCurrent_v2", &pop);
    library->Find("cuCtxGetCurrent", &current);
    library->Find("cuCtxGetDevice", &context_device);
    library->Find("cuMemAlloc_v2", &allocate);
    library->Find("cuMemFree_v2", &free);
    library->Find("cuMemHostAlloc", &allocate_pinned);
    library->Find("cuMemFreeHost", &free_pinned);
    library->Find("cuMemHostRegister_v2", &register_host);
    library->Find("cuMemHostUnregister", &unregister_host);
    library->Find("cuMemHostGetDevicePointer_v2", &device_pointer);
    library->Find("cuPointerGetAttribute", &pointer_attribute);
    library->Find("cuMemsetD8Async", &fill);
    library->Find("cuMemcpyAsync", &copy);
    library->Find("cuIpcGetMemHandle", &export_memory);
    library->Find("cuIpcOpenMemHandle_v2", &open);
    library->Find("cuIpcCloseMemHandle", &close_memory);
    library->Find("cuDeviceCanAccessPeer", &can_reach);
    library->Find("cuCtxEnablePeerAccess", &enable_peer);
    library->Find("cuModuleLoadData", &load);
    library->Find("cuModuleUnload", &unload);
    library->Find("cuModuleGetFunction", &find);
    library->Find("cuOccupancyMaxActiveBlocksPerMultiprocessor", &occupancy);
    library->Find("cuLaunchKernel", &launch);
    library->Find("cuStreamCreate", &make_stream);
    library->Find("cuStreamDestroy_v2", &end_stream);
    library->Find("cuStreamSynchronize", &synchronize);
    library->Find("cuStreamGetCtx", &stream_context);
    library->Find("cuStreamIsCapturing", &is_capturing);
    library->Find("cuLaunchHostFunc", &call_host);
    library->Find("cuEventCreate", &make_event);
    library->Find("cuEventDestroy_v2", &end_event);
    library->Find("cuEventRecord", &record);
    library->Find("cuStreamWaitEvent", &wait_event);
    library->Find("cuEventQuery", &happened);
    library->Find("cuThreadExchangeStreamCaptureMode", &exchange_capture);
    library->Find("cuGetErrorName", &error_name);
    library->Find("cuGetErrorString", &error_string);
  }

  std::string ErrorText(int result) const {
    const char* name = nullptr;
    const char* text = nullptr;
    if (error_name(result, &name) != 0 || name == nullptr) return "error " + std::to_string(result);
    if (error_string(result, &text) != 0 || text == nullptr) return name;
    return std::string(name) + ", " + text;
  }

  std::optional<int32_t> Current() const {
    void* context = nullptr;
    int device = -1;
    if (current(&context) != 0 || context == nullptr || context_device(&device) != 0) return std::nullopt;
    return device;
  }
  int Push(Context* device) const {
    {
      static Mutex mutex;
      const MutexLock lock(mutex);
      if (device->context == nullptr) {
        if (const int result = retain(&device->context, device->handle); result != 0) return result;
      }
    }
    return push(device->context);
  }
  void Pop() const {
    void* popped = nullptr;
    pop(&popped);
  }
  int Locate(const void* address, GpuPointer* pointer) const {
    // Numbers of CUpointer_attribute and CUmemorytype.
    constexpr int kMemoryType = 2;
    constexpr int kIsManaged = 8;
    constexpr int kOrdinal = 9;
    constexpr unsigned kOfHost = 1;
    unsigned type = 0;
    unsigned managed = 0;
    const int result = pointer_attribute(&type, kMemoryType, address);
    if (result == kInvalidValue) return 0;  // not known: pageable memory of the host
    if (result != 0) return result;
    pointer_attribute(&managed, kIsManaged, address);
    pointer->memory = managed != 0 ? GpuMemory::kManaged : type == kOfHost ? GpuMemory::kPinned : GpuMemory::kDevice;
    return pointer_attribute(&pointer->device, kOrdinal, address);
  }
  int Copy(void* target, const void* source, size_t bytes, void* stream) const {
    return copy(target, source, bytes, stream);
  }
  int Open(void** memory, const GpuMemoryHandle& handle) const { return open(memory, handle, kOpenFlags); }
  int ReachPeer(Context* peer) const {
    int result = Push(peer);  // retains its context
    if (result != 0) return result;
    Pop();
    return enable_peer(peer->context, 0);
  }
  int DeviceOf(void* stream, int* device) const {
    void* context = nullptr;
    int result = stream_context(stream, &context);
    if (result == 0) result = push(context);
    if (result != 0) return result;
    result = context_device(device);
    Pop();
    return result;
  }

  int (*init)(unsigned);
  int (*device_count)(int*);
  int (*handle_of)(int*, int);
  int (*device_name)(char*, int, int);
  int (*bus_id)(char*, int, int);
  int (*attribute)(int*, int, int);
  int (*retain)(void**, int);
  int (*push)(void*);
  int (*pop)(void**);
  int (*current)(void**);
  int (*context_device)(int*);
  int (*allocate)(void**, size_t);
  int (*free)(void*);
  int (*allocate_pinned)(void**, size_t, unsigned);
  int (*free_pinned)(void*);
  int (*register_host)(void*, size_t, unsigned);
  int (*unregister_host)(void*);
  int (*device_pointer)(void**, void*, unsigned);
  int (*pointer_attribute)(void*, int, const void*);
  int (*fill)(void*, unsigned char, size_t, void*);
  int (*copy)(void*, const void*, size_t, void*);
  int (*export_memory)(GpuMemoryHandle*, void*);
  int (*open)(void**, GpuMemoryHandle, unsigned);
  int (*close_memory)(void*);
  int (*can_reach)(int*, int, int);
  int (*enable_peer)(void*, unsigned);
  int (*load)(void**, const void*);
  int (*unload)(void*);
  int (*find)(void**, void*, const char*);
  int (*occupancy)(int*, void*, int, size_t);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  int (*make_stream)(void**, unsigned);
  int (*end_stream)(void*);
  int (*synchronize)(void*);
  int (*stream_context)(void*, void**);
  int (*is_capturing)(void*, int*);
  int (*call_host)(void*, void (*)(void*), void*);
  int (*make_event)(void**, unsigned);
  int (*end_event)(void*);
  int (*record)(void*, void*);
  int (*wait_event)(void*, void*, unsigned);
  int (*happened)(void*);
  int (*exchange_capture)(int*);
  int (*error_name)(int, const char**);
  int (*error_string)(int, const char**);
};

}  // namespace

StatusOr<std::unique_ptr<GpuDriver>> LoadCudaDriver(const std::string& library) {
  return LoadedDriver<CudaApi>::Make(library);
}

}  // namespace mycel
