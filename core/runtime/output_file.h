// Files that a run leaves behind on request: their names, and JSON arrays that several processes add to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace mycel {

/// `pattern` with %r (rank), %p (process id), %h (host), %c (communicator, sixteen digits) and %% replaced. Anything
/// else stays.
std::string ExpandFileName(const std::string& pattern, int32_t rank, uint64_t communicator);

/// `text` in quotes, as JSON wants it.
void AppendJsonString(std::string_view text, std::string* json);

/// Adds `elements` ("{...},\n{...}") to the JSON array in file `path`, which is a whole JSON document before and after;
/// processes that add at the same time wait for each other (flock). With a `first` element, a file that does not begin
/// with it is one of another run and starts over. SystemError names the file and the reason.
Status AppendToJsonArray(const std::string& path, const std::string& first, const std::string& elements);

}  // namespace mycel
