// Memory from mycelMemAlloc, windows and registrations between ranks of one process: what is refused, and that a window
// says truthfully that it changes nothing here. Between processes: tests/multiproc.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/c/mycel.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

TEST(Memory, IsZeroedWritableAndFreedOnce) {
  void* memory = nullptr;
  ASSERT_EQ(mycelMemAlloc(&memory, 100003), mycelSuccess) << mycelGetLastError(nullptr);
  auto* bytes = static_cast<unsigned char*>(memory);
  for (size_t i = 0; i < 100003; ++i) ASSERT_EQ(bytes[i], 0);
  std::memset(memory, 7, 100003);
  EXPECT_EQ(mycelMemFree(bytes + 1), mycelInvalidArgument);
  EXPECT_EQ(mycelMemFree(memory), mycelSuccess);
  EXPECT_EQ(mycelMemFree(memory), mycelInvalidArgument);
  EXPECT_EQ(mycelMemFree(nullptr), mycelSuccess);
  EXPECT_EQ(mycelMemAlloc(&memory, 0), mycelInvalidArgument);
  EXPECT_EQ(mycelMemAlloc(nullptr, 8), mycelInvalidArgument);
}

TEST(Memory, TooMuchIsAnErrorWithNumbers) {
  void* memory = nullptr;
  EXPECT_EQ(mycelMemAlloc(&memory, size_t{1} << 60), mycelSystemError);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("1152921504606846976 bytes"));
  EXPECT_EQ(memory, nullptr);
}

TEST(Windows, BetweenThreadsChangeNothingAndSaySo) {
  std::vector<mycelComm_t> comms(2);
  ASSERT_EQ(mycelCommInitAll(comms.data(), 2, nullptr), mycelSuccess);
  void* memory[2] = {};
  mycelWindow_t windows[2] = {};
  for (void*& each : memory) ASSERT_EQ(mycelMemAlloc(&each, 4096), mycelSuccess);
  ASSERT_EQ(mycelGroupStart(), mycelSuccess);
  for (size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(mycelCommWindowRegister(comms[rank], memory[rank], 1000, &windows[rank], MYCEL_WIN_COLL_SYMMETRIC),
              mycelSuccess);
  }
  ASSERT_EQ(mycelGroupEnd(), mycelSuccess) << mycelGetLastError(nullptr);
  mycelWindowInfo info;
  info.size = 1;
  EXPECT_EQ(mycelWindowGetInfo(windows[0], &info), mycelInvalidArgument);
  info.size = sizeof(info);
  ASSERT_EQ(mycelWindowGetInfo(windows[0], &info), mycelSuccess);
  EXPECT_EQ(info.bytes, 1000U);
  EXPECT_EQ(info.shareable, 1);
  EXPECT_EQ(info.peers_mapped, 0);
  EXPECT_THAT(info.reason, HasSubstr("share an address space"));
  EXPECT_EQ(mycelMemFree(memory[0]), mycelInvalidUsage);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("deregister"));
  EXPECT_EQ(mycelCommWindowDeregister(comms[1], windows[0]), mycelInvalidArgument);
  EXPECT_EQ(mycelCommWindowDeregister(comms[0], windows[0]), mycelSuccess);
  EXPECT_EQ(mycelCommWindowDeregister(comms[0], windows[0]), mycelInvalidArgument);
  EXPECT_EQ(mycelMemFree(memory[0]), mycelSuccess);
  // The end of a communicator ends its windows.
  EXPECT_EQ(mycelMemFree(memory[1]), mycelInvalidUsage);
  for (mycelComm_t comm : comms) EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
  EXPECT_EQ(mycelWindowGetInfo(windows[1], &info), mycelInvalidArgument);
  EXPECT_EQ(mycelMemFree(memory[1]), mycelSuccess);
}

TEST(Windows, BadArgumentsAreRefused) {
  mycelComm_t comm = nullptr;
  ASSERT_EQ(mycelCommInitAll(&comm, 1, nullptr), mycelSuccess);
  char buffer[64];
  mycelWindow_t window = nullptr;
  EXPECT_EQ(mycelCommWindowRegister(comm, nullptr, 8, &window, 0), mycelInvalidArgument);
  EXPECT_EQ(mycelCommWindowRegister(comm, buffer, 0, &window, 0), mycelInvalidArgument);
  EXPECT_EQ(mycelCommWindowRegister(comm, buffer, SIZE_MAX, &window, 0), mycelInvalidArgument);
  EXPECT_EQ(mycelCommWindowRegister(comm, buffer, 64, nullptr, 0), mycelInvalidArgument);
  EXPECT_EQ(mycelCommWindowRegister(comm, buffer, 64, &window, 9), mycelInvalidArgument);
  EXPECT_EQ(mycelCommWindowRegister(nullptr, buffer, 64, &window, 0), mycelInvalidArgument);
  EXPECT_EQ(mycelCommWindowDeregister(comm, nullptr), mycelInvalidArgument);
  void* registration = nullptr;
  EXPECT_EQ(mycelCommRegister(comm, nullptr, 64, &registration), mycelInvalidArgument);
  ASSERT_EQ(mycelCommRegister(comm, buffer, 64, &registration), mycelSuccess);
  EXPECT_EQ(mycelCommWindowDeregister(comm, static_cast<mycelWindow_t>(registration)), mycelInvalidArgument);
  EXPECT_EQ(mycelCommDeregister(comm, registration), mycelSuccess);
  EXPECT_EQ(mycelCommDeregister(comm, registration), mycelInvalidArgument);
  EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
}

}  // namespace
}  // namespace mycel
