// Finds function bodies in blanked source text (see blank.h), to measure them.
#pragma once

#include <string>
#include <vector>

#include "tests/tidy/source_text.h"

namespace mycel::tidy {

/// Every outermost function with a body, in file order. A lambda counts to the function around it.
std::vector<Function> FindFunctions(const std::vector<std::string>& code);

}  // namespace mycel::tidy
