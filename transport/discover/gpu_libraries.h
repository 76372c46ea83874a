// What NVML and ROCm SMI know of GPUs and of the links between them. Both are loaded when asked, and missing ones are
// no error: a machine without GPUs has neither.
#pragma once

#include "transport/discover/describe.h"

namespace mycel {

/// Adds GPUs and, where a library is there and fails, a note that says why. `library` is for tests.
void AskNvml(MachineAnswers* answers, const char* library = "libnvidia-ml.so.1");
void AskRocmSmi(MachineAnswers* answers, const char* library = "librocm_smi64.so");

}  // namespace mycel
