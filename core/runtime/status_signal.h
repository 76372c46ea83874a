// SIGUSR2: a process prints the status table of its communicators, all ranks of this machine included, to standard
// error.
#pragma once

namespace mycel {

/// Installs the handler at its first call, where MYCEL_SIGNAL allows it and the program has not given SIGUSR2 a meaning
/// of its own (its disposition is the default). What the program installs later stays installed. Any thread.
void InstallStatusSignal();

}  // namespace mycel
