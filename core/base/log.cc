#include "core/base/log.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <string>
#include <string_view>

#include "core/base/env.h"
#include "core/base/host_name.h"
#include "core/base/mutex.h"

namespace mycel {
namespace {

thread_local int this_thread_rank = -1;

constexpr std::array<std::string_view, 4> kLevelNames = {"NONE", "WARN", "INFO", "TRACE"};

void AppendPadded(std::string& out, int64_t value, size_t width) {
  const std::string digits = std::to_string(value);
  out.append(width > digits.size() ? width - digits.size() : 0, '0');
  out += digits;
}

/// ISO 8601 in UTC, so that records of several hosts sort together.
void AppendTime(std::string& out) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(us / 1'000'000);
  std::tm date{};
  gmtime_r(&seconds, &date);
  const std::array<std::pair<int, char>, 6> parts = {{{date.tm_year + 1900, '-'},
                                                      {date.tm_mon + 1, '-'},
                                                      {date.tm_mday, 'T'},
                                                      {date.tm_hour, ':'},
                                                      {date.tm_min, ':'},
                                                      {date.tm_sec, '.'}}};
  for (const auto& [value, separator] : parts) {
    AppendPadded(out, value, 2);
    out += separator;
  }
  AppendPadded(out, us % 1'000'000, 6);
  out += 'Z';
}

std::string Line(LogLevel level, std::string_view text) {
  std::string line;
  line.reserve(text.size() + 96);
  AppendTime(line);
  line += ' ';
  line += HostName();
  line += ':';
  line += std::to_string(getpid());  // not kept: fork changes it
  if (this_thread_rank >= 0) line += " [rank " + std::to_string(this_thread_rank) + "]";
  line += ' ';
  line += kLevelNames[static_cast<size_t>(level)];
  line += level == LogLevel::kTrace ? " " : "  ";
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";  // one line per record, whatever it quotes
    } else {
      line += c;
    }
  }
  line += '\n';
  return line;
}

void Write(std::string_view line) {
  static Mutex mutex;  // keeps the pieces of a long record together
  const MutexLock lock(mutex);
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody listens; a log must not stop its program
    line.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

namespace log_internal {

std::atomic<int> level{kUnread};

int ReadLevel() {
  const StatusOr<std::string> choice = EnvChoice(Env::kDebug);
  int read = static_cast<int>(LogLevel::kWarn);
  if (choice.ok()) {
    for (size_t i = 0; i < kLevelNames.size(); ++i) {
      if (kLevelNames[i] == *choice) read = static_cast<int>(i);
    }
  }
  int expected = kUnread;
  // relaxed: the level publishes nothing but itself. SetLogLevel by another thread meanwhile wins.
  if (!level.compare_exchange_strong(expected, read, std::memory_order_relaxed)) return expected;
  if (!choice.ok()) MYCEL_LOG(kWarn) << StatusMessage(choice.status());
  return read;
}

}  // namespace log_internal

void SetLogLevel(LogLevel level) {
  log_internal::level.store(static_cast<int>(level), std::memory_order_relaxed);  // publishes nothing but itself
}

void SetLogRank(int rank) { this_thread_rank = rank; }
int LogRank() { return this_thread_rank; }

LogRecord::~LogRecord() { Write(Line(level_, text_.str())); }

}  // namespace mycel
