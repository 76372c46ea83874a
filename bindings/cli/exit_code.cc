#include "bindings/cli/exit_code.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "bindings/cli/terminal.h"

namespace mycel::cli {
namespace {

constexpr mode_t kFileMode = 0666;

/// The process's mask can only be read by setting it; `mycel` has one thread while it writes files.
mode_t CurrentMask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

/// False with errno where not every byte arrived.
bool WriteAndClose(int file, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      close(file);
      errno = error;
      return false;
    }
    done += static_cast<size_t>(count);
  }
  return close(file) == 0;
}

}  // namespace

ExitCode ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return kDone;
    case StatusCode::kUnimplemented:
      return kImpossible;
    case StatusCode::kInternal:
      return kDefect;
    default:
      return kBadInput;
  }
}

ExitCode Fail(const Status& status) {
  const ExitCode code = ExitCodeOf(status);
  const std::string defect = code == kDefect ? " (a defect of Mycel: please report it with this command line)" : "";
  std::fprintf(stderr, "mycel: %s%s\n", Printable(StatusMessage(status)).c_str(), defect.c_str());
  return code;
}

ExitCode FailUsage(const std::string& message, const std::string& command) {
  std::fprintf(stderr, "mycel: %s\nsee: mycel %s%s--help\n", Printable(message).c_str(), command.c_str(),
               command.empty() ? "" : " ");
  return kUsage;
}

ExitCode Print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return kDone;
  return Fail(SystemError(std::string("cannot write to standard output: ") + std::strerror(errno)));
}

Status WriteFile(const std::string& path, const std::string& text) {
  const auto refuse = [&path] {
    return InvalidArgument("cannot write " + path + ": " + std::strerror(errno) +
                           "; give a path in a folder that you may write to");
  };
  // What a link leads to is replaced, not the link. A link to nothing is written through: it says where to.
  std::error_code unresolved;
  const std::string target = std::filesystem::canonical(path, unresolved).string();
  struct stat known = {};
  const bool exists = stat(path.c_str(), &known) == 0;
  const bool dangling = !exists && lstat(path.c_str(), &known) == 0;
  // A device or a pipe cannot be replaced, only written to.
  if (dangling || (exists && !S_ISREG(known.st_mode))) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode);
    return file >= 0 && WriteAndClose(file, text) ? OkStatus() : refuse();
  }
  const std::string final_path = exists && !unresolved ? target : path;
  std::string draft = final_path + ".XXXXXX";
  const int file = mkostemp(draft.data(), O_CLOEXEC);
  if (file < 0) return refuse();
  // Drafts are private; the file keeps its rights, a new one gets what the caller's mask leaves.
  const bool written = fchmod(file, exists ? known.st_mode & 07777 : kFileMode & ~CurrentMask()) == 0;
  if (WriteAndClose(file, text) && written && std::rename(draft.c_str(), final_path.c_str()) == 0) return OkStatus();
  Status status = refuse();
  unlink(draft.c_str());
  return status;
}

}  // namespace mycel::cli
