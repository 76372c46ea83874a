#include "core/base/system_text.h"

#include <gtest/gtest.h>

namespace mycel {
namespace {

TEST(SystemText, WholeFilesNothingForThoseThatAreNotThereAndNoEnd) {
  EXPECT_EQ(SystemText("/proc/self/comm"), "base_test\n");
  EXPECT_EQ(SystemText("/proc/self/no_such_file"), "");
  EXPECT_EQ(SystemText("/proc"), "");  // a folder opens and cannot be read
  EXPECT_LE(SystemText("/dev/zero").size(), (size_t{1} << 20) + 4096);
}

}  // namespace
}  // namespace mycel
