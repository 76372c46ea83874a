// What reaches standard error, at which level, and that records of threads stay whole.
#include "core/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace mycel {
namespace {

using testing::HasSubstr;

/// What `body` writes to standard error.
std::string Captured(const std::function<void()>& body) {
  std::FILE* file = std::tmpfile();
  std::fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  body();
  dup2(saved, STDERR_FILENO);
  close(saved);
  std::string text(static_cast<size_t>(lseek(fileno(file), 0, SEEK_END)), '\0');
  const ssize_t got = pread(fileno(file), text.data(), text.size(), 0);
  EXPECT_EQ(got, static_cast<ssize_t>(text.size()));
  std::fclose(file);
  return text;
}

TEST(Log, LevelsIncludeTheLowerOnes) {
  const auto all = [] {
    MYCEL_LOG(kWarn) << "w";
    MYCEL_LOG(kInfo) << "i";
    MYCEL_LOG(kTrace) << "t";
  };
  const std::vector<std::pair<LogLevel, int>> expected = {
      {LogLevel::kNone, 0}, {LogLevel::kWarn, 1}, {LogLevel::kInfo, 2}, {LogLevel::kTrace, 3}};
  for (const auto& [level, lines] : expected) {
    SetLogLevel(level);
    const std::string text = Captured(all);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), lines) << text;
  }
}

TEST(Log, OperandsOfASilentRecordAreNotEvaluated) {
  SetLogLevel(LogLevel::kWarn);
  int evaluated = 0;
  MYCEL_LOG(kInfo) << ++evaluated;
  EXPECT_EQ(evaluated, 0);
}

TEST(Log, ARecordIsOneLineWithTimeProcessRankAndLevel) {
  SetLogLevel(LogLevel::kWarn);
  SetLogRank(3);
  const std::string text = Captured([] { MYCEL_LOG(kWarn) << "two\nlines, n = " << 7; });
  SetLogRank(-1);
  EXPECT_THAT(text, testing::MatchesRegex(".*-.*-.*T.*:.*:.*Z .*:[0-9]+ .rank 3. WARN  two..n?lines, n = 7\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_THAT(text, HasSubstr(":" + std::to_string(getpid()) + " "));
  EXPECT_EQ(text.substr(4, 1) + text.substr(7, 1) + text.substr(10, 1) + text.substr(19, 1), "--T.");
}

TEST(Log, NoRankNoBrackets) {
  SetLogLevel(LogLevel::kWarn);
  EXPECT_THAT(Captured([] { MYCEL_LOG(kWarn) << "plain"; }), testing::Not(HasSubstr("[rank")));
}

TEST(Log, RecordsOfThreadsStayWhole) {
  SetLogLevel(LogLevel::kInfo);
  constexpr int kThreads = 4;
  constexpr int kRecords = 200;
  const std::string text = Captured([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        SetLogRank(t);
        for (int i = 0; i < kRecords; ++i)
          MYCEL_LOG(kInfo) << "<" << std::string(100, static_cast<char>('a' + t)) << ">";
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::istringstream lines(text);
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    ++count;
    const size_t open = line.find('<');
    ASSERT_NE(open, std::string::npos) << line;
    const char letter = line[open + 1];
    EXPECT_EQ(line.substr(open), "<" + std::string(100, letter) + ">");
    EXPECT_THAT(line, HasSubstr("[rank " + std::to_string(letter - 'a') + "]"));
  }
  EXPECT_EQ(count, kThreads * kRecords);
}

TEST(LogDeathTest, TheLevelComesFromTheEnvironment) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto log_at = [](const char* level) {
    setenv("MYCEL_DEBUG", level, 1);
    MYCEL_LOG(kInfo) << "an information";
    std::_Exit(0);
  };
  EXPECT_EXIT(log_at("info"), testing::ExitedWithCode(0), "an information");
  EXPECT_EXIT(log_at("WARN"), testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(log_at("LOUD"), testing::ExitedWithCode(0), "MYCEL_DEBUG=\"LOUD\": must be one of NONE.WARN.INFO.TRACE");
}

}  // namespace
}  // namespace mycel
