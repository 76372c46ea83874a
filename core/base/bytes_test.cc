#include "core/base/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace mycel {
namespace {

TEST(ParseBytes, ReadsWhatPeopleWrite) {
  EXPECT_EQ(*ParseBytes("0"), 0);
  EXPECT_EQ(*ParseBytes("65536"), 65536);
  EXPECT_EQ(*ParseBytes("8B"), 8);
  EXPECT_EQ(*ParseBytes("64K"), 65536);
  EXPECT_EQ(*ParseBytes("64k"), 65536);
  EXPECT_EQ(*ParseBytes("64M"), 64 << 20);
  EXPECT_EQ(*ParseBytes("1MB"), 1 << 20);
  EXPECT_EQ(*ParseBytes("1MiB"), 1 << 20);
  EXPECT_EQ(*ParseBytes("2G"), int64_t{2} << 30);
  EXPECT_EQ(*ParseBytes("1T"), int64_t{1} << 40);
}

TEST(ParseBytes, RefusesTheRest) {
  for (const char* bad : {"", "K", "-1", "1.5M", "1KK", "1X", "1MBB", " 1", "1 ", "0x10", "99999999999999999999",
                          "9223372036854775807K", "1Bi", "1BB"}) {
    const StatusOr<int64_t> value = ParseBytes(bad);
    ASSERT_FALSE(value.ok()) << bad << " gave " << *value;
    EXPECT_THAT(StatusMessage(value.status()), testing::HasSubstr("\"" + std::string(bad) + "\""));
  }
}

TEST(FormatBytes, ReadsBackExactly) {
  for (const int64_t bytes :
       {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{1024}, int64_t{1536}, int64_t{64} << 20, int64_t{3} << 30,
        int64_t{5} << 40, int64_t{1} << 50, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(*ParseBytes(FormatBytes(bytes)), bytes) << FormatBytes(bytes);
  }
  EXPECT_EQ(FormatBytes(64 << 20), "64M");
  EXPECT_EQ(FormatBytes(1536), "1536");
  EXPECT_EQ(FormatBytes(int64_t{1} << 50), "1024T");
}

}  // namespace
}  // namespace mycel
