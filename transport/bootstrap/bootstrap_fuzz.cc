// libFuzzer target of what the bootstrap reads from strangers: the unique id and frames. Any bytes give an error or a
// value that survives a round trip; a frame is never larger than allowed. The first byte chooses the reader and, for
// frames, how many bytes arrive at a time.
//   cmake --preset fuzz && cmake --build --preset fuzz --target bootstrap_fuzz && build-fuzz/bin/bootstrap_fuzz
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "transport/bootstrap/frames.h"
#include "transport/bootstrap/unique_id.h"

namespace mycel {
namespace {

constexpr uint64_t kPayloadBytesMax = 1024;

void ReadId(std::string_view bytes) {
  UniqueId id;
  std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof(id.bytes)), id.bytes);
  const auto place = MeetingPlace::Unpack(id);
  if (!place.ok()) return;
  const auto again = MeetingPlace::Unpack(place->Pack());
  MYCEL_CHECK(again.ok());
  MYCEL_CHECK_EQ(again->port, place->port);
  MYCEL_CHECK(again->secret == place->secret);
  MYCEL_CHECK_EQ(again->addresses.size(), place->addresses.size());
  for (size_t i = 0; i < place->addresses.size(); ++i) {
    MYCEL_CHECK(again->addresses[i].ToString() == place->addresses[i].ToString());
  }
}

void ReadFrames(std::string_view bytes, size_t piece) {
  int ends[2];
  MYCEL_CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  FrameConnection reader{Fd(ends[0])};
  Fd writer(ends[1]);
  reader.set_payload_bytes_max(kPayloadBytesMax);
  std::string taken;
  bool ended = false;
  for (size_t at = 0; at < bytes.size() && !ended; at += piece) {
    const std::string_view part = bytes.substr(at, piece);
    MYCEL_CHECK_EQ(send(writer.get(), part.data(), part.size(), MSG_NOSIGNAL), static_cast<ssize_t>(part.size()));
    Frame frame;
    auto result = reader.Receive(&frame);
    for (; result == FrameConnection::Result::kFrame; result = reader.Receive(&frame)) {
      MYCEL_CHECK(frame.payload.size() <= kPayloadBytesMax);
      taken += *Encode(frame.type, frame.payload);
    }
    ended = result == FrameConnection::Result::kEnded;
  }
  MYCEL_CHECK(bytes.starts_with(taken));  // what was read is what was written
}

}  // namespace
}  // namespace mycel

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" __attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 0) {
    mycel::ReadId(rest);
  } else {
    mycel::ReadFrames(rest, data[0]);
  }
  return 0;
}
