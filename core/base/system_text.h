// Small files of the system (/proc, /sys), read without a moment in which a program that another thread starts could
// inherit the descriptor: std::ifstream opens without O_CLOEXEC.
#pragma once

#include <string>

namespace mycel {

/// What `path` holds, at most a megabyte of it; empty when it cannot be read. Any thread.
std::string SystemText(const std::string& path);

}  // namespace mycel
