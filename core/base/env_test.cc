// The table's own consistency, every way a value can be bad, and the nearest-name warning.
#include "core/base/env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace mycel {
namespace {

using testing::HasSubstr;

/// Removes every MYCEL_ variable that the caller of the tests happens to have set.
void ClearEnvironment() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("MYCEL_")) names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

class EnvironmentCleaner : public testing::Environment {
 public:
  void SetUp() override { ClearEnvironment(); }
};
[[maybe_unused]] testing::Environment* const cleaner = testing::AddGlobalTestEnvironment(new EnvironmentCleaner);

/// Sets a variable for one test.
class ScopedEnv {
 public:
  ScopedEnv(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~ScopedEnv() { unsetenv(name_); }
  ScopedEnv(const ScopedEnv&) = delete;
  ScopedEnv& operator=(const ScopedEnv&) = delete;

 private:
  const char* name_;
};

TEST(EnvTable, EveryRowIsCompleteAndItsDefaultIsAllowed) {
  std::set<std::string_view> names;
  for (const EnvVariable& row : EnvVariables()) {
    EXPECT_TRUE(row.name.starts_with("MYCEL_")) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands twice";
    EXPECT_FALSE(row.text.empty()) << row.name;
    EXPECT_EQ(row.kind == EnvKind::kChoice, !row.choices.empty()) << row.name;
  }
  for (const EnvSetting& setting : DescribeEnv()) {
    EXPECT_TRUE(setting.status.ok()) << setting.status;
    EXPECT_FALSE(setting.from_environment);
  }
}

TEST(Env, TheCacheFolder) {
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  {
    const ScopedEnv no_home("HOME", "");
    EXPECT_EQ(CacheFolder(), "");
    const ScopedEnv relative("XDG_CACHE_HOME", "caches");
    EXPECT_EQ(CacheFolder(), "");
    const ScopedEnv caches("XDG_CACHE_HOME", "/var/caches");
    EXPECT_EQ(CacheFolder(), "/var/caches/mycel");
    const ScopedEnv own("MYCEL_CACHE_DIR", "/elsewhere");
    EXPECT_EQ(CacheFolder(), "/elsewhere");
    const ScopedEnv off("MYCEL_CACHE_DIR", "OFF");
    EXPECT_EQ(CacheFolder(), "");
  }
  const ScopedEnv user("HOME", "/home/somebody");
  EXPECT_EQ(CacheFolder(), "/home/somebody/.cache/mycel");
  setenv("HOME", home.c_str(), 1);
}

TEST(Env, UnsetAndEmptyMeanTheDefault) {
  EXPECT_EQ(*EnvReal(Env::kTimeout), 300.0);
  EXPECT_EQ(*EnvInteger(Env::kSpinUs), -1);
  EXPECT_EQ(*EnvInteger(Env::kPayloadBytes), 0);
  EXPECT_EQ(*EnvChoice(Env::kWait), "auto");
  EXPECT_EQ(*EnvText(Env::kPlanner), "auto");
  const ScopedEnv empty("MYCEL_TIMEOUT", "");
  EXPECT_EQ(*EnvReal(Env::kTimeout), 300.0);
}

TEST(Env, ReadsEachKind) {
  const ScopedEnv timeout("MYCEL_TIMEOUT", "0.5");
  const ScopedEnv spin("MYCEL_SPIN_US", "250");
  const ScopedEnv payload("MYCEL_PAYLOAD_BYTES", "64K");
  const ScopedEnv wait("MYCEL_WAIT", "SPIN");
  const ScopedEnv topo("MYCEL_TOPO", "ring8");
  EXPECT_EQ(*EnvReal(Env::kTimeout), 0.5);
  EXPECT_EQ(*EnvInteger(Env::kSpinUs), 250);
  EXPECT_EQ(*EnvInteger(Env::kPayloadBytes), 65536);
  EXPECT_EQ(*EnvChoice(Env::kWait), "spin");
  EXPECT_EQ(*EnvText(Env::kTopo), "ring8");
}

TEST(Env, ABadValueNamesVariableValueAndWhatIsAllowed) {
  for (const char* bad : {"0", "-1", "abc", "1e99", "5s", "nan", "1 "}) {
    const ScopedEnv set("MYCEL_TIMEOUT", bad);
    const StatusOr<double> value = EnvReal(Env::kTimeout);
    ASSERT_FALSE(value.ok()) << bad;
    EXPECT_EQ(value.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(StatusMessage(value.status()), HasSubstr(std::string("MYCEL_TIMEOUT=\"") + bad + "\""));
    EXPECT_THAT(StatusMessage(value.status()), HasSubstr("a number from 0.001 to 1000000000"));
    EXPECT_THAT(StatusMessage(value.status()), HasSubstr("default (300)"));
  }
  for (const char* bad : {"-2", "1.5", "", "99999999999999999999", "0x10"}) {
    const ScopedEnv set("MYCEL_SPIN_US", bad);
    if (*bad != '\0') {
      EXPECT_FALSE(EnvInteger(Env::kSpinUs).ok()) << bad;
    }
  }
  for (const char* bad : {"64X", "-1", "2T1", "9999999999G"}) {
    const ScopedEnv set("MYCEL_PAYLOAD_BYTES", bad);
    EXPECT_FALSE(EnvInteger(Env::kPayloadBytes).ok()) << bad;
  }
  const ScopedEnv set("MYCEL_WAIT", "busy");
  EXPECT_THAT(StatusMessage(EnvChoice(Env::kWait).status()), HasSubstr("one of auto|spin|yield|sleep"));
}

TEST(Env, EveryRowIsDocumentedAndItsDefaultIsAllowed) {
  EXPECT_LT(EnvVariables().size(), 40U) << "fewer settings, not more";
  const std::vector<EnvSetting> settings = DescribeEnv();
  std::set<std::string_view> names;
  for (size_t i = 0; i < EnvVariables().size(); ++i) {
    const EnvVariable& row = EnvVariables()[i];
    const std::string name(row.name);
    EXPECT_TRUE(row.name.starts_with("MYCEL_")) << name;
    EXPECT_TRUE(names.insert(row.name).second) << name << " twice";
    EXPECT_GE(row.text.size(), 30U) << name << ": say what it does";
    if (row.fallback.empty()) {
      EXPECT_THAT(std::string(row.text), HasSubstr("empty")) << name << ": what is the default?";
    }
    if (row.kind == EnvKind::kChoice) {
      EXPECT_NE(row.choices.find('|'), std::string_view::npos) << name;
    }
    const bool number = row.kind != EnvKind::kChoice && row.kind != EnvKind::kText;
    EXPECT_EQ(number, row.least < row.most) << name << ": its range";
    if (!settings[i].from_environment) {
      EXPECT_TRUE(settings[i].status.ok()) << settings[i].status;
    }
  }
}

TEST(Env, DescribeTellsValueOriginAndFault) {
  const ScopedEnv good("MYCEL_DIRECT", "off");
  const ScopedEnv bad("MYCEL_HUGE_PAGES", "maybe");
  const std::vector<EnvSetting> settings = DescribeEnv();
  ASSERT_EQ(settings.size(), EnvVariables().size());
  const EnvSetting& direct = settings[static_cast<size_t>(Env::kDirect)];
  EXPECT_EQ(direct.value, "off");
  EXPECT_TRUE(direct.from_environment);
  EXPECT_TRUE(direct.status.ok());
  const EnvSetting& huge = settings[static_cast<size_t>(Env::kHugePages)];
  EXPECT_EQ(huge.value, "maybe");
  EXPECT_FALSE(huge.status.ok());
}

TEST(Env, UnknownVariablesAreFoundWithTheNearestName) {
  const ScopedEnv typo("MYCEL_TIMOUT", "5");
  const ScopedEnv strange("MYCEL_ABCDEFGHIJKLMNOP", "5");
  const ScopedEnv known("MYCEL_TIMEOUT", "5");
  const ScopedEnv other("MYCELIUM", "5");
  std::vector<UnknownEnv> unknown = UnknownEnvVariables();
  ASSERT_EQ(unknown.size(), 2U);
  if (unknown[0].name != "MYCEL_TIMOUT") std::swap(unknown[0], unknown[1]);
  EXPECT_EQ(unknown[0].name, "MYCEL_TIMOUT");
  EXPECT_EQ(unknown[0].nearest, "MYCEL_TIMEOUT");
  EXPECT_EQ(unknown[1].nearest, "");
}

TEST(EnvDeathTest, UnknownVariablesAreWarnedAboutOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto warn_twice = [] {
    setenv("MYCEL_DEBUGG", "INFO", 1);
    WarnOfUnknownEnv();
    WarnOfUnknownEnv();
    std::_Exit(0);
  };
  EXPECT_EXIT(warn_twice(), testing::ExitedWithCode(0),
              testing::AllOf(
                  HasSubstr("MYCEL_DEBUGG is unknown and ignored; did you mean MYCEL_DEBUG?"),
                  testing::ResultOf([](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); },
                                    testing::Eq(1))));
}

TEST(EnvDeathTest, AskingForTheWrongKindIsAProgrammersError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH((void)EnvReal(Env::kWait), "check failed");
}

}  // namespace
}  // namespace mycel
