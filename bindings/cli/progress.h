// A line on standard error while something takes long: "planning ring on dgx-a100-x8 ... 3.2 s". Only on a terminal,
// only after half a second, and gone when done.
#pragma once

#include <string>
#include <thread>

#include "core/base/mutex.h"

namespace mycel::cli {

class Progress {
 public:
  explicit Progress(const std::string& what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void Tick();

  std::string what_;
  Mutex mutex_;
  Condition wake_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread ticker_;  // absent when standard error is no terminal
};

}  // namespace mycel::cli
