#include "bindings/c/device_choice.h"

#include <charconv>
#include <fstream>
#include <span>
#include <sstream>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "kernels/cuda/cuda_driver.h"
#include "kernels/cuda/images.h"
#include "kernels/gpu/driver_library.h"
#include "kernels/hip/hip_driver.h"
#include "kernels/hip/images.h"

namespace mycel {
namespace {

/// Never unloaded: streams of the program may outlive main.
struct Drivers {
  Mutex mutex;
  std::optional<StatusOr<std::unique_ptr<GpuDriver>>> cuda ABSL_GUARDED_BY(mutex);
  std::optional<StatusOr<std::unique_ptr<GpuDriver>>> hip ABSL_GUARDED_BY(mutex);
};

Drivers& OfProcess() {
  static auto* drivers = new Drivers();
  return *drivers;
}

StatusOr<std::string> LibraryOf(std::string_view name) {
  return EnvText(name == "hip" ? Env::kHipLibrary : Env::kCudaLibrary);
}

/// MYCEL_GPU_KERNELS, read once; null where it is not set or cannot be read.
const void* ImageFromFile() {
  static const std::string* image = []() -> const std::string* {
    const StatusOr<std::string> path = EnvText(Env::kGpuKernels);
    if (!path.ok() || path->empty()) return nullptr;
    std::ifstream file(*path, std::ios::binary);
    if (!file) {
      MYCEL_LOG(kWarn) << "MYCEL_GPU_KERNELS=" << *path << " cannot be read: the kernels built in are used";
      return nullptr;
    }
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return new std::string(bytes.str());
  }();
  return image == nullptr ? nullptr : image->data();
}

const void* ImageOr(std::span<const std::byte> built) {
  const void* image = ImageFromFile();
  if (image != nullptr) return image;
  return built.empty() ? nullptr : built.data();
}

}  // namespace

const void* CudaImageOf(std::string_view entry) { return ImageOr(CudaImage(entry)); }

const void* HipImageOf(std::string_view entry) { return ImageOr(HipImage(entry)); }

StatusOr<GpuDriver*> DriverOf(std::string_view name) {
  MYCEL_ASSIGN_OR_RETURN(const std::string library, LibraryOf(name));
  Drivers& drivers = OfProcess();
  const MutexLock lock(drivers.mutex);
  auto& driver = name == "hip" ? drivers.hip : drivers.cuda;
  if (!driver) driver = name == "hip" ? LoadHipDriver(library) : LoadCudaDriver(library);
  if (!driver->ok()) return driver->status();
  return (*driver)->get();
}

StatusOr<DeviceChoice> ChooseDevice(const std::optional<std::string>& wanted) {
  MYCEL_ASSIGN_OR_RETURN(const std::string variable, EnvText(Env::kDevice));
  const std::string text = wanted.value_or(variable);
  const std::string named = wanted ? "config.device" : "MYCEL_DEVICE";
  DeviceChoice choice;
  if (text == "host") return choice;
  if (text == "auto") {
    for (const char* name : {"cuda", "hip"}) {
      // A program without its driver has no current device, and pays nothing for the question.
      MYCEL_ASSIGN_OR_RETURN(const std::string library, LibraryOf(name));
      if (!DriverLibrary::IsLoaded(library)) continue;
      const StatusOr<GpuDriver*> driver = DriverOf(name);
      if (!driver.ok()) continue;
      const std::optional<int32_t> current = (*driver)->CurrentDevice();
      if (current) return DeviceChoice{*driver, *current};
    }
    return choice;
  }
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const std::string number = colon == std::string::npos ? "" : text.substr(colon + 1);
  const char* end = number.data() + number.size();
  const bool is_number =
      number.empty() ? colon == std::string::npos : std::from_chars(number.data(), end, choice.device).ptr == end;
  if ((name != "cuda" && name != "hip") || !is_number) {
    return InvalidArgument(named + " is '" + text + "'; it must be auto, host, cuda, hip, or a device as cuda:1");
  }
  const StatusOr<GpuDriver*> driver = DriverOf(name);
  if (!driver.ok()) {
    return InvalidArgument(named + " is " + text + ", but " + StatusMessage(driver.status()) +
                           "; choose host, or install the driver");
  }
  choice.driver = *driver;
  if (number.empty()) choice.device = choice.driver->CurrentDevice().value_or(0);
  MYCEL_RETURN_IF_ERROR(choice.driver->Describe(choice.device).status());
  return choice;
}

Status CheckMemory(const DeviceChoice& choice, const void* address, const std::string& what) {
  if (choice.driver == nullptr || address == nullptr) return OkStatus();
  MYCEL_ASSIGN_OR_RETURN(const GpuPointer found, choice.driver->Locate(address));
  switch (found.memory) {
    case GpuMemory::kHost:
      return InvalidArgument(what + " is memory of the host, and the communicator's device is " + choice.name() +
                             "; pass memory of that device, or create the communicator with config.device \"host\"");
    case GpuMemory::kDevice:
      if (found.device == choice.device) return OkStatus();
      return InvalidArgument(what + " is memory of device " + std::to_string(found.device) +
                             ", and the communicator's device is " + choice.name());
    case GpuMemory::kPinned:
    case GpuMemory::kManaged:
      return OkStatus();
  }
  return OkStatus();
}

Status CheckStreamOf(const DeviceChoice& choice, void* stream, const std::string& function) {
  if (stream == nullptr) return OkStatus();
  MYCEL_ASSIGN_OR_RETURN(const int32_t device, choice.driver->DeviceOf(stream));
  if (device == choice.device) return OkStatus();
  return InvalidArgument(function + ": the stream is of device " + std::to_string(device) +
                         ", and the communicator's device is " + choice.name());
}

}  // namespace mycel
