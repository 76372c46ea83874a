#include "transport/shm/shared_block.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "transport/shm/available_memory.h"

namespace mycel {
namespace {

Status NoMemory(size_t bytes, int error) {
  const size_t available = AvailableMemoryBytes();
  return SystemError("cannot take " + std::to_string(bytes) + " bytes of shared memory (" + ErrnoText(error) + "); " +
                     (available == SIZE_MAX ? std::string("how much there is cannot be told")
                                            : std::to_string(available) + " bytes are available") +
                     ": free memory, raise the limit, or ask for less");
}

}  // namespace

StatusOr<std::unique_ptr<SharedBlock>> SharedBlock::Make(size_t bytes) {
  const size_t total = kHeaderBytes + bytes;
  if (bytes > (size_t{1} << 62) || bytes > AvailableMemoryBytes()) return NoMemory(bytes, ENOMEM);
  Fd fd(memfd_create("mycel-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return DescriptorError("cannot make shared memory", errno);
  if (ftruncate(fd.get(), static_cast<off_t>(total)) != 0) return NoMemory(bytes, errno);
  // A peer that has mapped it can count on its pages whatever we do: nobody gets a SIGBUS.
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return DescriptorError("cannot seal shared memory", errno);
  }
  if (const int error = posix_fallocate(fd.get(), 0, static_cast<off_t>(total)); error != 0) {
    return NoMemory(bytes, error);
  }
  void* base = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return NoMemory(bytes, errno);
  std::unique_ptr<SharedBlock> block(new SharedBlock(static_cast<std::byte*>(base), bytes, std::move(fd)));
  MYCEL_CHECK_EQ(getrandom(block->token_, sizeof(block->token_), 0), static_cast<ssize_t>(sizeof(block->token_)));
  std::memcpy(block->base_, block->token_, sizeof(block->token_));
  return block;
}

SharedBlock::~SharedBlock() { munmap(base_, kHeaderBytes + bytes_); }

WindowPart SharedBlock::PartAt(const void* address, size_t bytes) const {
  const auto at = static_cast<const std::byte*>(address);
  MYCEL_CHECK(at >= data() && at + bytes <= data() + bytes_);
  WindowPart part;
  part.address = reinterpret_cast<uint64_t>(address);
  part.bytes = bytes;
  part.fd = fd_.get();
  part.offset = static_cast<uint64_t>(at - base_);
  std::memcpy(part.token, token_, sizeof(token_));
  return part;
}

StatusOr<PeerWindow> PeerWindow::Map(int32_t pid, const WindowPart& part) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(part.fd);
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return SystemError("cannot open " + path + ": " + ErrnoText(errno));
  // The token is the first thing in the memory; a peer's descriptor may have become anything since it was told.
  uint64_t token[2] = {0, 0};
  struct stat facts {};
  if (pread(fd.get(), token, sizeof(token), 0) != static_cast<ssize_t>(sizeof(token)) ||
      std::memcmp(token, part.token, sizeof(token)) != 0 || fstat(fd.get(), &facts) != 0 ||
      part.offset > static_cast<uint64_t>(facts.st_size) ||
      part.bytes > static_cast<uint64_t>(facts.st_size) - part.offset ||
      (fcntl(fd.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0) {
    return InternalError(path + " is not the shared memory that its owner named");
  }
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t first = part.offset / page * page;
  PeerWindow window;
  window.mapped_bytes_ = static_cast<size_t>(part.offset - first + part.bytes);
  void* base = mmap(nullptr, window.mapped_bytes_, PROT_READ, MAP_SHARED, fd.get(), static_cast<off_t>(first));
  if (base == MAP_FAILED) return SystemError("cannot map " + path + ": " + ErrnoText(errno));
  window.base_ = base;
  window.data_ = static_cast<const std::byte*>(base) + (part.offset - first);
  window.address_ = part.address;
  window.bytes_ = part.bytes;
  return window;
}

PeerWindow::PeerWindow(PeerWindow&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      data_(other.data_),
      address_(other.address_),
      bytes_(other.bytes_) {}

PeerWindow::~PeerWindow() {
  if (base_ != nullptr) munmap(base_, mapped_bytes_);
}

}  // namespace mycel
