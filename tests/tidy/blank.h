// Source text without what is not code.
#pragma once

#include <string>
#include <string_view>

namespace mycel::tidy {

/// `text` with comments, the insides of string and character literals, and preprocessor lines replaced by spaces; line
/// breaks stay where they are.
std::string BlankComments(std::string_view text);

}  // namespace mycel::tidy
