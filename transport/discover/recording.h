// Everything that a description of a machine is made from, as a file: for reports about machines that one does not
// have, and for tests.
#pragma once

#include <string>
#include <string_view>

#include "transport/discover/describe.h"
#include "transport/discover/system_files.h"

namespace mycel {

struct Recording {
  RecordedFiles files;
  MachineAnswers answers;
};

/// JSON of format "mycel-machine", a fact a line. Reading it back gives an equal recording.
std::string WriteRecording(const Recording& recording);

/// InvalidArgument "FILE: ..." names the key. `file` is only for messages.
StatusOr<Recording> ReadRecording(std::string_view text, const std::string& file);

inline constexpr int64_t kRecordingBytesMax = int64_t{16} << 20;

}  // namespace mycel
