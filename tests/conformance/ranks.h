// Ranks: the communicators of one process, each on a thread of its own; and variables of the environment for a while.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bindings/c/mycel.h"

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

/// Variables of the environment, taken back at the end. Not while other threads run.
class Environment {
 public:
  Environment(std::initializer_list<std::pair<const char*, std::string>> values) {
    for (const auto& [name, value] : values) {
      setenv(name, value.c_str(), 1);
      names_.push_back(name);
    }
  }
  ~Environment() {
    for (const char* name : names_) unsetenv(name);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<const char*> names_;
};

}  // namespace mycel
