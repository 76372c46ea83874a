#include "core/base/system_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace mycel {

std::string SystemText(const std::string& path) {
  constexpr size_t kMost = size_t{1} << 20;
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char piece[4096];
  while (text.size() < kMost) {
    const ssize_t got = read(fd, piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece, static_cast<size_t>(got));
  }
  close(fd);
  return text;
}

}  // namespace mycel
