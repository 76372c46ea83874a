#include "core/base/code_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mycel {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

TEST(CodeId, NamesThisProgramAndTheLibrariesThatPlansRestOn) {
  // Debian's compilers ask the linker for build ids.
  EXPECT_THAT(CodeId(), HasSubstr("mycel "));
  EXPECT_THAT(CodeId(), HasSubstr("libstdc++.so "));
  EXPECT_THAT(CodeId(), MatchesRegex("([a-zA-Z+.]+ [0-9a-f]+(, )?)+"));
  EXPECT_EQ(CodeId(), CodeId());
}

}  // namespace
}  // namespace mycel
