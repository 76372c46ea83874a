// Every status code has a result, and every result a text of its own.
#include "bindings/c/status_map.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace mycel {
namespace {

TEST(StatusMap, EveryCodeMapsToAResultOfItsKind) {
  for (int code = 0; code <= 16; ++code) {
    const mycelResult_t result = ResultOf(static_cast<StatusCode>(code));
    EXPECT_EQ(result == mycelSuccess, code == 0) << code;
    EXPECT_NE(result, mycelInProgress) << code;
  }
  EXPECT_EQ(ResultOf(InvalidArgument("x")), mycelInvalidArgument);
  EXPECT_EQ(ResultOf(InvalidUsage("x")), mycelInvalidUsage);
  EXPECT_EQ(ResultOf(Impossible("x")), mycelInvalidUsage);
  EXPECT_EQ(ResultOf(SystemError("x")), mycelSystemError);
  EXPECT_EQ(ResultOf(RemoteError("x")), mycelRemoteError);
  EXPECT_EQ(ResultOf(TimeoutError("x")), mycelTimeout);
  EXPECT_EQ(ResultOf(AbortedError("x")), mycelAborted);
  EXPECT_EQ(ResultOf(InternalError("x")), mycelInternalError);
}

TEST(StatusMap, EveryResultHasItsOwnText) {
  std::set<std::string> texts;
  for (int result = 0; result <= mycelAborted; ++result) texts.insert(TextOf(static_cast<mycelResult_t>(result)));
  EXPECT_EQ(texts.size(), static_cast<size_t>(mycelAborted) + 1);
  EXPECT_STREQ(TextOf(static_cast<mycelResult_t>(77)), "unknown result");
}

TEST(StatusMap, ReportRemembersTheTextOfThisThread) {
  EXPECT_EQ(Report(InvalidArgument("the cause")), mycelInvalidArgument);
  EXPECT_EQ(LastReported(), "the cause");
  EXPECT_EQ(Report(OkStatus()), mycelSuccess);
  EXPECT_EQ(LastReported(), "the cause");
}

}  // namespace
}  // namespace mycel
