#include "transport/ipc/device_region.h"

#include <sys/random.h>

#include <map>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutex.h"

namespace mycel {
namespace {

/// The regions of this process, by token.
struct Regions {
  Mutex mutex;
  std::map<std::pair<uint64_t, uint64_t>, std::weak_ptr<DeviceRegion>> all ABSL_GUARDED_BY(mutex);
};

Regions& OfProcess() {
  static auto* regions = new Regions();  // outlives static destructors
  return *regions;
}

std::pair<uint64_t, uint64_t> KeyOf(const RegionToken& token) { return {token.words[0], token.words[1]}; }

}  // namespace

RegionToken RegionToken::Random() {
  RegionToken token;
  MYCEL_CHECK_EQ(getrandom(token.words, sizeof(token.words), 0), static_cast<ssize_t>(sizeof(token.words)));
  return token;
}

Status CopyNow(GpuDriver& driver, void* target, const void* source, size_t bytes, GpuStream stream) {
  MYCEL_RETURN_IF_ERROR(driver.Copy(target, source, bytes, stream));
  return driver.Synchronize(stream);
}

StatusOr<std::shared_ptr<DeviceRegion>> DeviceRegion::Make(GpuDriver* driver, int32_t device, size_t bytes) {
  MYCEL_ASSIGN_OR_RETURN(void* memory, driver->Allocate(bytes));
  const RegionToken token = RegionToken::Random();
  std::shared_ptr<DeviceRegion> region(new DeviceRegion(driver, device, static_cast<std::byte*>(memory), bytes, token));
  MYCEL_ASSIGN_OR_RETURN(const GpuStream stream, driver->MakeStream());
  Status status = driver->Fill(memory, 0, bytes, stream);
  if (status.ok()) status = CopyNow(*driver, memory, &token, sizeof(token), stream);
  driver->EndStream(stream);
  MYCEL_RETURN_IF_ERROR(status);
  Regions& regions = OfProcess();
  const MutexLock lock(regions.mutex);
  regions.all[KeyOf(token)] = region;
  return region;
}

std::shared_ptr<DeviceRegion> DeviceRegion::Find(const RegionToken& token) {
  Regions& regions = OfProcess();
  const MutexLock lock(regions.mutex);
  const auto found = regions.all.find(KeyOf(token));
  return found == regions.all.end() ? nullptr : found->second.lock();
}

DeviceRegion::~DeviceRegion() {
  {
    Regions& regions = OfProcess();
    const MutexLock lock(regions.mutex);
    regions.all.erase(KeyOf(token_));
  }
  const GpuScope scope(&driver_, device_);
  if (scope.status().ok()) driver_.Free(base_);
}

PeerRegion& PeerRegion::operator=(PeerRegion&& other) noexcept {
  if (this == &other) return *this;
  Leave();
  driver_ = std::exchange(other.driver_, nullptr);
  device_ = other.device_;
  base_ = std::exchange(other.base_, nullptr);
  kept_ = std::move(other.kept_);
  return *this;
}

void PeerRegion::Leave() {
  if (driver_ == nullptr || base_ == nullptr) return;
  const GpuScope scope(driver_, device_);
  if (scope.status().ok()) driver_->Close(base_);
  base_ = nullptr;
}

}  // namespace mycel
