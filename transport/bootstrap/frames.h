// Frames: whole messages over one non-blocking TCP connection, in both directions.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "transport/bootstrap/sockets.h"

namespace mycel {

/// What ranks and the rendezvous say to each other; the payloads are described in rendezvous.h.
enum class FrameType : uint32_t {
  kHello = 1,
  kChallenge,
  kProof,
  kWelcome,
  kRegister,
  kRegistered,
  kValue,
  kTable,
  kFailure,
};

struct Frame {
  FrameType type = FrameType::kHello;
  std::string payload;
};

/// Header and payload as they travel; shared by all connections that send the same.
std::shared_ptr<const std::string> Encode(FrameType type, const std::string& payload);

/// Integers of payloads travel in little-endian order.
void PutInteger(std::string* out, uint64_t value, size_t bytes);
/// Takes one from the front of `in`, which must be long enough.
uint64_t TakeInteger(std::string_view* in, size_t bytes);

/// One end of a connection. One thread.
class FrameConnection {
 public:
  enum class Result : uint8_t { kFrame, kNothingYet, kEnded };

  explicit FrameConnection(Fd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  /// Refuse frames with longer payloads: garbage must not make us allocate.
  void set_payload_bytes_max(uint64_t bytes) { payload_bytes_max_ = bytes; }

  /// The next frame if it is here. kEnded: closed, broken, or no frame of ours.
  Result Receive(Frame* frame);
  /// Queues a frame and sends what the socket takes. False: the connection is broken.
  bool Send(std::shared_ptr<const std::string> encoded);
  /// Sends more of what is queued; to be called when the socket is writable. False: the connection is broken.
  bool Flush();
  bool HasUnsent() const { return !unsent_.empty(); }
  /// What poll() should wait for.
  int16_t PollEvents() const { return static_cast<int16_t>(HasUnsent() ? POLLIN | POLLOUT : POLLIN); }

 private:
  Fd fd_;
  uint64_t payload_bytes_max_ = 64;
  std::string received_;  // an incomplete frame
  std::deque<std::shared_ptr<const std::string>> unsent_;
  size_t sent_bytes_ = 0;  // of unsent_.front()
};

/// TCP_NODELAY, and keep-alives that notice a dead machine within a minute.
void SetTcpOptions(int fd);

/// "pid 17 on node4": who it is, as a rank's Register frame says it.
std::string ThisProcessText();

}  // namespace mycel
