// Ranks: the communicators of one process, each on a thread of its own.
#pragma once

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "tests/conformance/environment.h"

namespace mycel {

/// Each test runs a function per rank on its own thread.
class Ranks {
 public:
  explicit Ranks(int n) : comms_(static_cast<size_t>(n)) {
    EXPECT_EQ(mycelCommInitAll(comms_.data(), n, nullptr), mycelSuccess) << mycelGetLastError(nullptr);
  }
  ~Ranks() {
    for (mycelComm_t comm : comms_) EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  int count() const { return static_cast<int>(comms_.size()); }
  mycelComm_t comm(int rank) const { return comms_[static_cast<size_t>(rank)]; }

  template <typename Body>
  void Each(const Body& body) const {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < count(); ++rank) {
      threads.emplace_back([&body, this, rank] { body(rank, comm(rank)); });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::vector<mycelComm_t> comms_;
};

/// The first two of `all` under ThreadSanitizer, which runs everything fifteen times slower and sees races of the
/// runtime, whose code the others share.
template <typename T>
std::vector<T> FewUnderThreadSanitizer(std::vector<T> all) {
#if defined(__SANITIZE_THREAD__)
  all.resize(2);
#endif
  return all;
}

/// The planners that make unlike plans for ranks of one host.
inline std::vector<const char*> PlannersHere() {
  return FewUnderThreadSanitizer<const char*>({"auto", "ring", "direct", "forest"});
}

}  // namespace mycel
