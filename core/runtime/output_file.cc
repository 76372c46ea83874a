#include "core/runtime/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/hex.h"
#include "core/base/host_name.h"

namespace mycel {
namespace {

constexpr std::string_view kOpening = "[\n";
constexpr std::string_view kEnding = "\n]\n";

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);  // the lock goes with it
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int get() const { return fd_; }
  bool Lock() const { return fd_ >= 0 && flock(fd_, LOCK_EX) == 0; }
  int64_t Size() const {
    struct stat facts {};
    return fstat(fd_, &facts) == 0 ? int64_t{facts.st_size} : -1;
  }
  /// The bytes there, shorter at the end of the file.
  std::string Read(int64_t at, size_t bytes) const {
    std::string text(bytes, '\0');
    const ssize_t got = pread(fd_, text.data(), bytes, static_cast<off_t>(at));
    text.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return text;
  }
  bool Write(std::string_view text, int64_t at) const {
    while (!text.empty()) {
      const ssize_t wrote = pwrite(fd_, text.data(), text.size(), static_cast<off_t>(at));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return false;
      text.remove_prefix(static_cast<size_t>(wrote));
      at += wrote;
    }
    return true;
  }

 private:
  const int fd_;
};

}  // namespace

std::string ExpandFileName(const std::string& pattern, int32_t rank, uint64_t communicator) {
  std::string name;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] != '%' || next == '\0' || std::strchr("rphc%", next) == nullptr) {
      name += pattern[i];
      continue;
    }
    ++i;
    if (next == 'r') name += std::to_string(rank);
    if (next == 'p') name += std::to_string(getpid());
    if (next == 'h') name += HostName();
    if (next == 'c') name += Hex(communicator);
    if (next == '%') name += '%';
  }
  return name;
}

void AppendJsonString(std::string_view text, std::string* json) {
  static constexpr char kDigits[] = "0123456789abcdef";
  *json += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *json += '\\';
      *json += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      // Also the bytes of UTF-8, each for itself: a name that is none must not spoil the file.
      *json += "\\u00";
      *json += kDigits[byte >> 4];
      *json += kDigits[byte & 15];
    } else {
      *json += c;
    }
  }
  *json += '"';
}

Status AppendToJsonArray(const std::string& path, const std::string& first, const std::string& elements) {
  const OpenFile file(path);
  const auto refused = [&] { return SystemError("cannot write " + path + ": " + std::strerror(errno)); };
  if (!file.Lock()) return refused();
  const std::string beginning = std::string(kOpening) + first;
  int64_t size = file.Size();
  const auto ending = static_cast<int64_t>(kEnding.size());
  const bool ours = size >= static_cast<int64_t>(beginning.size()) + ending &&
                    file.Read(0, beginning.size()) == beginning && file.Read(size - ending, kEnding.size()) == kEnding;
  std::string text;
  int64_t at = 0;
  if (ours) {
    at = size - ending;
    text = ",\n";
  } else {
    if (ftruncate(file.get(), 0) != 0) return refused();
    text = beginning + (first.empty() || elements.empty() ? "" : ",\n");
  }
  if (ours && elements.empty()) return OkStatus();
  text += elements;
  text += kEnding;
  return file.Write(text, at) ? OkStatus() : refused();
}

}  // namespace mycel
