// Which code runs: for what is kept between runs and must not outlive the code that made it.
#pragma once

#include <string>

namespace mycel {

/// The linker's build ids of the program or library that this function is in, and of loaded libraries whose results
/// Mycel's plans rest on (the C++ and mathematical libraries, CLP), as text. Equal texts mean equal code, also between
/// machines. Empty when the linker left no id in Mycel itself. Read once; any thread.
const std::string& CodeId();

}  // namespace mycel
