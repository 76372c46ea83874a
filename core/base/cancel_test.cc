#include "core/base/cancel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mycel {
namespace {

TEST(Cancel, TheInnermostScopeCounts) {
  std::atomic<uint64_t> outer = 1;
  std::atomic<uint64_t> inner = 5;
  EXPECT_FALSE(Cancellable());
  EXPECT_FALSE(Cancelled());
  {
    const CancelScope first(&outer, 1);
    EXPECT_TRUE(Cancellable());
    EXPECT_TRUE(CheckCancelled("rank 0").ok());
    {
      const CancelScope second(&inner, 5);
      outer = 2;
      EXPECT_FALSE(Cancelled());
      inner = 0;
      EXPECT_TRUE(Cancelled());
    }
    EXPECT_EQ(CheckCancelled("rank 0").code(), StatusCode::kAborted);
    EXPECT_THAT(StatusMessage(CheckCancelled("rank 0")), ::testing::HasSubstr("rank 0: the communicator was aborted"));
    outer = 1;
    EXPECT_FALSE(Cancelled());
  }
  EXPECT_FALSE(Cancellable());
}

}  // namespace
}  // namespace mycel
