#include "core/base/build_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mycel {
namespace {

TEST(BuildInfo, NamesVersionCommitAndEveryPackage) {
  const BuildInfo& info = GetBuildInfo();
  EXPECT_THAT(std::string(info.version), testing::MatchesRegex("[0-9]+.[0-9]+.[0-9]+"));
  EXPECT_FALSE(info.commit.empty());
  EXPECT_FALSE(info.compiler.empty());
  std::vector<std::string_view> found;
  for (const BuildFeature& feature : info.features) {
    EXPECT_FALSE(feature.purpose.empty()) << feature.name;
    if (feature.found) found.push_back(feature.name);
  }
  EXPECT_THAT(found, testing::IsSupersetOf({"Abseil", "Highway", "nlohmann-json", "CLI11", "GoogleTest"}));
  EXPECT_GE(info.features.size(), 15U);
}

}  // namespace
}  // namespace mycel
