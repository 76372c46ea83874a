// Asks the libraries of this machine: hwloc for CPUs and memory, libibverbs for what can be opened, NVML and ROCm SMI
// for GPUs. What a library cannot say becomes a note. Takes up to seconds where GPUs must wake up; not for the way to a
// communicator.
#pragma once

#include "transport/discover/describe.h"

namespace mycel {

MachineAnswers AskLibraries();

}  // namespace mycel
