// StreamFlights: launches of a communicator that are on their way on its device's streams, and the thread that watches
// them.
#pragma once

#include <cstdint>
#include <deque>
#include <thread>

#include "core/base/mutex.h"
#include "core/runtime/call.h"

namespace mycel {

/// A launch, with what error texts need.
struct StreamFlight {
  uint64_t number = 0;     // StreamDevice::Submit
  uint64_t operation = 0;  // sequence number
  CollectiveCall call;     // what it points to may be gone
  bool point_to_point = false;
  int64_t timeout_ns = 0;
  int64_t begun_ns = 0;  // when it was first seen running; 0: not yet
};

struct StreamFlights {
  Mutex mutex;
  Condition changed;
  std::deque<StreamFlight> flying ABSL_GUARDED_BY(mutex);  // in their order
  bool closing ABSL_GUARDED_BY(mutex) = false;
  uint64_t last_operation ABSL_GUARDED_BY(mutex) = 0;
  uint64_t looks = 0;  // the watch's
  bool told = false;   // the watch's: the failure is on record, kernels were told to end
  std::thread watch;
};

}  // namespace mycel
