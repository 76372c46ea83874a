#include "bindings/cli/exit_code.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "bindings/cli/terminal.h"

namespace mycel::cli {

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
  // A device or pipe cannot be replaced, only written to.
  const bool replace = path.rfind("/dev/", 0) != 0;
  const std::string draft = replace ? path + ".tmp" + std::to_string(getpid()) : path;
  std::ofstream file(draft, std::ios::binary | std::ios::trunc);
  if (!file) return refuse();
  file << text;
  file.close();
  if (file.fail()) {
    Status status = refuse();
    if (replace) std::remove(draft.c_str());
    return status;
  }
  if (replace && std::rename(draft.c_str(), path.c_str()) != 0) {
    Status status = refuse();
    std::remove(draft.c_str());
    return status;
  }
  return OkStatus();
}

}  // namespace mycel::cli
