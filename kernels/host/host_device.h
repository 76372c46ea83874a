// The host device: the step loop in the calling thread.
#pragma once

#include "core/spi/device.h"

namespace mycel {

/// The one host device of the process; stateless, any number of threads.
const Device& HostDevice();

}  // namespace mycel
