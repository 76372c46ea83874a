// Exit codes of `mycel`: a contract with scripts.
#pragma once

#include <string>

#include "core/base/status.h"

namespace mycel::cli {

enum ExitCode : int {
  kDone = 0,
  kNo = 1,          // the answer is no: a plan that does not verify
  kUsage = 2,       // the command line is wrong, whatever the files say
  kBadInput = 3,    // a file, or an argument that does not fit it; the system refused something
  kImpossible = 4,  // no answer exists, e.g. ranks are cut off
  kDefect = 70,     // Mycel caught a mistake of its own
};

ExitCode ExitCodeOf(const Status& status);

/// Prints "mycel: " and the status's text to standard error; returns its exit code.
ExitCode Fail(const Status& status);
/// The same for a wrong command line; `command` ("plan") names whose --help to read.
ExitCode FailUsage(const std::string& message, const std::string& command);

/// `text` to standard output, whole; kBadInput with a message when it cannot be written.
ExitCode Print(const std::string& text);
/// `text` into file `path`, replaced as a whole: readers see the old file or the new one. A link stays, what it leads
/// to is replaced; pipes and devices are written to in place. InvalidArgument when the system refuses.
Status WriteFile(const std::string& path, const std::string& text);

}  // namespace mycel::cli
