#include "transport/bootstrap/frames.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/check.h"

namespace mycel {
namespace {

constexpr uint32_t kMagic = 0x4d46594dU;  // "MYFM"
constexpr size_t kHeaderBytes = 16;       // magic, type, payload bytes
constexpr size_t kReadBytes = 64 * 1024;

}  // namespace

void PutInteger(std::string* out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t TakeInteger(std::string_view* in, size_t bytes) {
  MYCEL_CHECK_GE(in->size(), bytes);
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>((*in)[i])) << (8 * i);
  }
  in->remove_prefix(bytes);
  return value;
}

std::shared_ptr<const std::string> Encode(FrameType type, const std::string& payload) {
  auto encoded = std::make_shared<std::string>();
  encoded->reserve(kHeaderBytes + payload.size());
  PutInteger(encoded.get(), kMagic, 4);
  PutInteger(encoded.get(), static_cast<uint64_t>(type), 4);
  PutInteger(encoded.get(), payload.size(), 8);
  *encoded += payload;
  return encoded;
}

FrameConnection::Result FrameConnection::Receive(Frame* frame) {
  while (true) {
    size_t wanted = kHeaderBytes;
    if (received_.size() >= kHeaderBytes) {
      std::string_view header(received_);
      const uint64_t magic = TakeInteger(&header, 4);
      const uint64_t type = TakeInteger(&header, 4);
      const uint64_t bytes = TakeInteger(&header, 8);
      if (magic != kMagic || bytes > payload_bytes_max_) return Result::kEnded;
      wanted += static_cast<size_t>(bytes);
      if (received_.size() >= wanted) {
        frame->type = static_cast<FrameType>(type);
        frame->payload = received_.substr(kHeaderBytes, static_cast<size_t>(bytes));
        received_.erase(0, wanted);
        return Result::kFrame;
      }
    }
    // Never beyond this frame, and in pieces: memory grows with what has come, not with what was announced.
    const size_t have = received_.size();
    const size_t piece = std::min(wanted - have, kReadBytes);
    received_.resize(have + piece);
    const ssize_t got = recv(fd_.get(), received_.data() + have, piece, MSG_DONTWAIT);
    received_.resize(have + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? Result::kNothingYet : Result::kEnded;
  }
}

bool FrameConnection::Send(std::shared_ptr<const std::string> encoded) {
  unsent_.push_back(std::move(encoded));
  return Flush();
}

bool FrameConnection::Flush() {
  while (!unsent_.empty()) {
    const std::string& front = *unsent_.front();
    const ssize_t sent =
        send(fd_.get(), front.data() + sent_bytes_, front.size() - sent_bytes_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    sent_bytes_ += static_cast<size_t>(sent);
    if (sent_bytes_ < front.size()) continue;
    unsent_.pop_front();
    sent_bytes_ = 0;
  }
  return true;
}

void SetTcpOptions(int fd) {
  const auto set = [fd](int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof(value)); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 20);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000);
}

std::string ThisProcessText() {
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = 0;
  return "pid " + std::to_string(getpid()) + " on " + host;
}

}  // namespace mycel
