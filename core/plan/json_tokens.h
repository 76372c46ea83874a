// JSON text -> tokens, for the readers of plan files: ours, and those of other formats in bindings/interchange.
//
// The parser's events become a flat list of 16-byte tokens, each with the line it stands in; nesting deeper than the
// format's own stops the parse at once, so no reader recurses as deep as a file pleases.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/plan/plan_tokens.h"

namespace mycel {

/// InvalidArgument: "FILE:LINE: syntax error ...; CURE".
StatusOr<Tokens> TokenizeJson(std::string_view text, const std::string& file_name, int depth_max,
                              const std::string& cure);

}  // namespace mycel
