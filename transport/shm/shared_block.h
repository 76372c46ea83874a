// SharedBlock: memory that a rank gives to its user and that peers may map (mycelMemAlloc, windows). Anonymous (memfd),
// of fixed size, its pages taken when it is made. It begins with a page of our own that holds a token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/status.h"
#include "core/spi/window.h"
#include "transport/bootstrap/sockets.h"

namespace mycel {

class SharedBlock {
 public:
  /// `bytes` zeroed bytes, at least one. SystemError: needed, available, cure.
  static StatusOr<std::unique_ptr<SharedBlock>> Make(size_t bytes);
  ~SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  std::byte* data() const { return base_ + kHeaderBytes; }
  size_t bytes() const { return bytes_; }
  /// The part [address, address + bytes) of it, which must lie inside.
  WindowPart PartAt(const void* address, size_t bytes) const;

  static constexpr size_t kHeaderBytes = 4096;

 private:
  SharedBlock(std::byte* base, size_t bytes, Fd fd) : base_(base), bytes_(bytes), fd_(std::move(fd)) {}

  std::byte* const base_;
  const size_t bytes_;
  const Fd fd_;
  uint64_t token_[2] = {0, 0};
};

/// A peer's part of a window, mapped to be read.
class PeerWindow {
 public:
  /// `pid`: the peer's process. An error where it may not be opened or is another memory than it says.
  static StatusOr<PeerWindow> Map(int32_t pid, const WindowPart& part);
  PeerWindow(PeerWindow&& other) noexcept;
  PeerWindow& operator=(PeerWindow&&) = delete;
  ~PeerWindow();

  /// Where [address, address + bytes) of the peer's address space is found here; null when it is not all inside.
  const std::byte* Find(uint64_t address, size_t bytes) const {
    if (address < address_ || bytes > bytes_ || address - address_ > bytes_ - bytes) return nullptr;
    return data_ + (address - address_);
  }

 private:
  PeerWindow() = default;

  void* base_ = nullptr;
  size_t mapped_bytes_ = 0;
  const std::byte* data_ = nullptr;
  uint64_t address_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace mycel
