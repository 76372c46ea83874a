#include "kernels/gpu/gpu_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/log.h"
#include "core/base/wait.h"
#include "kernels/gpu/program_image.h"

namespace mycel {
namespace {

constexpr int kThreadsOfShort = 64;
constexpr int64_t kShortBytes = 16 * 1024;  // of an instruction: barriers then cost more than moving
constexpr size_t kEndsAtOnce = 64;
constexpr size_t kTypesMax = 64;  // values of DataType and ReduceOp are below

/// What Launch::kernel points to.
struct Arithmetic {
  DataType type;
  ReduceOp op;
};

const Arithmetic* ArithmeticFor(DataType type, ReduceOp op) {
  static const auto* table = [] {
    auto* made = new std::array<std::array<Arithmetic, kTypesMax>, kTypesMax>();
    for (size_t t = 0; t < kTypesMax; ++t) {
      for (size_t o = 0; o < kTypesMax; ++o) (*made)[t][o] = {static_cast<DataType>(t), static_cast<ReduceOp>(o)};
    }
    return made;
  }();
  return &(*table)[static_cast<size_t>(type)][static_cast<size_t>(op)];
}

/// The kernels on a device, loaded once for each process and never unloaded.
StatusOr<GpuModule> ModuleOf(GpuDriver* driver, int32_t device, const void* image) {
  struct Loaded {
    Mutex mutex;
    std::map<std::pair<std::pair<GpuDriver*, int32_t>, const void*>, GpuModule> modules ABSL_GUARDED_BY(mutex);
  };
  static auto* loaded = new Loaded();
  const MutexLock lock(loaded->mutex);
  GpuModule& module = loaded->modules[{{driver, device}, image}];
  if (module == nullptr) {
    MYCEL_ASSIGN_OR_RETURN(module, driver->Load(image));
  }
  return module;
}

}  // namespace

struct GpuDevice::Words {
  alignas(128) uint32_t abort;
  alignas(128) DeviceReport report;
};

/// A program's arrays in the device's memory.
struct GpuDevice::Image {
  GpuBytes memory;
  ImageLayout layout;
  ImageFacts facts;
};

GpuDevice::GpuDevice(const GpuDeviceOptions& options)
    : driver_(*options.driver),
      device_(options.device),
      image_(options.image),
      blocks_max_(options.blocks_max),
      name_(std::string(options.driver->name()) + ":" + std::to_string(options.device)) {}

StatusOr<std::unique_ptr<GpuDevice>> GpuDevice::Make(const GpuDeviceOptions& options) {
  MYCEL_CHECK(options.driver != nullptr && options.blocks_max >= 1);
  std::unique_ptr<GpuDevice> made(new GpuDevice(options));
  MYCEL_RETURN_IF_ERROR(made->Start());
  return made;
}

Status GpuDevice::Start() {
  MYCEL_ASSIGN_OR_RETURN(const GpuFacts facts, driver_.Describe(device_));
  const GpuScope scope(&driver_, device_);
  MYCEL_RETURN_IF_ERROR(scope.status());
  // All blocks of a launch wait for each other: they must be resident together.
  MYCEL_ASSIGN_OR_RETURN(const GpuFunction function, FunctionFor(DeviceEntryName(DataType::kFloat64, true)));
  MYCEL_ASSIGN_OR_RETURN(const int32_t blocks, driver_.BlocksPerMultiprocessor(function, kDeviceBlockThreads));
  if (blocks * facts.multiprocessors < blocks_max_) {
    return InvalidArgument(name_ + " holds " + std::to_string(blocks * facts.multiprocessors) +
                           " blocks at a time, fewer than the communicator's " + std::to_string(blocks_max_) +
                           " lanes; lower config.maxLanes");
  }
  MYCEL_ASSIGN_OR_RETURN(own_, driver_.MakeStream());
  MYCEL_ASSIGN_OR_RETURN(words_, Allocate(GpuPlace::kPinned, sizeof(Words)));
  MYCEL_ASSIGN_OR_RETURN(claimed_, Allocate(GpuPlace::kDevice, 256));
  MYCEL_RETURN_IF_ERROR(driver_.Fill(claimed_.data(), 0, claimed_.bytes(), own_));
  MYCEL_RETURN_IF_ERROR(driver_.Synchronize(own_));
  const MutexLock lock(mutex_);
  for (Flight& flight : flights_) {
    MYCEL_ASSIGN_OR_RETURN(flight.begin, driver_.MakeEvent());
    MYCEL_ASSIGN_OR_RETURN(flight.end, driver_.MakeEvent());
  }
  return OkStatus();
}

GpuDevice::~GpuDevice() {
  const GpuScope scope(&driver_, device_);
  if (!scope.status().ok()) return;
  const MutexLock lock(mutex_);
  for (Flight& flight : flights_) {
    if (flight.begin != nullptr) driver_.EndEvent(flight.begin);
    if (flight.end != nullptr) driver_.EndEvent(flight.end);
  }
  if (forked_ != nullptr) driver_.EndEvent(forked_);
  if (fork_ != nullptr) driver_.EndStream(fork_);
  if (own_ != nullptr) driver_.EndStream(own_);
}

const void* GpuDevice::KernelFor(DataType type, ReduceOp op) const { return ArithmeticFor(type, op); }

StatusOr<GpuBytes> GpuDevice::Allocate(GpuPlace place, size_t bytes) {
  MYCEL_ASSIGN_OR_RETURN(GpuBytes memory, GpuBytes::Make(&driver_, device_, place, bytes));
  memory_bytes_ += bytes;
  return memory;
}

StatusOr<std::byte*> GpuDevice::Grow(size_t bytes, GpuBytes* memory) {
  if (bytes <= memory->bytes()) return memory->data();
  const GpuScope scope(&driver_, device_);
  MYCEL_RETURN_IF_ERROR(scope.status());
  // At least doubled, so that what has to be kept for launches on their way and for graphs stays within as much again.
  MYCEL_ASSIGN_OR_RETURN(GpuBytes grown, Allocate(GpuPlace::kDevice, std::max(bytes, 2 * memory->bytes())));
  if (memory->data() != nullptr) retired_.push_back(std::move(*memory));
  *memory = std::move(grown);
  return memory->data();
}

Status GpuDevice::CopyNow(void* target, const void* source, size_t bytes) {
  MYCEL_RETURN_IF_ERROR(driver_.Copy(target, source, bytes, own_));
  return driver_.Synchronize(own_);
}

StatusOr<ChannelEnd*> GpuDevice::EndOnDevice(const ChannelEnd* end) {
  ChannelEnd*& known = ends_[end];
  if (known != nullptr) return known;
  if (ends_free_ == 0) {
    MYCEL_ASSIGN_OR_RETURN(GpuBytes more, Allocate(GpuPlace::kDevice, kEndsAtOnce * sizeof(ChannelEnd)));
    end_memory_.push_back(std::move(more));
    ends_free_ = kEndsAtOnce;
  }
  auto* place = reinterpret_cast<ChannelEnd*>(end_memory_.back().data()) + (kEndsAtOnce - ends_free_);
  ChannelEnd copy = *end;
  copy.peer_bell = nullptr;  // memory of the host; whoever sleeps is no kernel
  copy.direct_read = false;
  MYCEL_RETURN_IF_ERROR(CopyNow(place, &copy, sizeof(copy)));
  --ends_free_;
  known = place;
  return known;
}

StatusOr<std::vector<ChannelEnd*>> GpuDevice::EndsOf(const BoundProgram& program) {
  std::vector<ChannelEnd*> ends;
  ends.reserve(program.channels.size());
  for (const ChannelEnd* channel : program.channels) {
    MYCEL_ASSIGN_OR_RETURN(ChannelEnd * end, EndOnDevice(channel));
    ends.push_back(end);
  }
  return ends;
}

StatusOr<std::shared_ptr<GpuDevice::Image>> GpuDevice::ImageOf(const BoundProgram& program) {
  if (program.on_device != nullptr) return std::static_pointer_cast<Image>(program.on_device);
  auto image = std::make_shared<Image>();
  image->layout = LayoutOf(program);
  image->facts = FactsOf(program);
  MYCEL_ASSIGN_OR_RETURN(const std::vector<ChannelEnd*> ends, EndsOf(program));
  MYCEL_ASSIGN_OR_RETURN(image->memory, Allocate(GpuPlace::kDevice, image->layout.bytes));
  std::vector<std::byte> bytes(image->layout.bytes);
  WriteImage(program, image->layout, ends, bytes.data());
  MYCEL_RETURN_IF_ERROR(CopyNow(image->memory.data(), bytes.data(), bytes.size()));
  program.on_device = image;
  return image;
}

StatusOr<GpuFunction> GpuDevice::FunctionFor(const char* name) {
  if (const auto known = functions_.find(name); known != functions_.end()) return known->second;
  MYCEL_ASSIGN_OR_RETURN(const GpuFacts facts, driver_.Describe(device_));
  const void* image = image_(name);
  if (image == nullptr) {
    return Impossible("this build has no kernels for " + std::string(driver_.name()) + ", so " + name_ + " (" +
                      facts.name + ") cannot be used; configure with -DMYCEL_" +
                      (driver_.name() == "hip" ? "HIP" : "CUDA") + "=ON, or choose the host device");
  }
  StatusOr<GpuModule> module = ModuleOf(&driver_, device_, image);
  if (module.status().code() == StatusCode::kUnimplemented) {
    return Impossible(name_ + " (" + facts.name + ", " + facts.architecture + ") cannot be used: " +
                      StatusMessage(module.status()) + "; build for its architecture, or choose the host device");
  }
  MYCEL_RETURN_IF_ERROR(module.status());
  MYCEL_ASSIGN_OR_RETURN(const GpuFunction function, driver_.Find(*module, name));
  functions_.emplace(name, function);
  return function;
}

/// The arrays of this launch that the program's image has not: the operands whose places are new, or all of them.
Status GpuDevice::WriteArrays(const BoundProgram& program, bool kept, GpuBytes* arrays, DeviceLaunch* launch) {
  const ImageLayout layout = kept ? ImageLayout() : LayoutOf(program);
  const size_t bytes = kept ? program.operands.size() * sizeof(BoundOperand) : layout.bytes;
  if (arrays->bytes() < bytes) {
    MYCEL_ASSIGN_OR_RETURN(*arrays, Allocate(GpuPlace::kPinned, std::max(bytes, 2 * arrays->bytes())));
  }
  if (kept) {
    std::memcpy(arrays->data(), program.operands.data(), bytes);
    launch->operands = reinterpret_cast<const BoundOperand*>(arrays->data());
    return OkStatus();
  }
  MYCEL_ASSIGN_OR_RETURN(const std::vector<ChannelEnd*> ends, EndsOf(program));
  WriteImage(program, layout, ends, arrays->data());
  PointInto(arrays->data(), layout, program, launch);
  return OkStatus();
}

/// Its last launch has ended. The communicator's watch ends one that hangs.
Status GpuDevice::WaitForFlight(Flight* flight) {
  if (flight->number == 0) return OkStatus();
  WaitPolicy policy;
  policy.oversubscribed = true;
  Waiter waiter(policy, nullptr);
  while (true) {
    MYCEL_ASSIGN_OR_RETURN(const bool over, driver_.Happened(flight->end));
    if (over) return OkStatus();
    waiter.Pause();
  }
}

StatusOr<uint64_t> GpuDevice::Submit(const Launch& launch, bool kept, void* stream) {
  const BoundProgram& program = *launch.program;
  const GpuScope scope(&driver_, device_);
  MYCEL_RETURN_IF_ERROR(scope.status());
  MYCEL_ASSIGN_OR_RETURN(const bool capturing, driver_.IsCapturing(stream));
  DeviceLaunch device_launch{};
  std::shared_ptr<Image> image;
  ImageFacts facts;
  if (kept) {
    MYCEL_ASSIGN_OR_RETURN(image, ImageOf(program));
    facts = image->facts;
    PointInto(image->memory.data(), image->layout, program, &device_launch);
  } else {
    facts = FactsOf(program);
  }
  if (facts.lanes == 0) return InternalError("a launch without lanes");
  const auto* arithmetic = static_cast<const Arithmetic*>(launch.kernel);
  MYCEL_CHECK(arithmetic != nullptr || !facts.combines);
  auto& words = *reinterpret_cast<Words*>(words_.data());
  std::memcpy(device_launch.bases, launch.bases, sizeof(device_launch.bases));
  device_launch.abort = &words.abort;
  device_launch.report = &words.report;
  device_launch.claimed = reinterpret_cast<uint32_t*>(claimed_.data());
  device_launch.slice_bytes = program.slice_bytes;
  device_launch.geometry = GeometryOf(program.slice_bytes, program.slot_count);
  device_launch.lane_count = facts.lanes;
  device_launch.slot_count = program.slot_count;
  device_launch.rank_count = launch.rank_count;
  device_launch.signature = launch.signature;
  device_launch.element_bytes = static_cast<uint32_t>(launch.element_bytes);
  device_launch.protocol = program.protocol;
  device_launch.type = facts.combines ? arithmetic->type : DataType::kUint8;
  device_launch.op = facts.combines ? arithmetic->op : ReduceOp::kSum;
  device_launch.combines = facts.combines ? 1 : 0;
  MYCEL_ASSIGN_OR_RETURN(const GpuFunction function, FunctionFor(DeviceEntryName(device_launch.type, facts.combines)));
  const bool is_short = facts.elements_max * static_cast<int64_t>(launch.element_bytes) <= kShortBytes;
  const int32_t threads = is_short ? kThreadsOfShort : kDeviceBlockThreads;
  const int32_t blocks = std::min(facts.lanes, blocks_max_);
  void* arguments[] = {&device_launch};

  if (capturing) {
    // A graph may run at any time from here on: what it points to stays with the communicator.
    if (image != nullptr) captured_images_.push_back(image);
    if (!kept || !program.places.empty()) {
      GpuBytes arrays;
      MYCEL_RETURN_IF_ERROR(WriteArrays(program, kept, &arrays, &device_launch));
      retired_.push_back(std::move(arrays));
    }
    MYCEL_RETURN_IF_ERROR(driver_.Launch(function, blocks, threads, arguments, stream));
    captured_count_.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }

  Flight* flight = nullptr;
  uint64_t number = 0;
  GpuEvent before = nullptr;
  {
    const MutexLock lock(mutex_);
    number = submitted_ + 1;
    flight = &flights_[number % kFlightsMax];
    if (submitted_ > 0 && last_stream_ != stream) before = flights_[submitted_ % kFlightsMax].end;
  }
  MYCEL_RETURN_IF_ERROR(WaitForFlight(flight));
  if (!kept || !program.places.empty()) {
    MYCEL_RETURN_IF_ERROR(WriteArrays(program, kept, &flight->arrays, &device_launch));
  }
  flight->kept = image;
  if (before != nullptr) MYCEL_RETURN_IF_ERROR(driver_.WaitFor(stream, before));
  MYCEL_RETURN_IF_ERROR(driver_.Record(flight->begin, stream));
  MYCEL_RETURN_IF_ERROR(driver_.Launch(function, blocks, threads, arguments, stream));
  MYCEL_RETURN_IF_ERROR(driver_.Record(flight->end, stream));
  last_stream_ = stream;
  const MutexLock lock(mutex_);
  flight->number = number;
  submitted_ = number;
  return number;
}

Status GpuDevice::Scale(DataType type, const void* factor, const void* factor_at, const void* input, void* output,
                        size_t count, void* stream) {
  const GpuScope scope(&driver_, device_);
  MYCEL_RETURN_IF_ERROR(scope.status());
  DeviceScale scale{};
  scale.input = input;
  scale.output = output;
  scale.count = count;
  scale.factor_at = factor_at;
  scale.type = type;
  if (factor_at == nullptr) std::memcpy(&scale.factor, factor, SizeOf(type));
  GpuEvent before = nullptr;
  MYCEL_ASSIGN_OR_RETURN(const bool capturing, driver_.IsCapturing(stream));
  {
    // It writes what the launch before it may still read.
    const MutexLock lock(mutex_);
    if (!capturing && submitted_ > 0 && last_stream_ != stream) before = flights_[submitted_ % kFlightsMax].end;
  }
  if (before != nullptr) MYCEL_RETURN_IF_ERROR(driver_.WaitFor(stream, before));
  MYCEL_ASSIGN_OR_RETURN(const GpuFunction function, FunctionFor("mycel_scale"));
  void* arguments[] = {&scale};
  return driver_.Launch(function, blocks_max_, kDeviceBlockThreads, arguments, stream);
}

StreamState GpuDevice::Look(uint64_t number) {
  const MutexLock lock(mutex_);
  const Flight& flight = flights_[number % kFlightsMax];
  if (flight.number != number) return StreamState::kDone;  // its place has been used again
  const GpuScope scope(&driver_, device_);
  // A driver that fails has ended all launches.
  const StatusOr<bool> over = driver_.Happened(flight.end);
  if (!over.ok() || *over) return StreamState::kDone;
  const StatusOr<bool> begun = driver_.Happened(flight.begin);
  return begun.ok() && *begun ? StreamState::kRunning : StreamState::kQueued;
}

StreamFault GpuDevice::Fault() {
  auto& report = reinterpret_cast<Words*>(words_.data())->report;
  StreamFault fault;
  // acquire: pairs with the release with which the kernel publishes the report.
  const auto code = static_cast<DeviceFault>(std::atomic_ref<uint32_t>(report.code).load(std::memory_order_acquire));
  if (code == DeviceFault::kNone) return fault;
  fault.kind = code == DeviceFault::kAborted    ? StreamFault::Kind::kAborted
               : code == DeviceFault::kMismatch ? StreamFault::Kind::kMismatch
                                                : StreamFault::Kind::kDamaged;
  fault.peer = report.peer;
  fault.receives = report.receives != 0;
  fault.signature = report.signature;
  fault.step = report.step;
  return fault;
}

void GpuDevice::Abort() {
  auto& words = *reinterpret_cast<Words*>(words_.data());
  // relaxed: a flag that kernels poll; nothing is published with it.
  std::atomic_ref<uint32_t>(words.abort).store(1, std::memory_order_relaxed);
}

StatusOr<void*> GpuDevice::Fork(void* stream) {
  const GpuScope scope(&driver_, device_);
  MYCEL_RETURN_IF_ERROR(scope.status());
  if (fork_ == nullptr) {
    MYCEL_ASSIGN_OR_RETURN(fork_, driver_.MakeStream());
    MYCEL_ASSIGN_OR_RETURN(forked_, driver_.MakeEvent());
  }
  MYCEL_RETURN_IF_ERROR(driver_.Record(forked_, stream));
  MYCEL_RETURN_IF_ERROR(driver_.WaitFor(fork_, forked_));
  return fork_;
}

Status GpuDevice::Join(void* stream) {
  const GpuScope scope(&driver_, device_);
  MYCEL_RETURN_IF_ERROR(scope.status());
  MYCEL_RETURN_IF_ERROR(driver_.Record(forked_, fork_));
  return driver_.WaitFor(stream, forked_);
}

Status GpuDevice::ReadCounts(ChannelEnd* end) {
  const auto known = ends_.find(end);
  if (known == ends_.end()) return OkStatus();
  const GpuScope scope(&driver_, device_);
  MYCEL_RETURN_IF_ERROR(scope.status());
  ChannelEnd copy;
  MYCEL_RETURN_IF_ERROR(CopyNow(&copy, known->second, sizeof(copy)));
  end->step = copy.step;
  end->bytes = copy.bytes;
  return OkStatus();
}

}  // namespace mycel
