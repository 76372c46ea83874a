// What tests of communicators themselves need: makes some on one thread, asks them, waits for them.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "bindings/c/mycel.h"

namespace mycel {

inline std::vector<mycelComm_t> Create(int n, const mycelConfig_t* config = nullptr) {
  std::vector<mycelComm_t> comms(static_cast<size_t>(n));
  EXPECT_EQ(mycelCommInitAllConfig(comms.data(), n, nullptr, config), mycelSuccess) << mycelGetLastError(nullptr);
  return comms;
}

inline void Destroy(const std::vector<mycelComm_t>& comms) {
  for (mycelComm_t comm : comms) EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
}

inline void OnThreads(size_t n, const std::function<void(size_t)>& body) {
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < n; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

/// The sum over the ranks of `comm` of `mine`.
inline int SumOver(mycelComm_t comm, int mine) {
  int sum = -1;
  EXPECT_EQ(mycelAllReduce(&mine, &sum, 1, mycelInt32, mycelSum, comm, nullptr), mycelSuccess)
      << mycelGetLastError(comm);
  return sum;
}

inline int RankIn(mycelComm_t comm) {
  int rank = -1;
  EXPECT_EQ(mycelCommUserRank(comm, &rank), mycelSuccess);
  return rank;
}

inline int CountOf(mycelComm_t comm) {
  int count = -1;
  EXPECT_EQ(mycelCommCount(comm, &count), mycelSuccess);
  return count;
}

/// Polls until it is not in progress any more.
inline mycelResult_t Settle(mycelComm_t comm) {
  mycelResult_t state = mycelInProgress;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (state == mycelInProgress && std::chrono::steady_clock::now() < until) {
    EXPECT_EQ(mycelCommGetAsyncError(comm, &state), mycelSuccess);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return state;
}

inline double SecondsOf(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace mycel
